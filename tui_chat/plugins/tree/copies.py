"""A copy of a reply of another branch at the end of the active one: a message that says where it is
from (`About.brought`). What is sent of it is its text.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.errors import InputError, NotYet
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.message import About, Brought, Message, is_words
from tui_chat.workspace.workspace import Workspace

DONE = "Brought here:"


async def bring_reply(workspace: Workspace, message_id: str) -> bool:
    """Copy a reply to the end of the active branch. Reasoning and tool calls, which belong to where
    they were made, stay behind. Return False if it cannot be added now, which is reported. Raises
    InputError and StoreError.
    """
    session_id = workspace.state.session_id
    entry = await workspace.active_store.messages.get(message_id)
    if entry is None:
        raise InputError("This reply was deleted meanwhile.")
    message = entry.message
    if message.role != "assistant":
        raise InputError("This is not a reply.", advice="→ unfolds messages; then choose one.")
    if entry.status == "streaming":
        raise NotYet("This reply is still arriving.")
    if not message.content.strip() and not message.parts:
        raise InputError("This reply has no text.", advice="Tool calls stay on their branch.")
    blocks = (b for b in message.blocks if is_words(b) or isinstance(b, MediaBlock))
    copy = Message(
        "assistant",
        tuple(replace(block, extras=None) for block in blocks),
        name=message.name,
        timestamp=workspace.now().timestamp(),
        about=About(references=message.about.references, brought=Brought(message_id)),
    )
    return await workspace.branches.append(copy, session_id, model=entry.model, done=DONE)
