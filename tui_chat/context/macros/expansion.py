"""Macros: how one is declared, and the expansion of the texts of a request: `{{user}}`, ...

1. The texts around the conversation are expanded in the order of the preset's list; history and
   draft are sent verbatim. What `{{setvar}}` sets is there for all later texts, wherever those are
   sent.
2. A message that expands to nothing, or to nothing but the white space around its macros, is not
   sent, with a note unless it sets variables; nor is one that requires a value that is empty.
3. Macros are expanded anew for each request. A text that stays the same is the same object, so that
   its turn, tokens and encoding are found again.
4. A macro is a function of a `MacroCall`, declared with `macro`. Its arguments are expanded before
   it. Its result is not parsed again, so text of the user or the model cannot bring in macros: only
   text of an author is expanded where it is inserted (a variable's value, a profile, a card).
5. No text is lost. A macro stays as it is written, with a note, if it is unknown, has unusable
   arguments, is nested more than `MAX_DEPTH` deep (values count), would insert a value into itself
   or more than `MAX_VALUES`, or has no room left; the macros inside it are expanded.
6. Literal characters keep their origin and their offset in it. The result of a macro has the origin
   `MACRO`: the macro as written, within the text it stood in.
7. Random numbers depend on the seed, the text, and the offset of the macro in it. A value is a text
   of its own: it expands to the same wherever it is inserted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TypeAlias

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.syntax import Literal, Macro, Node, Parsed, has_macros, parse
from tui_chat.context.resolved_message import ResolvedMessage, text_of
from tui_chat.errors import InputError
from tui_chat.hooks import load_all
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import Memo
from tui_chat.models.text import Origin, OriginKind, Span, Text, clean

MAX_EXPANSION = 2_000_000
"""Maximum total length of all expansions of a request, in characters."""
MAX_DEPTH = 32
"""Maximum nesting of macros and values. Each level takes some frames of Python's stack."""
MAX_VALUES = 1_000
"""Maximum values that one macro inserts: values that name values grow exponentially."""
VALUE_COST = 64
"""Characters of the room of a request that each value costs besides its length."""
MAX_NOTES = 8
"""Maximum notes about one text; one more note counts the others."""
NAME_LENGTH = 40
CARD = "card"
"""The kind of texts of a character card, in which `<user>` and `<char>` are macros."""
_FALSE = ("", "false", "off", "0")
"""Conditions that do not hold."""
_BREAKS = "\r\n"
GLOBAL = "global variable "
"""Prefix of the names of global variables."""

Value: TypeAlias = "str | Text | None"
"""The value of a variable: a text, one with origins, or None if it is not set."""
NOTHING = Text()
_STORED = Origin(OriginKind.DRAFT, "draft")


# --- declarations -----------------------------------------------------------------------------

MacroFunction: TypeAlias = "Callable[[MacroCall], str | Text | None]"
"""Returns what replaces a macro; None for `{{trim}}`, which removes the line breaks around it."""


class NotExpanded(Exception):
    """A macro is not expanded; the message says why."""

    code = "macro-stays"


class UnknownMacro(NotExpanded):
    """There is no such macro or variable."""

    code = "unknown-macro"


@dataclass(frozen=True, slots=True)
class Declaration:
    """A macro that all presets have."""

    name: str
    """In lower case."""
    written: str
    """What completion inserts, such as `{{random::a::b}}`."""
    summary: str
    """What it stands for, in a few words."""
    least: int
    most: int | None
    """How many arguments it takes, what stands before its end included; None for no limit."""
    run: MacroFunction


MACROS: dict[str, Declaration] = {}
"""Those of the core by name, in the order in which they are offered."""


def macro(
    written: str,
    summary: str,
    least: int = 0,
    most: int | None = 0,
    into: dict[str, Declaration] = MACROS,
) -> Callable[[MacroFunction], MacroFunction]:
    """Declare a macro as it is `written` with arguments; see `Declaration`."""
    found = re.match(r"\{\{(//|\w+)", written)
    assert found is not None
    name = found[1].lower()

    def declare(run: MacroFunction) -> MacroFunction:
        into[name] = Declaration(name, written, summary, least, most, run)
        return run

    return declare


class _TooLarge(NotExpanded):
    """A macro inserts too many or too long values."""


# --- one macro --------------------------------------------------------------------------------


def draw_number(seed: object, *where: object) -> int:
    """Draw a number below 2**64: the same for the same seed and place."""
    key = "\x00".join(map(str, (seed, *where)))
    return int.from_bytes(sha256(key.encode(errors="replace")).digest()[:8])


