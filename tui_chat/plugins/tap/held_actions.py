"""`/held`: decides in the app about a request of another program that a tap holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.tap.held_request import editable_text, read_edited
from tui_chat.plugins.tap.held_table import (
    SharedDecision,
    WaitingRequest,
    decide,
    limit_words,
    until_words,
    waiting_requests,
    words_of,
)
from tui_chat.ui.questions import ask
from tui_chat.ui.terminal.external_programs import edit_in_editor

if TYPE_CHECKING:
    from tui_chat.store import Store
    from tui_chat.ui.app import TuiChat

_DONE = {
    "sent": "The request was sent on as it came.",
    "edited": "The edited request was sent on.",
    "dropped": "The request was dropped.",
}
_GONE = "The request is not held any more; nothing was changed."


async def decide_held(app: TuiChat, message_id: str) -> None:
    """Ask what to do with the held request of a reply; without an id, ask for which one first."""
    workspace = await app.main.opened_workspace()
    waiting = await waiting_requests(workspace.store.replies.database)
    held = await _chosen(app, waiting, message_id)
    if held is None:
        return
    choice = await ask(app, f"Held: {words_of(held)}", _choices(held))
    match choice:
        case "sent" | "dropped":
            await _decide(app, workspace.store, held, choice)
        case "edited":
            await _edit(app, workspace.store, held)
        case "show":
            action = f"inspector.show_reply({held.session_id!r}, {held.message_id!r})"
            await app.run_action(action)
        case _:
            pass


def _choices(held: WaitingRequest) -> tuple[tuple[str, str, str], ...]:
    return (
        ("sent", "Send it on", f"as it came; {until_words(held)} that happens by itself"),
        ("edited", "Edit it in $EDITOR", "then send it on"),
        ("dropped", "Drop it", "its program gets an error"),
        ("show", "Show the request", "it waits meanwhile"),
    )


async def _chosen(
    app: TuiChat, waiting: tuple[WaitingRequest, ...], message_id: str
) -> WaitingRequest | None:
    by_id = {held.message_id: held for held in waiting}
    if message_id:
        if message_id not in by_id:
            app.notify(_GONE)
        return by_id.get(message_id)
    if not waiting:
        app.notify("No request of another program is held. `tui-chat tap --pause` holds them.")
        return None
    if len(waiting) == 1:
        return waiting[0]
    choices = [(held.message_id, words_of(held), limit_words(held)) for held in waiting]
    return by_id.get(await ask(app, "Held requests", choices) or "")


async def _decide(
    app: TuiChat, store: Store, held: WaitingRequest, decision: SharedDecision, content: str = ""
) -> None:
    done = await decide(store.replies.database, held.message_id, decision, content)
    app.notify(_DONE[decision] if done else _GONE)


async def _edit(app: TuiChat, store: Store, held: WaitingRequest) -> None:
    """Let the user edit the body until it is a request, or until they leave it."""
    record = await store.requests.get(held.message_id)
    if record is None or record.body is None:
        raise InputError("The body of this request is not kept, so it cannot be edited.")
    text = editable_text(record.body)
    while True:
        await decide(store.replies.database, held.message_id, "editing")
        text = await edit_in_editor(app, text, "request.json")
        try:
            edited = read_edited(text, record.body, record.protocol)
        except InputError as error:
            again = ("again", "Edit it again", ""), ("leave", "Leave it as it was", "it waits")
            if await ask(app, one_line(str(error), 200), again) != "again":
                return
            continue
        if edited is None:
            app.notify("Nothing was changed; the request still waits.")
        else:
            await _decide(app, store, held, "edited", text)
        return
