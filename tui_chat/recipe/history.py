"""Which stored messages a model is shown, and in which form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui_chat.models.message import Message
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS
from tui_chat.models.session import Entry


def sendable(entries: Sequence[Entry]) -> tuple[Message, ...]:
    """Return the messages of a branch that the model is to see.

    A reply of which nothing came is none.
    """
    return tuple(
        entry.message
        for entry in entries
        if entry.message.role != "assistant"
        or entry.message.content.strip()
        or entry.message.tool_calls
        or entry.message.semantics.refusal
    )


def prefilled(history: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return a history whose last message, the model's, is the beginning of its next reply.

    Only its text: no provider goes on after a signed thought or a call. Without white space at
    its end, which Anthropic refuses.
    """
    last = history[-1]
    text = replace(
        last, content=last.content.rstrip(), tool_calls=(), semantics=NO_MESSAGE_SEMANTICS
    )
    return (*history[:-1], text)
