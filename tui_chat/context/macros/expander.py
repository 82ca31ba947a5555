"""The expansion of the texts of a request: `{{user}}`, `{{random::a::b}}`, ... in presets and lore.

1. The texts of the preset, the role, the profile and contributors are expanded, in the order of the
   preset's list; history and draft are sent verbatim. What `{{setvar}}` sets is there for all later
   texts, wherever those are sent.
2. The arguments of a macro are expanded before it; its result is not parsed again, so text of the
   user or the model cannot bring in macros. Only text of an author is expanded where it is
   inserted: the values of the preset's and the session's variables, card fields and the profile.
3. No text is lost. A macro that is unknown or has unusable arguments stays as it is written, with a
   note; the macros inside it are expanded. Nothing here raises.
4. A macro stays as it is written if it is nested more than `MAX_DEPTH` deep (values count), if it
   would insert a value into itself, or more than `MAX_VALUES` values; or if all results of the
   request together would exceed `MAX_EXPANSION`.
5. Literal characters keep their origin and their offset in it. The result of a macro has the origin
   `MACRO`: the macro as written, within the text it stood in.
6. Random numbers depend on the seed, the text, and the offset of the macro in it. A value is a text
   of its own: it expands to the same wherever it is inserted.
7. A text is expanded again only when something that it read has changed.
8. A message that expands to nothing, or to nothing but the white space around its macros, is not
   sent, with a note unless it sets variables; nor is one that requires a value that is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.declarations import MACROS, MacroFunction, NotExpanded, UnknownMacro
from tui_chat.context.macros.functions import (
    CARD_ALIASES,
    GLOBAL,
    card_value,
    is_card_word,
    profile_text,
)
from tui_chat.context.macros.syntax import Literal, Macro, Node, Parsed, has_macros, parse
from tui_chat.context.resolved_message import ResolvedMessage, resolve_profile, text_of
from tui_chat.context.scan import MessageGroups
from tui_chat.errors import InputError
from tui_chat.extensions import load_named, missing_plugin, plugins
from tui_chat.hooks import PluginFailed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import Memo
from tui_chat.models.text import Origin, OriginKind, Span, Text, clean

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
_NOTHING = Text()
_STORED = Origin(OriginKind.DRAFT, "draft")
LoreChange: TypeAlias = "Callable[[Expander, ResolvedMessage, Text], Text]"
"""Returns what is sent of the expanded text of a lore entry."""

MAX_EXPANSION = 2_000_000
"""Maximum total length of all expansions of a request, in characters."""
MAX_DEPTH = 32
"""Maximum nesting of macros and values. Each level takes some frames of Python's stack."""
MAX_VALUES = 1_000
"""Maximum values that one macro inserts: values that name values grow exponentially."""
VALUE_COST = 64
"""Characters of `MAX_EXPANSION` that each value costs besides its length."""
MAX_NOTES = 8
"""Maximum notes about one text; one more note counts the others."""
NAME_LENGTH = 40
EXAMPLES = "example_dialogues"
"""The id of the message of a card's example dialogues."""


@dataclass(slots=True)
class _Expansion:
    """An expanded text, and what it depends on besides the source."""

    text: Text
    notes: tuple[Note, ...]
    lacks: str
    """What it requires, if that has no value; else empty."""
    reads: Mapping[tuple[Callable[[Expander, Any], object], Any], object]
    """What it looked up, by the method of `Expander` and the key; and the results."""
    sets: Mapping[str, str | None]
    """The variables that it set, and their values."""
    size: int
    """How much of the room of the request it took."""
    original: Text | None


@dataclass(slots=True)
class _Program:
    """A parsed text with macros, and its latest expansion if that had room enough."""

    parsed: Parsed
    latest: _Expansion | None = None


@Memo
def _program(line: ResolvedMessage) -> _Program | None:
    content = line.message.content
    if has_macros(content, is_card=line.is_card) or line.message.requires:
        return _Program(parse(content, is_card=line.is_card))
    return None


