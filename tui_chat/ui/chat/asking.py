"""What stands at the cursor that can be completed: a command, what it takes, or a path.

The composer asks; whoever knows commands and files answers with candidates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

AskedKind = Literal["command", "argument", "path"]

_COMMAND = re.compile(r"/([a-z-]*)")
_ARGUMENT = re.compile(r"/([a-z-]+) +(.*)")
_PATH = re.compile(r"(?:^|(?<=\s))@(\S*)\Z")


@dataclass(frozen=True, slots=True)
class Asked:
    """Something that was begun to be typed."""

    kind: AskedKind
    words: str
    """As far as it was typed, without `/` and `@`."""
    start: int
    """Column in the cursor's line where what a candidate replaces begins."""
    command: str = ""
    """Of an argument: whose it is."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to go on."""

    text: str
    """What comes in place of what was typed."""
    label: str
    detail: str = ""
    is_whole: bool = True
    """Whether nothing is to be typed after it: Enter may act on it."""
    is_within: bool = False
    """Whether what was typed is whole by itself, a folder: Enter takes this if it was marked."""


def asked_at(row: int, before: str) -> Asked | None:
    """Return what can be completed where the cursor stands after `before` in a line."""
    if row == 0 and (match := _COMMAND.fullmatch(before)):
        return Asked("command", match[1], 0)
    if row == 0 and (match := _ARGUMENT.fullmatch(before)):
        return Asked("argument", match[2], match.start(2), match[1])
    if match := _PATH.search(before):
        return Asked("path", match[1], match.start())
    return None
