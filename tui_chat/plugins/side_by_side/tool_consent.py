"""The question about a tool call that waits in a slot. It is the conversation's, and says where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType

from tui_chat.ui.chat.tool_question import OPTIONS, ToolQuestion

if TYPE_CHECKING:
    from tui_chat.plugins.side_by_side.panel import Panel, PanelSlot
    from tui_chat.ui.area import AreaContext
    from tui_chat.workspace.state import PendingToolCall


class SlotQuestion(ToolQuestion, inherit_bindings=False):
    """Asks what to do with a tool call of the current slot, then with those of others."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(binding.key, binding.action.removeprefix("tool_calls."), show=False)
        for binding in ToolQuestion.BINDINGS
        if isinstance(binding, Binding)
    ]

    def __init__(
        self, context: AreaContext, panel: Panel, may_take_focus: Callable[[], bool]
    ) -> None:
        super().__init__(context, may_take_focus)
        self._panel = panel
        self._order: tuple[PanelSlot, ...] = tuple(panel.slots)

    def show_from(self, current: PanelSlot) -> None:
        """Ask about the first call that waits, of the current slot if there is one."""
        others = [slot for slot in self._panel.slots if slot is not current]
        self._order = (current, *others)
        asking = next((slot for slot in self._order if self._panel.calls(slot)), current)
        self.where = f"slot {asking.name}"
        self.show_waiting()

    @property
    def calls(self) -> Sequence[PendingToolCall]:
        """The calls that wait in the first slot that has some."""
        waiting = (self._panel.calls(slot) for slot in self._order)
        return next((calls for calls in waiting if calls), ())

    async def on_click(self, event: events.Click) -> None:
        """Answer the call by a click on an option."""
        if (name := event.style.meta.get("option")) in OPTIONS and self.offers(name):
            await self.run_action(name)
