"""The texts of the conversation where they are not sent as they are stored: scripts replace what
they find in them. Carriage returns are removed then.

Messages whose text stays keep their turns, so that a keystroke costs nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tui_chat.context.draft import draft_message
from tui_chat.context.examples import without_returns
from tui_chat.context.history_costs import HistoryCosts, with_changed
from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.preset_expansion import Expander
from tui_chat.context.scripts import apply_scripts, scripts_for
from tui_chat.models.envelope import Turn
from tui_chat.models.memo import Memo
from tui_chat.models.message import Message
from tui_chat.models.text import Text
from tui_chat.tokens import Counter

SentText = Callable[[Message, Turn, int], Text]
"""Returns the text of a message as it is sent, from its turn and how many messages follow it."""


def scripted_conversation(
    inputs: Inputs, costs: HistoryCosts, draft: Turn | None, count: Counter, expander: Expander
) -> tuple[HistoryCosts, Turn | None]:
    """Return a history and the draft with what scripts replace in them."""

    def sent_text(message: Message, turn: Turn, depth: int) -> Text:
        scripts = scripts_for(inputs.scripts, message.role, depth)
        steps, expand = expander.script_steps, expander.expand_macros
        syntax = inputs.rules.macros.syntax
        return without_returns(apply_scripts(turn.text, scripts, steps, expand, syntax))

    return with_sent_texts(inputs, costs, draft, count, sent_text, range(len(inputs.history)))


def with_sent_texts(
    inputs: Inputs,
    costs: HistoryCosts,
    draft: Turn | None,
    count: Counter,
    sent_text: SentText,
    indices: Sequence[int],
) -> tuple[HistoryCosts, Turn | None]:
    """Return a history and the draft with the texts that are sent: the newest message's first, so
    that a variable that a message sets has its value in older ones.

    `indices` are those of the messages of the history whose text may change.
    """
    if draft is not None:
        draft = _with_text(draft, sent_text(draft_message(inputs), draft, 0))
    changed: dict[int, Turn] = {}
    length = len(inputs.history) + inputs.has_draft - (inputs.chat.kind == "continue")
    for index in reversed(indices):
        turn = costs.turns[index]
        sent = _with_text(turn, sent_text(inputs.history[index], turn, length - 1 - index))
        if sent is not turn:
            changed[index] = sent
    return (with_changed(costs, tuple(changed.items()), count) if changed else costs), draft


def _with_text(turn: Turn, text: Text) -> Turn:
    return turn if text.plain == turn.text.plain else _changed(turn, text)


@Memo
def _changed(turn: Turn, text: Text) -> Turn:
    return replace(turn, text=text)
