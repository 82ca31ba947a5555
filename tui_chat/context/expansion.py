"""Which texts have macros, and in which order they are expanded.

1. What the preset, the role, the profile and contributors say is expanded. History and draft
   are not: what a person or a model wrote is sent to the letter.
2. From the top of the list to its end, as its author sees it: the role's prompt, then line by
   line, the profile where its anchor stands and contributed lines where they stand. What
   `{{setvar}}` sets is there for everything below, wherever that is sent.
3. A text without macros is not even looked at twice. One that has some is expanded again only
   when something that it read means something else.
4. A line of which macros left nothing, or only the white space that was written around them, is
   not sent, and a note says so. White space that a macro became, as `{{newline}}` does, was asked
   for: it is sent like white space that was written alone.
5. A line that requires a variable is not sent where that has no value, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tui_chat.context.inputs import Inputs
from tui_chat.context.listed import Listed, Said, profile_line
from tui_chat.context.macro_syntax import Node, has_macros, parse, unclosed
from tui_chat.context.macros import Expansion, expand, unclosed_note
from tui_chat.context.scan import Groups
from tui_chat.context.scene import Scene
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import Memo
from tui_chat.models.text import OriginKind, Text

_NOTHING = Text()


@dataclass(slots=True)
class _Program:
    """A text with macros, read once, with what it became last time."""

    nodes: tuple[Node, ...]
    unclosed: Note | None
    """What is to be said of a macro that was opened and never closed."""
    last: Expansion | None = None


@Memo
def _program(line: Listed) -> _Program | None:
    content = line.message.content
    if not (has_macros(content) or line.message.requires):
        return None
    at, note = unclosed(content), None
    if at is not None:
        sentence = unclosed_note(content, at, line.called)
        note = Note(Level.WARNING, "macro-stays", sentence, line.origin)
    return _Program(parse(content), note)


def expand_all(inputs: Inputs, opening: Listed | None, groups: Groups, notes: list[Note]) -> Said:
    """Return what the lines with macros say."""
    said: dict[int, Text] = {}
    scene: Scene | None = None
    for line in _in_order(inputs, opening, groups):
        program = _program(line)
        if program is None:
            continue
        scene = scene or Scene(inputs)
        expansion = _current(program, line, scene)
        notes += expansion.notes
        said[id(line)] = expansion.text
    return said


def _in_order(inputs: Inputs, opening: Listed | None, groups: Groups) -> Iterator[Listed]:
    if opening is not None:
        yield opening
    for line in groups.listed:
        if not line.message.is_anchor:
            yield line
        elif line is groups.profile_anchor and inputs.profile is not None:
            yield profile_line(line.message, inputs.profile)


def _current(program: _Program, line: Listed, scene: Scene) -> Expansion:
    """Return what a text becomes now: what it became last time, if it would again."""
    last = program.last
    if (
        last is not None
        and (last.room == scene.room if last.cramped else last.size <= scene.room)
        and all(scene.read(word) == meant for word, meant in last.read)
    ):
        scene.room -= last.size
        for name, value in last.was_set:
            scene.set(name, value)
        return last
    content, requires = line.message.content, line.message.requires
    expansion = _tidy(expand(content, program.nodes, line.origin, scene, requires), line)
    if program.unclosed is not None:
        expansion = replace(expansion, notes=(*expansion.notes, program.unclosed))
    program.last = expansion
    return expansion


def _tidy(expansion: Expansion, line: Listed) -> Expansion:
    """Send nothing rather than the blanks that are left of a line full of `{{setvar}}`."""
    if expansion.text.plain.strip():
        return expansion
    text, level, code = _NOTHING, Level.INFO, "empty-content"
    if expansion.lacks:
        code = "empty-value"
        lacks = f"“{expansion.lacks}”, which has no value"
        sentence = f"{line.called} requires {lacks}; it is not sent."
    elif any(span.origin.kind is OriginKind.MACRO for span in expansion.text.spans):
        text, level, code = expansion.text, Level.WARNING, "blank-content"
        sentence = f"{line.called} is nothing but white space; it is sent, but some refuse that."
    else:
        sentence = f"Nothing is left of {line.called} once its macros are expanded; it is not sent."
    note = Note(level, code, sentence, line.origin)
    return replace(expansion, text=text, notes=(*expansion.notes, note))