class MacroCall:
    """A macro of a text that is being expanded, as its function sees it."""

    def __init__(self, text: Expansion, macro: Macro) -> None:
        self.text = text
        self.macro = macro
        self.nodes = macro.arguments
        self.inputs = text.expander.inputs

    @cached_property
    def arguments(self) -> list[str]:
        """The arguments, expanded; as many as the declaration allows."""
        return [self.expanded(nodes).plain for nodes in self.nodes]

    def expanded(self, nodes: Sequence[Node]) -> Text:
        """Return an argument, or a part of one, as a text with its origins."""
        text, macro = self.text.expanded(nodes), self.macro
        is_scope = macro.scope is not None and nodes and nodes[0].start >= macro.scope[0]
        return _dedented(text) if is_scope and not macro.keeps_space else text

    def draw(self, seed: int, below: int, *more: object) -> int:
        """Draw a number from 0 up to, but not including, `below`."""
        return draw_number(seed, *self.text.place, self.macro.start, *more) % below


# --- one text ---------------------------------------------------------------------------------


class Expansion:
    """A text that is being expanded: a message's, or a value inserted into it."""

    def __init__(
        self,
        expander: Expander,
        source: str,
        origin: Origin,
        place: tuple[str, str],
        value: str = "",
        within: Expansion | None = None,
    ) -> None:
        """`place` distinguishes the text when random numbers are drawn. `value` is how a note cites
        a value that is inserted into the text `within`: `variable “x”`.
        """
        self.expander = expander
        self.source = source
        self.place = place
        self.sets: list[str] = [] if within is None else within.sets
        """The names of the variables that were set."""
        self._origin = origin
        self._value = value
        self._within = within
        self._notes: dict[tuple[str, str, str], Note] = {}
        self._results: dict[int, Sequence[Span | None]] = {}
        """The result of each macro, by its offset: each is expanded once, or the work would double
        with every level of nesting."""
        self._depth = 0 if within is None else within._depth
        self._inserted = 0
        """How many values an outermost value has inserted."""

    def tell(self, level: Level, code: str, written: str, what: str, where: str = "") -> None:
        """Add a note about a macro as written, once for each spelling and each text."""
        label = self._origin.label
        where = where or (f"{self._value} in {label}" if self._value else label)
        note = Note(level, code, f"{_shortened(written)} in {where} {what}", self._origin)
        self._notes.setdefault((code, written, self._value), note)

    def tell_unclosed(self, at: int | None, where: str = "") -> None:
        """Add a note about a macro that begins at `at` and is never closed."""
        if at is not None:
            what = "has no “}}”; it is sent as it is written."
            self.tell(Level.WARNING, "macro-stays", f"“{self.source[at : at + 24]}”", what, where)

    def notes(self) -> tuple[Note, ...]:
        """Return the notes about the text."""
        notes = tuple(self._notes.values())
        if (count := len(notes) - MAX_NOTES) <= 0:
            return notes
        what = "1 more macro" if count == 1 else f"{count:,} more macros"
        sentence = f"There are notes about {what} of {self._origin.label}."
        return (*notes[:MAX_NOTES], Note(Level.WARNING, "more-macros", sentence, self._origin))

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
            pieces += self._results[node.start]
        self._depth -= 1
        return Text(_trimmed(pieces))

    def _literal(self, start: int, stop: int) -> Span:
        return Span(self.source[start:stop], self._origin, start)

    def _result(self, macro: Macro) -> Sequence[Span | None]:
        """Return what replaces a macro; None stands for a trim."""
        written = self.source[macro.start : macro.stop]
        try:
            if self._depth > MAX_DEPTH:
                raise NotExpanded(f"is nested inside {MAX_DEPTH} macros and values")
            result = self._run(macro)
            self.take(0 if result is None else len(result))
        except NotExpanded as reason:
            if self._within is not None and isinstance(reason, _TooLarge):
                raise  # the outermost value is inserted whole or not at all
            what = f"{reason}; it stays as it is written."
            self.tell(Level.WARNING, reason.code, written, what)
            return self._as_written(macro)
        if isinstance(result, str):
            origin = Origin(OriginKind.MACRO, written, _shortened(written), within=self._origin)
            return (Span(clean(result), origin),)
        return (None,) if result is None else result.spans

    def _as_written(self, macro: Macro) -> Sequence[Span]:
        """Return a macro that is not expanded; the macros inside it are."""
        if not macro.body or self._depth > MAX_DEPTH:
            return (self._literal(macro.start, macro.stop),)
        stop, end = macro.scope or (macro.stop, macro.stop)
        scope = self.expanded(macro.arguments[-1]).spans if macro.scope else ()
        begin, close = self._literal(macro.start, macro.start + 2), self._literal(stop - 2, stop)
        body = self.expanded(macro.body).spans
        return (begin, *body, close, *scope, self._literal(end, macro.stop))

    def _run(self, macro: Macro) -> str | Text | None:
        name, count = macro.name, len(macro.arguments)
        declared = self.expander.declared(name)
        if name not in MACROS and name:
            value = self.variable(name)
            if value is not None and count:
                raise NotExpanded("takes no arguments")
            if value or (value is not None and declared is None):
                return value
        if declared is None:
            raise UnknownMacro("is not a macro or variable")
        if count < declared.least:
            raise NotExpanded("lacks an argument")
        if declared.most is not None and count > declared.most:
            raise NotExpanded("has too many arguments" if declared.most else "takes no arguments")
        try:
            return declared.run(MacroCall(self, macro))
        except InputError as error:  # of a plugin
            raise NotExpanded(f"cannot be expanded. {error}") from error

    def take(self, size: int) -> None:
        """Reserve room for an expansion. Raises NotExpanded if there is not enough."""
        if size > self.expander.room:
            what = f"would exceed the {MAX_EXPANSION:,} characters that macros may expand to"
            raise _TooLarge(what)
        self.expander.room -= size

    # --- values ---

    def set(self, name: str, value: str | None) -> None:
        """Set a variable; None deletes it."""
        self.take(len(value or ""))
        self.expander.set(name, value)
        self.sets.append(name.casefold())

    def variable(self, name: str) -> str | Text | None:
        """Return a variable's value, expanded; None if it is not set."""
        name = name.casefold()
        value, was_set = self.expander.variable(name)
        if not isinstance(value, str) or was_set:
            return value
        return self.inserted(value, f"variable “{_shortened(name)}”", "variable", name)

    def inserted(self, text: str, called: str, *place: str) -> str:
        """Return an author's text, its own macros expanded; `called` is how a note cites it. Raises
        NotExpanded if it is being expanded already, or without room for it.
        """
        is_card = place[0] == CARD
        if not has_macros(text, is_card=is_card):
            return text
        value = Expansion(self.expander, text, self._origin, (place[0], place[1]), called, self)
        names, outer = [called], self
        while outer._within is not None:
            names.append(outer._value)
            if (outer.source, outer.place) == (text, value.place):
                raise NotExpanded(f"leads back to itself ({' → '.join(reversed(names))})")
            outer = outer._within
        outer._inserted = outer._inserted + 1 if self._within is not None else 1
        if outer._inserted > MAX_VALUES:
            raise _TooLarge(f"inserts more than {MAX_VALUES:,} values")
        self.take(VALUE_COST + len(text))
        parsed = parse(text, is_card=is_card)
        value.tell_unclosed(parsed.unclosed)
        plain = value.expanded(parsed.nodes).plain
        self._notes |= {key: note for key, note in value._notes.items() if key not in self._notes}
        return plain

    # --- conditions ---

    def holds(self, condition: str) -> bool:
        """True if a condition, which may be the name of a value, is neither empty nor false."""
        condition = condition.strip()
        name = condition.removeprefix("!").strip()
        value = self._named(name)
        is_true = str(name if value is None else value).strip().lower() not in _FALSE
        return is_true is not condition.startswith("!")

    def has_value(self, name: str) -> bool:
        """True if a macro has a value, or a variable one that is not blank; the profile if it goes
        where the preset places it.
        """
        word, profile = name.strip().casefold(), self.expander.inputs.profile
        if word == "persona" and (profile is None or profile.placement != "anchor"):
            return False
        try:
            value = self._named(word) or ""
        except NotExpanded:
            return True  # it has a value, although it cannot be inserted
        is_plain = isinstance(value, str) and word not in MACROS
        return bool(str(value).strip() if is_plain else str(value))

    def _named(self, name: str) -> str | Text | None:
        """Return the value of a macro or variable that is only a name; None if it has none."""
        word = name.strip().casefold()
        declared = MACROS.get(word)
        if not word or (declared is not None and declared.least):
            return None
        try:
            value = self._run(Macro(0, 0, word, (), ()))
        except UnknownMacro:
            return None
        return "" if value is None else value


