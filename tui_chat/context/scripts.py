"""Scripts: replacements by regular expressions in what is sent. Stored messages stay as they are.

1. Patterns are in JavaScript's syntax; those that Python's engine cannot express are not applied.
2. What a script inserts has the script as its origin.
3. A pattern may need exponential time, so that only the first `MAX_CHARACTERS` are searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tui_chat.models.chat_settings import TextScript
from tui_chat.models.text import Origin, OriginKind, Span, Text

MAX_CHARACTERS = 20_000
_WRITTEN = re.compile(r"/(.*)/([a-z]*)", re.DOTALL)
_GROUP = re.compile(r"\(\?<(?![=!])")
_REFERENCE = re.compile(r"\{\{match\}\}|\$(\d+)|\$<([^>]+)>", re.IGNORECASE)


def scripts_for(scripts: Sequence[TextScript], target: str, depth: int | None) -> list[TextScript]:
    """Return the scripts for a kind of text; `depth` messages follow it, None for lore."""
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


@lru_cache(maxsize=64)
def compiled(pattern: str) -> tuple[re.Pattern[str], bool] | None:
    """Return a pattern, and whether it replaces all that it finds; None if it is not usable."""
    found = _WRITTEN.fullmatch(pattern)
    source, flags = (found[1], found[2]) if found else (pattern, "")
    options = re.ASCII
    for letter, option in (("i", re.IGNORECASE), ("m", re.MULTILINE), ("s", re.DOTALL)):
        if letter in flags:
            options |= option
    try:
        return re.compile(_GROUP.sub("(?P<", source), options), "g" in flags
    except (re.error, RecursionError, OverflowError):
        return None


def apply_scripts(text: Text, scripts: Iterable[TextScript]) -> Text:
    """Return a text with all replacements."""
    for script in scripts:
        text = _apply(text, script)
    return text


def _apply(text: Text, script: TextScript) -> Text:
    usable = compiled(script.pattern)
    if usable is None:
        return text
    pattern, is_global = usable
    origin = Origin(OriginKind.SETTING, "script", f"script {script.name}")
    pieces: list[Span] = []
    at = 0
    for found in pattern.finditer(text.plain[:MAX_CHARACTERS]):
        pieces += text[at : found.start()].spans
        pieces.append(Span(_replacement(script, found), origin))
        at = found.end()
        if not is_global:
            break
    return Text((*pieces, *text[at:].spans)) if pieces else text


def _replacement(script: TextScript, found: re.Match[str]) -> str:
    def value(reference: re.Match[str]) -> str:
        try:
            group = found[int(reference[1])] if reference[1] else found[reference[2] or 0]
        except (IndexError, KeyError):
            group = ""
        group = group or ""
        for each in script.trim:
            group = group.replace(each, "")
        return group

    return _REFERENCE.sub(value, script.replacement)
