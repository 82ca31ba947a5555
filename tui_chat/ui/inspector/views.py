"""Views of the request: the table of them, and what a view is given.

1. A view is declared once, as a `View`: the core's in `VIEWS`, those of plugins in `Plugin.views`.
   Switches and palette follow from the declaration.
2. Its widget is a `RowsView` (the body's is `PayloadView`), imported and created when it is first
   shown. It draws an `InspectorState`; its rows run actions.
3. A view is updated only while it is shown; the others catch up when they are chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from tui_chat import hooks
from tui_chat.api import Plugin, View
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message as ChatMessage
from tui_chat.models.session import Entry, RawResponse
from tui_chat.models.text import Origin
from tui_chat.ui.inspector.row_wrapping import size_in_words
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_chat.compose import Composed
    from tui_chat.models.payload import Payload

_CLIPBOARD_LIMIT = 100_000
"""Bytes above which some terminals ignore a copy to the clipboard."""

PAYLOAD, CONTEXT, DIFF, BUDGET = "payload", "context", "diff", "budget"
HTTP, REPLY, NOTES = "http", "reply", "notes"

_FOLDER = "tui_chat.ui.inspector"
VIEWS = (
    View(PAYLOAD, "Payload", "Pay", f"{_FOLDER}.payload_view:PayloadView"),
    View(CONTEXT, "Context", "Ctx", f"{_FOLDER}.context:ContextView"),
    View(DIFF, "Diff", "Diff", f"{_FOLDER}.diff:DiffView"),
    View(BUDGET, "Budget", "Bud", f"{_FOLDER}.budget:BudgetView"),
    View(HTTP, "HTTP", "HTTP", f"{_FOLDER}.http:HttpView"),
    View(REPLY, "Reply", "Rep", f"{_FOLDER}.reply:ReplyView"),
    View(NOTES, "Notes", "Notes", f"{_FOLDER}.notes:NotesView"),
)
"""The views of the core, in the order of their switches."""


def views() -> Mapping[str, View]:
    """Return all views by name, the core's first."""
    paths = {view.name: view for view in VIEWS}
    return paths | {view.name: view for _, view in hooks.parts("views", paths)}


def load(view: View, path: str) -> Any:
    """Return what a path of a view's declaration names. Raises InputError if a part of a plugin
    cannot be imported.
    """
    plugin = plugin_of(view)
    return hooks.load(path) if plugin is None else hooks.load_part(plugin, path)


def plugin_of(view: View) -> Plugin | None:
    """Return the plugin that adds a view; None for one of the core."""
    return next((plugin for plugin in hooks.plugins() if view in plugin.views), None)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The request with which the diff view compares."""

    name: str = ""
    payload: Payload | None = None
    reason: str = ""
    """Why there is no payload, as a sentence."""


@dataclass(frozen=True, slots=True)
class ReplyDetails:
    """A reply and how it was received."""

    entry: Entry
    message: ChatMessage
    """The message so far; the entry's own once the reply has ended."""
    received: RawResponse | None = None
    """The response as received; None if it is not kept."""
    unheard: str = ""
    """The reason why `received` is None, as a sentence."""


@dataclass(frozen=True, slots=True)
class InspectorState:
    """The facts about the request that the inspector shows."""

    composed: Composed | None = None
    """The request; None for none yet."""
    pinned: Collection[str] = ()
    """The ids of messages that are never dropped."""
    baseline: Baseline = Baseline()
    reply: ReplyDetails | None = None
    loaded: Any = None
    """The value that the `load` of the view's declaration returned; None before that."""


async def reveal_origin(widget: Widget, origin: Origin) -> None:
    """Go to where a piece of the request came from, in whichever area has it."""
    await app_of(widget).run_action(("panes", "reveal_origin", (origin,)))


def copy_curl(widget: Widget, composed: Composed | None) -> None:
    """Copy a shell command that sends a request's bytes; the key is a variable."""
    from tui_chat.analysis.http_text import as_curl

    if composed is not None:
        copy_text(widget, as_curl(composed), "the request as curl")


def copy_text(widget: Widget, text: str, what: str) -> None:
    """Copy something of the request to the clipboard, and say so."""
    app_of(widget).copy_to_clipboard(text)
    size = len(text.encode())
    sentence = f"Copied {what}: {size_in_words(size)}."
    if size > _CLIPBOARD_LIMIT:
        sentence += " Some terminals refuse that much."
    widget.notify(sentence, severity="warning" if size > _CLIPBOARD_LIMIT else "information")
