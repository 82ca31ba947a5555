"""The branches of a session: walked, compared side by side, and one of them shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import takewhile
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import sanitize
from tui_chat.models.session import Entry, Node
from tui_chat.ui.dialogs.base import Dialog

LONGEST = 20_000
"""Characters of one side that are laid out: more is not read in a box."""
WORDS = 60
"""Characters of a branch's first message that tell it from others."""
DEEPEST = 8
"""Levels that are drawn further in."""

_SAME = Text("Both sides are this branch. ↑ and ↓ mark others.", style="dim")
_SHOWN = "Shown now"
_WHO = {"user": "You", "assistant": "Reply", "system": "System", "tool": "Tool"}


class BranchScreen(Dialog[str | None]):
    """Asks which branch to show; the answer is a message on it."""

    DEFAULT_CSS = """
    BranchScreen > Vertical { width: 140; }
    BranchScreen OptionList, BranchScreen OptionList:focus {
        max-height: 9;
        margin-top: 0;
        border: none;
    }
    BranchScreen #sides { height: auto; max-height: 24; margin-top: 1; }
    BranchScreen .side {
        width: 1fr;
        height: auto;
        min-height: 6;
        max-height: 24;
        border-top: solid $primary;
        padding: 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown,right", "scroll(1)", "Read on", show=False, priority=True),
        Binding("pageup,left", "scroll(-1)", "Read back", show=False, priority=True),
        Binding("space", "hold", "Pin on the left", show=False, priority=True),
    ]

    def __init__(
        self,
        nodes: Sequence[Node],
        shown: Sequence[Entry],
        leading_to: Callable[[str], Awaitable[Sequence[Entry]]],
    ) -> None:
        """`shown` is the branch to compare with; `leading_to` returns the one to a message."""
        super().__init__()
        self._lines = branch_lines(nodes)
        self._shown = self._left = shown
        """The branch on the left: the shown one, until another is held there."""
        self._leading_to = leading_to

    def compose(self) -> ComposeResult:
        head = self._shown[-1].message.id if self._shown else ""
        with Vertical() as box:
            count = len(self._lines)
            box.border_title = f"{count:,} branch{'es' * (count != 1)}"
            yield OptionList(
                *(
                    Option(_line(line, line.leaf.message_id == head), id=line.leaf.message_id)
                    for line in self._lines
                )
            )
            with Horizontal(id="sides"):
                for name, title in (("left", _SHOWN), ("marked", "Selected branch")):
                    with VerticalScroll(id=name, classes="side") as side:
                        side.can_focus = False
                        side.border_title = title
                        yield Static(markup=False)
            yield Static(
                "↑ ↓ compare · Space pins this one on the left · PgUp PgDn read · "
                "Enter shows the branch · Esc leaves",
                classes="hint",
            )

    def on_mount(self) -> None:
        """Mark the branch below the shown one, else the one above it, to be compared with it."""
        head = self._shown[-1].message.id if self._shown else ""
        ends = [line.leaf.message_id for line in self._lines]
        index = ends.index(head) if head in ends else -1
        others = [*range(index + 1, len(ends)), *range(index - 1, -1, -1), 0]
        self.query_one(OptionList).highlighted = others[0]

    @on(OptionList.OptionHighlighted)
    def _marked(self, event: OptionList.OptionHighlighted) -> None:
        if event.option.id is not None:
            self._compare(event.option.id)

    @work(exclusive=True)
    async def _compare(self, leaf: str) -> None:
        """Show both branches from where they part."""
        other = await self._leading_to(leaf)
        same = sum(
            1
            for _ in takewhile(
                lambda pair: pair[0].message.id == pair[1].message.id,
                zip(self._left, other, strict=False),
            )
        )
        is_left = same == len(self._left) == len(other)
        for name, entries in (("left", self._left), ("marked", other)):
            side = self.query_one(f"#{name}", VerticalScroll)
            side.query_one(Static).update(_SAME if is_left else _side(entries[same:], same))
            side.scroll_home(animate=False)

    @work(group="hold", exclusive=True)
    async def action_hold(self) -> None:
        """Keep the marked branch on the left, to hold others against it; again: the shown one."""
        marked = self.query_one(OptionList).highlighted_option
        if marked is None or marked.id is None:
            return
        entries = await self._leading_to(marked.id)
        held = self._left[-1].message.id if self._left else ""
        is_held = entries[-1].message.id == held if entries else False
        self._left = self._shown if is_held else entries
        title = _SHOWN if self._left is self._shown else "The pinned branch"
        self.query_one("#left", VerticalScroll).border_title = title
        self._compare(marked.id)

    def action_scroll(self, direction: int) -> None:
        """Read both sides on, or back."""
        for side in self.query(".side"):
            step = max(side.size.height - 1, 1)
            side.scroll_relative(y=direction * step, animate=False)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


def _line(line: BranchLine, is_shown: bool) -> Text:
    count = line.count
    lead = "  " * min(line.level, DEEPEST) + ("↳ " if line.level else "")
    text = Text(("● " if is_shown else "  ") + lead, no_wrap=True, overflow="ellipsis")
    words = sanitize(line.first.words)
    short = words if len(words) <= WORDS else f"{words[:WORDS]}…"
    text.append(f"{_WHO[line.first.message_role]}: {short or '(no text)'}")
    length = f"{count:,} message{'s' * (count != 1)}"
    text.append(f"  starts at message {line.number:,} · {length}", style="dim")
    if line.leaf.status not in ("complete", "streaming"):
        text.append(f", {line.leaf.status}", style="dim")
    return text


def _side(entries: Sequence[Entry], same: int) -> Text:
    text = Text()
    if same:
        text.append(f"{same:,} message{'s' * (same != 1)} in common\n\n", style="dim")
    if not entries:
        text.append("Nothing beyond that.", style="dim")
    for entry in entries:
        who = _WHO[entry.message.role] + (f" · {entry.model}" if entry.model else "")
        text.append(f"{sanitize(who)}\n", style="bold")
        content = sanitize(entry.message.content)
        text.append(content[: max(LONGEST - len(text), 0)] or "…")
        text.append("\n\n")
        if len(text) > LONGEST:
            break
    return text


@dataclass(frozen=True, slots=True)
class BranchLine:
    """One branch, from where it parts to its end."""

    first: Node
    """Its first message that no branch above it has."""
    leaf: Node
    """Its last message."""
    level: int
    """The number of forks above it; 0 for the branch that began the session."""
    number: int
    """Place of its first message in the conversation, counted from 1."""
    count: int
    """Messages from there to its end."""


def branch_lines(nodes: Iterable[Node]) -> list[BranchLine]:
    """Return the branches of a tree, each below the one that it parts from."""
    children: dict[str | None, list[Node]] = {}
    for node in nodes:
        children.setdefault(node.parent_id, []).append(node)
    lines: list[BranchLine] = []
    waiting = [(node, min(index, 1), 1) for index, node in enumerate(children.get(None, ()))][::-1]
    while waiting:
        first, level, number = waiting.pop()
        leaf, count = first, 1
        parting: list[tuple[Node, int, int]] = []
        while below := children.get(leaf.message_id):
            parting += [(node, level + 1, number + count) for node in below[1:]]
            leaf, count = below[0], count + 1
        lines.append(BranchLine(first, leaf, level, number, count))
        waiting += parting[::-1]
    return lines
