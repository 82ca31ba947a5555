"""Lines that fold and unfold, and messages that show little of themselves before that."""

from __future__ import annotations

from typing import NamedTuple

from tui_chat.ui.chat import label
from tui_chat.ui.chat.calls import SHOWN
from tui_chat.ui.chat.lines import Action, Line, Run, run, wrap
from tui_chat.ui.chat.markdown import plain_lines

FOLDED = 4
"""Lines that a system or tool message shows before it is unfolded."""


class Fold(NamedTuple):
    """A line that unfolds more of a message."""

    part: int
    first: int
    """The first line of the part that shows the beginning of what is folded."""
    line: int
    """The line itself."""
    key: str
    text: str
    """All that is folded, with what is shown of it."""


def fold_line(key: str, words: str, width: int, *, open_: bool) -> Line:
    """Lay out the line that unfolds what `key` names, or folds it."""
    mark = "▾ " if open_ else "▸ "
    runs = [Run(mark, ("fold-mark",)), run(words, "fold")]
    return Line(wrap(runs, width)[0].runs, action=Action("toggle", key))


def small_lines(text: str, width: int, *, key: str, open_: bool) -> list[Line]:
    """Lay out a system or tool message: some lines, or all of it once unfolded."""
    shown = text[: SHOWN if open_ else FOLDED * width]
    lines = plain_lines(shown, width, ("quiet",))
    if len(lines) <= FOLDED and len(shown) == len(text):
        return lines
    words = f"{label.number(label.count_words(text[:SHOWN]))} words"
    line = fold_line(key, "fold" if open_ else f"all {words}", width, open_=open_)
    if not open_:
        return [*lines[: FOLDED - 1], line]
    if left := len(text) - len(shown):
        lines.append(Line((Run(f"… {label.number(left)} more characters", ("fold",)),)))
    return [*lines, line]
