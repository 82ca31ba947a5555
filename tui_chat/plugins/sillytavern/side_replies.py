"""The actions impersonate and quiet prompt: texts that are no messages of the conversation.

1. What a model writes for the user goes into the composer when it has arrived, as one edit that
   undo takes back. It is saved like any draft, and never sent by itself. Typing stops it, and so
   does leaving the session.
2. The answer to a quiet prompt is shown in a dialog.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui_chat.ui.keys import key_name
from tui_chat.ui.verbs import UNDO_KEYS

if TYPE_CHECKING:
    from tui_chat.compose import Composed
    from tui_chat.ui.app import TuiChat
    from tui_chat.ui.chat.chat_pane import ChatPane
    from tui_chat.workspace.workspace import Workspace


async def impersonate(app: TuiChat, _: str) -> None:
    """Have the model write the user's next message, as a draft."""
    area = app.chat
    workspace = await _stored_workspace(area)
    replies = area.side_replies
    composed = None if replies.is_writing else await replies.compose(workspace, "impersonate")
    if composed is not None:
        replies.run(partial(_write, area, workspace, composed), "impersonate")


async def quiet(app: TuiChat, prompt: str) -> None:
    """Send an instruction, and show the answer; without one, ask for it."""
    from tui_chat.plugins.sillytavern.quiet_reply import QuietReply
    from tui_chat.ui.questions import ask_text

    area = app.chat
    workspace = await _stored_workspace(area)
    if not prompt:
        about = "It is sent after the conversation; neither it nor the answer is stored there."
        prompt = await ask_text(app, "Quiet prompt", about=about, enter="Enter send") or ""
        if not prompt:
            return
    composed = await area.side_replies.compose(workspace, "quiet", prompt)
    if composed is None:
        return
    reply = QuietReply(prompt, composed.model)

    async def receive() -> None:
        await workspace.aside.generate("quiet", composed, reply.show_text)

    receiving = area.run_worker(receive, group="side", description="quiet prompt")
    inserted = await app.push_screen_wait(reply)
    receiving.cancel()
    if inserted:
        area.composer.insert_text(inserted)
        area.composer.focus()


async def _stored_workspace(area: ChatPane) -> Workspace:
    """Return the workspace once the message that was sent last is stored."""
    await area.drafts.wait_until_stored()
    return await area.host.opened_workspace()


async def _write(area: ChatPane, workspace: Workspace, composed: Composed) -> None:
    """Put the text into the composer when it has arrived, or what has arrived if it is stopped."""
    session_id, composer = workspace.state.session_id, area.composer
    before, arrived = composer.text, ""

    def is_untouched() -> bool:
        return workspace.state.session_id == session_id and composer.text == before

    def show(text: str) -> None:
        nonlocal arrived
        arrived = text
        words = f"{composed.model} writes your message · {len(arrived):,} characters"
        area.activity.show_status(f"{words} · Esc stop")
        if not is_untouched():
            area.side_replies.stop()

    show("")
    try:
        await workspace.aside.generate("impersonate", composed, show, for_user=True)
    finally:
        if arrived and is_untouched():
            composer.history.checkpoint()
            composer.rewrite(arrived)
            composer.history.checkpoint()
            key = key_name(UNDO_KEYS.partition(",")[0])
            sentence = f"The model wrote this draft, and nothing was sent. {key} undoes it."
            area.notify(sentence, markup=False)
