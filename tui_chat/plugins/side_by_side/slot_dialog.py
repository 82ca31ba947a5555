"""The choice of two to four slots: a model each, perhaps with another preset and settings."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.models.settings import SettingError
from tui_chat.plugins.side_by_side.targets import (
    LEAST,
    MOST,
    described,
    read_settings,
    typed_settings,
)
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.dialogs.model_choice import offered_models
from tui_chat.ui.notifications import show_error
from tui_chat.ui.questions import ask, ask_line
from tui_chat.ui.widgets.typed_app import app_of
from tui_chat.workspace.exchange import Target

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

_ADD = "add"


class SlotDialog(Dialog[tuple[Target, ...] | None]):
    """Asks for the targets of the slots."""

    DEFAULT_CSS = """
    SlotDialog > Vertical { width: 88; }
    SlotDialog OptionList, SlotDialog OptionList:focus { border: none; margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "start", show=False, priority=True),
        Binding("m,space", "model", show=False),
        Binding("p", "preset", show=False),
        Binding("s", "settings", show=False),
        Binding("a,plus", "add", show=False),
        Binding("d,delete", "remove", show=False),
    ]

    def __init__(
        self,
        workspace: Workspace,
        targets: Sequence[Target],
        environ: Mapping[str, str],
    ) -> None:
        super().__init__()
        self._workspace, self._targets = workspace, list(targets)
        self._environ = environ

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, "Compare models side by side")
            yield OptionList()
            yield Static(
                "Enter start · m model · p preset · s settings · a add · d remove · Esc cancel",
                classes="hint",
            )

    def on_mount(self) -> None:
        self._show(0)

    def _show(self, highlighted: int) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(map(self._line, range(len(self._targets))))
        if len(self._targets) < MOST:
            options.add_option(Option(Text("+  Add a model…", style="dim"), id=_ADD))
        options.highlighted = max(0, min(highlighted, len(self._targets) - 1))

    def _line(self, index: int) -> Option:
        target = self._targets[index]
        line = Text(f"{index + 1}  ")
        line.append(one_line(target.model or "the endpoint's first model", 40), "bold")
        line.append(f"  {one_line(target.endpoint, 30)}", "dim")
        if more := described(target):
            line.append(f"  {one_line(more, 60)}")
        return Option(line)

    @property
    def _index(self) -> int:
        return self.query_one(OptionList).highlighted or 0

    @property
    def _is_on_slot(self) -> bool:
        return self._index < len(self._targets)

    def action_start(self) -> None:
        """Choose these slots; on the last line, add one."""
        if not self._is_on_slot:
            self.action_add()
        elif len(self._targets) >= LEAST:
            self.dismiss(tuple(self._targets))

    def action_add(self) -> None:
        if len(self._targets) < MOST:
            self._choose_model(len(self._targets))

    def action_model(self) -> None:
        self._choose_model(self._index)

    @work(group="choice", exclusive=True)
    async def _choose_model(self, index: int) -> None:
        """Choose the model of a slot, or of a new one."""
        is_new = index >= len(self._targets)
        before = self._targets[-1 if is_new else index]
        dialog = ChoiceDialog(
            f"Model {index + 1}",
            offered_models(self._workspace, self._environ),
            f"{before.endpoint}\n{before.model}",
        )
        chosen = await app_of(self).push_screen_wait(dialog)
        if chosen is not None:
            endpoint, _, model = chosen.partition("\n")
            if is_new:
                self._targets.append(Target(endpoint, model))
            else:
                self._targets[index] = replace(before, endpoint=endpoint, model=model)
            self._show(index)

    @work(group="choice", exclusive=True)
    async def action_preset(self) -> None:
        """Choose the preset of a slot."""
        if not self._is_on_slot:
            return
        index, target = self._index, self._targets[self._index]
        names = await to_thread(self._workspace.library.names, "presets")
        own = ("", "The session's preset", self._workspace.state.preset_name)
        choices = [own, *((name, name) for name in names)]
        chosen = await ask(app_of(self), f"Preset of slot {index + 1}", choices, target.preset)
        if chosen is not None:
            self._targets[index] = replace(target, preset=chosen)
            self._show(index)

    @work(group="choice", exclusive=True)
    async def action_settings(self) -> None:
        """Type the settings of a slot."""
        if not self._is_on_slot:
            return
        index, target = self._index, self._targets[self._index]
        typed = typed_settings(target.settings)
        ask_settings = partial(ask_line, app_of(self), may_be_empty=True)
        title = f"Settings of slot {index + 1}, such as temperature 0.2, effort low"
        while (answer := await ask_settings(title, typed)) is not None:
            try:
                settings = read_settings(answer)
            except SettingError as error:
                show_error(self, InputError(str(error)))
                typed = answer
                continue
            self._targets[index] = replace(target, settings=settings)
            self._show(index)
            return

    def action_remove(self) -> None:
        if self._is_on_slot and len(self._targets) > 1:
            del self._targets[self._index]
            self._show(self._index)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self._choose_model(event.option_index)
