"""The search of lorebooks: which entries are active in a request, and why.

1. The newest messages are searched as the scripts change them, the draft being the newest; each
   entry or its book says how many. Depth 0 searches nothing. The names of the speakers stand before
   the texts, and the session's rules may have more messages searched until enough entries are
   active. Other texts, such as the author's note or fields of the card, are searched with them.
2. An entry is activated if it is constant, sticky from before, or if one of its keys occurs there
   and its secondary keys meet their condition. `conditions` says what may hold it back.
3. The content of activated entries is searched in turn and may activate others, as often as their
   book allows, but at most `MAX_ROUNDS` times, and `MAX_SEARCHED_ENTRIES` entries in all, with a
   note. `prevent_recursion` and `exclude_recursion` limit this, and the search goes on level by
   level of `delay_until_recursion`. Entries that lost in their group, or did not fit into the
   budget, take part in later rounds.
4. Of the entries of one group that a round activates, one remains. Then its `probability` is drawn
   once for an entry, a session and a number of messages.
5. Entries of higher `order` get their tokens first; at equal order the earlier book, then the
   earlier entry. A note names the entries that did not fit into a budget.
6. They are sent in reverse: the most important one is last, nearest to the newest message. Of those
   of the same `order` the one that was activated last is first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from tui_chat.context.inputs import NOTHING_TO_ADD, Contribution, Inputs
from tui_chat.context.macros.expansion import Expander
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.context.session_texts import searched_texts
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import LorebookEntry, SecondaryLogic
from tui_chat.models.message import Message, message_origin
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.context.scripts import changed_message, scripts_of
from tui_chat.plugins.sillytavern.lore.budget import LoreBudget, session_limit
from tui_chat.plugins.sillytavern.lore.conditions import Conditions, is_drawn, remaining
from tui_chat.plugins.sillytavern.lore.index import (
    Candidate,
    entry_name,
    lore_index,
    resolve_entry,
)
from tui_chat.plugins.sillytavern.lore.keys import Key
from tui_chat.plugins.sillytavern.lore.rules import goes_by_position, search_rules, searched_books
from tui_chat.tokens import Counter

MAX_ROUNDS = 50
MAX_SEARCHED_ENTRIES = 500
MAX_DEPTH = 1_000
"""The most messages that are searched for an entry."""
MARK = "\x01"
"""What each of the texts that are searched together begins with."""
_LORE = Origin(OriginKind.LORE, "lore", "lore")

Place: TypeAlias = Message | LorebookEntry | str
"""Where a key occurs: a message, the content of an active entry, another text by its name."""
State: TypeAlias = Literal["first", "recursion", "wider"]
"""What a round searches: the conversation, the content of entries too, more messages."""


class EntryState(Enum):
    """What became of an entry in a request."""

    ABSENT = "absent"
    """None of its keys was found, or it has none."""
    ACTIVE = "active"
    HELD_BACK = "held_back"
    """A key was found, or it needs none, but a rule kept it out."""
    DISABLED = "disabled"


class Cause(NamedTuple):
    """What activates an entry."""

    kind: Literal["constant", "sticky", "blank key", "key"]
    key: str = ""
    where: Place = ""


class _SearchedText(NamedTuple):
    place: Place
    text: str
    keys: frozenset[Key]
    """The keys in it, but for those that span texts."""


class _Window:
    """The texts that are searched for an entry, the newest first."""

    def __init__(self, texts: Sequence[_SearchedText]) -> None:
        self._texts = texts
        self.where = {key: each.place for each in reversed(texts) for key in each.keys}
        """The newest text with a key, for those that do not span texts."""

    @cached_property
    def _joined(self) -> str:
        return "\n".join(each.text for each in self._texts)

    def place_of(self, key: Key) -> Place | None:
        """Return the newest text in which a key that spans texts occurs; None for none."""
        if not key.text.strip():
            return "text" if key.text else None
        if not self._texts or not key.occurs_in(self._joined):
            return None
        places = (each.place for each in self._texts if key.occurs_in(each.text))
        return next(places, "conversation")


class LoreSearch:
    """The search of one request, in rounds."""

    def __init__(self, inputs: Inputs, count: Counter) -> None:
        self._inputs = inputs
        self._rules = search_rules(inputs)
        self.books = searched_books(inputs)
        self.index = lore_index(self.books, self._rules.tiers)
        self.length = len(inputs.history) + inputs.has_draft
        """Messages of the conversation."""
        self._seed = f"{inputs.session_seed} {self.length}"
        """The seed of draws: the same for all requests for one reply."""
        self._conditions = Conditions(inputs, self.length)
        timed, candidates = self._conditions.timed, enumerate(self.index.candidates)
        self._timed = [rank for rank, each in candidates if timed and each.timer_key in timed]
        """The ranks of entries with timers."""
        self.limit = session_limit(inputs)
        """The session's budget; None for none."""
        self.budget = LoreBudget(count, self.limit)
        self._expander = Expander(inputs)
        self._contents: dict[int, str] = {}
        """The expanded content of entries, by their identity."""
        depth = MAX_DEPTH if self._rules.min_activations else min(self.index.depth, MAX_DEPTH)
        self._texts = list(self._conversation(depth))
        self._others = [
            self._searched(each.message.name, each.message.content, each.is_card)
            for each in searched_texts(inputs)
        ]
        self._contents_searched: list[_SearchedText] = []
        """The contents of activated entries that have been searched."""
        self._waiting: list[LorebookEntry] = []
        """Activated entries whose content the next round searches."""
        self._known: set[int] = set()
        """The identities of these, and of all before."""
        self._unsearched = 0
        """Number of further activated entries, whose content is not searched."""
        self._windows: dict[object, _Window] = {}
        self._wider = 0
        """How many messages more than usual are searched."""
        self.active: dict[int, Cause] = {}
        """The active entries by rank, in the order of activation."""
        self._lost: set[int] = set()
        """Ranks of entries whose keys occur and that were not activated."""
        self._done: set[int] = set()
        """Ranks that no later round looks at."""
        self._hit_round_limit = False
        self._run()

    # --- the texts -------------------------------------------------------------------------

    def _conversation(self, depth: int) -> Iterator[_SearchedText]:
        """Yield the newest messages, the draft included."""
        inputs, scripts = self._inputs, scripts_of(self._inputs)
        names = {"user": inputs.user_name} if self._rules.names else None
        follow = inputs.has_draft - (inputs.chat.kind == "continue")  # as changes count messages

        def read(place: Place, text: str, role: str, name: str, after: int) -> _SearchedText:
            if scripts:
                text = changed_message(scripts, text, role, after)
            if names is not None:
                text = f"{name or names.get(role, inputs.char_name)}: {text}"
            text = MARK + text.strip()
            keys = self.index.keys
            is_typed = isinstance(place, str)
            found = keys.found(text) if is_typed else keys.found_in(place, text)
            return _SearchedText(place, text, found)

        if depth > 0 and inputs.has_draft:
            answered = inputs.answered
            name = "" if answered is None else answered.name
            yield read(answered or "draft", inputs.draft, "user", name, follow - 1)
        newest = islice(reversed(inputs.history), max(depth - inputs.has_draft, 0))
        for number, each in enumerate(newest):
            yield read(each, each.content, each.role, each.name or each.tool_name, follow + number)

    def _searched(self, name: str, text: str, is_card: bool) -> _SearchedText:
        text = MARK + self._expander.expand_text(text, _LORE, is_card=is_card)
        return _SearchedText(name, text, self.index.keys.found(text))

    def _sources(self, entry: LorebookEntry) -> Iterator[_SearchedText]:
        """Yield the texts of profile and card that are searched for an entry."""
        role, profile = self._inputs.active_role, self._inputs.profile
        card = None if role is None else role.character
        for source in entry.sources:
            if source == "persona":
                text = profile.content if profile is not None else ""
            elif source == "depth_prompt":
                prompt = card.depth_prompt if card is not None else None
                text = prompt.content if prompt is not None else ""
            else:
                text = getattr(card, source) if card is not None else ""
            if text:
                yield self._searched(source.replace("_", " "), text, source != "persona")

    def _content(self, entry: LorebookEntry) -> str:
        """Return the content of an entry as it is searched and charged, expanded once."""
        if id(entry) not in self._contents:
            self._contents[id(entry)] = self._expander.expand_text(entry.content, _LORE)
        return self._contents[id(entry)]

    def _search_contents(self) -> None:
        """Search the content of the entries that the last round activated."""
        for entry in self._waiting:
            if content := self._content(entry):
                text = MARK + content
                keys = self.index.keys.found_in(entry, text)
                self._contents_searched.append(_SearchedText(entry, text, keys))
        self._waiting = []

    def depth(self, candidate: Candidate) -> int:
        """Return how many of the newest texts are searched for the keys of an entry."""
        own = candidate.entry.scan_depth
        depth = candidate.book.scan_depth + self._wider if own is None else own
        return min(max(depth, 0), MAX_DEPTH)

    def _window(self, candidate: Candidate, state: State) -> _Window:
        depth, entry = self.depth(candidate), candidate.entry
        contents = () if state == "wider" else self._contents_searched
        key = depth, entry.sources, len(contents)
        if key not in self._windows:
            texts: Sequence[_SearchedText] = ()
            if depth > 0:
                others = (*self._sources(entry), *self._others, *contents)
                texts = (*self._texts[:depth], *others)
            self._windows[key] = _Window(texts)
        return self._windows[key]

    def _places(self, candidate: Candidate, state: State) -> dict[Key, Place]:
        """Return the keys of an entry that occur, each with where."""
        window, found = self._window(candidate, state), dict[Key, Place]()
        for key in (*candidate.keys, *candidate.secondary):
            place = window.where.get(key)
            if key in self.index.spanning:
                text = self._expanded(key.text)
                place = window.place_of(key if text == key.text else key._replace(text=text))
            if place is not None:
                found[key] = place
        return found

    def _expanded(self, text: str) -> str:
        return self._expander.expand_text(text, _LORE)

    # --- the rounds ------------------------------------------------------------------------

    def _run(self) -> None:
        """Activate entries, round by round."""
        levels = list(self.index.levels)
        level, state = levels.pop(0) if levels else 0, "first"
        wanted = max((book.max_recursion for book in self.books), default=0) + 1
        step = 0
        while step - self._wider < min(wanted, MAX_ROUNDS + 1):
            self._round(state, level)
            step += 1
            has_more = bool(self._waiting or (state == "wider" and self._contents_searched))
            self._search_contents()
            if has_more and self.index.recursive and not self.budget.overflowed:
                state = "recursion"
            elif self._widens():
                state = "wider"
            elif levels:
                state, level = "recursion", levels.pop(0)
            else:
                return
        self._hit_round_limit = wanted > MAX_ROUNDS + 1

    def _widens(self) -> bool:
        """Search one message more, if too few entries are active; else False."""
        rules = self._rules
        if self.budget.overflowed or len(self.active) >= rules.min_activations:
            return False
        depth = max((book.scan_depth for book in self.books), default=0) + self._wider
        most = min(rules.min_activations_depth or self.length, self.length)
        if depth > min(most, MAX_DEPTH):
            return False
        self._wider += 1
        while depth < most and not (self.index.spanning or self._texts[depth].keys):
            depth += 1  # nothing is found there
            self._wider += 1
        return True

    def _possible(self) -> list[int]:
        """Return the ranks that may have a matching key or need none, in their order."""
        texts = (*self._texts, *self._others, *self._contents_searched)
        keys = frozenset[Key]().union(*(each.keys for each in texts))
        by_key = self.index.by_key
        ranks = {rank for key in keys for rank in by_key.get(key, ())}
        return sorted(ranks.union(self.index.always, self._timed))

    def _round(self, state: State, level: int) -> None:
        """Activate the entries that one round finds."""
        candidates = self.index.candidates
        found: dict[int, Cause] = {}
        for rank in self._possible():
            candidate = candidates[rank]
            if rank in self._done or not self._may_activate(candidate, state, level):
                continue
            if (cause := self._cause(candidate, state)) is not None:
                found[rank] = cause
        sticky = {rank for rank in found if self._conditions.is_sticky(candidates[rank])}
        ranks = sorted(found, key=lambda rank: rank not in sticky)
        kept = remaining(
            {rank: candidates[rank].entry for rank in ranks},
            [candidates[rank].entry for rank in self.active],
            sticky,
            self._rules.group_scoring,
            lambda rank: self._score(candidates[rank], state),
            self._seed,
        )
        self.budget.begin_round()
        for rank in ranks:
            candidate = candidates[rank]
            self._lost.add(rank)
            if rank not in kept:
                continue
            if not (rank in sticky or is_drawn(candidate, self._seed)):
                self._done.add(rank)
                continue
            if self.budget.charge(candidate, self._content(candidate.entry)):
                self._done.add(rank)
                self._lost.discard(rank)
                self.active[rank] = found[rank]
            self._search_later(candidate.entry)  # also one that did not fit, if the search goes on

    def _search_later(self, entry: LorebookEntry) -> None:
        """Have the content of an entry searched before the next round."""
        if entry.prevent_recursion or id(entry) in self._known:
            return
        if len(self._known) < MAX_SEARCHED_ENTRIES:
            self._known.add(id(entry))
            self._waiting.append(entry)
        else:
            self._unsearched += 1

    def _may_activate(self, candidate: Candidate, state: State, level: int) -> bool:
        """True if a round may activate an entry whose keys occur."""
        entry = candidate.entry
        if self._conditions.hold_back(candidate):
            return False
        if self._conditions.is_sticky(candidate):
            return True
        if state != "recursion":
            return not entry.delay_until_recursion
        if entry.delay_until_recursion > level:
            return False
        return not (candidate.book.recursive and entry.exclude_recursion)

    def _cause(self, candidate: Candidate, state: State) -> Cause | None:
        """Return what activates an entry; None if nothing does."""
        if candidate.entry.constant:
            return Cause("constant")
        if self._conditions.is_sticky(candidate):
            return Cause("sticky")
        places = self._places(candidate, state)
        occur = [key in places for key in candidate.secondary]
        if not _secondary_hold(candidate.entry.secondary_logic, occur):
            return None
        return self._newest(candidate, places)

    @cached_property
    def _order(self) -> dict[int, int]:
        """The order of the messages by their identity, the newest first."""
        return {id(each.place): number for number, each in enumerate(self._texts)}

    def _newest(self, candidate: Candidate, places: dict[Key, Place]) -> Cause | None:
        """Return the primary key that occurs in the newest text; None for none."""
        order = self._order
        keys = [key for key in candidate.keys if key in places]
        if not keys:
            return None
        key = min(keys, key=lambda each: order.get(id(places[each]), len(order)))
        kind = "key" if key.text.strip() else "blank key"
        return Cause(kind, self._expanded(key.text), places[key])

    def _score(self, candidate: Candidate, state: State) -> int:
        """Return how many keys of an entry occur; those with macros do not count."""
        places = {key for key in self._places(candidate, state) if "{{" not in key.text}
        primary = sum(key in places for key in candidate.keys)
        secondary = sum(key in places for key in candidate.secondary)
        logic = candidate.entry.secondary_logic
        counts = logic == "and_any" or (
            logic == "and_all" and secondary == len(candidate.secondary)
        )
        return primary + secondary * counts if candidate.keys else 0

    # --- what was found --------------------------------------------------------------------

    def outcome(self, rank: int) -> tuple[EntryState, Cause | None]:
        """Return the state of an entry, and the key or rule behind it."""
        candidate = self.index.candidates[rank]
        if (cause := self.active.get(rank)) is not None:
            return EntryState.ACTIVE, cause
        cause = self._newest(candidate, self._places(candidate, "recursion"))
        is_held = rank in self._lost or cause is not None or candidate.entry.constant
        return (EntryState.HELD_BACK if is_held else EntryState.ABSENT), cause

    def why(self, rank: int, cause: Cause) -> str:
        """Say why an entry is active."""
        match cause.kind:
            case "constant":
                return "This lore entry is always active."
            case "sticky":
                end = self._conditions.end_of_sticky(self.index.candidates[rank])
                return f"This lore entry stays active until there are {end:,} messages."
            case "blank key":
                return "This lore entry is active because one of its keys is blank."
            case "key":
                return f"This lore entry is active because {occurrence(cause)}."

    def notes(self) -> Iterator[Note]:
        """Yield notes about keys, entries that did not fit, and texts that were not searched."""
        yield from self.index.notes
        if self._hit_round_limit:
            sentence = f"Lore entries activated others for {MAX_ROUNDS} rounds, the maximum."
            yield Note(Level.WARNING, "lore-not-searched", sentence)
        if self._unsearched:
            sentence = (
                f"The content of {MAX_SEARCHED_ENTRIES:,} active lore entries was searched for "
                f"keys; that of {self._unsearched:,} more was not."
            )
            yield Note(Level.WARNING, "lore-not-searched", sentence)
        yield from self.budget.notes()

    def lines(self) -> Iterator[tuple[LorebookEntry, ResolvedMessage]]:
        """Yield the active entries with their messages, the most important last."""
        candidates = self.index.candidates
        latest_first = tuple(reversed(self.active))
        for rank in sorted(latest_first, key=lambda rank: candidates[rank].entry.order):
            candidate, why = candidates[rank], self.why(rank, self.active[rank])
            yield candidate.entry, resolve_entry(candidate.entry, candidate.book.name, why)


