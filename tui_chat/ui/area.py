"""What the parts of the main screen have in common: they act on the workspace, and show its events.

An `Area` is a pane of the main screen. Within the chat, single widgets have actions of their own:
the conversation, the composer, the attachments, the question about a tool call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar, Self, cast

from textual.app import App
from textual.containers import Vertical
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.notifications import show_error
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.config import Config
    from tui_chat.errors import TuiChatError
    from tui_chat.models.text import Origin
    from tui_chat.ui.key_clock import KeyClock
    from tui_chat.ui.main_screen import MainScreen
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class AreaContext:
    """The values that all areas are given."""

    config: Config
    environ: Mapping[str, str]
    now: Callable[[], float]
    """The time in seconds since the epoch."""
    key_labels: Mapping[str, str]
    """The label of each action's key, to be named in a sentence."""
    report_errors: Callable[[str], AbstractContextManager[None]]
    """Shows an exception of any kind in a notification that begins with a sentence."""
    key_clock: KeyClock
    """The times at which keys were pressed."""
    read_only: str = ""
    """Why nothing can be sent or changed, as a sentence; empty if it can."""


class WorkspaceWidget(Widget):
    """A widget whose actions read and change the workspace."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset()
    """Actions that begin, change or send something: a read-only app does not have them."""
    context: AreaContext

    @property
    def host(self) -> MainScreen:
        """The main screen."""
        return cast("MainScreen", self.screen)

    @property
    def tui(self) -> App[None]:
        """The app, for dialogs."""
        return app_of(self)

    @property
    def workspace(self) -> Workspace:
        """The workspace, for what begins with something of it that is shown. Before it is open,
        this raises RuntimeError: what may come earlier waits for `MainScreen.opened_workspace`.
        """
        if self.host.workspace is None:
            raise RuntimeError("the workspace is not open yet")
        return self.host.workspace

    def show_error(self, error: TuiChatError) -> None:
        """Show an error and its advice."""
        show_error(self, error)

    @property
    def may_write(self) -> bool:
        """True if messages can be sent and changed; if not, a notification says why."""
        if self.context.read_only:
            self.notify(self.context.read_only, markup=False)
        return not self.context.read_only

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable actions that change something in a read-only app."""
        if self.context.read_only and action in self.WRITING_ACTIONS:
            return None
        return super().check_action(action, parameters)


class Area(WorkspaceWidget, Vertical):
    """A pane of the main screen."""

    def __init__(self, context: AreaContext, id: str) -> None:
        super().__init__(id=id)
        self.context = context

    def render(self) -> str:
        """Draw nothing while there is no pane: Textual would draw the name of the class."""
        return ""

    @property
    def title_row(self) -> Widget | None:
        """First row of the area's pane, lit while the area has the focus; None without a pane."""
        rows = (row for pane in self.children for row in pane.children)
        return next(rows, None)

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the area's pane."""
        for pane in self.children[:1]:
            pane.focus(scroll_visible)
        return self

    def handle(self, event: WorkspaceEvent) -> None:
        """Show what changed in the workspace."""

    def highlight(self, origin: Origin | None, *, scroll: bool) -> None:
        """Highlight a piece's origin, and with `scroll` bring it into view; None ends it."""

    async def reveal(self, origin: Origin) -> bool:
        """Go to what a piece of the request came from; return False if that is not here."""
        return False
