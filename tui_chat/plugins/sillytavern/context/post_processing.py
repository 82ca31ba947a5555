"""What is done to the finished list of turns: squashing, and the post-processing of some servers.

1. Squashed: consecutive system turns without a name are one, joined with line breaks. The
   separators of the conversation and of example dialogues stay alone.
2. `merge`: names go into the text (`example_user` and `example_assistant` are the user's and the
   character's); neighbors of one role are one turn, joined with a blank line. `semi`: then all
   system turns but the first are the user's, and it is merged again. `strict`: also, a user's turn
   follows the system turn. `single`: one turn of the user, with the names of user and character
   before the texts of their turns.
3. System turns as the user's, for protocols that take a system prompt apart from the messages.
4. A turn that is made of several is the same object as long as those are, so that it is encoded
   once. Characters keep their origins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from tui_chat.context.sent_texts import split_turns
from tui_chat.models.blocks import ResultBlock
from tui_chat.models.envelope import Placement, Turn, kept_blocks, text_turn, with_text
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.text import GLUE, Origin, OriginKind, Span, Text
from tui_chat.plugins.sillytavern.policies import PostProcessing

PLACEHOLDER = "[Start a new chat]"
"""The user's turn that `strict` adds."""
_EXAMPLE_ROLES = ("example_user", "example_assistant")


@Memo
def _merged(first: Turn, others: tuple[Turn, ...], separator: str) -> Turn:
    """Return turns as one, of the role of the first."""
    rule = f"{first.placement.rule} It is sent as one message with {len(others)} after it."
    text = Text.join(separator, (first.text, *(turn.text for turn in others)))
    merged = with_text(first, text)
    calls = len(first.tool_calls)  # they are last
    end = len(merged.blocks) - calls
    parts = tuple(part for turn in others for part in turn.parts)
    return replace(
        merged,
        blocks=(*merged.blocks[:end], *parts, *merged.blocks[end:]),
        placement=replace(first.placement, rule=rule),
        # Copies: what is remembered for the first must not refer to it.
        pieces=tuple(replace(piece) for piece in split_turns((first, *others))),
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


def squash(
    turns: Sequence[Turn], separators: frozenset[int], gaps: frozenset[int] = frozenset()
) -> Sequence[Turn]:
    """Merge consecutive system turns; `separators` are the identities of those that stay alone,
    `gaps` of those that are not merged with the turn before them.
    """

    def is_merged(turn: Turn) -> bool:
        return turn.role == "system" and not turn.name and id(turn) not in separators

    def joins(one: Turn, other: Turn) -> bool:
        return is_merged(one) and is_merged(other) and id(other) not in gaps

    return list(_merge_runs(turns, joins, "\n"))


def post_process(
    turns: Sequence[Turn], how: PostProcessing, user: str, char: str
) -> Sequence[Turn]:
    """Return the turns after post-processing; `user` and `char` are the names."""
    if not how:
        return turns
    merged = list(_merge([_named(turn, user, char, how == "single") for turn in turns]))
    if not merged:
        return [_placeholder(None)]
    if how in ("semi", "strict"):
        merged[1:] = (_as_user(turn) if turn.role == "system" else turn for turn in merged[1:])
    if how == "strict":
        if merged[0].role == "system" and (len(merged) == 1 or merged[1].role != "user"):
            merged.insert(1, _placeholder(merged[0]))
        elif merged[0].role not in ("system", "user"):
            merged.insert(0, _placeholder(merged[0]))
    return list(_merge(merged)) if how in ("semi", "strict") else merged


def _merge(turns: Sequence[Turn]) -> Iterator[Turn]:
    def joins(one: Turn, other: Turn) -> bool:
        return one.role == other.role and one.role != "tool" and not other.tool_calls

    return _merge_runs(turns, joins, "\n\n")


@Memo
def _named(turn: Turn, user: str, char: str, single: bool) -> Turn:
    """Return a turn with its name in its text; `single` also names user and character, and makes
    all turns the user's.
    """
    names = [turn.name] if turn.name and turn.role != "system" else []
    if turn.role == "system" and turn.name in _EXAMPLE_ROLES:
        names = [user if turn.name == "example_user" else char]
    if single and turn.role in ("user", "assistant"):
        names.append(user if turn.role == "user" else char)
    text = before = turn.text
    for name in names:
        if name and not text.plain.startswith(f"{name}: "):
            text = Text((Span(f"{name}: ", GLUE), *text.spans))
    if text is before and not turn.name and not single:
        return turn
    turn = turn if text is before else with_text(turn, text)
    if not single:
        return replace(turn, name="")
    said = kept_blocks(
        turn, [i for i, block in enumerate(turn.blocks) if not isinstance(block, ResultBlock)]
    )
    return replace(said, name="", role="user")


def system_as_user(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns with those of the system as the user's."""
    return [_as_user(turn) if turn.role == "system" else turn for turn in turns]


def system_first(turns: Sequence[Turn], user: str, char: str) -> Sequence[Turn]:
    """Return the turns as SillyTavern gives them to a protocol with a system prompt apart from the
    messages: names go into the texts, and after the first message system turns are the user's.
    """
    named = [_named(turn, user, char, False) for turn in turns]
    begins = next((at for at, turn in enumerate(named) if turn.role != "system"), len(named))
    return [*named[:begins], *system_as_user(named[begins:])]


@Memo
def _as_user(turn: Turn) -> Turn:
    role: MessageRole = "user"
    return turn if turn.role == role else replace(turn, role=role)


@lru_cache(maxsize=8)
def _placeholder(_: Turn | None) -> Turn:
    """Return the user's turn that is added: the same object for the same first turn."""
    origin = Origin(OriginKind.SETTING, "post_processing", "post-processing")
    rule = "The preset's post-processing puts a user message here."
    return text_turn("user", Text.of(PLACEHOLDER, origin), origin, Placement("skeleton", rule=rule))
