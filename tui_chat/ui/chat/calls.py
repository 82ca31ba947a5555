"""Tool calls: what a model wants run, whether it was answered, and how to answer it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Literal

from rich.cells import cell_len

from tui_chat.models.message import ToolCall
from tui_chat.models.visible import one_line
from tui_chat.ui.chat.code import code_lines
from tui_chat.ui.chat.lines import BLANK, Action, Line, Run, clipped, run, wrap

SHOWN = 200_000
"""Characters of a tool call or tool message that are laid out when it is unfolded."""

LISTED = 200
"""Tool calls of a message that are listed."""

CallState = Literal["arriving", "awaits", "answered", "unanswered"]
"""`awaits`: the conversation waits for it. `unanswered`: it went on without."""

_STATES: dict[CallState, tuple[str, str]] = {
    "arriving": ("", ""),
    "awaits": ("● awaits an answer", "awaiting"),
    "answered": ("✓ answered", "answered"),
    "unanswered": ("no answer", "meta"),
}


def call_lines(
    call: ToolCall, width: int, *, key: str, unfolded: bool, state: CallState
) -> list[Line]:
    """Lay a call out: name, arguments and state in a line; unfolded, the arguments below it."""
    said, style = _STATES[state]
    if width < 2 * cell_len(said) + 8:
        said = said[:1] if said else ""
    name = clipped(one_line(call.name, 60) or "tool", max(width - cell_len(said) - 12, 4))
    runs = [Run("▾ " if unfolded else "▸ ", ("fold-mark",)), Run("calls ", ("fold",))]
    runs.append(Run(name, ("tool",)))
    room = width - sum(cell_len(piece.text) for piece in runs) - (cell_len(said) + 2 if said else 0)
    if not unfolded and call.arguments.strip() not in ("", "{}") and room > 8:
        runs.append(run("  " + clipped(one_line(call.arguments), room - 2), "quiet"))
    if said:
        used = sum(cell_len(piece.text) for piece in runs)
        runs += [Run(" " * max(width - used - cell_len(said), 1)), Run(said, (style,))]
    clip = wrap(runs, width)[0].runs
    made = [Line(clip, action=Action("toggle", key))]
    if unfolded:
        made += code_lines(pretty(call.arguments)[:SHOWN], "json", width, opens=False)
    return made


def answer_line(calls: Sequence[ToolCall], answered: Collection[str]) -> list[Line]:
    """Lay out what can be done about the first call that waits."""
    waiting = next((call for call in calls if call.id not in answered), None)
    if waiting is None:
        return []
    answer, execute = Action("answer", waiting.id), Action("run", waiting.id)
    which = f" {one_line(waiting.name, 30)}" if len(calls) > 1 else ""
    return [
        BLANK,
        Line(
            (
                Run(" a ", ("key",), action=answer),
                Run(f" Answer{which} yourself", ("button",), action=answer),
                Run("   "),
                Run(" x ", ("key",), action=execute),
                Run(" Run it", ("button",), action=execute),
            )
        ),
    ]


def said_by(call: ToolCall) -> str:
    """Return what is found in a call: its name and arguments, as they are read when unfolded."""
    escaped = "\\" in call.arguments
    return f"{call.name} {pretty(call.arguments) if escaped else call.arguments}"


def pretty(arguments: str) -> str:
    """Return arguments laid out for reading; broken JSON as it is."""
    if len(arguments) > SHOWN:
        return arguments
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
