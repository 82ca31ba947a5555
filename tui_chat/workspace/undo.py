"""What was put away last can be brought back, in the order it went: one stack for everything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tui_chat.errors import InputError
from tui_chat.workspace.changes import Done
from tui_chat.workspace.outside import Outside

MOST_STEPS = 100
"""Steps that are remembered, for as long as the program runs."""


class Undo:
    """Remembers how to bring back what was deleted or archived."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._steps: list[tuple[str, Callable[[], Awaitable[None]], str]] = []

    def push(
        self,
        words: str,
        bring_back: Callable[[], Awaitable[None]],
        *,
        done: str = "Deleted",
        message_id: str = "",
    ) -> None:
        """Tell what was put away, and remember how to bring it back."""
        self._steps = [*self._steps[1 - MOST_STEPS :], (words, bring_back, message_id)]
        self._outside.tell(Done(f"{done} {words}.", undoable=True))

    async def undo(self) -> None:
        """Bring back what was put away last; that there is nothing is told, too."""
        with self._outside.telling():
            if not self._steps:
                raise InputError("There is nothing to undo.")
            words, bring_back, message_id = self._steps.pop()
            await bring_back()
            self._outside.tell(Done(f"Brought back {words}.", message_id=message_id))
