"""Lays out tool calls: name, what they do, whether there is a result, and how to give one.
Calls of well-known tools have a summary in a few words, and edits of files are drawn as a diff;
see `models.tool`. What is not known stays JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

from tui_chat.models.sanitize import one_line
from tui_chat.models.tool import DECLINED, call_diff, call_summary
from tui_chat.ui.chat.code_blocks import code_rows
from tui_chat.ui.chat.rows import ClickAction, Row, joined, one_row, safe, styled
from tui_chat.ui.widgets.row_list import clipped

if TYPE_CHECKING:
    from tui_chat.models.blocks import CallBlock
    from tui_chat.models.message import Message

SHOWN = 200_000
"""Characters of a tool call or tool message that are laid out when it is unfolded."""

LISTED = 200
"""Maximum tool calls of a message that are listed."""

ResultState = Literal["answered", "declined", "failed"]
"""`failed`: the result says why there is none."""

CallState = Literal["arriving", "awaits", "unanswered", "muted"] | ResultState
"""`awaits`: the conversation waits for the result. `unanswered`: it went on without one.
`muted`: its result is muted, so that it is not sent."""

_STATES: dict[CallState, tuple[str, str]] = {
    "arriving": ("", ""),
    "awaits": ("● waiting for a result", "awaiting"),
    "answered": ("✓ answered", "answered"),
    "declined": ("✗ declined", "warning"),
    "failed": ("✗ failed", "error"),
    "unanswered": ("no answer", "meta"),
    "muted": ("◇ muted with its result", "muted-mark"),
}


def result_state(result: Message) -> ResultState:
    """Return what a tool message says of its call."""
    if not result.failed:
        return "answered"
    return "declined" if result.content == DECLINED else "failed"


def call_rows(
    call: CallBlock, width: int, *, key: str, is_open: bool, state: CallState
) -> list[Row]:
    """Lay out a call: name, arguments and state in a row; unfolded, the arguments below it."""
    label, style = _STATES[state]
    if width < 2 * cell_len(label) + 8:
        label = label[:1]
    name = clipped(one_line(call.name, 60) or "tool", max(width - cell_len(label) - 12, 4))
    mark = styled("▾ " if is_open else "▸ ", "fold-mark")
    content = joined(mark, styled("calls ", "fold"), styled(name, "tool"))
    room = width - content.cell_length - (cell_len(label) + 2 if label else 0)
    words = "" if call.arguments.strip() in ("", "{}") else call_summary(call) or call.arguments
    if words and (not is_open or words is not call.arguments) and room > 8:
        shown = clipped(one_line(words), room - 2)
        content = joined(content, safe("  " + shown, "quiet"))
    if label:
        gap = max(width - content.cell_length - cell_len(label), 1)
        action = ClickAction("answer") if state == "awaits" else None
        fact = styled(label, style, action=action)
        content = joined(content, styled(" " * gap), fact)
    rows = [Row(one_row(content, width).content, action=ClickAction("toggle", key))]
    if is_open:
        shown, language = _unfolded_text(call)
        rows += code_rows(shown[:SHOWN], language, width, opens=False)
    return rows


def _unfolded_text(call: CallBlock) -> tuple[str, str]:
    """Return an unfolded call's text and language: a diff for an edit of a file, else JSON."""
    if patch := call_diff(call):
        return patch, "diff"
    return _indented_json(call.arguments), "json"


def searchable_text(call: CallBlock) -> str:
    """Return the name and arguments of a call, as they are read when unfolded."""
    if patch := call_diff(call):
        return f"{call.name} {patch}"
    is_escaped = "\\" in call.arguments
    return f"{call.name} {_indented_json(call.arguments) if is_escaped else call.arguments}"


def _indented_json(arguments: str) -> str:
    """Return arguments as indented JSON; broken or very long ones unchanged."""
    if len(arguments) > SHOWN:
        return arguments
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
