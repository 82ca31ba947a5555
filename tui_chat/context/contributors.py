"""The extension point: functions that add messages to the preset's.

A contributor is a pure function of the inputs that returns preset messages with origins of their
own. They are added directly before the history and then treated like the preset's own: positions,
order, macros and notes. A contributor
that returns the same `ResolvedMessage` object again keeps everything derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import TypeAlias

from tui_chat.context.inputs import Inputs
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.tokens import Counter

NO_PLACES: Mapping[str, tuple[ResolvedMessage, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Contribution:
    """The messages and notes of one contributor."""

    messages: tuple[ResolvedMessage, ...] = ()
    """In their order in the preset."""
    notes: tuple[Note, ...] = ()
    places: Mapping[str, tuple[ResolvedMessage, ...]] = field(default_factory=lambda: NO_PLACES)
    """Messages for places that `context/session_texts` knows, by the place's name."""


NOTHING_TO_ADD = Contribution()

Contributor: TypeAlias = Callable[[Inputs, Counter], Contribution]
"""The counter is for contributors with a token budget of their own."""


def _call(contributor: Contributor, inputs: Inputs, count: Counter) -> Contribution:
    """Call a contributor. One that raises adds only a note."""
    try:
        return contributor(inputs, count)
    except Exception as error:  # third-party code may raise anything
        name = getattr(contributor, "__qualname__", type(contributor).__name__)
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        sentence = f"The contributor {name} failed and adds nothing. {why}"
        return Contribution(notes=(Note(Level.ERROR, "contributor-failed", sentence),))


def contribute(inputs: Inputs, count: Counter, contributors: Sequence[Contributor]) -> Contribution:
    """Call all contributors and join their contributions."""
    asked = [_call(contributor, inputs, count) for contributor in contributors]
    given = [contribution for contribution in asked if contribution is not NOTHING_TO_ADD]
    if len(given) <= 1:
        return given[0] if given else NOTHING_TO_ADD
    return Contribution(
        tuple(message for contribution in given for message in contribution.messages),
        tuple(note for contribution in given for note in contribution.notes),
        {place: lines for contribution in given for place, lines in contribution.places.items()},
    )
