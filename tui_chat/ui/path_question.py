"""A question for a path, completed by Tab as a shell does."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from os.path import commonprefix
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from tui_chat.attachments import paths_beginning
from tui_chat.models.visible import one_line
from tui_chat.ui.dialogs import AskText

_TOLD = 8
"""Names to show at most."""
_LOOKED_AT = 10_000
"""Files of a folder that are looked at, at most."""


class AskPath(AskText):
    """Asks for a file; Tab goes on as far as there is one way, then shows the ways."""

    keys_told = "Tab completes · "
    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", "Complete", show=False)]

    async def action_complete(self) -> None:
        """Add what all files have in common that the path may become, and show them."""
        typed = self.query_one(Input)
        value = typed.value
        found = await to_thread(paths_beginning, value, Path.cwd(), _LOOKED_AT)
        longer = completed(value, found)
        if typed.value == value and longer != value:
            typed.value = longer
            typed.cursor_position = len(longer)
        names = [path.rstrip("/").rpartition("/")[2] + "/" * path.endswith("/") for path in found]
        more = f"  and {len(names) - _TOLD:,} more" * (len(names) > _TOLD)
        said = "  ".join(one_line(name, 30) for name in names[:_TOLD]) + more
        hint = self.query_one(".hint", Static)
        hint.update(said if len(names) > 1 else "" if names else "There is no such file.")


def completed(typed: str, found: Sequence[str]) -> str:
    """Return what `typed` becomes: the beginning that all have which begin so; where none does and
    there is one, that.
    """
    begun = [path for path in found if path.startswith(typed)]
    if not begun:
        return found[0] if len(found) == 1 else typed
    return commonprefix(begun)  # noqa: RUF071 - by the character, as a shell does
