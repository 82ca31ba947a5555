"""Fields of a form that are on or off, or one of a few words."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Checkbox, Select

from tui_chat.models.sanitize import one_line


class CheckField(Checkbox):
    """A checkbox of one row, `[x]` or `[ ]`, whose size is the same with the focus.

    That of Textual tells on from off by its color alone, and its focus draws a frame.
    """

    DEFAULT_CSS = """
    CheckField {
        height: 1;
        border: none;
        padding: 0;
        background: transparent;
        &:focus { border: none; background: $primary 20%; background-tint: transparent; }
        &:focus > .toggle--label { color: $foreground; background: transparent; text-style: none; }
    }
    """

    def render(self) -> Content:
        return Content.assemble(f"[{'x' if self.value else ' '}] ", self.label)


class ChoiceSelect(Select[str]):
    """A list to choose from, of one row while it is closed."""

    DEFAULT_CSS = """
    ChoiceSelect {
        width: 1fr;
        & > SelectCurrent { border: none !important; background: $panel !important; }
        & > SelectCurrent { padding: 0 1 !important; }
        &:focus > SelectCurrent { background: $primary 20% !important; }
        & > SelectOverlay { border: round $primary; background: $panel; }
    }
    """

    def __init__(
        self, choices: Sequence[tuple[str, str]], *, id: str, value: str | None = None
    ) -> None:
        """`choices` are labels with their values; `value` is chosen, by default the first."""
        offered = [*choices]
        if value is not None and value not in [each for _, each in offered]:
            offered.append((one_line(value, 40), value))
        value = offered[0][1] if value is None else value
        super().__init__(offered, value=value, allow_blank=False, compact=True, id=id)
        self._offered = tuple(offered)

    def choose(self, value: str, choices: Sequence[tuple[str, str]] | None = None) -> None:
        """Show a value, and offer other choices; a value that is none of them is offered too."""
        offered = tuple(choices if choices is not None else self._offered)
        if value not in [each for _, each in offered]:
            offered = (*offered, (one_line(value, 40), value))
        if offered != self._offered:
            self._offered = offered
            self.set_options(offered)
        self.value = value
