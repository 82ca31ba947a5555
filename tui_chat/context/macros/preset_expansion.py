"""The expansion of a preset: which texts, in which order, and when one is expanded again.

1. The texts of the preset, the role, the profile and contributors are expanded. History and draft
   are not: they are sent verbatim.
2. The order is that of the preset's list: the role's prompt, then message by message, with the
   profile at its anchor and contributed messages where they stand. A variable that `{{setvar}}`
   sets is available to all later texts, wherever those are sent.
3. A text without macros costs nothing. One with macros is expanded again only when a value that it
   read has changed.
4. A message that expands to nothing, or to nothing but the white space written around its macros,
   is not sent, with a note unless it sets variables. White space that a macro such as `{{newline}}`
   returns is sent, like a message of written white space.
5. A message that requires a variable without a value is not sent, with a note. One that requires
   lore, a profile or a field of a character that the session does not have needs no note.
6. A dialect names the messages in which the macros that an expansion left are expanded once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.environment import (
    GLOBAL,
    MacroEnvironment,
    is_card_word,
    is_value_macro,
)
from tui_chat.context.macros.expander import expand, expand_stored
from tui_chat.context.macros.expansion import Expansion, unclosed_note
from tui_chat.context.macros.syntax import MacroSyntax, Node, has_macros, parse, unclosed
from tui_chat.context.resolved_message import ResolvedMessage, resolve_profile, text_of
from tui_chat.context.scan import MessageGroups
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import Memo
from tui_chat.models.text import OriginKind, Text

_NOTHING = Text()
EXAMPLES = "example_dialogues"
"""The id of the message of a card's example dialogues."""


@dataclass(slots=True)
class _Program:
    """A parsed text with macros, and its latest expansion."""

    nodes: tuple[Node, ...]
    unclosed: Note | None
    """A note about a macro that is never closed."""
    latest: tuple[Expansion, Text | None] | None = None
    """The latest expansion, and the value that `{{original}}` had in it. One value, since requests
    are composed in several threads."""


@Memo
def _program(line: ResolvedMessage, syntax: MacroSyntax) -> _Program | None:
    content = line.message.content
    if not (has_macros(content, syntax) or line.message.requires):
        return None
    at, note = unclosed(content), None
    if at is not None:
        sentence = unclosed_note(content, at, line.called)
        note = Note(Level.WARNING, "macro-stays", sentence, line.origin)
    return _Program(parse(content, syntax), note)


LoreChange: TypeAlias = "Callable[[Expander, ResolvedMessage, Text], Text]"
"""Returns what is sent of the expanded text of a lore entry."""


class Expander:
    """Expands the texts of one request, in the order in which they are given."""

    def __init__(
        self, inputs: Inputs, notes: list[Note], change_lore: LoreChange | None = None
    ) -> None:
        self._inputs = inputs
        self._dialect = inputs.rules.macros
        self._notes = notes
        self._change_lore = change_lore
        self._environment: MacroEnvironment | None = None
        self.texts: dict[int, Text] = {}
        """The expanded texts of the messages with macros, by their identity."""
        self.set_variables: dict[str, tuple[str, ...]] = {}
        """The variables set by preset messages of which nothing else is left, by message id."""
        self.without_value: set[str] = set()
        """The ids of preset messages that require a word or variable without a value."""
        self.values: dict[str, Text] = {}
        """Values of macros whose characters have origins of their own, by word."""

    @property
    def environment(self) -> MacroEnvironment:
        """The values that macros read."""
        if self._environment is None:
            self._environment = MacroEnvironment(self._inputs, self.values)
        return self._environment

    @property
    def syntax(self) -> MacroSyntax:
        """The syntax of the macros."""
        return self._dialect.syntax

    @property
    def read_fields(self) -> frozenset[str]:
        """The names that macros have read; see `MacroEnvironment.read_fields`."""
        return frozenset() if self._environment is None else self._environment.read_fields

    def expand_macros(self, source: str) -> str:
        """Return a text that is no message with its macros expanded."""
        return expand_stored(source, self.environment)

    def expand(self, line: ResolvedMessage) -> Text:
        """Return the expanded text of a message."""
        if line.pieces:
            texts = [
                text
                for piece in line.pieces
                if (text := self.expand(piece)).plain or not is_lore_entry(piece)
            ]
            text = self.texts[id(line)] = self._again(line, Text.join(line.separator, texts))
            return text
        original = None if line.replaced is None else self.expand(line.replaced)
        program = _program(line, self._dialect.syntax)
        text = text_of(line, {})
        if program is not None:
            expansion = _expansion_of(program, line, self.environment, original)
            self._notes += expansion.notes
            if not expansion.text.plain and line.origin.kind is OriginKind.PRESET:
                names = dict.fromkeys(name.removeprefix(GLOBAL) for name, _ in expansion.was_set)
                if names:
                    self.set_variables[line.origin.id] = tuple(names)
            if expansion.lacks:
                self.without_value.add(line.origin.id)
            text = self._again(line, expansion.text, original)
            if original is not None and not text.plain:  # the card's prompt expands to nothing
                text = original
            self.texts[id(line)] = text
        if self._change_lore is not None and is_lore_entry(line):
            text = self.texts[id(line)] = self._change_lore(self, line, text)
        return text

    def _again(self, line: ResolvedMessage, text: Text, original: Text | None = None) -> Text:
        """Return a text in which the macros that its expansion left are expanded, if the dialect
        does so; those in the `original` stay.
        """
        if not self._dialect.is_expanded_twice(line):
            return text
        if original is not None and original.plain and original.plain in text.plain:
            at = text.plain.index(original.plain)
            end = at + len(original)
            parts = self._again(line, text[:at]), text[at:end], self._again(line, text[end:])
            return Text.join("", parts)
        if not has_macros(text.plain, self._dialect.syntax):
            return text
        nodes = parse(text.plain, self._dialect.syntax)
        again = expand(text.plain, nodes, line.origin, self.environment)
        return text if again.text.plain == text.plain else again.text


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
    for line in _in_order(inputs, role_prompt, groups):
        expander.expand(line)


