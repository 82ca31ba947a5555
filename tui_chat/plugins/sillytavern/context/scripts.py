"""Regex scripts: replacements in what is sent. Stored messages stay as they are.

1. Patterns are in JavaScript's syntax; those that `lorebooks.patterns` refuses are not applied.
2. What a script inserts has the script as its origin.
3. Only the first `MAX_CHARACTERS` of a text are searched. A pattern may need exponential time: if
   Python's engine might try more than `MAX_WAYS` ways, the text is searched by `lorebooks.patterns`
   in at most `MAX_STEPS` steps for all texts of a request. A script that needs more is not applied
   to the others, and a note says so.
4. Macros in a replacement are expanded with what was found in it; those in a pattern if the script
   says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import islice

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import Expander
from tui_chat.context.macros.syntax import Macro, has_macros, parse
from tui_chat.context.patterns import BadPattern, Pattern
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import recent_memo
from tui_chat.models.settings import TextScript
from tui_chat.models.text import GLUE, Origin, OriginKind, Span, Text
from tui_chat.plugins.sillytavern.policies import policies_of

MAX_CHARACTERS = 20_000
MAX_WAYS = 2_000_000
MAX_STEPS = 1_000_000
_WRITTEN = re.compile(r"(/?)([^\n\r\u2028\u2029]+)\1([a-z]*)", re.IGNORECASE)
_FLAGS = re.compile(r"(?!.*(.).*\1)[gmisuxXUAJ]+")
"""What SillyTavern takes for flags; otherwise the whole text is the pattern."""
_SPECIAL = re.compile(r"[\n\r\t\v\f\0.^$*+?{}\[\]\\/|()]")
_REFERENCE = re.compile(r"\{\{match\}\}|\$(\d+)|\$<([^>]+)>", re.IGNORECASE)


def scripts_of(inputs: Inputs) -> tuple[TextScript, ...]:
    """Return the scripts of a request: the settings', the preset's, the card's; first those with
    which SillyTavern would have stored the messages.
    """
    whose, role = policies_of(inputs.preset).scripts, inputs.active_role
    scripts: tuple[TextScript, ...] = inputs.first("scripts") or ()
    scripts += inputs.preset.scripts if "preset" in whose else ()
    if "card" in whose and role is not None and role.character is not None:
        scripts += role.character.scripts
    return _stored_first(scripts)


@recent_memo()
def _stored_first(scripts: tuple[TextScript, ...]) -> tuple[TextScript, ...]:
    return tuple(sorted(scripts, key=lambda script: not script.is_stored))


def changed_message(scripts: Sequence[TextScript], text: str, role: str, depth: int) -> str:
    """Return the text of a message after the scripts for it, for the search of lorebooks."""
    return apply_scripts(Text.of(text, GLUE), scripts_for(scripts, role, depth)).plain


class RequestScripts:
    """The scripts of one request, which share the steps that they may take."""

    def __init__(self, inputs: Inputs, notes: list[Note]) -> None:
        self.scripts = scripts_of(inputs)
        self._steps = ScriptSteps(notes=notes)

    def apply(self, text: Text, target: str, depth: int | None, expander: Expander) -> Text:
        """Return a text after the scripts for it; see `scripts_for`."""
        scripts = scripts_for(self.scripts, target, depth)
        return apply_scripts(text, scripts, self._steps, expander.expand_text)

    def change_lore(self, expander: Expander, line: ResolvedMessage, text: Text) -> Text:
        """Return what is sent of the expanded text of a lore entry."""
        point = line.message.insertion_point
        depth = None if point is None else max(-point, 0)
        changed = self.apply(text, "lore", depth, expander)
        if changed is text or not has_macros(changed.plain):
            return changed
        inserted = replace(line.message, content=changed.plain)
        return expander.expand(ResolvedMessage(inserted, replace(line.origin, within=None)))


def scripts_for(scripts: Sequence[TextScript], target: str, depth: int | None) -> list[TextScript]:
    """Return the scripts for a kind of text; `depth` messages follow it, None for lore that has no
    depth. Narrators' messages are taken for the character's, as SillyTavern does.
    """
    target = "assistant" if target == "system" else target
    return [
        script
        for script in scripts
        if target in script.applies_to
        and (
            depth is None
            or (
                (script.min_depth is None or depth >= script.min_depth)
                and (script.max_depth is None or depth <= script.max_depth)
            )
        )
    ]


@dataclass(slots=True)
class ScriptSteps:
    """The steps that scripts took for the texts of a request, by pattern."""

    taken: dict[str, int] = field(default_factory=dict[str, int])
    notes: list[Note] = field(default_factory=list[Note])
    """A note about each script that needed too many."""

    def is_too_slow(self, script: TextScript) -> bool:
        """True if a script is not to be applied any more."""
        return self.taken.get(script.pattern, 0) >= MAX_STEPS

    def add(self, script: TextScript, steps: int) -> None:
        """Count steps of a script; negative if its search was given up."""
        taken = self.taken.get(script.pattern, 0) + (steps if steps >= 0 else MAX_STEPS)
        self.taken[script.pattern] = taken
        if taken >= MAX_STEPS:
            sentence = (
                f"The pattern of the script “{script.name}” takes too long to match; the script is "
                "not applied to some texts. Simplify the pattern: repetitions within repetitions "
                "take longest."
            )
            self.notes.append(Note(Level.WARNING, "script-too-slow", sentence))


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A pattern that is ready to be searched for."""

    pattern: Pattern
    is_global: bool
    names: tuple[str, ...]
    """The names of its groups, empty for those without one."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A match: where, and the texts of the whole and of its groups."""

    start: int
    stop: int
    groups: tuple[str, ...]


