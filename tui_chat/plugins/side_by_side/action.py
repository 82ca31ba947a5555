"""“Compare models side by side…”: asks for the slots, and shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.plugins.side_by_side.screen import ComparisonScreen
from tui_chat.plugins.side_by_side.slot_dialog import SlotDialog
from tui_chat.plugins.side_by_side.targets import remember_targets, remembered_targets
from tui_chat.ui.commands import message_text

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat


async def compare_models(app: TuiChat, _: str) -> None:
    """Compare models in the active session. What is typed in the conversation comes along, and
    what is not sent goes back.
    """
    workspace = await app.main.opened_workspace()
    await workspace.sessions.branch_loaded()
    if workspace.state.is_streaming or workspace.state.pending_calls:
        what = "A tool call waits" if workspace.state.pending_calls else "A reply is arriving"
        raise InputError(f"{what} in this conversation.", advice="Compare after it.")
    composer, drafts = app.chat.composer, app.chat.drafts
    draft = message_text(composer.text)
    parts = tuple(attachment.part for attachment in drafts.attachments)
    targets = await remembered_targets(workspace)
    dialog = SlotDialog(workspace, targets, app.chat.context.environ)
    chosen = await app.push_screen_wait(dialog)
    if chosen is None:
        return
    await remember_targets(workspace, chosen)

    def sent() -> None:
        drafts.show_attachments(())
        composer.clear_text()

    screen = ComparisonScreen(workspace, chosen, app.chat.context, draft, parts, sent)
    left = await app.push_screen_wait(screen)
    if message_text(composer.text) != left:
        composer.text = left or ""
    composer.focus()
