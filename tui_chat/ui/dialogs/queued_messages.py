"""The list of queued messages, of which one can be edited or removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from textual.app import App
from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog


class QueueAnswer(NamedTuple):
    """What is to be done with a queued message."""

    number: int | None
    """Its place in the queue; None for all of them."""
    removes: bool
    """True to remove it, False to edit it."""


ALL = "all"
"""Id of the choice to remove all."""
_REMOVE = "remove "
"""Prefix of the answer for a message that is to be removed."""


class QueueDialog(ChoiceDialog):
    """Offers the queued messages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("delete,ctrl+d", "remove", show=False, priority=True)
    ]
    hint = "Enter edit · Delete remove · Esc cancel"

    def action_remove(self) -> None:
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            option = options.get_option_at_index(options.highlighted)
            if option.id:
                self.dismiss(_REMOVE + option.id)


async def ask_queued(app: App[Any], choices: Sequence[Choice]) -> QueueAnswer | None:
    """Ask for a queued message to edit or remove, each a choice whose id is its index."""
    answer = await app.push_screen_wait(QueueDialog("Queued messages", choices, "0"))
    if answer is None:
        return None
    number = answer.removeprefix(_REMOVE)
    if number == ALL:
        return QueueAnswer(None, removes=True)
    return QueueAnswer(int(number), answer.startswith(_REMOVE))
