"""The expansion of the texts of a request: `{{user}}`, `{{random::a::b}}`, ... in presets.

1. The texts around the conversation are expanded in the order of the preset's list; history and
   draft are sent verbatim. What `{{setvar}}` sets is there for all later texts, wherever those are
   sent.
2. A message that expands to nothing, or to nothing but the white space around its macros, is not
   sent, with a note unless it sets variables; nor is one that requires a value that is empty.
3. Macros are expanded anew for each request. A text that stays the same is the same object, so that
   its turn, tokens and encoding are found again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TypeAlias

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import (
    CARD,
    MACROS,
    MAX_EXPANSION,
    Declaration,
    Expansion,
)
from tui_chat.context.macros.functions import GLOBAL
from tui_chat.context.macros.syntax import Parsed, has_macros, parse
from tui_chat.context.resolved_message import ResolvedMessage, text_of
from tui_chat.hooks import load_all
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import Memo
from tui_chat.models.text import Origin, OriginKind, Text

Value: TypeAlias = "str | Text | None"
"""The value of a variable: a text, one with origins, or None if it is not set."""
NOTHING = Text()
_STORED = Origin(OriginKind.DRAFT, "draft")


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
