"""The expansion of one text: `{{user}}`, `{{random::a::b}}`, ... in presets, roles and lore.

1. The arguments of a macro are expanded before it. Its result is not parsed again (but see rule 6
   of `preset_expansion`), so text of the user or the model cannot bring in macros. Only text of an
   author is expanded where it is inserted: the values of the preset's and the session's variables,
   and the profile.
2. No text is lost. A macro that is unknown or has unusable arguments stays as it is written, with a
   note; the macros inside it are expanded. Nothing here raises.
3. A macro stays as it is written if it is nested more than `MAX_DEPTH` deep (values count), if it
   would insert a value into itself, or if it would insert more than `MAX_VALUES` values. A note
   names the macro, the value it is written in, and the text.
4. Literal characters keep their origin and their offset in it. The result of a macro has the
   origin `MACRO`: the macro as written, within the text it stood in.
5. `{{trim}}` removes the line breaks on both sides of it.
6. Random numbers depend on the seed, the text, and the offset of the macro in it, so the same macro
   twice in a text is drawn twice. `{{pick}}` uses the session's seed. A value is a text of its own:
   it expands to the same wherever it is inserted.
7. All results of a request together are bounded by `MAX_EXPANSION`; beyond it macros stay as they
   are written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from enum import Enum, auto

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.dialect import MacroDialect
from tui_chat.context.macros.environment import (
    GLOBAL,
    LORE_WORDS,
    MAX_EXPANSION,
    OUTLET,
    SET_VARIABLE,
    VARIABLE,
    MacroEnvironment,
    draw_number,
    is_card_word,
    is_value_macro,
)
from tui_chat.context.macros.expansion import (
    Expansion,
    ExpansionNotes,
    dedented,
    shortened,
    trimmed,
    unclosed_note,
)
from tui_chat.context.macros.functions import (
    MacroCall,
    NotExpanded,
    UnknownMacro,
    argument_fault,
    is_true,
    macro_function,
)
from tui_chat.context.macros.syntax import (
    COMMENT,
    Literal,
    Macro,
    Node,
    has_macros,
    parse,
    unclosed,
)
from tui_chat.extensions import missing_plugin
from tui_chat.hooks import PluginFailed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level
from tui_chat.models.text import Origin, OriginKind, Span, Text, clean

MAX_DEPTH = 32
"""Maximum nesting of macros and values. Each level takes some frames of Python's stack."""
MAX_VALUES = 1_000
"""Maximum values that one macro inserts: values that name values grow exponentially."""
VALUE_COST = 64
"""Characters of `MAX_EXPANSION` that each value costs besides its length, so that empty values are
bounded too."""


def expand(
    source: str,
    nodes: Sequence[Node],
    origin: Origin,
    environment: MacroEnvironment,
    requires: str = "",
    *,
    is_card: bool = False,
    original: Text | None = None,
) -> Expansion:
    """Expand the macros of a text that was parsed into `nodes`; sets variables in the environment.

    If `requires` names a word or variable without a value, the result is empty. In a text of a
    character card (`is_card`) the macros of card fields and of the profile are empty, so that no
    field contains another one. `original` is the value of the first `{{original}}`.
    """
    whole = _Source(source, _CARD if is_card else origin.kind, origin.id)
    expander = _Expander(
        whole, origin, environment, original=original, requires=requires.strip().casefold()
    )
    if is_card:
        expander.values = (whole,)
    return expander.run(nodes, requires)


def expanded_text(source: str, inputs: Inputs, origin: Origin) -> str:
    """Return a text that stands alone with its macros expanded."""
    if not has_macros(source):
        return source
    return expand(source, parse(source), origin, MacroEnvironment(inputs)).text.plain


def expand_stored(source: str, environment: MacroEnvironment) -> str:
    """Return a text with its macros expanded; what it sets stays in the environment."""
    syntax = environment.dialect.syntax
    if not has_macros(source, syntax):
        return source
    nodes = parse(source, syntax)
    return expand(source, nodes, _STORED, environment).text.plain


