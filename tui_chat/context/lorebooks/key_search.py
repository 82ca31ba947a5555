"""Which keys of lorebooks occur in the texts that are searched for one request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tui_chat.context.inputs import Inputs
from tui_chat.context.lorebooks.book_index import (
    BookIndex,
    RankedEntry,
    entry_name,
    entry_origin,
)
from tui_chat.context.lorebooks.conditions import Conditions
from tui_chat.context.lorebooks.history_keys import history_keys
from tui_chat.context.lorebooks.keys import (
    SEARCHED_CHARACTERS,
    KeyIndex,
    KeyNumbers,
    Occurrences,
)
from tui_chat.context.lorebooks.searched import (
    MARK,
    SearchedTexts,
    joined,
    marked,
    named_text,
    newest_texts,
    scripted,
)
from tui_chat.context.session_texts import searched_texts
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.message import Message


class KeySearch:
    """The keys that occur in the conversation, in active entries and in other texts."""

    def __init__(self, inputs: Inputs, books_index: BookIndex) -> None:
        self._inputs = inputs
        self._rules = inputs.lore_rules
        self._by_places = inputs.preset.policies.depths == "joined"
        self.index = books_index
        self.length = len(inputs.history) + inputs.has_draft
        self.conditions = Conditions(inputs, self.length)
        self._texts = SearchedTexts(inputs)
        self._scripts = inputs.chat.scripts if self._by_places else ()
        self._follow = inputs.has_draft - (inputs.chat.kind == "continue")
        """How many messages follow the newest one of the history, as scripts count them."""
        self.newest: tuple[Message | None, ...] = ()
        """The searched texts, newest first; None is the typed draft."""
        self._searched_now: Sequence[LorebookEntry] = ()
        """The entries of earlier rounds whose content is searched."""
        self._steps: dict[tuple[int, int], int] = {}
        """Steps of backtracking, by book and key."""
        self._too_slow: set[tuple[int, int]] = set()
        """Keys, by book, that exceeded their step limit."""
        self._wider: int = 0
        """How many messages more than usual are searched."""
        self._also_searched = [line.message for line in searched_texts(inputs)]
        self.first_in_texts = [self._first_texts(n) for n in range(len(books_index.books))]
        """For each book: its keys that occur in the newest texts, and the first text of each."""
        self._in_others = [self._keys_in_others(n) for n in range(len(books_index.books))]
        """For each book: its keys that occur in the author's note and the like, and where."""
        self.first_in_entries: list[dict[int, LorebookEntry]] = [{} for _ in books_index.books]
        """For each book: its keys that occur in activated entries, and the first entry of each."""

    def _content(self, entry: LorebookEntry) -> str:
        return self._texts.content(entry) if self._by_places else entry.content

    def _keys_in_others(self, number: int) -> dict[int, str]:
        """Return the keys of a book that occur in the author's note and the like."""
        index = self.index.books[number].index
        found: dict[int, str] = {}
        for message in self._also_searched:
            text = message.content
            if self._by_places:
                text = self._texts.expanded(text, is_card=message.id == "depth_prompt")
            for key in self._in_string(number, index, text):
                found.setdefault(key, message.name)
        return found

    def _draft_text(self) -> str:
        return scripted(self._inputs.draft, "user", self._scripts, self._follow - 1)

    def _in_string(self, number: int, index: KeyIndex, text: str) -> KeyNumbers:
        return self._decided(number, index, text, index.in_string(text))

    def _first_texts(self, number: int) -> dict[int, int]:
        """Return the keys of a book that occur in the newest texts, each with its first text."""
        index = self.index.books[number].index
        depth = self.index.scan_depths[number] + self._wider
        if depth <= 0:
            return {}
        has_draft, draft = self._inputs.has_draft, self._inputs.answered
        prefixes = self._prefixes
        first: dict[int, int] = {}
        if has_draft:
            first = dict.fromkeys(self._occurring(number, index, draft), 0)
        history = history_keys(
            *(index, self._inputs.history, depth - has_draft, prefixes),
            *(self._by_places, self._scripts, self._follow),
        )
        for key, place in history.first.items():
            first.setdefault(key, place + has_draft)
        for place, message in history.undecided:
            for key in self._occurring(number, index, message):
                first[key] = min(first.get(key, depth), place + has_draft)
        texts = (draft, *history.texts) if has_draft else history.texts
        self.newest = max(self.newest, texts, key=len)
        return first

    @property
    def _prefixes(self) -> tuple[str, str] | None:
        """The names before the texts of messages of user and character; None for no names."""
        if not self._rules.names:
            return None
        return self._inputs.user_name, self._inputs.char_name

    def _occurring(
        self, number: int, index: KeyIndex, source: Message | LorebookEntry | None
    ) -> KeyNumbers:
        """Return the keys of a book that occur in a text; None is the draft."""
        if source is None:
            text = named_text(self._draft_text(), "user", "", self._prefixes)
            return self._decided(number, index, text, index.in_draft(text))
        if isinstance(source, Message):
            if self._prefixes is None and not self._scripts:
                known = index.in_message(source)
            else:
                text = source.content if source is not self._inputs.answered else self._draft_text()
                text = named_text(text, source.role, source.name, self._prefixes)
                return self._decided(number, index, text, index.in_named(source, text))
        elif (content := self._content(source)) != source.content:
            return self._in_string(number, index, content)
        else:
            known = index.in_entry(source)
        return self._decided(number, index, source, known)

    def _decided(
        self,
        number: int,
        index: KeyIndex,
        source: Message | LorebookEntry | str,
        known: Occurrences,
    ) -> KeyNumbers:
        """Return the keys that occur, those with back-references decided."""
        if not known.undecided:
            return known.found
        occurring: set[int] = set()
        for key in known.undecided:
            taken = self._steps.get((number, key), 0)
            if taken >= index.step_limit:
                self._too_slow.add((number, key))
                continue
            occurs, steps = index.backtrack(key, source)
            self._steps[number, key] = taken + abs(steps)
            if occurs:
                occurring.add(key)
            elif steps < 0:
                self._too_slow.add((number, key))
        return known.found | occurring

    def depth(self, candidate: RankedEntry) -> int:
        """Return how many of the newest texts are searched for the keys of an entry."""
        is_own = candidate.keyed.entry.scan_depth is not None
        return candidate.depth if is_own else candidate.depth + self._wider

    def in_texts(self, candidate: RankedEntry) -> Mapping[int, int]:
        """Return the keys that occur in the newest texts, each with its first text."""
        found = self.first_in_texts[candidate.number]
        spanning = candidate.indexed.index.spanning
        if not (self._by_places and spanning):
            return found
        return {key: place for key, place in found.items() if key not in spanning}

    def _in_entries(self, candidate: RankedEntry, state: str) -> Mapping[int, LorebookEntry]:
        """Return the keys that occur in active entries, each with its first entry."""
        found = {} if state == "wider" else self.first_in_entries[candidate.number]
        spanning = candidate.indexed.index.spanning
        if not (self._by_places and spanning):
            return found
        return {key: entry for key, entry in found.items() if key not in spanning}

    def others(self, candidate: RankedEntry, state: str) -> dict[int, str]:
        """Return the keys that occur in other texts or in all together, and where."""
        others = self._in_others[candidate.number]
        keyed, index = candidate.keyed, candidate.indexed.index
        spanning = index.spanning if self._by_places else {}
        spans = [key for key in (*keyed.keys, *keyed.secondary) if key in spanning]
        if not (keyed.entry.sources or spans):
            return others
        found = {key: where for key, where in others.items() if key not in spanning}
        for words, text in self._sources(keyed.entry):
            for key in self._in_string(candidate.number, index, text):
                if key not in spanning:
                    found.setdefault(key, words)
        if spans:
            text = self._all_texts(candidate, state)[:SEARCHED_CHARACTERS]
            for key in spans:
                if spanning[key].occurs_in(text):
                    found[key] = "conversation"
        return found

    def _sources(self, entry: LorebookEntry) -> Iterator[tuple[str, str]]:
        """Yield the texts besides the conversation that are searched for an entry: what they are
        called, and their content.
        """
        for words, text in self.conditions.source_texts(entry):
            if self._by_places:
                text = self._texts.expanded(text, is_card=words != "persona")
            yield words, text

    def _all_texts(self, candidate: RankedEntry, state: str) -> str:
        """Return all texts that are searched for an entry together."""
        inputs, depth = self._inputs, self.depth(candidate)
        texts: list[str] = []
        if inputs.has_draft:
            texts.append(marked(self._draft_text(), "user", "", self._prefixes))
        texts += newest_texts(
            *(inputs.history, max(depth - len(texts), 0), self._prefixes),
            *(self._scripts, self._follow),
        )
        texts += (MARK + text for _, text in self._sources(candidate.keyed.entry) if text)
        others = (message for message in self._also_searched)
        texts += (MARK + self._texts.expanded(message.content) for message in others)
        if state != "wider":
            texts += (MARK + self._content(entry) for entry in self._searched_now)
        return joined(texts)

    def _slow_key_notes(self) -> Iterator[Note]:
        """Yield a note about each key that takes too long to match."""
        for number, key in sorted(self._too_slow):
            index = self.index.books[number].index
            entry = next(k.entry for k in index.entries if key in k.keys or key in k.secondary)
            sentence = (
                f"The key {index.keys[key].text} of the lore entry “{entry_name(entry)}” takes too "
                "long to match: it has a back-reference to a group with very many possible "
                "matches. It may be missed in long or older messages. Simplify the pattern."
            )
            origin = entry_origin(self._inputs.lorebooks[number].name, entry)
            yield Note(Level.WARNING, "lore-key-too-slow", sentence, origin)
