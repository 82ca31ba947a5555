"""What is done to the finished list of turns: squashing, and the post-processing of some servers.

1. Squashed: consecutive system turns without a name are one, joined with line breaks. The
   separators of the conversation and of example dialogues stay alone.
2. `merge`: names go into the text (`example_user` and `example_assistant` are the user's and the
   character's); neighbors of one role are one turn, joined with a blank line. `semi`: then all
   system turns but the first are the user's, and it is merged again. `strict`: also, a user's turn
   follows the system turn. `single`: one turn of the user, with the names of user and character
   before the texts of their turns.
3. A turn that is made of several is the same object as long as those are, so that it is encoded
   once. Characters keep their origins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from tui_chat.models.envelope import Turn
from tui_chat.models.generation import PostProcessing
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.text import GLUE, Origin, OriginKind, Span, Text

PLACEHOLDER = "[Start a new chat]"
"""The user's turn that `strict` adds."""
_EXAMPLE_ROLES = ("example_user", "example_assistant")


@Memo
def _merged(first: Turn, others: tuple[Turn, ...], separator: str) -> Turn:
    """Return turns as one, of the role of the first."""
    rule = f"{first.placement.rule} It is sent as one message with {len(others)} after it."
    return replace(
        first,
        text=Text.join(separator, (first.text, *(turn.text for turn in others))),
        placement=replace(first.placement, rule=rule),
        parts=tuple(part for turn in (first, *others) for part in turn.parts),
        cache_mark=next((t.cache_mark for t in reversed((first, *others)) if t.cache_mark), None),
    )


def _merge_runs(
    turns: Sequence[Turn], joins: Callable[[Turn, Turn], bool], separator: str
) -> Iterator[Turn]:
    """Yield the turns, each with those after it that it joins."""
    run: list[Turn] = []
    for turn in turns:
        if run and not joins(run[-1], turn):
            yield run[0] if len(run) == 1 else _merged(run[0], tuple(run[1:]), separator)
            run = []
        run.append(turn)
    if run:
        yield run[0] if len(run) == 1 else _merged(run[0], tuple(run[1:]), separator)


def squash(turns: Sequence[Turn], separators: frozenset[int]) -> Sequence[Turn]:
    """Merge consecutive system turns; `separators` are the identities of those that stay alone."""

    def is_merged(turn: Turn) -> bool:
        return turn.role == "system" and not turn.name and id(turn) not in separators

    if not any(one.role == other.role == "system" for one, other in pairwise(turns)):
        return turns
    return list(_merge_runs(turns, lambda one, other: is_merged(one) and is_merged(other), "\n"))


def post_process(
    turns: Sequence[Turn], how: PostProcessing, user: str, char: str
) -> Sequence[Turn]:
    """Return the turns after post-processing; `user` and `char` are the names."""
    if not how:
        return turns
    if how == "single":
        named = [_named(turn, user, char, True) for turn in turns]
        return list(_merge(list(map(_as_user, named))))
    merged = list(_merge([_named(turn, user, char, False) for turn in turns]))
    if how == "merge":
        return merged
    merged[1:] = (_as_user(turn) if turn.role == "system" else turn for turn in merged[1:])
    if how == "strict" and merged:
        if merged[0].role == "system" and (len(merged) == 1 or merged[1].role != "user"):
            merged.insert(1, _placeholder(merged[0]))
        elif merged[0].role not in ("system", "user"):
            merged.insert(0, _placeholder(merged[0]))
    return list(_merge(merged))


def _merge(turns: Sequence[Turn]) -> Iterator[Turn]:
    def joins(one: Turn, other: Turn) -> bool:
        return one.role == other.role and one.role != "tool" and not other.tool_calls

    return _merge_runs(turns, joins, "\n\n")


@Memo
def _named(turn: Turn, user: str, char: str, spoken: bool) -> Turn:
    """Return a turn with its name in its text; `spoken` also names user and character."""
    name = turn.name
    if name in _EXAMPLE_ROLES:
        name = user if name == "example_user" else char
    elif spoken and not name:
        name = {"user": user, "assistant": char}.get(turn.role, "")
    if not name:
        return turn
    prefix = "" if turn.text.plain.startswith(f"{name}: ") else f"{name}: "
    return replace(turn, name="", text=Text((Span(prefix, GLUE), *turn.text.spans)))


@Memo
def _as_user(turn: Turn) -> Turn:
    role: MessageRole = "user"
    return turn if turn.role == role else replace(turn, role=role)


@Memo
def _placeholder(first: Turn) -> Turn:
    origin = Origin(OriginKind.SETTING, "post_processing", "post-processing strict")
    rule = "The preset's post-processing puts a user message here."
    placement = replace(first.placement, kind="skeleton", rule=rule)
    return Turn("user", Text.of(PLACEHOLDER, origin), origin, placement)
