r"""Words for the desktop, through the terminal: seen while another window has the focus.

`ESC]9;words BEL` is known to iTerm2, kitty, WezTerm, Ghostty and Windows Terminal's kin,
`ESC]777;notify;title;words BEL` to urxvt and foot; others ignore them. The bell comes along: what
knows neither can at least mark the window. tmux passes them on only where `allow-passthrough` is
on, wrapped and with each escape doubled; it sees the bell in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from tui_chat.models.session import Entry
from tui_chat.models.visible import one_line

Notify = Literal["osc9", "osc777", "bell", "off"]
"""How to tell."""

BELL = "\x07"

_BLOCK_MARKS = re.compile(r"^[ \t]*(?:(?:#{1,6}|>|[-*+])[ \t]+|(?:```|~~~)\S*)", re.MULTILINE)
_LOOKED_AT = 1_000
"""Characters of a reply of which the first words are taken."""


def ended(entry: Entry) -> str:
    """Return how a reply ended, in words: that it failed, what it asks for, or its beginning."""
    if entry.status == "failed":
        return f"The reply failed: {entry.error}"
    if entry.message.tool_calls:
        names = ", ".join(dict.fromkeys(call.name for call in entry.message.tool_calls))
        return f"The reply calls {names}."
    return _BLOCK_MARKS.sub("", entry.message.content[:_LOOKED_AT]).strip() or entry.status


def notice(how: Notify, title: str, words: str, environ: Mapping[str, str]) -> str:
    """Return what to write to the terminal; nothing of the words is obeyed by it."""
    title, words = one_line(title, 60).replace(";", ","), one_line(words, 120)
    match how:
        case "off":
            return ""
        case "bell":
            return BELL
        case "osc9":
            sequence = f"\x1b]9;{title}: {words}{BELL}"
        case "osc777":
            sequence = f"\x1b]777;notify;{title};{words}{BELL}"
    if environ.get("TMUX"):
        escaped = sequence.replace("\x1b", "\x1b\x1b")
        sequence = f"\x1bPtmux;{escaped}\x1b\\"
    return sequence + BELL
