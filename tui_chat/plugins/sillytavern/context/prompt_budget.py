"""The budget policy `history_with_injections`: what is sent, in the order in which it is charged.

1. Everything around the conversation is charged first, in an order of its own, which has nothing
   to do with its place. If a message does not fit, nothing more is sent; a note of level error says
   so.
2. The conversation is charged from its newest message to the oldest, with the messages injected at
   their depths. It ends at the first that does not fit, whatever that is: a long injection blocks
   all that is older. Pinned messages are kept.
3. Example dialogues get what is left, block by block, until one does not fit; pinned, they are
   charged before the conversation.
   What is sent if nothing is typed also follows a conversation that ends with the assistant.
4. A turn costs a token more than `Counter.turn` for its role, and an empty one nothing.

These are the rules of SillyTavern's chat completions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field

from tui_chat.context.history import HistoryCosts, dropped_turn
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Dropped, Level, Note, Turn
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import MessageRole
from tui_chat.tokens import Counter

_EARLY = (
    *("worldInfoBefore", "main", "worldInfoAfter", "charDescription"),
    *("charPersonality", "scenario", "personaDescription"),
)
_LATER = ("nsfw", "jailbreak")
_LAST = "enhanceDefinitions"


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A message around the conversation: its id, its turn."""

    id: str
    turn: Turn
    is_note: bool = False
    """True if it stands beside another message."""


@dataclass(slots=True)
class PromptPlan:
    """Everything that may be sent, in its order."""

    before: Sequence[PromptSection | None]
    """Before the conversation; None stands for the example dialogues."""
    after: Sequence[PromptSection | None]
    examples: Sequence[Sequence[Turn]] = ()
    """The blocks of example dialogues, separators included."""
    has_history: bool = True
    separators: Sequence[Turn] = ()
    """What stands at the beginning of the conversation."""
    costs: HistoryCosts | None = None
    newest: Sequence[Turn] = ()
    """The draft, if there is one."""
    injections: Sequence[tuple[int, Sequence[Turn]]] = ()
    """The turns at each depth, by ascending depth."""
    withheld: Turn | None = None
    """The newest message if it is sent last instead; depths are counted with it."""
    prefilled: bool = False
    """True if depths are counted without the withheld message."""
    nudge: Sequence[Turn] = ()
    """Sent after the withheld message."""
    control: Sequence[Turn] = ()
    """Sent last of all."""
    pin_examples: bool = False
    empty_draft: Turn | None = None
    """Sent at the end of a conversation that ends with the assistant."""


@dataclass(slots=True)
class FittedPrompt:
    """What is sent."""

    turns: list[Turn] = field(default_factory=list[Turn])
    tokens: list[int] = field(default_factory=list[int])
    dropped: tuple[Dropped, ...] = ()
    fixed: int = 0
    """Tokens of everything but the history, without an allowance too."""
    history: int = 0
    dropped_tokens: int = 0
    examples_dropped: int = 0
    """Blocks of example dialogues that did not fit."""
    injections_dropped: int = 0


class _Overflow(Exception):
    """A message that must be sent does not fit."""


def cost(count: Counter, turn: Turn) -> int:
    """Return the tokens of a turn."""
    if not (turn.text.plain or turn.tool_calls or turn.parts):
        return 0
    return count.turn(turn) + 1


@recent_memo()
def _messages(costs: HistoryCosts) -> tuple[tuple[Turn, int], ...]:
    """Return the messages of a history with their tokens; empty ones cost nothing."""
    blank = set(costs.blank)
    tokens = (0 if index in blank else n + 1 for index, n in enumerate(costs.costs))
    return tuple(zip(costs.turns, tokens, strict=True))


def fit(plan: PromptPlan, count: Counter, allowance: int | None) -> FittedPrompt:
    """Return what is sent with so many tokens; None for any number."""
    return _Fitter(plan, count, allowance).run()


