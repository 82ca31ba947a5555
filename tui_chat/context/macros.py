"""Macros: `{{user}}`, `{{random::a::b}}`, ... in what presets, roles, profiles and lore say.

1. The arguments of a macro are expanded before it. What a macro became is never read again, so a
   person's or a model's words cannot bring in macros. Only what an author wrote is expanded where
   it is put: the values of the preset's and the session's variables, and the profile.
2. No text is lost. A macro that is unknown, or is given what it cannot use, stays as it is, with
   a note; the macros inside it are expanded all the same. Nothing here raises.
3. A macro stays if it is inside more than `DEEPEST` others (values count), or if it would put a
   value into itself. If the values that one macro brings in are more than `MOST_VALUES`, that
   macro stays. A note names the macro, the value it is written in, and the text.
4. Characters that stood in the text keep its origin and their place in it. What a macro
   became has the origin `MACRO`: the macro as written, within the text it stood in.
5. `{{trim}}` takes the line breaks on both its sides away with it.
6. Chance is drawn from the seed, the text, and the place of the macro in it, so the same
   macro twice in a text is drawn twice. `{{pick}}` draws from the session's seed instead. A value
   is a text of its own: it says the same wherever it is put.
7. What macros become is bounded by `ROOM` for a whole request; where it ends they stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from tui_chat.context.macro_syntax import COMMENT, Literal, Macro, Node, has_macros, parse, unclosed
from tui_chat.context.macro_table import MACROS, MOST_ARGUMENTS, Call, Stays
from tui_chat.context.scene import ROOM, SET_VARIABLE, VARIABLE, Scene, drawn, is_word
from tui_chat.models.envelope import Level, Note
from tui_chat.models.text import Origin, OriginKind, Span, Text, clean

DEEPEST = 32
"""How many macros and values may stand inside one another. Each takes some frames of Python's
stack, which has to last for all of them."""
MOST_VALUES = 1_000
"""How many values one macro of a text may bring in: values that name values grow exponentially."""
VALUE_COST = 64
"""Characters of `ROOM` that bringing in a value takes beside its length, or empty values would
never end."""
MOST_NOTES = 8
"""Notes that one text may bring, but for the one that says how many more there are."""
NAME_LENGTH = 40
"""A macro is called by what was written, up to so many characters."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a text became, and all that it depends on beside itself."""

    text: Text
    notes: tuple[Note, ...]
    read: tuple[tuple[str, str | None], ...]
    """Words, and what they meant."""
    was_set: tuple[tuple[str, str], ...]
    """Variables, and what they were set to, in order."""
    size: int
    """Characters that its macros became, variables included."""
    cramped: bool
    """Whether a macro stayed for want of room: with more of it the text might be another."""
    room: int
    """How much room there was."""
    lacks: str = ""
    """The variable without a value for which the text says nothing; empty if there is none."""


def expand(
    source: str, nodes: Sequence[Node], origin: Origin, scene: Scene, requires: str = ""
) -> Expansion:
    """Expand the macros of a text that was read into `nodes`; sets variables in the scene.

    Where `requires` names a word or a variable, and that has no value or only white space, the
    text is not expanded at all and becomes nothing.
    """
    return _Expander(_Source(source, origin.kind, origin.id), origin, scene).run(nodes, requires)


@dataclass(frozen=True, slots=True)
class _Source:
    """A text that is being expanded: a line's, or a value that is put into it."""

    text: str
    kind: str
    """With `id`, tells the text from others where chance is drawn."""
    id: str
    called: str = ""
    """What a note calls a value: `variable “x”`; empty for the line's own text."""


class _Outcome(Enum):
    """What a macro becomes where that is no text."""

    TRIM = auto()
    """It takes line breaks away once everything else is expanded."""
    STAYS = auto()
    """It stays; the macros in it are expanded."""
    TOO_DEEP = auto()
    """It stays to the letter."""


class _Unknown(Stays):
    """A macro that has no meaning."""


class _TooLarge(Exception):
    """The values that a macro brings in are too many or too long; the message says which."""


_Piece = Span | _Outcome
"""A run of characters, or `TRIM`."""


