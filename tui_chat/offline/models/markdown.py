"""Quoting of untrusted text in Markdown, so that it stays text."""

import re

_BACKTICKS = re.compile(r"`+")


def fenced(text: str, language: str = "text") -> str:
    """Return the text in a code block that it cannot close."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def inline_code(text: str) -> str:
    """Return the text on one line, as inline code that it cannot close."""
    line = " ".join(text.split())
    if not line:
        return "*(empty)*"
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def excerpt(text: str, length: int = 72) -> str:
    """Return the first `length` characters of a text as inline code; … marks a cut."""
    line = " ".join(text[: length * 4].split())
    if len(line) <= length and len(text) <= length * 4:
        return inline_code(line)
    cut = line[:length]
    return inline_code(cut[: cut.rfind(" ")] if " " in cut[length // 2 :] else cut) + " …"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