class Expander:
    """Expands the texts of one request, in the order in which they are given."""

    def __init__(
        self,
        inputs: Inputs,
        notes: list[Note] | None = None,
        change_lore: LoreChange | None = None,
    ) -> None:
        self.inputs = inputs
        self._notes = [] if notes is None else notes
        self._change_lore = change_lore
        self._set: dict[str, str | None] = {}
        """The variables that macros set; None for a deleted one."""
        self._read: set[object] = set()
        self._lore: dict[str, Text] = {}
        self.room = MAX_EXPANSION
        """Characters that macros may still expand to."""
        self.texts: dict[int, Text] = {}
        """The expanded texts of the messages with macros, by their identity."""
        self.set_variables: dict[str, tuple[str, ...]] = {}
        """The variables set by preset messages of which nothing else is left, by message id."""
        self.without_value: set[str] = set()
        """The ids of preset messages that require something without a value."""

        self.parsed: dict[str, Parsed] = {}
        """The parsed values."""

    # --- what macros read ---

    @cached_property
    def _given(self) -> Mapping[str, str]:
        """The variables of preset and session, and the global ones."""
        given = _folded(self.inputs.preset.variables) | _folded(self.inputs.variables)
        for name, value in self.inputs.global_variables.items():
            given[GLOBAL + name.casefold()] = value
        return given

    def variable(self, name: str) -> tuple[str | None, bool]:
        """Return the value of a variable or a field of the card, None if it has none; and True if
        macros set it, so that it is not expanded.
        """
        self._read.add(name)
        if name in self._set:
            return self._set[name], True
        given = self._given.get(name)
        value = given or card_value(self.inputs, name)
        return given if value is None else value, False

    def read(self, read: Callable[[Inputs], T]) -> T:
        """Return what a function reads from the inputs."""
        self._read.add(read)
        return read(self.inputs)

    def lore(self, name: str) -> Text:
        """Return the lore that a macro stands for."""
        return self._lore.get(name, _NOTHING)

    @property
    def read_fields(self) -> frozenset[str]:
        """The names that were read, `persona` for the profile."""
        names = {CARD_ALIASES.get(name, name) for name in self._read if isinstance(name, str)}
        return frozenset(names | {"persona"} if profile_text in self._read else names)

    def set_lore(self, name: str, text: Text) -> None:
        """Give a macro for lore its value."""
        self._lore[name] = text

    def set(self, name: str, value: str | None) -> None:
        """Set a variable for all texts expanded later; None deletes it."""
        self._set[name.casefold()] = value

    def variables_after(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the variables of the session and the global ones after the macros so far."""
        both = _folded(self.inputs.variables), _folded(self.inputs.chat.global_variables)
        for name, value in self._set.items():
            variables = both[name.startswith(GLOBAL)]
            if value is None:
                variables.pop(name.removeprefix(GLOBAL), None)
            else:
                variables[name.removeprefix(GLOBAL)] = value
        return MappingProxyType(both[0]), MappingProxyType(both[1])

    # --- texts ---

    def expand_text(self, source: str, origin: Origin = _STORED, *, is_card: bool = False) -> str:
        """Return a text that is no message with its macros expanded."""
        if not has_macros(source, is_card=is_card):
            return source
        nodes = parse(source, is_card=is_card).nodes
        return TextExpansion(self, source, origin, is_card=is_card).expanded(nodes).plain

    def expand(self, line: ResolvedMessage) -> Text:
        """Return the expanded text of a message."""
        if line.pieces:
            texts = ((self.expand(piece), piece) for piece in line.pieces)
            kept = (text for text, piece in texts if text.plain or not is_lore_entry(piece))
            text = self.texts[id(line)] = Text.join(line.separator, kept)
            return text
        original = None if line.replaced is None else self.expand(line.replaced)
        program = _program(line)
        text = text_of(line, {})
        if program is not None:
            text = self._expanded(line, program, original)
            if original is not None and not text.plain:  # the card's prompt expands to nothing
                text = original
            self.texts[id(line)] = text
        if self._change_lore is not None and is_lore_entry(line):
            text = self.texts[id(line)] = self._change_lore(self, line, text)
        return text

    def _expanded(self, line: ResolvedMessage, program: _Program, original: Text | None) -> Text:
        last = program.latest
        if (
            last is not None
            and last.original == original
            and last.size <= self.room
            and all(look_up(self, key) == value for (look_up, key), value in last.reads.items())
        ):
            self.room -= last.size
            self._set.update(last.sets)
        else:
            last = self._expansion(line, program, original)
        self._notes += last.notes
        if last.lacks:
            self.without_value.add(line.origin.id)
        if last.sets and not last.text.plain and line.origin.kind is OriginKind.PRESET:
            names = dict.fromkeys(name.removeprefix(GLOBAL) for name in last.sets)
            self.set_variables[line.origin.id] = tuple(names)
        return last.text

    def _expansion(
        self, line: ResolvedMessage, program: _Program, original: Text | None
    ) -> _Expansion:
        content, requires, room = line.message.content, line.message.requires, self.room
        run = TextExpansion(self, content, line.origin, original, is_card=line.is_card)
        lacks = requires if requires and not run.has_value(requires) else ""
        text = _NOTHING if lacks else run.expanded(program.parsed.nodes)
        note = None
        if not text.plain.strip():
            text, note = _blank(line, text, lacks, has_set=bool(run.sets))
        if program.parsed.unclosed is not None:
            run.tell_unclosed(content, program.parsed.unclosed, line.called)
        notes = (*run.notes(), *(() if note is None else (note,)))
        size = room - self.room
        expansion = _Expansion(text, notes, lacks, run.reads, run.sets, size, original)
        program.latest = None if run.is_cramped else expansion
        return expansion


def _folded(variables: Mapping[str, str]) -> dict[str, str]:
    return {name.casefold(): value for name, value in variables.items()}


def _has_placed_profile(inputs: Inputs) -> bool:
    return inputs.profile is not None and inputs.profile.placement == "anchor"


def draw_number(seed: object, *where: object) -> int:
    """Draw a number below 2**64: the same for the same seed and place."""
    key = "\x00".join(map(str, (seed, *where)))
    return int.from_bytes(sha256(key.encode(errors="replace")).digest()[:8])


def is_lore_entry(line: ResolvedMessage) -> bool:
    """True if a message is an entry of a lorebook."""
    return line.origin.kind is OriginKind.LORE and line.origin.within is not None


def expand_all(
    expander: Expander,
    inputs: Inputs,
    role_prompt: ResolvedMessage | None,
    groups: MessageGroups,
) -> None:
    """Expand the texts around the conversation."""
    if role_prompt is not None:
        expander.expand(role_prompt)
    for line in groups.listed:
        if not line.message.is_anchor:
            expander.expand(line)
        elif line is groups.profile_anchor and inputs.profile is not None:
            expander.expand(resolve_profile(line.message, inputs.profile))


def _blank(
    line: ResolvedMessage, text: Text, lacks: str, *, has_set: bool
) -> tuple[Text, Note | None]:
    """Return what is sent of a text that expands to white space, and a note about it."""
    level, code, sent = Level.INFO, "empty-content", _NOTHING
    word = lacks.strip().casefold()
    if word in MACROS or is_card_word(word):
        return sent, None  # nothing is lost: the session has no such text
    if lacks:
        code = "empty-value"
        sentence = f"{line.called} requires “{lacks}”, which has no value; it is not sent."
    elif any(span.origin != line.origin for span in text.spans):
        level, code, sent = Level.WARNING, "blank-content", text
        sentence = f"{line.called} is only white space; it is sent, but some providers refuse that."
    elif has_set:  # it is there for the variables that it sets
        return sent, None
    else:
        sentence = f"Nothing is left of {line.called} once its macros are expanded; it is not sent."
    return sent, Note(level, code, sentence, line.origin)


# --- one text --------------------------------------------------------------------------------


class _TooLarge(NotExpanded):
    """A macro inserts too many or too long values."""


class MacroCall:
    """A macro of a text that is being expanded, as its function sees it."""

    def __init__(self, text: TextExpansion, macro: Macro) -> None:
        self.text = text
        self.macro = macro
        self.nodes = macro.arguments

    @cached_property
    def arguments(self) -> list[str]:
        """The arguments, expanded."""
        return [self.expanded(nodes).plain for nodes in self.nodes]

    def argument(self, index: int) -> str:
        """Return an argument, expanded. Raises NotExpanded if it is missing."""
        if index >= len(self.nodes):
            raise NotExpanded("lacks an argument")
        return self.arguments[index]

    def expanded(self, nodes: Sequence[Node]) -> Text:
        """Return an argument, or a part of one, as a text with its origins."""
        text, macro = self.text.expanded(nodes), self.macro
        is_scope = macro.scope is not None and nodes and nodes[0].start >= macro.scope[0]
        return _dedented(text) if is_scope and not macro.keeps_space else text

    def read(self, read: Callable[[Inputs], T]) -> T:
        """Return what a function reads from the inputs."""
        return self.text.look_up(Expander.read, read)

    def draw(self, seed: Callable[[Inputs], int], below: int, *more: object) -> int:
        """Draw a number from 0 up to, but not including, `below`."""
        source = self.text.source
        where = source.kind, source.id, self.macro.start
        return draw_number(self.read(seed), *where, *more) % below


@dataclass(frozen=True, slots=True)
class _Source:
    """A text that is being expanded: a message's, or a value inserted into it."""

    text: str
    kind: str
    """With `id`, distinguishes the text when random numbers are drawn."""
    id: str
    called: str = ""
    """How a note cites a value: `variable “x”`; empty for the message's own text."""


class TextExpansion:
    """One text while it is expanded; also the values that are inserted into it."""

    def __init__(
        self,
        expander: Expander,
        source: str,
        origin: Origin,
        original: Text | None = None,
        *,
        is_card: bool = False,
    ) -> None:
        """`original` is the value of the first `{{original}}`; others are empty."""
        self.expander = expander
        self.source = _Source(source, _CARD if is_card else origin.kind, origin.id)
        self.reads: dict[tuple[Callable[[Expander, Any], object], Any], object] = {}
        self.sets: dict[str, str | None] = {}
        self.is_cramped = False
        """True if there was too little room for a macro."""
        self._origin = origin
        self._original = original
        self._notes: dict[tuple[str, str, str], Note] = {}
        self._results: dict[int, Text | None] = {}
        """The result of each macro of `source`, by its offset: each is expanded once, or the work
        would double with every level of nesting."""
        self._depth = 0
        self._values: tuple[_Source, ...] = ()
        """The values that are being expanded, the outermost first."""
        self._inserted = 0
        """How many values the outermost of them has inserted, itself included."""

    # --- notes ---

    def tell(self, level: Level, code: str, macro: Macro, what: str) -> None:
        """Add a note about a macro, once for each spelling and each text."""
        written = self.source.text[macro.start : macro.stop]
        sentence = f"{_shortened(written)} in {self._place} {what}"
        self._notes.setdefault(
            (code, written, self.source.called), Note(level, code, sentence, self._origin)
        )

    def tell_unclosed(self, text: str, at: int, place: str) -> None:
        """Add a note about a macro that begins at `at` and is never closed."""
        begins = " ".join(text[at : at + 24].split())
        sentence = f"“{begins}” in {place} has no “}}}}”; it is sent as it is written."
        note = Note(Level.WARNING, "macro-stays", sentence, self._origin)
        self._notes.setdefault(("macro-stays", text, self.source.called), note)

    def notes(self) -> tuple[Note, ...]:
        """Return the notes about the text."""
        notes = tuple(self._notes.values())
        if not (count := len(notes) - MAX_NOTES) > 0:
            return notes
        what = "1 more macro" if count == 1 else f"{count:,} more macros"
        sentence = f"There are notes about {what} of {self._origin.label}."
        return (*notes[:MAX_NOTES], Note(Level.WARNING, "more-macros", sentence, self._origin))

    @property
    def _place(self) -> str:
        """How a note cites the text that is being expanded."""
        called = self.source.called
        return f"{called} in {self._origin.label}" if called else self._origin.label

    # --- nodes ---

    def expanded(self, nodes: Sequence[Node]) -> Text:
        """Return nodes of the text with their macros expanded."""
        pieces: list[Span | None] = []
        self._depth += 1
        for node in nodes:
            if isinstance(node, Literal):
                pieces.append(self._literal(node.start, node.stop))
                continue
            if node.start not in self._results:
                self._results[node.start] = self._result(node)
            result = self._results[node.start]
            pieces += [None] if result is None else result.spans
        self._depth -= 1
        return Text(_trimmed(pieces))

    def _literal(self, start: int, stop: int) -> Span:
        return Span(self.source.text[start:stop], self._origin, start)

    def _result(self, macro: Macro) -> Text | None:
        """Return what replaces a macro; None for a trim."""
        written = self.source.text[macro.start : macro.stop]
        if self._depth > MAX_DEPTH:
            what = f"is nested inside {MAX_DEPTH} macros and values; it stays as it is written."
            self.tell(Level.WARNING, "macro-stays", macro, what)
            return Text((self._literal(macro.start, macro.stop),))
        try:
            if macro.name == "original" and self._original is not None:
                result, self._original = self._original, _NOTHING
            else:
                result = self._run(macro)
            self._take(0 if result is None else len(result))
        except NotExpanded as reason:
            if self._values and isinstance(reason, _TooLarge):
                raise  # the outermost value is inserted whole or not at all
            self.tell(Level.WARNING, reason.code, macro, f"{reason}; it stays as it is written.")
            return self._as_written(macro)
        if isinstance(result, str):
            origin = Origin(OriginKind.MACRO, written, _shortened(written), within=self._origin)
            return Text((Span(clean(result), origin),))
        return result

    def _as_written(self, macro: Macro) -> Text:
        """Return a macro that is not expanded; the macros inside it are."""
        if not macro.body:
            return Text((self._literal(macro.start, macro.stop),))
        stop, end = macro.scope or (macro.stop, macro.stop)
        scope = self.expanded(macro.arguments[-1]).spans if macro.scope else ()
        return Text(
            (
                self._literal(macro.start, macro.start + 2),
                *self.expanded(macro.body).spans,
                self._literal(stop - 2, stop),
                *scope,
                self._literal(end, macro.stop),
            )
        )

    def _run(self, macro: Macro) -> str | Text | None:
        name, count = macro.name, len(macro.arguments)
        if (declared := MACROS.get(name)) is not None:
            if count < declared.least:
                raise NotExpanded("lacks an argument")
            if declared.most is not None and count > declared.most:
                what = "has too many arguments" if declared.most else "takes no arguments"
                raise NotExpanded(what)
            return declared.run(MacroCall(self, macro))
        value = self.look_up(Expander.variable, name)[0] if name else None
        if value is not None and count:
            raise NotExpanded("takes no arguments")
        if value is not None:
            return self.variable(name)
        try:
            if (function := _plugin_macro(name, count)) is not None:
                return function(MacroCall(self, macro))
        except (InputError, PluginFailed) as error:
            raise NotExpanded(f"cannot be expanded. {error}") from error
        if plugin := missing_plugin("macros", name):
            raise UnknownMacro(f"comes with the plugin “{plugin}”, which is not installed")
        raise UnknownMacro("is not a macro or variable")

    def _take(self, size: int) -> None:
        """Reserve room for an expansion. Raises _TooLarge if there is not enough."""
        if size > self.expander.room:
            self.is_cramped = True
            raise _TooLarge(
                f"would exceed the {MAX_EXPANSION:,} characters that macros may expand to"
            )
        self.expander.room -= size

    # --- values ---

    def look_up(self, look_up: Callable[[Expander, K], V], key: K) -> V:
        """Return what a method of the expander returns, and record it unless this text set it."""
        value = look_up(self.expander, key)
        if look_up is not Expander.variable or key not in self.sets:
            self.reads.setdefault((look_up, key), value)
        return value

    def lore(self, name: str) -> Text:
        """Return the lore that a macro stands for."""
        return self.look_up(Expander.lore, name)

    def set(self, name: str, value: str | None) -> None:
        """Set a variable; None deletes it."""
        self._take(len(value or ""))
        self.expander.set(name, value)
        self.sets[name.casefold()] = value

    def variable(self, name: str) -> str | None:
        """Return a variable's value, expanded; None if it is not set."""
        name = name.casefold()
        value, was_set = self.look_up(Expander.variable, name)
        if value is None or was_set:
            return value
        kind = _CARD if is_card_word(name) else "variable"
        return self._inside(_Source(value, kind, name, f"variable “{_shortened(name)}”"))

    def profile(self) -> str:
        """Return the profile's text, its own macros expanded."""
        content = self.look_up(Expander.read, profile_text)
        return self._inside(_Source(content, OriginKind.PROFILE, "profile", "the profile"))

    def _inside(self, value: _Source) -> str:
        """Return the text of a value, its own macros expanded. Raises NotExpanded if it is being
        expanded already, _TooLarge without room for it.
        """
        is_card = value.kind == _CARD
        if not has_macros(value.text, is_card=is_card):
            return value.text
        if value in self._values:
            again = self._values[self._values.index(value) :]
            names = [each.called for each in (*again, value)]
            around = " → ".join(names if len(names) < 8 else (*names[:3], "…", *names[-3:]))
            raise NotExpanded(f"leads back to itself ({around})")
        self._inserted = self._inserted + 1 if self._values else 1
        if self._inserted > MAX_VALUES:
            raise _TooLarge(f"inserts more than {MAX_VALUES:,} values")
        self._take(VALUE_COST + len(value.text))
        if (parsed := self.expander.parsed.get(value.text)) is None:
            parsed = self.expander.parsed[value.text] = parse(value.text, is_card=is_card)
        before = self.source, self._results, self._values, self._depth
        notes = dict(self._notes)
        if parsed.unclosed is not None:
            self.tell_unclosed(value.text, parsed.unclosed, self._place)
        self.source, self._results, self._values = value, {}, (*self._values, value)
        try:
            return self.expanded(parsed.nodes).plain
        except _TooLarge:
            self._notes = notes  # the others are about text that is not inserted
            raise
        finally:
            self.source, self._results, self._values, self._depth = before

    # --- conditions ---

    def holds(self, condition: str) -> bool:
        """True if a condition, which may be the name of a value, is neither empty nor false."""
        condition = condition.strip()
        name = condition.removeprefix("!").strip()
        value = self._named(name)
        is_true = (name if value is None else value).strip().lower() not in _FALSE
        return is_true is not condition.startswith("!")

    def _named(self, name: str) -> str | None:
        """Return the value of a macro or variable that is only a name; None if it has none."""
        word = name.strip().casefold()
        declared = MACROS.get(word)
        if not word or (declared is not None and declared.least):
            return None
        try:
            value = self._run(Macro(0, 0, word, (), ()))
        except UnknownMacro:
            return None
        return "" if value is None else str(value)

    def has_value(self, name: str) -> bool:
        """True if a macro has a value, or a variable one that is not blank; the profile if it goes
        where the preset places it.
        """
        word = name.strip().casefold()
        if word == "persona" and not self.look_up(Expander.read, _has_placed_profile):
            return False
        try:
            value = self._named(word) or ""
            return bool(value if word in MACROS else value.strip())
        except NotExpanded:
            return True  # it has a value, although it cannot be inserted


_CARD = "card"
"""The kind of texts of a character card."""
_FALSE = ("", "false", "off", "0")
"""Conditions that do not hold."""


def _plugin_macro(name: str, arguments: int) -> MacroFunction | None:
    """Return the macro of a plugin. Raises NotExpanded if there are too many arguments for it, and
    InputError if it cannot be loaded.
    """
    path = next((p for plugin in plugins() for p in plugin.macros if p.name == name), None)
    if path is None:
        return None
    if path.most_arguments is not None and arguments > path.most_arguments:
        raise NotExpanded("has too many arguments")
    return load_named("macros", name)


def _shortened(written: str) -> str:
    """Return a macro as a note cites it."""
    short = " ".join(written[: 2 * NAME_LENGTH].split())
    return short if len(short) <= NAME_LENGTH else short[: NAME_LENGTH - 1] + "…"


_BREAKS = "\r\n"


def _trimmed(pieces: Iterable[Span | None]) -> list[Span]:
    """Return the spans. None is a trim: it removes the line breaks next to it."""
    result: list[Span] = []
    trimming = False
    for piece in pieces:
        if piece is None:
            trimming = True
            while result:
                last = result.pop()
                if rest := last.text.rstrip(_BREAKS):
                    result.append(Span(rest, last.origin, last.start))
                    break
        elif not trimming:
            result.append(piece)
        elif rest := piece.text.lstrip(_BREAKS):
            skipped = len(piece.text) - len(rest)
            result.append(Span(rest, piece.origin, piece.start + skipped))
            trimming = False
    return result


def _dedented(text: Text) -> Text:
    """Return a text stripped, its lines without the indent of the first one that is not blank."""
    lines = text.plain.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip(" \t"))
    if not indent or len(lines) == 1:
        return text.stripped()
    parts: list[Text] = []
    at = 0
    for line in lines:
        own = min(len(line) - len(line.lstrip(" \t")), indent)
        parts.append(text[at + own : at + len(line)])
        at += len(line) + 1
    return Text.join("\n", parts).stripped()
