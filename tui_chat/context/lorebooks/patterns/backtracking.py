"""A backtracking matcher for patterns with back-references, which counts its steps.

A pattern is compiled to a list of instructions that follow ECMA-262 (22.2.2); only lookarounds
recurse. Patterns without back-references are matched by `automaton`.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias

from tui_chat.context.lorebooks.patterns.syntax import (
    Alternation,
    BackReference,
    Boundary,
    CaptureGroup,
    Item,
    LiteralCharacter,
    Lookaround,
    Repeat,
    Sequence,
    Test,
    canonical,
    is_boundary,
)
from tui_chat.lazy_dataclass import dataclass

_Captures: TypeAlias = tuple[int, ...]
"""The start and end of each group, -1 if it captured nothing; then, for each repetition, the start
of its latest iteration.
"""


class _Kind(Enum):
    CHARACTER = auto()
    BOUNDARY = auto()
    REFERENCE = auto()
    SAVE = auto()
    """Remember the position in slot `number`."""
    CLEAR = auto()
    """Clear the captures from slot `number` up to `target`."""
    MOVED = auto()
    """Fail if the position is that of slot `number`: an empty iteration."""
    TRY = auto()
    """Continue; if that fails, go to `target`."""
    SKIP = auto()
    """Go to `target`; if that fails, continue."""
    GO = auto()
    LOOK = auto()
    """Match the instructions up to MATCH; continue at `target` if they do (`negated`: do not)."""
    MATCH = auto()


@dataclass(slots=True)
class _Instruction:
    kind: _Kind
    number: int = 0
    """A slot or a group."""
    target: int = 0
    """An instruction, or for CLEAR the end of the slots."""
    test: Test = bool
    boundary: str = ""
    negated: bool = False
    backward: bool = False
    """True inside look-behind, which matches from right to left."""


class _OutOfSteps(Exception):
    """A search reached its limit of steps."""


class BacktrackingMatcher:
    """A pattern compiled to instructions."""

    def __init__(self, item: Item, flags: str) -> None:
        self._multiline = "m" in flags
        self._sticky = "y" in flags
        self._ignores_case = "i" in flags
        self._unicode = "u" in flags
        self._instructions: list[_Instruction] = []
        self._slots = self._groups = 2 * (_last_group(item) + 1)
        self._left = 0
        self._add(_Instruction(_Kind.SAVE, 0))
        self._compile(item, backward=False)
        self._add(_Instruction(_Kind.SAVE, 1))
        self._add(_Instruction(_Kind.MATCH))

    def search(self, text: str, start: int, limit: int) -> tuple[bool, int]:
        """Return whether the pattern matches from `start` on, and the number of steps taken.

        If `limit` steps were not enough, the result is false and the number is negative.
        """
        captures, steps = self.find(text, start, limit)
        return captures is not None, steps

    def find(self, text: str, start: int, limit: int) -> tuple[_Captures | None, int]:
        """Return the first match from `start` on, with the start and end of the whole and of each
        group, and the number of steps taken; see `search`.
        """
        self._left = limit
        nothing = (-1,) * self._slots
        try:
            for at in range(start, (start if self._sticky else len(text)) + 1):
                if (captures := self._match(0, text, at, nothing)) is not None:
                    return captures[: self._groups], limit - self._left
        except _OutOfSteps:
            return None, -limit
        return None, limit - self._left

    def _add(self, step: _Instruction) -> _Instruction:
        self._instructions.append(step)
        return step

    def _compile(self, item: Item, *, backward: bool) -> None:
        match item:
            case LiteralCharacter(test):
                self._add(_Instruction(_Kind.CHARACTER, test=test, backward=backward))
            case Boundary(kind):
                self._add(_Instruction(_Kind.BOUNDARY, boundary=kind))
            case BackReference(group):
                self._add(_Instruction(_Kind.REFERENCE, group, backward=backward))
            case Sequence(items):
                for each in reversed(items) if backward else items:
                    self._compile(each, backward=backward)
            case Alternation(ways):
                self._compile_choice(ways, backward=backward)
            case CaptureGroup(inner, number):
                self._add(_Instruction(_Kind.SAVE, 2 * number + backward))
                self._compile(inner, backward=backward)
                self._add(_Instruction(_Kind.SAVE, 2 * number + (not backward)))
            case Lookaround(inner, behind, negative):
                look = self._add(_Instruction(_Kind.LOOK, negated=negative))
                self._compile(inner, backward=behind)
                self._add(_Instruction(_Kind.MATCH))
                look.target = len(self._instructions)
            case Repeat():
                self._compile_repeat(item, backward=backward)

    def _compile_choice(self, ways: tuple[Item, ...], *, backward: bool) -> None:
        ends: list[_Instruction] = []
        for way in ways[:-1]:
            other = self._add(_Instruction(_Kind.TRY))
            self._compile(way, backward=backward)
            ends.append(self._add(_Instruction(_Kind.GO)))
            other.target = len(self._instructions)
        self._compile(ways[-1], backward=backward)
        for end in ends:
            end.target = len(self._instructions)

    def _compile_repeat(self, item: Repeat, *, backward: bool) -> None:
        for _ in range(item.least):
            self._compile_iteration(item, backward=backward)
        slot = self._slots
        self._slots += 1
        exits: list[_Instruction] = []
        for _ in range(1 if item.most is None else item.most - item.least):
            begin = len(self._instructions)
            exits.append(self._add(_Instruction(_Kind.SKIP if item.lazy else _Kind.TRY)))
            self._add(_Instruction(_Kind.SAVE, slot))
            self._compile_iteration(item, backward=backward)
            self._add(_Instruction(_Kind.MOVED, slot))
            if item.most is None:
                self._add(_Instruction(_Kind.GO, target=begin))
        for each in exits:
            each.target = len(self._instructions)

    def _compile_iteration(self, item: Repeat, *, backward: bool) -> None:
        first, end = item.groups
        if first < end:
            self._add(_Instruction(_Kind.CLEAR, 2 * first, 2 * end))
        self._compile(item.item, backward=backward)

    def _match(self, number: int, text: str, at: int, captures: _Captures) -> _Captures | None:
        """Match from an instruction on; return the captures, or None. Raises _OutOfSteps."""
        waiting = [(number, at, captures)]
        while waiting:
            number, at, captures = waiting.pop()
            while True:
                self._left -= 1
                if self._left <= 0:
                    raise _OutOfSteps
                step = self._instructions[number]
                number += 1
                match step.kind:
                    case _Kind.CHARACTER:
                        seen = text[at - 1 : at] if step.backward else text[at : at + 1]
                        if not seen or not step.test(seen):
                            break
                        at += -1 if step.backward else 1
                    case _Kind.TRY:
                        waiting.append((step.target, at, captures))
                    case _Kind.SKIP:
                        waiting.append((number, at, captures))
                        number = step.target
                    case _Kind.GO:
                        number = step.target
                    case _Kind.SAVE:
                        captures = (*captures[: step.number], at, *captures[step.number + 1 :])
                    case _Kind.MOVED:
                        if captures[step.number] == at:
                            break
                    case _Kind.CLEAR:
                        cleared = (-1,) * (step.target - step.number)
                        captures = (
                            *captures[: step.number], *cleared, *captures[step.target :],
                        )  # fmt: skip
                    case _Kind.BOUNDARY:
                        sides = text[max(at - 1, 0) : at], text[at : at + 1]
                        if not is_boundary(step.boundary, *sides, self._multiline):
                            break
                    case _Kind.REFERENCE:
                        end = self._end_of_reference(step, text, at, captures)
                        if end is None:
                            break
                        at = end
                    case _Kind.LOOK:
                        inside = self._match(number, text, at, captures)
                        if (inside is None) is not step.negated:
                            break
                        captures = captures if inside is None else inside
                        number = step.target
                    case _Kind.MATCH:
                        return captures
        return None

    def _end_of_reference(
        self, step: _Instruction, text: str, at: int, captures: _Captures
    ) -> int | None:
        """Return the position after the text that a group captured; None if it is not here."""
        first, last = captures[2 * step.number], captures[2 * step.number + 1]
        if first < 0 or last < 0:
            return at
        wanted = text[first:last]
        end = at - len(wanted) if step.backward else at + len(wanted)
        if not 0 <= end <= len(text):
            return None
        self._left -= len(wanted) // 16  # comparing a long text takes time too
        seen = text[min(at, end) : max(at, end)]
        if seen == wanted:
            return end
        if self._ignores_case and all(
            canonical(one, self._unicode) == canonical(other, self._unicode)
            for one, other in zip(seen, wanted, strict=True)
        ):
            return end
        return None


def _last_group(item: Item) -> int:
    """Return the highest number of a group in an item, or 0."""
    match item:
        case Sequence(parts) | Alternation(parts):
            return max(map(_last_group, parts), default=0)
        case CaptureGroup(inner, number):
            return max(number, _last_group(inner))
        case Lookaround(inner, _, _) | Repeat(inner):
            return _last_group(inner)
        case _:
            return 0
