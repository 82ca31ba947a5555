"""An area: a part of the main screen that owns its widgets, its actions and its handling of
workspace events. `area` and `..._area` modules talk with the workspace; the other modules of an
area are widgets that show values and post what the user wants.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, cast

from textual.app import App
from textual.containers import Vertical
from textual.widget import Widget
from textual.worker import Worker

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.notifications import show_error
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.config import Config
    from tui_chat.errors import TuiChatError
    from tui_chat.models.text import Origin
    from tui_chat.ui.key_clock import KeyClock
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


class AreaLayout(Protocol):
    """The requests of areas to `Panes`, since areas do not know each other."""

    def show_area(self, area: Area) -> None:
        """Make an area visible where it fits, and focus it if it covers the focus."""
        ...

    def toggle_area(self, area: Area) -> None:
        """Open an area and focus it; if it has the focus, close it."""
        ...

    def close_overlay(self) -> bool:
        """Hide an area that covers the conversation; return False if none does."""
        ...

    @property
    def zoomed(self) -> Area | None:
        """The area that has the whole screen; None for none."""
        ...

    def zoom(self, area: Area | None) -> None:
        """Give an area the whole screen; None restores the others."""
        ...

    def show_conversation(self, *, focus_composer: bool = True) -> None:
        """Hide an area that covers the conversation, and focus the composer or the transcript."""
        ...

    def focus_composer(self) -> None:
        """Focus the composer, where one goes on after a choice."""
        ...

    def show_message(self, message_id: str, words: tuple[str, ...] = ()) -> None:
        """Go to a message of the active branch and mark words in it, if it is there."""
        ...

    def show_request_of(self, message_id: str) -> None:
        """Show the request that produced a reply."""
        ...

    def show_in_live_request(self, origin: Origin) -> None:
        """Show where what came from an origin is in the live request."""
        ...

    def show_status(self, text: str) -> None:
        """Show what is going on below the conversation; an empty text ends it."""
        ...

    def repost_cursor(self) -> None:
        """Highlight the message under the transcript's cursor in the request again."""
        ...


class AreaHost(Protocol):
    """The requests of areas to the main screen."""

    @property
    def panes(self) -> AreaLayout:
        """The areas, side by side."""
        ...

    workspace: Workspace | None
    """None until it is open."""

    async def opened_workspace(self) -> Workspace:
        """Return the workspace once it is open and shown; after its end, this waits for ever."""
        ...

    @property
    def is_workspace_open(self) -> bool:
        """True from when the workspace is open and its last session is shown until it is closed."""
        ...

    @property
    def undo_key(self) -> str:
        """The key or command that undoes a deletion, where the focus is."""
        ...

    async def switch_session(
        self, opens: Callable[[Workspace], Awaitable[object]], *, leaves: bool = True
    ) -> None:
        """Open another session: the draft stays with the old one, and that of the new one comes. If
        it `leaves` the active one, and that is a temporary session with messages, ask first.
        """
        ...


class Area(Vertical):
    """A part of the main screen."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset()
    """Actions that begin, change or send something: a read-only app does not have them."""

    def __init__(self, context: AreaContext, id: str) -> None:
        super().__init__(id=id)
        self.context = context

    @property
    def host(self) -> AreaHost:
        """The main screen."""
        return cast("AreaHost", self.screen)

    @property
    def tui(self) -> App[None]:
        """The app, for dialogs."""
        return app_of(self)

    @property
    def workspace(self) -> Workspace:
        """The workspace, for what begins with something of it that is shown. Before it is open,
        this raises RuntimeError: what may come earlier waits for `AreaHost.opened_workspace`.
        """
        if self.host.workspace is None:
            raise RuntimeError("the workspace is not open yet")
        return self.host.workspace

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

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Pass it on to the app: keys wait while a worker may open a dialog. It does not bubble."""
        self.tui.post_message(event)

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