def _secondary_hold(logic: SecondaryLogic, occur: Sequence[bool]) -> bool:
    if not occur:
        return True
    match logic:
        case "and_any":
            return any(occur)
        case "and_all":
            return all(occur)
        case "not_any":
            return not any(occur)
        case "not_all":
            return not all(occur)


def occurrence(cause: Cause) -> str:
    """Say which key occurs, and where."""
    match cause.where:
        case Message() as message:
            place = message_origin(message).label
        case LorebookEntry() as entry:
            place = f"the lore entry “{entry_name(entry)}”"
        case name:
            place = f"the {name}"
    return f"“{cause.key}” occurs in {place}"


def search_lorebooks(inputs: Inputs, count: Counter) -> Contribution:
    """Return the active entries as messages, and those for places by the place."""
    if not inputs.lorebooks:
        return NOTHING_TO_ADD
    search = LoreSearch(inputs, count)
    notes, messages = list(search.notes()), list[ResolvedMessage]()
    by_position = goes_by_position(inputs.preset)
    places: dict[str, list[ResolvedMessage]] = {}
    for entry, line in search.lines():
        if by_position and entry.position:
            is_outlet = entry.position == "outlet"
            place = f"outlet {entry.outlet}" if is_outlet else entry.position
            places.setdefault(place, []).append(line)
        elif entry.position != "outlet":
            messages.append(line)
        else:
            sentence = (
                f"The lore entry {line.called} is active and not sent: the preset "
                f"“{inputs.preset.name}” has no outlets."
            )
            notes.append(Note(Level.WARNING, "lore-not-sent", sentence, line.origin))
    found = {place: tuple(lines) for place, lines in places.items()}
    return Contribution(tuple(messages), tuple(notes), found)
