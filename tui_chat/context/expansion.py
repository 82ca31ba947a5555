"""Which texts have macros, and in which order they are expanded.

1. What the preset, the role, the profile and contributors say is expanded. History and draft
   are not: what a person or a model wrote is sent to the letter.
2. From the top of the list to its end, as its author sees it: the role's prompt, then line by
   line, the profile where its anchor stands and contributed lines where they stand. What
   `{{setvar}}` sets is there for everything below, wherever that is sent.
3. A text without macros is not even looked at twice. One that has some is expanded again only
   when something that it read means something else.
4. A line that is nothing but white space once its macros are expanded is not sent, and a note
   says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tui_chat.context.inputs import Inputs
from tui_chat.context.listed import Listed, Said, profile_line
from tui_chat.context.macro_syntax import Node, has_macros, parse, unclosed
from tui_chat.context.macros import Expansion, expand
from tui_chat.context.scan import Groups
from tui_chat.context.scene import Scene
from tui_chat.model.envelope import Level, Note
from tui_chat.model.memo import Memo
from tui_chat.model.text import Text

_NOTHING = Text()


@dataclass(slots=True)
class _Program:
    """A text with macros, read once, with what it became last time."""

    nodes: tuple[Node, ...]
    unclosed: Note | None
    """What is to be said of a macro that was opened and never closed."""
    last: Expansion | None = None


def _read(line: Listed) -> _Program | None:
    content = line.message.content
    if not has_macros(content):
        return None
    at, note = unclosed(content), None
    if at is not None:
        begins = " ".join(content[at : at + 24].split())
        sentence = f"“{begins}” in {line.called} has no “}}}}”; it is sent as it is written."
        note = Note(Level.WARNING, "macro-stays", sentence, line.origin)
    return _Program(parse(content), note)


_program: Memo[Listed, _Program | None] = Memo(_read)


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
        and last.size <= scene.room
        and all(scene.read(word) == meant for word, meant in last.read)
    ):
        scene.room -= last.size
        for name, value in last.was_set:
            scene.set(name, value)
        return last
    expansion = _tidy(expand(line.message.content, program.nodes, line.origin, scene), line)
    if program.unclosed is not None:
        expansion = replace(expansion, notes=(*expansion.notes, program.unclosed))
    program.last = None if expansion.cramped else expansion
    return expansion


def _tidy(expansion: Expansion, line: Listed) -> Expansion:
    """Send nothing rather than the blanks that are left of a line full of `{{setvar}}`."""
    if expansion.text.plain.strip():
        return expansion
    sentence = f"Nothing is left of {line.called} once its macros are expanded; it is not sent."
    note = Note(Level.INFO, "empty-content", sentence, line.origin)
    return replace(expansion, text=_NOTHING, notes=(*expansion.notes, note))