_STORED = Origin(OriginKind.DRAFT, "draft")
_ALSO_VALUES = ("greeting", "charfirstmessage", "time")
"""Macros that are values when they have no argument."""
_CARD = "card"
"""The kind of texts of a character card."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A text that is being expanded: a message's, or a value inserted into it."""

    text: str
    kind: str
    """With `id`, distinguishes the text when random numbers are drawn."""
    id: str
    called: str = ""
    """How a note cites a value: `variable “x”`; empty for the message's own text."""


class _Outcome(Enum):
    """The result of a macro that is not replaced by a text."""

    TRIM = auto()
    """It removes line breaks after everything else is expanded."""
    STAYS = auto()
    """It is not expanded; the macros inside it are."""
    VERBATIM = auto()
    """It stays verbatim, including the macros inside it."""


class _ValueTooLarge(Exception):
    """A macro inserts too many or too long values; the message says which."""


_Piece = Span | _Outcome
"""A run of characters, or `TRIM`."""


@dataclass(slots=True)
class _Expander:
    source: _Source
    origin: Origin
    """The origin of the text; results of macros have origins within it."""
    environment: MacroEnvironment
    words: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    was_set: list[tuple[str, str | None]] = field(default_factory=list["tuple[str, str | None]"])
    own: set[str] = field(default_factory=set[str])
    """Words that this text itself set."""
    notes: ExpansionNotes = field(default_factory=ExpansionNotes)
    size: int = 0
    cramped: bool = False
    original: Text | None = None
    """The value of the next `{{original}}`."""
    results: dict[int, str | Text | _Outcome] = field(
        default_factory=dict[int, "str | Text | _Outcome"]
    )
    """The result of each macro of `source`, by its offset: each is expanded once, or the work would
    double with every level of nesting."""
    depth: int = 0
    """The current level of nesting."""
    requires: str = ""
    """The word or variable that the text requires, in lower case."""
    values: tuple[_Source, ...] = ()
    """The values that are being expanded, the outermost first."""
    inserted: int = 0
    """How many values the outermost of them has inserted, itself included."""
    parsed: dict[str, tuple[tuple[Node, ...], int | None]] = field(
        default_factory=dict[str, "tuple[tuple[Node, ...], int | None]"]
    )
    """Parsed values, with the offset of a macro that is never closed."""

    def run(self, nodes: Sequence[Node], requires: str) -> Expansion:
        """Expand the whole text."""
        room = self.environment.room
        lacks = requires if requires and not self._has_value(requires) else ""
        if not lacks:
            for name in self.dialect.first:
                for node in nodes:
                    if isinstance(node, Macro) and node.name == name:
                        self._macro(node)
        text = Text() if lacks else Text(trimmed(self._pieces(nodes)))
        self.environment.room -= self.size
        return Expansion(
            text,
            self.notes.of(self.origin),
            tuple(self.words.items()),
            tuple(self.was_set),
            self.size,
            self.cramped,
            room,
            lacks,
        )

    def read(self, word: str) -> str | None:
        """Return the value of a word of the environment, and record it."""
        value = self.environment.read(word)
        if word not in self.own:
            self.words.setdefault(word, value)
        return value

    def draw(self, chance: str, macro: Macro, *more: object) -> int:
        """Return a large number, drawn for a macro of this text."""
        source = self.source
        return draw_number(self.read(chance) or "", source.kind, source.id, macro.start, *more)

    def set(self, name: str, value: str | None) -> None:
        """Set a variable; None deletes it."""
        self.take(len(value or ""))
        self.environment.set(name, value)
        self.own.add(SET_VARIABLE + name.casefold())
        self.was_set.append((name, value))

    def take(self, size: int) -> None:
        """Reserve room for an expansion. Raises _ValueTooLarge if there is not enough."""
        if self.size + size > self.environment.room:
            self.cramped = True
            raise _ValueTooLarge(
                f"would exceed the {MAX_EXPANSION:,} characters that macros may expand to"
            )
        self.size += size

    def tell(self, level: Level, code: str, macro: Macro, what: str) -> None:
        """Add a note about a macro, once for each spelling and each text."""
        written = self.source.text[macro.start : macro.stop]
        sentence = f"{shortened(written)} in {self._place()} {what}"
        self.notes.add(level, code, sentence, written, self.source.called)

    def _place(self) -> str:
        """Return how a note cites the text that is being expanded."""
        called = self.source.called
        return f"{called} in {self.origin.label}" if called else self.origin.label

    def _pieces(self, nodes: Sequence[Node]) -> list[_Piece]:
        pieces: list[_Piece] = []
        self.depth += 1
        for node in nodes:
            if isinstance(node, Literal):
                pieces.append(self._literal(node.start, node.stop))
                continue
            result = self._macro(node)
            if isinstance(result, Text):
                pieces += result.spans
            elif isinstance(result, str):
                written = self.source.text[node.start : node.stop]
                name = shortened(written)
                origin = Origin(OriginKind.MACRO, written, name, within=self.origin)
                pieces.append(Span(result, origin))
            elif result is _Outcome.STAYS and not node.body:  # a macro without braces
                pieces.append(self._literal(node.start, node.stop))
            elif result is _Outcome.STAYS:
                stop = node.stop if node.scope is None else node.scope_start
                pieces.append(self._literal(node.start, node.start + 2))
                pieces += self._pieces(node.body)
                pieces.append(self._literal(stop - 2, stop))
                if node.scope is not None:
                    pieces += self._pieces(node.scope)
                    pieces.append(self._literal(node.scope_stop, node.stop))
            elif result is _Outcome.VERBATIM:
                pieces.append(self._literal(node.start, node.stop))
            else:
                pieces.append(result)
        self.depth -= 1
        return pieces

    def _literal(self, start: int, stop: int) -> Span:
        return Span(self.source.text[start:stop], self.origin, start)

    def _macro(self, macro: Macro) -> str | Text | _Outcome:
        """Return the result of a macro."""
        if macro.start not in self.results:
            self.results[macro.start] = self._expanded(macro)
        return self.results[macro.start]

    def _expanded(self, macro: Macro) -> str | Text | _Outcome:
        if self.depth > MAX_DEPTH:
            what = f"is nested inside {MAX_DEPTH} macros and values; it stays as it is written."
            self.tell(Level.WARNING, "macro-stays", macro, what)
            return _Outcome.VERBATIM
        dialect = self.dialect
        if macro.name == COMMENT and not dialect.syntax.reads_comments:
            return ""
        known = dialect.functions.get(macro.name) or macro_function(macro.name)
        try:
            written = macro.arguments if macro.scope is None else (*macro.arguments, macro.scope)
            if fault := (dialect.fault or argument_fault)(macro, self.source.text):
                raise NotExpanded(fault)
            if macro.name == "trim" and not written:
                return _Outcome.TRIM
            if macro.name == COMMENT:  # its macros may set variables
                for argument in written:
                    self._string(argument)
                return ""
            if macro.name == "if":
                return self._branch(macro)
            if (value := self._text_value(macro)) is not None:
                return value
            if known is not None and (written or macro.name not in _ALSO_VALUES):
                arguments = [self._string(argument) for argument in macro.arguments]
                if macro.scope is not None:
                    scope = Text(trimmed(self._pieces(macro.scope)))
                    arguments.append((scope if macro.keeps_space else dedented(scope)).plain)
                spelled = self.source.text[macro.start : macro.stop]
                try:
                    result = clean(known(MacroCall(self, macro, spelled, arguments)))
                except PluginFailed as error:
                    raise NotExpanded(f"cannot be expanded. {error}") from error
            else:
                result = self._word(macro)
            self.take(len(result))
        except _ValueTooLarge as reason:
            if self.values:
                raise  # the outermost value is inserted whole or not at all
            return self._stays(macro, "macro-stays", reason)
        except UnknownMacro as reason:
            return self._stays(macro, "unknown-macro", reason)
        except NotExpanded as reason:
            stays = self._stays(macro, "macro-stays", reason)
            return _Outcome.VERBATIM if macro.name in dialect.stays_whole else stays
        return result

    @property
    def dialect(self) -> MacroDialect:
        """The dialect of the request."""
        return self.environment.dialect

    def _text_value(self, macro: Macro) -> Text | None:
        """Return the value of a macro whose characters have origins of their own."""
        if macro.name == "original" and self.original is not None:
            value, self.original = self.original, Text()
        elif (
            macro.name in LORE_WORDS
            and not macro.arguments
            and (self.dialect.has_lore_words or macro.name == self.requires)
        ):
            value = self._lore(macro.name)
        elif macro.name == "outlet" and len(macro.arguments) == 1:
            value = self._lore(OUTLET + self._string(macro.arguments[0]).strip())
        else:
            return None
        self.take(len(value))
        return value

    def _lore(self, word: str) -> Text:
        self.read(word)
        return self.environment.texts.get(word) or Text()

    def _branch(self, macro: Macro) -> Text:
        """Return the text of the branch that the condition of an `if` chooses."""
        if not macro.arguments:
            raise NotExpanded("lacks a condition")
        branches: list[Sequence[Node]]
        if macro.scope is None:
            if len(macro.arguments) < 2:
                raise NotExpanded("has no end")
            branches = list(macro.arguments[1:3])
            if len(branches) == 1:
                branches = _branches(branches[0])
        else:
            branches = _branches(macro.scope)
        holds = self.holds(self._string(macro.arguments[0]))
        if not holds and len(branches) < 2:
            return Text()
        text = Text(trimmed(self._pieces(branches[0 if holds else 1])))
        return text if macro.keeps_space else dedented(text)

    def holds(self, condition: str) -> bool:
        """True if a condition, which may be the name of a value, is neither empty nor false."""
        condition = condition.strip()
        negated = condition.startswith("!")
        name = condition.removeprefix("!").strip()
        word = name.casefold()
        if word == "persona":
            name = self.profile()
        elif word in self.dialect.empty_conditions:
            name = ""
        elif word in LORE_WORDS:
            name = self._lore(word).plain if self.dialect.has_lore_words else name
        elif is_value_macro(word):
            name = self.read(word) or ""
        elif word and (value := self.value(word)) is not None:
            name = value
        elif name[:1] in (".", "$") and _VARIABLE_NAME.fullmatch(name, 1):
            name = self.value((GLOBAL if name[0] == "$" else "") + name[1:]) or ""
        return is_true(name) is not negated

    def _stays(self, macro: Macro, code: str, reason: Exception) -> _Outcome:
        self.tell(Level.WARNING, code, macro, f"{reason}; it stays as it is written.")
        return _Outcome.STAYS

    def _word(self, macro: Macro) -> str:
        """Return the value of a macro that is only a name."""
        name = macro.name
        if name in LORE_WORDS and not self.dialect.has_lore_words and name != self.requires:
            raise UnknownMacro("is not a macro of this preset")
        is_variable = not is_value_macro(name) and any(
            self.read(kind + name.casefold()) is not None for kind in (SET_VARIABLE, VARIABLE)
        )
        if not (is_variable or is_value_macro(name)):
            if plugin := missing_plugin("macros", macro.name):
                raise UnknownMacro(f"comes with the plugin “{plugin}”, which is not installed")
            raise UnknownMacro("is not a macro or variable")
        if macro.arguments:
            raise NotExpanded("takes no arguments")
        value = self.value(name) if is_variable else self.read(name)
        return clean(value or "")

    def value(self, name: str) -> str | None:
        """Return a variable's value, expanded; None if it is not set."""
        name = name.casefold()
        was_set = self.read(SET_VARIABLE + name)
        if was_set is not None:
            return was_set
        content = self.read(VARIABLE + name)
        if content is None:
            return None
        dialect = self.dialect
        is_field = is_card_word(name) or name in dialect.card_words
        kind = _CARD if is_field and self.environment.has_card else "variable"
        if dialect.nested_fields is not None and self._in_card():
            if kind == _CARD and name not in dialect.nested_fields:
                return ""
            content = dialect.nested_values.get(name, content)
        if dialect.is_never_parsed(name, content):
            return content
        return self._inside(_Source(content, kind, name, f"variable “{shortened(name)}”"))

    def _in_card(self) -> bool:
        return any(source.kind == _CARD for source in self.values)

    def profile(self) -> str:
        """Return the profile's text, its own macros expanded."""
        is_empty = self.dialect.nested_fields is not None and self._in_card()
        content = "" if is_empty else self.read("persona") or ""
        kind = _CARD if self.dialect.is_profile_nested else OriginKind.PROFILE
        return self._inside(_Source(content, kind, "profile", "the profile"))

    def _inside(self, value: _Source) -> str:
        """Return the text of a value, its own macros expanded.

        Raises NotExpanded if it is being expanded already, _ValueTooLarge without room for it.
        """
        if not has_macros(value.text, self.dialect.syntax):
            return value.text
        if value in self.values:
            again = self.values[self.values.index(value) :]
            names = [each.called for each in (*again, value)]
            around = " → ".join(names if len(names) < 8 else (*names[:3], "…", *names[-3:]))
            raise NotExpanded(f"leads back to itself ({around})")
        self.inserted = self.inserted + 1 if self.values else 1
        if self.inserted > MAX_VALUES:
            raise _ValueTooLarge(f"inserts more than {MAX_VALUES:,} values")
        self.take(VALUE_COST + len(value.text))
        before = self.source, self.results, self.values, self.depth
        told = len(self.notes)
        self.source, self.results, self.values = value, {}, (*self.values, value)
        try:
            return self._string(self._parsed(value.text))
        except _ValueTooLarge:
            self.notes.truncate(told)  # they are about text that is not inserted
            raise
        finally:
            self.source, self.results, self.values, self.depth = before

    def _parsed(self, value: str) -> Sequence[Node]:
        """Parse a value."""
        if value not in self.parsed:
            self.parsed[value] = parse(value, self.dialect.syntax), unclosed(value)
        nodes, at = self.parsed[value]
        if at is not None:
            sentence = unclosed_note(value, at, self._place())
            self.notes.add(Level.WARNING, "macro-stays", sentence, value, self.source.called)
        return nodes

    def _has_value(self, name: str) -> bool:
        """Return True if a word or a variable has a value; white space is none in most dialects."""
        name = name.strip().casefold()
        try:
            if name == "persona":
                value = self.profile() if self.environment.has_placed_profile else ""
            elif name in LORE_WORDS:
                value = self._lore(name).plain
            elif is_value_macro(name):
                value = self.read(name)
            else:
                written = self.read(SET_VARIABLE + name) or self.read(VARIABLE + name) or ""
                value = self.value(name) if written.strip() else ""
        except (NotExpanded, _ValueTooLarge):
            return True  # it has a value, although it cannot be inserted
        return bool(value and (self.dialect.keeps_blanks or value.strip()))

    def _string(self, nodes: Sequence[Node]) -> str:
        return "".join(span.text for span in trimmed(self._pieces(nodes)))


def _branches(nodes: Sequence[Node]) -> list[Sequence[Node]]:
    """Return what stands before an `else`, and what after it if there is one."""
    for at, node in enumerate(nodes):
        if isinstance(node, Macro) and node.name == "else" and not node.arguments:
            return [nodes[:at], nodes[at + 1 :]]
    return [nodes]


_VARIABLE_NAME = re.compile(r"[^\W\d](?:[\w-]*\w)?")
