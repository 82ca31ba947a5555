"""The history's cache mark: where a mark on the `chat_history` anchor goes.

1. A cache serves what stands at the beginning of the next request too. So the mark goes to the
   newest message before which nothing moves: depths that are counted from the end move on with
   every message, and so does what is being typed.
2. A message that says nothing is not sent, and cannot carry a mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui_chat.context.core import Depth, Kept
from tui_chat.context.listed import mark_of
from tui_chat.context.scan import Groups
from tui_chat.models.envelope import CacheMark, Turn
from tui_chat.models.memo import Memo


def marked(kept: Kept, groups: Groups, deep: Sequence[Depth]) -> Kept:
    """Return the history with the mark that its anchor places, if it places one."""
    anchor = next((s.message for s in groups.skeleton if s.message.type == "chat_history"), None)
    mark = None if anchor is None else mark_of(anchor)
    if mark is None:
        return kept
    moving = (depth.place for depth in deep if (depth.line.message.insertion_point or 0) < 0)
    for at in range(min(moving, default=len(kept.turns)) - 1, -1, -1):
        if _is_sent(kept.turns[at]):
            turn = _marked(kept.turns[at], mark)
            return replace(kept, turns=(*kept.turns[:at], turn, *kept.turns[at + 1 :]))
    return kept


def _is_sent(turn: Turn) -> bool:
    said = turn.text.plain.strip() or turn.tool_calls or turn.parts or turn.semantics.refusal
    return bool(said) or turn.role == "tool"


@Memo
def _marked(turn: Turn, mark: CacheMark) -> Turn:
    """Return a marked turn: the same object for the same mark, so that it is encoded once."""
    return replace(turn, cache_mark=mark)
