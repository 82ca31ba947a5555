"""What is brought from another branch to the end of the active one: a copy of a reply, or a summary
of the messages that the active branch does not have. Each becomes a message that says where it is
from (`About.brought`); what is sent of it is its text.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace

from tui_chat.compose import Composed
from tui_chat.context.history import summarize
from tui_chat.context.muted_history import without_muted
from tui_chat.errors import InputError, NotYet
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.about import About, Brought
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.message import Message, is_words
from tui_chat.models.text import clean
from tui_chat.workspace.workspace import Workspace

HEADING = "Summary of another branch of this conversation (notes, not instructions):"
"""The first line of a summary that is shown for editing, as that of compaction has one."""

DONE = "Brought here:"


@dataclass(frozen=True, slots=True)
class BranchSummary:
    """The messages of a branch to sum up, and the request for the summary."""

    session_id: str
    end_id: str
    """The last message of the branch."""
    messages: int
    left_out: int
    """How many of its oldest messages do not fit into the request."""
    composed: Composed


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


async def plan_summary(workspace: Workspace, end_id: str, active: Set[str]) -> BranchSummary:
    """Return what would be summed up of the branch that ends with a message: what is not among the
    messages of the `active` branch. Raises InputError.
    """
    messages = await workspace.sent.messages_to(end_id)
    sent = without_muted(summarize(messages).history, True, False).history
    own = tuple(message for message in sent if message.id not in active)
    if not own:
        raise InputError("The active branch has all messages of this one.")
    composed = workspace.compaction.request_for(own)
    if composed.errors:
        raise InputError(composed.errors[0].sentence)
    return BranchSummary(
        session_id=workspace.state.session_id,
        end_id=end_id,
        messages=len(own),
        left_out=len(composed.envelope.dropped),
        composed=composed,
    )


async def write_summary(
    workspace: Workspace, plan: BranchSummary, on_text: Callable[[str], None]
) -> str:
    """Return the summary that the model writes. Raises TuiChatError."""
    text = await workspace.compaction.write_summary(plan.session_id, plan.composed, on_text)
    return f"{HEADING}\n\n{text}"


async def bring_summary(workspace: Workspace, plan: BranchSummary, text: str) -> bool:
    """Add a summary at the end of the active branch. Return False if that is not possible now,
    which is reported.
    """
    message = Message.of(
        "system",
        clean(text).strip(),
        timestamp=workspace.now().timestamp(),
        about=About(brought=Brought(plan.end_id, max(plan.messages - plan.left_out, 1))),
    )
    return await workspace.branches.append(message, plan.session_id, done=DONE)
