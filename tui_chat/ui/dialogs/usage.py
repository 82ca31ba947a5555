"""The cost of replies: the active session, and this month by model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.table import Column, Table
from rich.text import Text
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.base import DialogBox, ScrollDialog
from tui_chat.workspace.usage import UsageSum, UsageSummary

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

MODELS = 50
"""Models that are listed."""


async def show_usage(app: App[None], workspace: Workspace) -> None:
    """Show what replies cost until the user closes it."""
    report = await workspace.usage.report()
    await app.push_screen_wait(UsageDialog(report))


class UsageDialog(ScrollDialog[None]):
    """Shows tokens and costs. “—” is an unknown cost."""

    DEFAULT_CSS = """
    UsageDialog > Vertical { width: 96; }
    """

    def __init__(self, report: UsageSummary) -> None:
        super().__init__()
        self._report = report

    def compose(self) -> ComposeResult:
        report = self._report
        models = sorted(report.models.items(), key=lambda each: -each[1].cost)[:MODELS]
        table = Table.grid(
            Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            *(Column(justify="right", no_wrap=True) for _ in range(4)),
            padding=(0, 0, 0, 2),
            expand=True,
        )
        table.add_row("", *(Text(title, "dim") for title in ("replies", "input", "output", "cost")))
        _add(table, [("This session", report.session), ("This month", report.month)], "bold")
        _add(table, [(f"  {name}", each) for name, each in models])
        note = _missing_costs(report.month.unknown)
        with DialogBox() as box:
            box.border_title = "Usage and cost"
            with VerticalScroll(can_focus=False):
                yield Static(table)
            yield Static(
                f"{note}Replies without reported tokens, such as most that were stopped, are not "
                "counted. The cost of a provider's own tools is not included. "
                "For more: `tui-chat usage`, `tui-chat prices` · Esc close",
                classes="hint",
                markup=False,
            )


def _missing_costs(count: int) -> str:
    """Return how many replies have tokens but no known cost, as a sentence."""
    if not count:
        return ""
    have = "1 reply has" if count == 1 else f"{count:,} replies have"
    return f"{have} no known price: the tokens are counted, the cost is not. "


def _add(table: Table, sums: Iterable[tuple[str, UsageSum]], style: str = "") -> None:
    for name, usage in sums:
        counts = (f"{count:,}" for count in (usage.replies, usage.input, usage.output))
        dollars = usage.dollars + (" +" if usage.unknown and usage.dollars != "—" else "")
        cells = (one_line(name, 80), *counts, dollars)
        table.add_row(*(Text(cell, style) for cell in cells))
