"""Macros: `{{user}}`, `{{random::a::b}}`, ... in what presets, roles, profiles and lore say.

1. The arguments of a macro are expanded before it. What a macro became is never read again:
   neither a person's words nor a variable's value can bring in macros. (The one exception is
   `{{persona}}`: a profile is written for macros, so it is expanded where it is put.)
2. A macro that is unknown, or is given what it cannot use, stays as it is, with a note; the
   macros inside it are expanded all the same. Nothing here raises.
3. Characters that stood in the text keep its origin and their place in it. What a macro
   became has the origin `MACRO`: the macro as written, within the text it stood in.
4. `{{trim}}` takes the line breaks on both its sides away with it.
5. Chance is drawn from the seed, the text, and the place of the macro in it, so the same
   macro twice in a text is drawn twice. `{{pick}}` draws from the session's seed instead.
6. What macros become is bounded by `ROOM` for a whole request; where it ends they stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tui_chat.context.macro_syntax import COMMENT, Literal, Macro, Node, has_macros, parse
from tui_chat.context.macro_table import MACROS, Call, Stays
from tui_chat.context.scene import ROOM, VARIABLE, Scene, is_word
from tui_chat.model.envelope import Level, Note
from tui_chat.model.text import Origin, OriginKind, Span, Text, clean

MOST_NOTES = 8
"""Notes that one text may bring."""
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


def expand(source: str, nodes: Sequence[Node], origin: Origin, scene: Scene) -> Expansion:
    """Expand the macros of a text that was read into `nodes`; sets variables in the scene."""
    return _Expander(source, origin, scene).run(nodes)


class _Trim:
    """Stands for `{{trim}}` until everything else is expanded."""


_TRIM = _Trim()
_Piece = Span | _Trim


@dataclass(slots=True)
class _Expander:
    source: str
    origin: Origin
    scene: Scene
    words: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    was_set: list[tuple[str, str]] = field(default_factory=list["tuple[str, str]"])
    own: set[str] = field(default_factory=set[str])
    """Words that this text itself gave a meaning."""
    notes: dict[tuple[str, str], Note] = field(default_factory=dict["tuple[str, str]", Note])
    size: int = 0
    cramped: bool = False
    became: dict[int, str | _Trim | None] = field(default_factory=dict[int, "str | _Trim | None"])
    """What each macro became, by its place: each is expanded once, or those inside one another
    would be expanded twice as often with every level."""
    persona: str | None = None
    """What `{{persona}}` became."""
    in_profile: bool = False
    """Whether it is the profile that is expanded, for `{{persona}}`."""

    def run(self, nodes: Sequence[Node]) -> Expansion:
        """Expand the whole text."""
        text = Text(_trimmed(self._pieces(nodes)))
        self.scene.room -= self.size
        return Expansion(
            text,
            tuple(self.notes.values()),
            tuple(self.words.items()),
            tuple(self.was_set),
            self.size,
            self.cramped,
        )

    def read(self, word: str) -> str | None:
        """Read a word of the scene, noting what it meant."""
        value = self.scene.read(word)
        if word not in self.own:
            self.words.setdefault(word, value)
        return value

    def set(self, name: str, value: str) -> None:
        """Give a variable a value."""
        self.take(len(value))
        self.scene.set(name, value)
        self.own.add(VARIABLE + name.casefold())
        self.was_set.append((name, value))

    def take(self, size: int) -> None:
        """Take room for what a macro becomes; the macro stays where there is not enough."""
        if self.size + size > self.scene.room:
            self.cramped = True
            raise Stays(f"would make more than the {ROOM:,} characters that macros may become")
        self.size += size

    def tell(self, level: Level, code: str, macro: Macro, what: str) -> None:
        """Add a note about a macro, once for each way it is written."""
        written = self.source[macro.start : macro.stop]
        if len(self.notes) < MOST_NOTES:
            sentence = f"{_shortened(written)} {what}"
            self.notes.setdefault((code, written), Note(level, code, sentence, self.origin))

    def _pieces(self, nodes: Sequence[Node]) -> list[_Piece]:
        pieces: list[_Piece] = []
        for node in nodes:
            if isinstance(node, Literal):
                pieces.append(self._literal(node.start, node.stop))
                continue
            became = self._macro(node)
            if isinstance(became, str):
                written = self.source[node.start : node.stop]
                name = _shortened(written)
                origin = Origin(OriginKind.MACRO, written, name, within=self.origin)
                pieces.append(Span(became, origin))
            elif became is None:
                pieces.append(self._literal(node.start, node.start + 2))
                pieces += self._pieces(node.body)
                pieces.append(self._literal(node.stop - 2, node.stop))
            else:
                pieces.append(became)
        return pieces

    def _literal(self, start: int, stop: int) -> Span:
        return Span(self.source[start:stop], self.origin, start)

    def _macro(self, macro: Macro) -> str | _Trim | None:
        """Return what a macro becomes; None where it stays."""
        if macro.start not in self.became:
            self.became[macro.start] = self._expanded(macro)
        return self.became[macro.start]

    def _expanded(self, macro: Macro) -> str | _Trim | None:
        if macro.name == COMMENT:
            return ""
        if macro.name == "trim":
            return _TRIM
        known = MACROS.get(macro.name)
        try:
            if known is not None:
                arguments = [self._string(argument) for argument in macro.arguments]
                became = clean(known(Call(self, macro, arguments)))
            else:
                became = self._word(macro)
            self.take(len(became))
        except Stays as reason:
            code = "macro-stays" if known or is_word(macro.name) else "unknown-macro"
            self.tell(Level.WARNING, code, macro, f"{reason}; it is sent as it is written.")
            return None
        return became

    def _word(self, macro: Macro) -> str:
        """Return what a macro that is only a name means."""
        if macro.name and not macro.arguments:
            value = self.read(macro.name) if is_word(macro.name) else None
            if value is None:
                value = self.read(VARIABLE + macro.name.casefold())
            if value is not None:
                return clean(value)
        raise Stays("takes no arguments" if is_word(macro.name) else "is no macro or variable")

    def profile(self) -> str:
        """Return what the profile says, its own macros expanded."""
        if self.in_profile:
            raise Stays("stands in the profile itself")
        if self.persona is None:
            content = self.read("persona") or ""
            inside = replace(
                self,
                source=content,
                origin=Origin(OriginKind.PROFILE),
                in_profile=True,
                became={},
            )
            self.persona = inside._string(parse(content)) if has_macros(content) else content
            self.size, self.cramped = inside.size, inside.cramped
        return self.persona

    def _string(self, nodes: Sequence[Node]) -> str:
        return "".join(span.text for span in _trimmed(self._pieces(nodes)))


def _shortened(written: str) -> str:
    short = " ".join(written[: 2 * NAME_LENGTH].split())
    return short if len(short) <= NAME_LENGTH else short[: NAME_LENGTH - 1] + "…"


_BREAKS = "\r\n"


def _trimmed(pieces: list[_Piece]) -> list[Span]:
    """Carry out the trims: each takes the line breaks next to it, and goes."""
    result: list[Span] = []
    trimming = False
    for piece in pieces:
        if isinstance(piece, _Trim):
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
