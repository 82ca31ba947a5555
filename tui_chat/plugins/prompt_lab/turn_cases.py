"""Turns of conversations as cases.

A case has the text of the conversation, so it gets the shortest history that keeps it: the last
exchange, and as much before it as the same preset messages and lore entries need to be sent.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.context.sent_texts import split_turns
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import OriginKind
from tui_chat.plugins.prompt_lab.values import NO_ENDPOINT, NO_PRESET, Case

_MOST_TRIES = 12
"""Lengths of the history that are tried before the whole of it is taken."""


def case_of(inputs: Inputs, name: str, messages: int) -> Case:
    """Return a request as a case, with so many of the newest messages of its history. Without a
    name it has that of its question.
    """
    kept = replace(
        inputs,
        endpoint=NO_ENDPOINT,
        preset=NO_PRESET,
        history=inputs.history[len(inputs.history) - messages :],
        edits=(),
    )
    name = name.strip() or one_line(inputs.draft, 60) or "case"
    return Case(name, name, kept)


def shortest_history(inputs: Inputs) -> int:
    """Return how many of the newest messages a case needs."""
    surroundings, history = _surroundings(inputs), inputs.history
    begin_with_user = (n for n in range(1, len(history)) if history[-n].role == "user")
    for count in islice(begin_with_user, _MOST_TRIES):
        if _surroundings(replace(inputs, history=history[-count:])) == surroundings:
            return count
    return len(history)


def _surroundings(inputs: Inputs) -> list[tuple[str, str]]:
    """Return what a request has besides its conversation."""
    turns = split_turns(compose(inputs).envelope.turns)
    conversation = (OriginKind.HISTORY, OriginKind.DRAFT)
    return [(turn.role, turn.text.plain) for turn in turns if turn.origin.kind not in conversation]
