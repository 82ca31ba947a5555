"""Tables, fitted to the width there is: columns shrink, and cells wrap within them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tui_chat.ui.chat.lines import Line, Run, width_of, wrap

Align = Literal["left", "right", "center"]
Cell = Sequence[Run]

_SEPARATOR = "  "
NARROWEST = 4
"""Cells a column keeps, if the table is to be drawn as one."""


def table_lines(
    head: Sequence[Cell], rows: Sequence[Sequence[Cell]], aligns: Sequence[Align], width: int
) -> list[Line]:
    """Lay a table out; where the columns do not fit, each row becomes a list of its cells."""
    wanted = [
        max((width_of(row[column]) for row in (head, *rows) if column < len(row)), default=0)
        for column in range(len(head))
    ]
    columns = _fitted(wanted, width - len(_SEPARATOR) * (len(head) - 1))
    if columns is None:
        return _as_lists(head, rows, width)
    made = _row(head, columns, aligns)
    rule = _SEPARATOR.join("─" * size for size in columns)
    made.append(Line((Run(rule, ("table-line",)),)))
    tall = False
    for index, row in enumerate(rows):
        lines = _row(row, columns, aligns)
        # Once a cell has wrapped, rows need air between them to be told apart.
        if index and (tall or len(lines) > 1):
            made.append(Line())
        tall = len(lines) > 1
        made += lines
    return made


def _fitted(wanted: Sequence[int], room: int) -> list[int] | None:
    """Return column widths that add up to at most `room`: the widest give way first."""
    columns = [max(size, 1) for size in wanted]
    floor = [min(size, NARROWEST) for size in columns]
    if sum(floor) > room:
        return None
    excess = sum(columns) - room
    while excess > 0:
        widest = max(columns)
        below = max((size for size in columns if size < widest), default=0)
        tops = [index for index, size in enumerate(columns) if size == widest]
        step = max(1, min(widest - max(below, NARROWEST), excess // len(tops)))
        for index in tops:
            if excess <= 0:
                break
            columns[index] -= min(step, excess)
            excess -= min(step, excess)
    return columns


def _row(cells: Sequence[Cell], columns: Sequence[int], aligns: Sequence[Align]) -> list[Line]:
    wrapped = [
        wrap(cells[index] if index < len(cells) else (), size) for index, size in enumerate(columns)
    ]
    made: list[Line] = []
    for level in range(max(map(len, wrapped), default=0)):
        runs: list[Run] = []
        for index, size in enumerate(columns):
            content = wrapped[index][level].runs if level < len(wrapped[index]) else ()
            room = size - width_of(content)
            left = {"left": 0, "right": room, "center": room // 2}[aligns[index]]
            if index:
                runs.append(Run(_SEPARATOR))
            runs += [Run(" " * left), *content]
            if index < len(columns) - 1:
                runs.append(Run(" " * (room - left)))
        made.append(Line(tuple(piece for piece in runs if piece.text)))
    return made


def _as_lists(head: Sequence[Cell], rows: Sequence[Sequence[Cell]], width: int) -> list[Line]:
    made: list[Line] = []
    for index, row in enumerate(rows or [()]):
        if index:
            made.append(Line((Run("─" * min(8, width), ("table-line",)),)))
        for column, title in enumerate(head):
            cell = row[column] if column < len(row) else ()
            made += wrap((*title, Run(": ", ("table-line",)), *cell), width)
    return made