@dataclass(slots=True)
class _Expander:
    source: _Source
    origin: Origin
    """Of the line's text, within which all that macros become has its origin."""
    scene: Scene
    words: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    was_set: list[tuple[str, str]] = field(default_factory=list["tuple[str, str]"])
    own: set[str] = field(default_factory=set[str])
    """Words that this text itself gave a meaning."""
    notes: dict[tuple[str, str, str], Note] = field(
        default_factory=dict["tuple[str, str, str]", Note]
    )
    untold: set[tuple[str, str, str]] = field(default_factory=set["tuple[str, str, str]"])
    """What notes beyond `MOST_NOTES` would have told."""
    size: int = 0
    cramped: bool = False
    became: dict[int, str | _Outcome] = field(default_factory=dict[int, "str | _Outcome"])
    """What each macro of `source` became, by its place: each is expanded once, or those inside
    one another would be expanded twice as often with every level."""
    depth: int = 0
    """How many macros and values surround what is being expanded."""
    values: tuple[_Source, ...] = ()
    """The values that are being expanded, the outermost first."""
    brought: int = 0
    """How many values the outermost of them has brought in, itself included."""
    parsed: dict[str, tuple[tuple[Node, ...], int | None]] = field(
        default_factory=dict[str, "tuple[tuple[Node, ...], int | None]"]
    )
    """Values that were read, and where a macro begins in them that is never closed."""

    def run(self, nodes: Sequence[Node], requires: str) -> Expansion:
        """Expand the whole text."""
        room = self.scene.room
        lacks = requires if requires and not self._has_value(requires) else ""
        text = Text() if lacks else Text(_trimmed(self._pieces(nodes)))
        self.scene.room -= self.size
        if self.untold:
            count = len(self.untold)
            what = "1 more macro" if count == 1 else f"{count:,} more macros"
            sentence = f"There are notes about {what} of {self.origin.label}."
            self.notes["more", "", ""] = Note(Level.WARNING, "more-macros", sentence, self.origin)
        return Expansion(
            text,
            tuple(self.notes.values()),
            tuple(self.words.items()),
            tuple(self.was_set),
            self.size,
            self.cramped,
            room,
            lacks,
        )

    def read(self, word: str) -> str | None:
        """Read a word of the scene, noting what it meant."""
        value = self.scene.read(word)
        if word not in self.own:
            self.words.setdefault(word, value)
        return value

    def draw(self, chance: str, macro: Macro, *more: object) -> int:
        """Return a large number, drawn for a macro of this text."""
        source = self.source
        return drawn(self.read(chance) or "", source.kind, source.id, macro.start, *more)

    def set(self, name: str, value: str) -> None:
        """Give a variable a value."""
        self.take(len(value))
        self.scene.set(name, value)
        self.own.add(SET_VARIABLE + name.casefold())
        self.was_set.append((name, value))

    def take(self, size: int) -> None:
        """Take room for what a macro becomes; the macro stays where there is not enough."""
        if self.size + size > self.scene.room:
            self.cramped = True
            raise _TooLarge(f"would make more than the {ROOM:,} characters that macros may become")
        self.size += size

    def tell(self, level: Level, code: str, macro: Macro, what: str) -> None:
        """Add a note about a macro, once for each way it is written and each text it is in."""
        written = self.source.text[macro.start : macro.stop]
        self._tell(level, code, written, f"{_shortened(written)} in {self._place()} {what}")

    def _tell(self, level: Level, code: str, written: str, sentence: str) -> None:
        key = code, written, self.source.called
        if key in self.notes:
            return
        if len(self.notes) < MOST_NOTES:
            self.notes[key] = Note(level, code, sentence, self.origin)
        else:
            self.untold.add(key)

    def _place(self) -> str:
        """Say where the text that is being expanded stands."""
        called = self.source.called
        return f"{called} in {self.origin.label}" if called else self.origin.label

    def _pieces(self, nodes: Sequence[Node]) -> list[_Piece]:
        pieces: list[_Piece] = []
        self.depth += 1
        for node in nodes:
            if isinstance(node, Literal):
                pieces.append(self._literal(node.start, node.stop))
                continue
            became = self._macro(node)
            if isinstance(became, str):
                written = self.source.text[node.start : node.stop]
                name = _shortened(written)
                origin = Origin(OriginKind.MACRO, written, name, within=self.origin)
                pieces.append(Span(became, origin))
            elif became is _Outcome.STAYS:
                pieces.append(self._literal(node.start, node.start + 2))
                pieces += self._pieces(node.body)
                pieces.append(self._literal(node.stop - 2, node.stop))
            elif became is _Outcome.TOO_DEEP:
                pieces.append(self._literal(node.start, node.stop))
            else:
                pieces.append(became)
        self.depth -= 1
        return pieces

    def _literal(self, start: int, stop: int) -> Span:
        return Span(self.source.text[start:stop], self.origin, start)

    def _macro(self, macro: Macro) -> str | _Outcome:
        """Return what a macro becomes."""
        if macro.start not in self.became:
            self.became[macro.start] = self._expanded(macro)
        return self.became[macro.start]

    def _expanded(self, macro: Macro) -> str | _Outcome:
        if self.depth > DEEPEST:
            what = f"stands inside {DEEPEST} macros and values; it stays as it is written."
            self.tell(Level.WARNING, "macro-stays", macro, what)
            return _Outcome.TOO_DEEP
        if macro.name == COMMENT:
            return ""
        known = MACROS.get(macro.name)
        try:
            if len(macro.arguments) > MOST_ARGUMENTS.get(macro.name, len(macro.arguments)):
                raise Stays("has too many arguments")
            if macro.name == "trim":
                return _Outcome.TRIM
            if known is not None:
                arguments = [self._string(argument) for argument in macro.arguments]
                became = clean(known(Call(self, macro, arguments)))
            else:
                became = self._word(macro)
            self.take(len(became))
        except _TooLarge as reason:
            if self.values:
                raise  # the outermost value is put whole or not at all
            return self._stays(macro, "macro-stays", reason)
        except _Unknown as reason:
            return self._stays(macro, "unknown-macro", reason)
        except Stays as reason:
            return self._stays(macro, "macro-stays", reason)
        return became

    def _stays(self, macro: Macro, code: str, reason: Exception) -> _Outcome:
        self.tell(Level.WARNING, code, macro, f"{reason}; it stays as it is written.")
        return _Outcome.STAYS

    def _word(self, macro: Macro) -> str:
        """Return what a macro that is only a name means."""
        name = macro.name
        is_variable = not is_word(name) and any(
            self.read(kind + name.casefold()) is not None for kind in (SET_VARIABLE, VARIABLE)
        )
        if not (is_variable or is_word(name)):
            raise _Unknown("is no macro or variable")
        if macro.arguments:
            raise Stays("takes no arguments")
        value = self.value(name) if is_variable else self.read(name)
        return clean(value or "")

    def value(self, name: str) -> str | None:
        """Return a variable's value, expanded; None where nobody set it."""
        name = name.casefold()
        was_set = self.read(SET_VARIABLE + name)
        if was_set is not None:
            return was_set
        content = self.read(VARIABLE + name)
        if content is None:
            return None
        return self._inside(_Source(content, "variable", name, f"variable “{_shortened(name)}”"))

    def profile(self) -> str:
        """Return what the profile says, its own macros expanded."""
        content = self.read("persona") or ""
        return self._inside(_Source(content, OriginKind.PROFILE, "", "the profile"))

    def _inside(self, value: _Source) -> str:
        """Return what a value says, its own macros expanded.

        Raises Stays if it is being expanded already, _TooLarge if there is no room for it.
        """
        if not has_macros(value.text):
            return value.text
        if value in self.values:
            again = self.values[self.values.index(value) :]
            names = [each.called for each in (*again, value)]
            around = " → ".join(names if len(names) < 8 else (*names[:3], "…", *names[-3:]))
            raise Stays(f"leads back to itself ({around})")
        self.brought = self.brought + 1 if self.values else 1
        if self.brought > MOST_VALUES:
            raise _TooLarge(f"brings in more than {MOST_VALUES:,} values")
        self.take(VALUE_COST + len(value.text))
        before = self.source, self.became, self.values, self.depth
        told = len(self.notes)
        self.source, self.became, self.values = value, {}, (*self.values, value)
        try:
            return self._string(self._parsed(value.text))
        except _TooLarge:
            for key in tuple(self.notes)[told:]:  # they are about text that is not put there
                del self.notes[key]
            raise
        finally:
            self.source, self.became, self.values, self.depth = before

    def _parsed(self, value: str) -> Sequence[Node]:
        """Read a value into nodes."""
        if value not in self.parsed:
            self.parsed[value] = parse(value), unclosed(value)
        nodes, at = self.parsed[value]
        if at is not None:
            sentence = unclosed_note(value, at, self._place())
            self._tell(Level.WARNING, "macro-stays", value, sentence)
        return nodes

    def _has_value(self, name: str) -> bool:
        """Return whether a word or a variable says more than white space."""
        try:
            name = name.strip().casefold()
            if name == "persona":
                value = self.profile()
            elif is_word(name):
                value = self.read(name)
            else:
                value = self.value(name)
        except (Stays, _TooLarge):
            return True  # it says something, although it cannot be put there
        return bool(value and value.strip())

    def _string(self, nodes: Sequence[Node]) -> str:
        return "".join(span.text for span in _trimmed(self._pieces(nodes)))


def unclosed_note(text: str, at: int, place: str) -> str:
    """Return the sentence about a macro that begins at `at` and is never closed."""
    begins = " ".join(text[at : at + 24].split())
    return f"“{begins}” in {place} has no “}}}}”; it is sent as it is written."


def _shortened(written: str) -> str:
    short = " ".join(written[: 2 * NAME_LENGTH].split())
    return short if len(short) <= NAME_LENGTH else short[: NAME_LENGTH - 1] + "…"


_BREAKS = "\r\n"


def _trimmed(pieces: list[_Piece]) -> list[Span]:
    """Carry out the trims: each takes the line breaks next to it, and goes."""
    result: list[Span] = []
    trimming = False
    for piece in pieces:
        if not isinstance(piece, Span):
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
