"""The expansion of a preset: which texts, in which order, and when one is expanded again.

1. The texts of the preset, the role, the profile and contributors are expanded. History and draft
   are not: they are sent verbatim.
2. The order is that of the preset's list: the role's prompt, then message by message, with the
   profile at its anchor and contributed messages where they stand. A variable that `{{setvar}}`
   sets is available to all later texts, wherever those are sent.
3. A text without macros costs nothing. One with macros is expanded again only when a value that it
   read has changed.
4. A message that expands to nothing, or to nothing but the white space written around its macros,
   is not sent, with a note. White space that a macro such as `{{newline}}` returns is sent, like a
   message of written white space.
5. A message that requires a variable without a value is not sent, with a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.environment import MacroEnvironment
from tui_chat.context.macros.expander import Expansion, expand, unclosed_note
from tui_chat.context.macros.syntax import Node, has_macros, parse, unclosed
from tui_chat.context.resolved_message import ExpandedTexts, ResolvedMessage, resolve_profile
from tui_chat.context.scan import MessageGroups
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import Memo
from tui_chat.models.text import OriginKind, Text

_NOTHING = Text()


@dataclass(slots=True)
class _Program:
    """A parsed text with macros, and its latest expansion."""

    nodes: tuple[Node, ...]
    unclosed: Note | None
    """A note about a macro that is never closed."""
    last: Expansion | None = None


@Memo
def _program(line: ResolvedMessage) -> _Program | None:
    content = line.message.content
    if not (has_macros(content) or line.message.requires):
        return None
    at, note = unclosed(content), None
    if at is not None:
        sentence = unclosed_note(content, at, line.called)
        note = Note(Level.WARNING, "macro-stays", sentence, line.origin)
    return _Program(parse(content), note)


def expand_all(
    inputs: Inputs, role_prompt: ResolvedMessage | None, groups: MessageGroups, notes: list[Note]
) -> ExpandedTexts:
    """Return the expanded texts of the messages with macros."""
    expanded: dict[int, Text] = {}
    environment: MacroEnvironment | None = None
    for line in _in_order(inputs, role_prompt, groups):
        program = _program(line)
        if program is None:
            continue
        environment = environment or MacroEnvironment(inputs)
        expansion = _expansion_of(program, line, environment)
        notes += expansion.notes
        expanded[id(line)] = expansion.text
    return expanded


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
    program: _Program, line: ResolvedMessage, environment: MacroEnvironment
) -> Expansion:
    """Return the expansion of a text: the latest one if nothing that it read has changed."""
    last = program.last
    if (
        last is not None
        and (last.room == environment.room if last.cramped else last.size <= environment.room)
        and all(environment.read(word) == meant for word, meant in last.read)
    ):
        environment.room -= last.size
        for name, value in last.was_set:
            environment.set(name, value)
        return last
    content, requires = line.message.content, line.message.requires
    expansion = _without_blanks(
        expand(content, program.nodes, line.origin, environment, requires), line
    )
    if program.unclosed is not None:
        expansion = replace(expansion, notes=(*expansion.notes, program.unclosed))
    program.last = expansion
    return expansion


def _without_blanks(expansion: Expansion, line: ResolvedMessage) -> Expansion:
    """Drop the white space that is left of a text full of `{{setvar}}`."""
    if expansion.text.plain.strip():
        return expansion
    text, level, code = _NOTHING, Level.INFO, "empty-content"
    if expansion.lacks:
        code = "empty-value"
        lacks = f"“{expansion.lacks}”, which has no value"
        sentence = f"{line.called} requires {lacks}; it is not sent."
    elif any(span.origin.kind is OriginKind.MACRO for span in expansion.text.spans):
        text, level, code = expansion.text, Level.WARNING, "blank-content"
        sentence = f"{line.called} is only white space; it is sent, but some providers refuse that."
    else:
        sentence = f"Nothing is left of {line.called} once its macros are expanded; it is not sent."
    note = Note(level, code, sentence, line.origin)
    return replace(expansion, text=text, notes=(*expansion.notes, note))