def _in_order(
    inputs: Inputs, role_prompt: ResolvedMessage | None, groups: MessageGroups
) -> Iterator[ResolvedMessage]:
    if role_prompt is not None:
        yield role_prompt
    for line in groups.listed:
        if not line.message.is_anchor:
            yield line
        elif line is groups.profile_anchor and inputs.profile is not None:
            yield resolve_profile(line.message, inputs.profile)


def _expansion_of(
    program: _Program,
    line: ResolvedMessage,
    environment: MacroEnvironment,
    original: Text | None,
) -> Expansion:
    """Return the expansion of a text: the latest one if nothing that it read has changed."""
    last, was_original = program.latest or (None, None)
    if (
        last is not None
        and was_original == original
        and (last.room == environment.room if last.cramped else last.size <= environment.room)
        and all(environment.read(word) == meant for word, meant in last.read)
    ):
        environment.room -= last.size
        for name, value in last.was_set:
            environment.set(name, value)
        return last
    content, requires = line.message.content, line.message.requires
    expansion = _without_blanks(
        expand(
            content,
            program.nodes,
            line.origin,
            environment,
            requires,
            is_card=line.is_card,
            original=original,
        ),
        line,
        keeps_blanks=environment.dialect.keeps_blanks,
    )
    if program.unclosed is not None:
        expansion = replace(expansion, notes=(*expansion.notes, program.unclosed))
    program.latest = expansion, original
    return expansion


def _without_blanks(
    expansion: Expansion, line: ResolvedMessage, *, keeps_blanks: bool
) -> Expansion:
    """Drop the white space that is left of a text full of `{{setvar}}`, unless it is to be kept."""
    if expansion.text.plain.strip():
        return expansion
    text, level, code = _NOTHING, Level.INFO, "empty-content"
    if (word := expansion.lacks.casefold()) and (is_value_macro(word) or is_card_word(word)):
        return replace(expansion, text=text)  # nothing is lost: the session has no such text
    if expansion.lacks:
        code = "empty-value"
        lacks = f"“{expansion.lacks}”, which has no value"
        sentence = f"{line.called} requires {lacks}; it is not sent."
    elif (keeps_blanks and expansion.text.plain) or any(
        span.origin.kind is OriginKind.MACRO for span in expansion.text.spans
    ):
        text, level, code = expansion.text, Level.WARNING, "blank-content"
        sentence = f"{line.called} is only white space; it is sent, but some providers refuse that."
    elif expansion.was_set:  # it is there for the variables that it sets
        return replace(expansion, text=text)
    else:
        sentence = f"Nothing is left of {line.called} once its macros are expanded; it is not sent."
    note = Note(level, code, sentence, line.origin)
    return replace(expansion, text=text, notes=(*expansion.notes, note))