class _Fitter:
    def __init__(self, plan: PromptPlan, count: Counter, allowance: int | None) -> None:
        self._plan = plan
        self._count = count
        self._left = float("inf") if allowance is None else float(allowance)
        self._placed: set[int] = set()
        """Identities of the sections that fit."""
        self._blocks: list[Turn] = []
        self._history: list[Turn] = []
        self._history_tokens: list[int] = []
        self._ending: list[Turn] = []
        self._fitted = FittedPrompt()

    def run(self) -> FittedPrompt:
        """Charge everything, then put what fits into its order."""
        fitted = self._fitted
        with suppress(_Overflow):
            self._charge_all()
        self._place(self._plan.before)
        fitted.turns += self._history
        fitted.tokens += self._history_tokens
        self._place(self._plan.after)
        for turn in self._ending:
            self._add(turn)
        return fitted

    def _place(self, sections: Sequence[PromptSection | None]) -> None:
        for section in sections:
            if section is None:
                for turn in self._blocks:
                    self._add(turn)
            elif id(section) in self._placed:
                self._add(section.turn)

    def _add(self, turn: Turn) -> None:
        tokens = cost(self._count, turn)
        if tokens:
            self._fitted.turns.append(turn)
            self._fitted.tokens.append(tokens)

    def _cost(self, turns: Sequence[Turn]) -> int:
        return sum(cost(self._count, turn) for turn in turns)

    def _charge_all(self) -> None:
        plan, fitted = self._plan, self._fitted
        control = self._cost(plan.control)
        sections = list(self._sections())
        fitted.fixed = sum(cost(self._count, section.turn) for _, section in sections) + control
        if plan.has_history:
            fitted.fixed += self._cost(plan.separators) + self._cost(plan.nudge)
        for is_early in (True, False):
            for early, section in sections:
                if early is is_early:
                    self._take(cost(self._count, section.turn))
                    self._placed.add(id(section))
            if is_early:
                self._left -= control
        if plan.pin_examples:
            self._charge_examples()
        if plan.has_history:
            self._charge_history()
        if not plan.pin_examples:
            self._charge_examples()
        self._left += control
        self._take(control)
        self._ending += plan.control

    def _sections(self) -> Iterator[tuple[bool, PromptSection]]:
        """Yield the sections in the order in which they are charged, and which are early."""
        sections = [s for s in (*self._plan.before, *self._plan.after) if s is not None]
        by_id = {section.id: section for section in sections if not section.is_note}
        for identity in _EARLY:
            if identity in by_id:
                yield True, by_id[identity]
        for identity in _LATER:
            if identity in by_id:
                yield False, by_id[identity]
        known = {*_EARLY, *_LATER, _LAST}
        for section in sections:
            if not section.is_note and (
                section.id not in known or by_id[section.id] is not section
            ):
                yield False, section
        if _LAST in by_id:
            yield False, by_id[_LAST]
        for section in sections:
            if section.is_note:
                yield False, section

    def _take(self, tokens: int) -> None:
        if tokens > self._left:
            raise _Overflow
        self._left -= tokens

    def _charge_examples(self) -> None:
        for number, block in enumerate(self._plan.examples):
            tokens = self._cost(block)
            if tokens > self._left:
                self._fitted.examples_dropped = len(self._plan.examples) - number
                return
            self._left -= tokens
            self._fitted.fixed += tokens
            self._blocks += block

    # --- the conversation ------------------------------------------------------------------

    def _charge_history(self) -> None:
        plan = self._plan
        separators = self._cost(plan.separators)
        ending = [*([plan.withheld] if plan.withheld is not None else ()), *plan.nudge]
        reserved = self._cost(ending)
        self._left -= separators + reserved
        filler = plan.empty_draft if self._last_role() == "assistant" else None
        if filler is not None and (tokens := cost(self._count, filler)) <= self._left:
            self._left -= tokens
        else:
            filler, tokens = None, 0
        self._walk()
        if filler is not None:
            self._history.append(filler)
            self._history_tokens.append(tokens)
            self._fitted.fixed += tokens
        self._left += separators
        self._take(separators)
        self._history[:0] = plan.separators
        self._history_tokens[:0] = [cost(self._count, turn) for turn in plan.separators]
        self._left += reserved
        self._take(reserved)
        self._ending += ending

    def _last_role(self) -> MessageRole | None:
        """Return the role of the conversation's last message, injected ones included."""
        plan = self._plan
        deepest = next(iter(plan.injections), None)
        if deepest is not None and deepest[0] == 0:
            return deepest[1][-1].role
        stored = plan.costs.turns if plan.costs is not None else ()
        last = [*stored[-2:], *plan.newest]
        if plan.withheld is not None:
            del last[-1:]
        return last[-1].role if last else None

    def _walk(self) -> None:
        """Keep the newest part of the conversation that fits, and pinned messages."""
        plan, fitted, costs = self._plan, self._fitted, self._plan.costs
        assert costs is not None
        messages = [*_messages(costs), *((turn, cost(self._count, turn)) for turn in plan.newest)]
        length = len(messages) - plan.prefilled
        if plan.withheld is not None:
            messages.pop()
        stored = min(len(costs.turns), len(messages))
        pinned = {i for i in costs.always_kept if i < stored and costs.history[i].pinned}
        self._left -= sum(messages[index][1] for index in pinned)
        kept: list[tuple[Turn, int]] = []
        first, injected = stored, 0
        for index, (turn, tokens) in self._newest_first(messages, length):
            if index not in pinned:
                if tokens > self._left:
                    break
                self._left -= tokens
            kept.append((turn, tokens))
            if index is None or index >= stored:
                fitted.fixed += tokens
                injected += index is None
            else:
                first, fitted.history = index, fitted.history + tokens
        older = tuple(sorted(index for index in pinned if index < first))
        sent = [*(messages[index] for index in older), *reversed(kept)]
        self._history += (turn for turn, tokens in sent if tokens)
        self._history_tokens += (tokens for _, tokens in sent if tokens)
        fitted.history += sum(messages[index][1] for index in older)
        fitted.injections_dropped = sum(len(turns) for _, turns in plan.injections) - injected
        fitted.dropped = _dropped(costs, first, older)
        fitted.dropped_tokens = sum(messages[i][1] for i in range(first) if i not in pinned)

    def _newest_first(
        self, messages: Sequence[tuple[Turn, int]], length: int
    ) -> Iterator[tuple[int | None, tuple[Turn, int]]]:
        """Yield the messages with their indexes, and what is injected between them with None."""
        at = len(messages)
        for depth, turns in (*self._plan.injections, (length, ())):
            while at > max(length - depth, 0):
                at -= 1
                yield at, messages[at]
            yield from ((None, (turn, cost(self._count, turn))) for turn in reversed(turns))


@recent_memo()
def _dropped(costs: HistoryCosts, kept: int, pinned: tuple[int, ...]) -> tuple[Dropped, ...]:
    """Return the messages before the first one that is kept."""
    return tuple(
        dropped_turn(costs.turns[index], costs.costs[index] + 1)
        for index in range(kept)
        if index not in pinned
    )


def fitting_notes(fitted: FittedPrompt) -> Iterator[Note]:
    """Yield notes about example dialogues and injected messages that did not fit."""
    if fitted.examples_dropped:
        blocks = "block" if fitted.examples_dropped == 1 else "blocks"
        sentence = f"The last {fitted.examples_dropped} {blocks} of example dialogues did not fit."
        yield Note(Level.WARNING, "examples-dropped", sentence)
    if fitted.injections_dropped:
        messages = "message" if fitted.injections_dropped == 1 else "messages"
        sentence = (
            f"{fitted.injections_dropped} injected {messages} did not fit: they stand at or above "
            "the place at which the conversation was cut."
        )
        yield Note(Level.WARNING, "injections-dropped", sentence)