@lru_cache(maxsize=64)
def compiled(pattern: str) -> _Compiled | None:
    """Return a usable pattern; None if it is not usable."""
    written = _WRITTEN.search(pattern)
    source, flags = (written[2], written[3]) if written else (pattern, "")
    if flags and not _FLAGS.fullmatch(flags):
        source, flags = pattern, ""
    elif set(flags) - set("gmisu"):
        return None
    try:
        found = Pattern(source, flags.replace("g", ""))
    except BadPattern:
        return None
    names = {number: name for name, number in found.regex.groupindex.items()}
    numbers = range(1, found.regex.groups + 1)
    return _Compiled(found, "g" in flags, tuple(names.get(number, "") for number in numbers))


def apply_scripts(
    text: Text,
    scripts: Iterable[TextScript],
    steps: ScriptSteps | None = None,
    expand: Callable[[str], str] | None = None,
) -> Text:
    """Return a text with all replacements. `steps` is that of the request, by default a new one;
    `expand` expands macros, by default none.
    """
    steps = ScriptSteps() if steps is None else steps
    for script in scripts:
        if expand is not None:
            script = _with_macros(script, expand)
        text = _apply(text, script, steps, expand or str)
    return text


def _with_macros(script: TextScript, expand: Callable[[str], str]) -> TextScript:
    """Return a script with the macros of its pattern and its trims expanded."""
    pattern, trim = script.pattern, script.trim
    if script.substitutes and has_macros(pattern):
        pieces: list[str] = []
        for node in parse(pattern).nodes:
            piece = pattern[node.start : node.stop]
            if isinstance(node, Macro):
                value = expand(piece)
                piece = _SPECIAL.sub(_escape, value) if script.substitutes == "escaped" else value
            pieces.append(piece)
        pattern = "".join(pieces)
    if any(map(has_macros, trim)):
        trim = tuple(map(expand, trim))
    if pattern == script.pattern and trim is script.trim:
        return script
    return replace(script, pattern=pattern, trim=trim)


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], "\\" + found[0])


_ESCAPES = {
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\f": r"\f",
    "\0": r"\0",
}


def _apply(
    text: Text, script: TextScript, steps: ScriptSteps, expand: Callable[[str], str]
) -> Text:
    pattern = compiled(script.pattern)
    if pattern is None or not text.plain or steps.is_too_slow(script):
        return text
    found, taken = _matches(script.pattern, text.plain[:MAX_CHARACTERS])
    steps.add(script, taken)
    origin = Origin(OriginKind.SETTING, "script", f"script {script.name}")
    pieces: list[Span] = []
    at = 0
    for each in found:
        pieces += text[at : each.start].spans
        replaced = _replacement(script, each, pattern.names, text.plain)
        pieces.append(Span(expand(replaced), origin))
        at = each.stop
    return Text((*pieces, *text[at:].spans)) if pieces else text


@lru_cache(maxsize=20_000)
def _matches(written: str, text: str) -> tuple[tuple[_Found, ...], int]:
    """Return the matches of a pattern, and the steps taken; negative if it took too many."""
    known = compiled(written)
    if known is None or not known.pattern.occurs_in(text):
        return (), 0
    pattern = known.pattern
    if pattern.most_ways(len(text)) * len(text) <= MAX_WAYS:
        matches = pattern.regex.finditer(text)
        found = (_Found(*m.span(), tuple(g or "" for g in (m[0], *m.groups()))) for m in matches)
        return tuple(found if known.is_global else islice(found, 1)), 0
    results: list[_Found] = []
    taken = at = 0
    while at <= len(text):
        captures, steps = pattern.find(text, at, MAX_STEPS - taken)
        if steps < 0:
            return (), steps
        taken += steps
        if captures is None:
            break
        starts, stops = captures[::2], captures[1::2]
        groups = (text[i:j] if 0 <= i <= j else "" for i, j in zip(starts, stops, strict=True))
        results.append(_Found(starts[0], stops[0], tuple(groups)))
        at = stops[0] + (stops[0] == starts[0])
        if not known.is_global or taken >= MAX_STEPS:
            break
    return tuple(results), taken


def _replacement(script: TextScript, found: _Found, names: tuple[str, ...], text: str) -> str:
    # JavaScript gives where the match is and the whole text after the groups
    values = (*found.groups, str(found.start or ""), text)

    def value(reference: re.Match[str]) -> str:
        number = int(reference[1] or 0)
        if reference[2]:
            number = names.index(reference[2]) + 1 if reference[2] in names else -1
        group = values[number] if 0 <= number < len(values) else ""
        for each in script.trim:
            group = group.replace(each, "")
        return group

    return _REFERENCE.sub(value, script.replacement)
