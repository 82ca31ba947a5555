"""SillyTavern's rules of activation, checked against a scan that joins all texts for each key.

The scan is slow and short: each round searches the joined texts of each entry for each of its keys
with Python's `re`. The timers over the turns of a conversation are checked against one scan for
each turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.contexts import ENDPOINT, LETTERS
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.role import Character, Role
from tui_chat.models.settings import AuthorNote, LoreRules, LoreTimer
from tui_chat.plugins.sillytavern.lore.budget import session_limit
from tui_chat.plugins.sillytavern.lore.rules import search_rules
from tui_chat.plugins.sillytavern.lore.search import LoreSearch
from tui_chat.plugins.sillytavern.lore.timers import with_lore_timers
from tui_chat.plugins.sillytavern.policies import Policies, policy_values
from tui_chat.tokens import Counter

PRESET = Preset("p", policies=policy_values(Policies(depths="joined", expand_history=True)))
FRAMING = 6


@dataclass
class Scan:
    """The entries that one request activates, by their order in the book."""

    inputs: Inputs
    book: Lorebook
    active: list[LorebookEntry] = field(default_factory=list[LorebookEntry])
    recursed: list[str] = field(default_factory=list[str])
    """The texts that rounds add, one for each."""
    counted: str = ""
    overflowed: bool = False
    wider: int = 0
    level: int = 0
    state: str = "initial"

    def run(self) -> list[str]:
        entries = sorted((e for e in self.book.entries if e.enabled), key=lambda e: -e.order)
        levels = sorted({e.delay_until_recursion for e in self.book.entries} - {0})
        self.level = levels.pop(0) if levels else 0
        rounds, self.state = 0, "initial"
        while self.state and rounds <= self.book.max_recursion:
            rounds += self.state != "wider"
            found = [e for e in entries if e not in self.active and self._matches(e)]
            found.sort(key=lambda e: not self._timer("sticky", e))
            added = self._activate(self._of_groups(found))
            texts = [self._expanded(e.content) for e in added if not e.prevent_recursion]
            following = ""
            may_recurse = bool(texts or (self.state == "wider" and self.recursed))
            if may_recurse and not self.overflowed and self.book.recursive:
                following = "recursion"
            rules = search_rules(self.inputs)
            if not (following or self.overflowed) and len(self.active) < rules.min_activations:
                depth = self.book.scan_depth + self.wider
                if depth <= (rules.min_activations_depth or self._length) and depth <= self._length:
                    self.wider += 1
                    following = "wider"
            if not following and levels:
                following, self.level = "recursion", levels.pop(0)
            if following and (text := "\n".join(texts)):
                self.recursed.append(text)
                self.counted = f"{text}\n{self.counted}"
            self.state = following
        return [entry.id for entry in self.active]

    @property
    def _length(self) -> int:
        return len(self.inputs.history) + self.inputs.has_draft

    def _matches(self, entry: LorebookEntry) -> bool:
        sticky = self._timer("sticky", entry)
        paused = self._timer("cooldown", entry) or (entry.cooldown and self._has_ended(entry))
        if self._length < entry.delay or (paused and not sticky):
            return False
        recursion = self.state == "recursion"
        is_open = recursion and entry.delay_until_recursion <= self.level
        if entry.delay_until_recursion and not sticky and not is_open:
            return False
        if recursion and self.book.recursive and entry.exclude_recursion and not sticky:
            return False
        if entry.constant or sticky:
            return True
        text = self._text(entry)
        if not any(self._occurs(key, text, entry) for key in entry.keys):
            return False
        occur = [self._occurs(key, text, entry) for key in entry.secondary_keys]
        if not occur:
            return True
        match entry.secondary_logic:
            case "and_any":
                return any(occur)
            case "and_all":
                return all(occur)
            case "not_any":
                return not any(occur)
            case "not_all":
                return not all(occur)

    def _text(self, entry: LorebookEntry) -> str:
        own = entry.scan_depth
        depth = self.book.scan_depth + self.wider if own is None else own
        if depth <= 0:
            return ""
        said = [("user", self.inputs.draft)] if self.inputs.has_draft else []
        said += [(m.role, m.content) for m in reversed(self.inputs.history)]
        names = {"user": "User", "assistant": "Ann", "system": "Ann"}
        prefix = search_rules(self.inputs).names
        texts = [f"{names[r]}: {t}".strip() if prefix else t.strip() for r, t in said[:depth]]
        role = self.inputs.role
        assert role is not None
        assert role.character is not None
        sources = [str(getattr(role.character, source)) for source in entry.sources]
        note = self.inputs.settings.author_note
        injected = [note.text] if note is not None and note.searched else []
        recursed = self.recursed if self.state != "wider" else []
        searched = (*filter(None, sources), *injected, *recursed)
        return "\x01" + "\n\x01".join(("\n\x01".join(texts), *searched))

    def _occurs(self, key: str, text: str, entry: LorebookEntry) -> bool:
        if not key:
            return False
        wanted = self._expanded(key).strip()
        if pattern := re.fullmatch(r"/(.+)/(\w*)", wanted):
            source = re.sub(r"\$(?!\w)", r"\\Z", pattern[1])
            letters = sum(re.RegexFlag[letter.upper()] for letter in pattern[2] if letter != "y")
            search = re.match if "y" in pattern[2] else re.search
            return search(source, text, letters | re.ASCII) is not None
        case = self.book.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        whole = self.book.whole_words if entry.whole_words is None else entry.whole_words
        if not case:
            wanted, text = wanted.lower(), text.lower()
        if whole and len(wanted.split()) <= 1:
            bounded = rf"(?:^|\W){re.escape(wanted)}(?:$|\W)"
            return re.search(bounded, text, re.ASCII) is not None
        return wanted in text

    def _expanded(self, text: str) -> str:
        for macro, value in (("{{user}}", "User"), ("{{char}}", "Ann"), ("{{getvar::v}}", "owl")):
            text = text.replace(macro, value)
        return text

    def _of_groups(self, found: list[LorebookEntry]) -> list[LorebookEntry]:
        """Keep one entry of a group: the sticky ones, else the highest that overrides."""
        kept = list(found)
        if members := [e for e in found if e.groups]:
            sticky = [e for e in members if self._timer("sticky", e)]
            if sticky:
                losers = [e for e in members if e not in sticky]
            elif any(e.groups for e in self.active):
                losers = members
            else:
                best = max(members, key=lambda e: e.order)
                losers = [e for e in members if e is not best]
            for entry in losers:
                kept.remove(entry)
        return kept

    def _activate(self, found: list[LorebookEntry]) -> list[LorebookEntry]:
        """Activate the entries that are drawn and fit; return those that were drawn."""
        limit, text, drawn = session_limit(self.inputs), "", list[LorebookEntry]()
        for entry in found:
            if self.overflowed and not entry.ignore_budget:
                drawn.append(entry)
                continue
            drawn.append(entry)
            text += self._expanded(entry.content) + "\n"
            if not entry.ignore_budget and limit is not None:
                cost = sum(len(each) + FRAMING for each in (self.counted, text) if each)
                if cost >= limit:
                    self.overflowed = True
                    continue
            self.active.append(entry)
        return drawn

    def _has_ended(self, entry: LorebookEntry) -> bool:
        sticky = (t for t in self.inputs.chat.timers if (t.kind, t.entry) == ("sticky", entry.id))
        return any(timer.start < self._length and timer.end <= self._length for timer in sticky)

    def _timer(self, kind: str, entry: LorebookEntry) -> bool:
        for timer in self.inputs.chat.timers:
            if timer.kind == kind and timer.entry == entry.id:
                return self._length < timer.end and (timer.start < self._length or timer.protected)
        return False


WORDS = ("fox", "den", "owl", "Fox", "a fox", "xfox", "user", "ann", "old\nden", "")
KEYS = (
    *("fox", "den", "owl", "a fox", "{{char}}", "{{user}}: ", "{{getvar::v}}", " ", "", "Fox"),
    *("/f.x/", "/^fox/m", r"/\Wden$/", r"/fox\s+\x01?\w+: den/", "/[^a]owl/i", "/fo(x|y) ?$/"),
    *(r"/old\sden/", "/{{char}}: den/", r"/d[^o]+owl/s", "/den/y", r"/\bowl\b/i"),
)
SAID = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
CONTENT = st.sampled_from(("", "the fox", "a den", "{{char}}", "old", "{{getvar::v}} x", "y" * 30))
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(("user", "assistant", "system")), SAID), max_size=7
)
ENTRY = st.builds(
    LorebookEntry,
    st.just(""),
    CONTENT,
    st.lists(st.sampled_from(KEYS), max_size=2).map(tuple),
    enabled=st.sampled_from((True, True, True, False)),
    constant=st.sampled_from((False, False, False, True)),
    secondary_keys=st.lists(st.sampled_from(KEYS), max_size=2).map(tuple),
    secondary_logic=st.sampled_from(("and_any", "and_all", "not_any", "not_all")),
    order=st.integers(0, 4),
    scan_depth=st.sampled_from((None, None, 0, 1, 3)),
    case_sensitive=st.sampled_from((None, True)),
    whole_words=st.sampled_from((None, False)),
    prevent_recursion=st.booleans(),
    exclude_recursion=st.booleans(),
    delay_until_recursion=st.sampled_from((0, 0, 0, 1, 2)),
    ignore_budget=st.booleans(),
    delay=st.sampled_from((0, 0, 3)),
    groups=st.sampled_from(((), (), ("g",))),
    group_override=st.just(True),
    sources=st.sampled_from(((), (), ("description", "scenario"))),
    sticky=st.sampled_from((0, 0, 2)),
    cooldown=st.sampled_from((0, 0, 3)),
)
BOOK = st.builds(
    lambda entries, **more: Lorebook(
        "b", tuple(replace(entry, id=str(n)) for n, entry in enumerate(entries)), **more
    ),
    st.lists(ENTRY, max_size=6),
    scan_depth=st.integers(0, 3),
    recursive=st.booleans(),
    max_recursion=st.just(40),
    case_sensitive=st.booleans(),
    whole_words=st.booleans(),
)
RULES = st.builds(
    LoreRules,
    names=st.booleans(),
    token_budget=st.sampled_from((None, None, 60)),
    min_activations=st.sampled_from((0, 0, 2, 9)),
    min_activations_depth=st.sampled_from((0, 2)),
)
TIMERS = st.lists(
    st.builds(
        LoreTimer,
        st.just("b"),
        st.sampled_from("012"),
        st.sampled_from(("sticky", "cooldown")),
        st.integers(0, 5),
        st.integers(3, 8),
    ),
    max_size=3,
    unique_by=lambda timer: (timer.kind, timer.entry),
)
REQUEST = st.builds(
    lambda history, draft, book, rules, note: Inputs(
        ENDPOINT,
        PRESET,
        tuple(replace(message, id=str(n)) for n, message in enumerate(history)),
        draft,
        role=Role("r", "Ann", character=Character(description="a den", scenario="an owl")),
        settings=SessionSettings(author_note=note, lore=rules),
        lorebooks=(book,),
        variables={"v": "owl"},
    ),
    MESSAGES,
    SAID,
    BOOK,
    RULES,
    st.sampled_from((None, AuthorNote("old fox", searched=True))),
)


def active(inputs: Inputs, count: Counter = LETTERS) -> Sequence[str]:
    search = LoreSearch(inputs, count)
    return [search.index.candidates[rank].entry.id for rank in search.active]


@settings(max_examples=250, deadline=None)
@given(REQUEST, TIMERS)
def test_the_same_entries_are_active_as_in_a_slow_scan(request: Inputs, timers: list[LoreTimer]):
    book = request.lorebooks[0]
    timed = {(kind, e.id) for e in book.entries for kind in ("sticky", "cooldown")
             if getattr(e, kind)}  # fmt: skip
    kept = tuple(
        replace(timer, protected=timer.kind == "cooldown" and timer.start % 2 == 0)
        for timer in timers
        if (timer.kind, timer.entry) in timed
    )
    request = replace(request, chat=replace(request.chat, timers=kept))
    assert active(request) == Scan(request, book).run()


@settings(max_examples=80, deadline=None)
@given(REQUEST, st.integers(0, 7))
def test_the_timers_are_those_of_a_slow_scan_for_each_turn(request: Inputs, known: int):
    book = request.lorebooks[0]
    timers: dict[tuple[str, str], LoreTimer] = {}
    for at, message in enumerate(request.history):
        if not at or message.role != "assistant":
            continue
        chat = replace(request.chat, timers=tuple(timers.values()))
        turn = replace(request, history=request.history[:at], draft="", chat=chat)
        ended = {e for (kind, e), timer in timers.items() if kind == "sticky" and timer.end <= at}
        timers = {key: timer for key, timer in timers.items() if timer.start < at < timer.end}
        paused = {e.id: e.cooldown for e in book.entries if e.id in ended and e.cooldown}
        for entry, cooldown in paused.items():
            timer = LoreTimer("b", entry, "cooldown", at, at + cooldown, protected=True)
            timers["cooldown", entry] = timer
        turn = replace(turn, chat=replace(chat, timers=tuple(timers.values())))
        for entry in Scan(turn, book).run():
            found = book.entries[int(entry)]
            for kind, messages in (("sticky", found.sticky), ("cooldown", found.cooldown)):
                if messages:
                    begun = LoreTimer("b", entry, kind, at, at + messages)
                    timers.setdefault((kind, entry), begun)
    with_lore_timers(replace(request, history=request.history[:known]))  # is taken over
    assert set(with_lore_timers(request).chat.timers) == set(timers.values())
