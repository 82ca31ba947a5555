"""The kinds of things in a branch that keys of the transcript act on: `transcript_keys` has them.

The text is looked through for marks, not parsed, so that a kind may be named that is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_chat.models.tool import results_of
from tui_chat.ui.areas.chat.transcript_keys import KeyUse

if TYPE_CHECKING:
    from tui_chat.models.message import Message
    from tui_chat.models.session import Entry

_MARKS: tuple[tuple[KeyUse, tuple[str, ...]], ...] = (
    ("code", ("```", "~~~", "\n    ", "\n\t")),
    ("link", ("://", "](")),
)
"""Strings one of which is in every text with such content."""


def contents_of(entries: Sequence[Entry]) -> frozenset[KeyUse]:
    """Return the kinds of content that some entry has."""
    kinds: set[KeyUse] = set()
    for kind, marks in _MARKS:
        if any(mark in entry.message.content for entry in entries for mark in marks):
            kinds.add(kind)
    for entry in entries:
        message = entry.message
        if message.parts:
            kinds |= {"file", "link", "mutable"}
        if message.semantics.reasoning:
            kinds.add("mutable")
        if message.semantics.tokens:
            kinds.add("tokens")
        if message.tool_calls:
            kinds |= {"code", "mutable"}  # arguments and results are drawn like code
        if message.semantics.references.sources:
            kinds.add("link")
        if entry.siblings > 1:
            kinds.add("version")
    return frozenset(kinds)


def has_open_call(entries: Sequence[Entry]) -> bool:
    """Return True if the branch ends with a tool call that has no result."""
    results: list[Message] = []
    for entry in reversed(entries):
        if entry.message.role != "tool":
            calls = entry.message.tool_calls
            return len(results_of(calls, results)) < len(calls)
        results.insert(0, entry.message)
    return False