def _shortened(written: str) -> str:
    """Return a macro as a note cites it."""
    if len(written) <= NAME_LENGTH and "\n" not in written:
        return written
    short = " ".join(written[: 2 * NAME_LENGTH].split())
    return short if len(short) <= NAME_LENGTH else short[: NAME_LENGTH - 1] + "…"


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
    kept: list[Text] = []
    at = 0
    for line in lines:
        own = min(len(line) - len(line.lstrip(" \t")), indent)
        kept.append(text[at + own : at + len(line) + 1])
        at += len(line) + 1
    return Text.join("", kept).stripped()


# --- the texts of a request -------------------------------------------------------------------


@Memo
def _parsed(line: ResolvedMessage) -> Parsed | None:
    content = line.message.content
    if has_macros(content, is_card=line.is_card) or line.message.requires:
        return parse(content, is_card=line.is_card)
    return None


@Memo
def _same(_: ResolvedMessage, text: Text) -> Text:
    """Return the object that an equal text of a message was before."""
    return text


class Expander:
    """Expands the texts of one request, in the order in which they are given."""

    def __init__(self, inputs: Inputs, notes: list[Note] | None = None) -> None:
        self.inputs = inputs
        self.room = MAX_EXPANSION
        """Characters that macros may still expand to."""
        self.texts: dict[int, Text] = {}
        """The expanded texts of the messages with macros, by their identity."""
        self._lines: list[ResolvedMessage] = []
        """These messages: no other one may get the identity of one of them."""
        self.set_variables: dict[str, tuple[str, ...]] = {}
        """The variables set by preset messages of which nothing else is left, by message id."""
        self.without_value: set[str] = set()
        """The ids of preset messages that require something without a value."""
        self._notes = [] if notes is None else notes
        self.set_values: dict[str, Value] = {}
        """The variables that were set in this request; None for a deleted one."""

    def declared(self, name: str) -> Declaration | None:
        """Return a macro of the core or of a plugin."""
        return MACROS.get(name) or self._plugin_macros.get(name)

    @cached_property
    def _plugin_macros(self) -> Mapping[str, Declaration]:
        return {each.name: each for macros in load_all("macro", tuple) for each in macros}

    @cached_property
    def _given(self) -> Mapping[str, str]:
        """The variables of preset and session, and the global ones."""
        given = _folded(self.inputs.preset.variables) | _folded(self.inputs.variables)
        for name, value in self.inputs.global_variables.items():
            given[GLOBAL + name.casefold()] = value
        return given

    def variable(self, name: str) -> tuple[Value, bool]:
        """Return the value of a variable; and True if it was set in this request, so that it is
        not expanded.
        """
        return (
            (self.set_values[name], True)
            if name in self.set_values
            else (self._given.get(name), False)
        )

    def set(self, name: str, value: Value) -> None:
        """Set a variable for all texts expanded later; None deletes it."""
        self.set_values[name.casefold()] = value

    def expand_text(self, source: str, origin: Origin = _STORED, *, is_card: bool = False) -> str:
        """Return a text that is no message with its macros expanded."""
        if not has_macros(source, is_card=is_card):
            return source
        nodes = parse(source, is_card=is_card).nodes
        place = CARD if is_card else origin.kind, origin.id
        return Expansion(self, source, origin, place).expanded(nodes).plain

    def expand(self, line: ResolvedMessage) -> Text:
        """Return the expanded text of a message."""
        parsed = _parsed(line)
        if parsed is None:
            return text_of(line, {})
        message, origin = line.message, line.origin
        place = CARD if line.is_card else origin.kind, origin.id
        run = Expansion(self, message.content, origin, place)
        run.tell_unclosed(parsed.unclosed, line.called)
        if message.requires and not run.has_value(message.requires):
            text = NOTHING
            self.without_value.add(origin.id)
            if self.declared(message.requires.strip().casefold()) is None:
                what = f"requires “{message.requires}”, which has no value; it is not sent."
                note = Note(Level.INFO, "empty-value", f"{line.called} {what}", origin)
                self._notes.append(note)
        else:
            text = run.expanded(parsed.nodes)
            self._notes += run.notes()
            if not text.plain.strip():
                text = self._blank(line, text, has_set=bool(run.sets))
        if run.sets and not text.plain and origin.kind is OriginKind.PRESET:
            names = dict.fromkeys(name.removeprefix(GLOBAL) for name in run.sets)
            self.set_variables[origin.id] = tuple(names)
        self.texts[id(line)] = text = _same(line, text)
        self._lines.append(line)
        return text

    def _blank(self, line: ResolvedMessage, text: Text, *, has_set: bool) -> Text:
        """Return what is sent of a text that expands to white space, and add a note about it."""
        if any(span.origin != line.origin for span in text.spans):
            what = "is only white space; it is sent, but some providers refuse that."
            note = Note(Level.WARNING, "blank-content", f"{line.called} {what}", line.origin)
            self._notes.append(note)
            return text
        if not has_set:  # else it is there for the variables that it sets
            what = f"Nothing is left of {line.called} once its macros are expanded; it is not sent."
            self._notes.append(Note(Level.INFO, "empty-content", what, line.origin))
        return NOTHING


def _folded(variables: Mapping[str, str]) -> dict[str, str]:
    return {name.casefold(): value for name, value in variables.items()}
