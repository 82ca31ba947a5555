"""Putting text that nobody vouches for inside Markdown, so that it stays text."""

import re

_BACKTICKS = re.compile(r"`+")


def fence(text: str, language: str = "text") -> str:
    """Return a fenced block that the text cannot close."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def code(text: str) -> str:
    """Return the text on one line, as inline code that it cannot close."""
    line = " ".join(text.split())
    if not line:
        return "*(empty)*"
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def opening(text: str, most: int = 72) -> str:
    """Return the first words of a text as inline code, with … if there are more."""
    line = " ".join(text[: most * 4].split())
    if len(line) <= most and len(text) <= most * 4:
        return code(line)
    cut = line[:most]
    return code(cut[: cut.rfind(" ")] if " " in cut[most // 2 :] else cut) + " …"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
