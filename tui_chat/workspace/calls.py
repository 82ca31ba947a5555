"""Which tool calls of a branch wait for an answer."""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.models.message import Message, ToolCall
from tui_chat.models.session import Entry


def waiting(entries: Sequence[Entry]) -> tuple[Entry | None, tuple[ToolCall, ...]]:
    """Return the reply at the end of a branch that ended with calls, and those not answered."""
    answers: list[Message] = []
    for entry in reversed(entries):
        message = entry.message
        if message.role == "tool":
            answers.insert(0, message)
        elif message.tool_calls and entry.status == "complete":
            return entry, _unanswered(message.tool_calls, answers)
        else:
            break
    return None, ()


def _unanswered(calls: Sequence[ToolCall], answers: Sequence[Message]) -> tuple[ToolCall, ...]:
    left = list(calls)
    for answer in answers:
        for call in left:
            same = call.id == answer.tool_call_id
            if same and (call.id or call.name == answer.name):  # some providers give no ids
                left.remove(call)
                break
    return tuple(left)
