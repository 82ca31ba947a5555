"""The question about a tool call that waits in a slot. It is the conversation's, and says where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui_chat.ui.chat.tool_call_area import ToolCallArea
from tui_chat.ui.chat.tool_question import OPTIONS, ToolQuestion
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.plugins.side_by_side.panel import Panel, PanelSlot
    from tui_chat.ui.area import AreaContext
    from tui_chat.workspace.state import PendingToolCall


class SlotQuestion(ToolQuestion, inherit_bindings=False):
    """Asks what to do with a tool call of a slot."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(option.key, f"answer({action!r})", option.label, show=False)
            for action, option in OPTIONS.items()
        ),
        *(
            binding
            for binding in ToolQuestion.BINDINGS
            if isinstance(binding, Binding) and "." not in binding.action
        ),
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what answers the call."""
        return self.offers(str(parameters[0])) if action == "answer" else True

    async def action_answer(self, name: str) -> None:
        """Answer the call in one of the ways in `OPTIONS`."""
        await app_of(self).run_action(name, self.parent)

    async def on_click(self, event: events.Click) -> None:
        if (name := event.style.meta.get("option")) in OPTIONS and self.offers(name):
            await self.action_answer(name)


class SlotToolCalls(ToolCallArea):
    """Contains the question, and answers the calls of the current slot, then those of others."""

    def __init__(
        self, context: AreaContext, panel: Panel, may_take_focus: Callable[[], bool]
    ) -> None:
        self.question = SlotQuestion(may_take_focus)
        self.question.clock = context.key_clock
        super().__init__(context, self.question)
        self._panel = panel
        self._order: tuple[PanelSlot, ...] = tuple(panel.slots)

    def compose(self) -> ComposeResult:
        yield self.question

    def show_from(self, current: PanelSlot) -> None:
        """Ask about the first call that waits, of the current slot if there is one."""
        others = [slot for slot in self._panel.slots if slot is not current]
        self._order = (current, *others)
        asking = next((slot for slot in self._order if self._panel.calls(slot)), current)
        self.where = f"slot {asking.name}"
        self.show()

    @property
    def calls(self) -> Sequence[PendingToolCall]:
        """The calls that wait in the first slot that has some."""
        waiting = (self._panel.calls(slot) for slot in self._order)
        return next((calls for calls in waiting if calls), ())
