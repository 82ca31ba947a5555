"""What stands in the dialog on top: its kind, its list, its words."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from tests.support.app import settle, until
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.choices import ChoiceDialog


async def on(pilot: Pilot[None], kind: type) -> Any:
    """Wait until a dialog is on top, and return it."""
    await until(pilot, lambda: isinstance(pilot.app.screen, kind) and pilot.app.screen.is_mounted)
    await settle(pilot)
    return pilot.app.screen


def offered(app: TuiChat) -> list[str]:
    """The label and the detail of each line of the list on top that typed words leave."""
    dialog = app.screen
    assert isinstance(dialog, ChoiceDialog)
    choices = dialog.matching(dialog.query_one(Input).value)
    return [f"{choice.label} {choice.detail}".strip() for choice in choices]


def listed(app: TuiChat) -> list[str]:
    """The rows of the list on top."""
    options = app.screen.query_one(OptionList)
    prompts = (options.get_option_at_index(n).prompt for n in range(options.option_count))
    return [" ".join(str(prompt).split()) for prompt in prompts]


def words(app: TuiChat, where: str) -> str:
    return str(app.screen.query_one(where, Static).render())
