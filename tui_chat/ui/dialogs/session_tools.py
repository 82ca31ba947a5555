"""The tools of all sources: which ones the session offers, their definitions, their permissions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.tool import Tool, definition_text, origin_text
from tui_chat.ui.dialogs.base import Dialog, DialogBox
from tui_chat.ui.widgets.typed_app import app_of
from tui_chat.workspace.events import BranchChanged, RequestComposed, WorkspaceEvent
from tui_chat.workspace.state import SourceStatus

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tui_chat.workspace.workspace import Workspace

LONGEST_DEFINITION = 20_000
"""Characters of a definition that are shown."""
_HINT = (
    "Space offer · d default of the role · r ask again · s restart the server · → read on · "
    "Esc close"
)
_COMMANDS = SourceStatus("", "ready")


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the list: a source of tools, or one of its tools."""

    tools: tuple[Tool, ...]
    """Those of the source."""
    status: SourceStatus
    tool: Tool | None = None


def _source_name(status: SourceStatus) -> str:
    return one_line(status.name) or "Commands of config.toml"


def _tool_text(tool: Tool) -> str:
    """Return a tool's definition."""
    source = tool.definition.source
    text = f"{tool.name}\n" if source is None else f"{tool.name} is {origin_text(source)}\n"
    text += f"runs: {tool.runs or 'nothing, you answer'}\n"
    if source is not None:
        claims = ", ".join(tool.claims) or "nothing"
        text += f"The server claims, unverified: {claims}.\n"
    return f"{text}\n{definition_text(tool.definition)}"


class SessionToolsDialog(Dialog[None]):
    """Lists the tools by their sources, and below the list the definition of the marked one."""

    DEFAULT_CSS = """
    SessionToolsDialog {
        & > Vertical { width: 120; height: 90%; }
        OptionList, OptionList:focus { border: none; margin-top: 0; height: 2fr; max-height: 100%; }
        VerticalScroll { height: 1fr; border-top: solid $primary; max-height: 100%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "offer", show=False, priority=True),
        Binding("d", "default", show=False, priority=True),
        Binding("r,delete", "revoke", show=False, priority=True),
        Binding("s", "restart", show=False, priority=True),
        Binding("right,pagedown", "scroll(1)", show=False, priority=True),
        Binding("left,pageup", "scroll(-1)", show=False, priority=True),
    ]

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._rows: list[_Row] = []
        self._lines: list[Text] = []
        self._offered: set[str] = set()
        self._costs: dict[str, int] = {}
        """The tokens of each tool that is offered."""

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            box.border_title = "Tools of this session"
            yield OptionList()
            with VerticalScroll() as below:
                below.can_focus = False
                yield Static(markup=False, id="definition")
            yield Static(
                _HINT,
                classes="hint",
                markup=False,
            )

    def on_mount(self) -> None:
        self._draw()
        self._unsubscribe = self._workspace.subscribe(self._follow)

    def on_unmount(self) -> None:
        self._unsubscribe()

    def _follow(self, event: WorkspaceEvent) -> None:
        if isinstance(event, (BranchChanged, RequestComposed)):
            self._draw()

    def _draw(self) -> None:
        options, state = self.query_one(OptionList), self._workspace.state
        statuses = {status.name: status for status in state.tool_sources}
        live = state.request.live
        budget = live.envelope.budget if live is not None else None
        self._costs = dict(budget.tools) if budget is not None else {}
        self._offered = {tool.name for tool in state.tools}
        rows: list[_Row] = []
        for source in dict.fromkeys(["", *statuses]):
            tools = tuple(tool for tool in state.known_tools if tool.server == source)
            if source or tools:
                heading = _Row(tools, statuses.get(source, _COMMANDS))
                rows += (heading, *(replace(heading, tool=tool) for tool in tools))
        lines = [self._line(row) for row in rows]
        if rows == self._rows and lines == self._lines:
            return
        number = options.highlighted or 0
        self._rows, self._lines = rows, lines
        options.clear_options()
        options.add_options(map(Option, lines))
        options.highlighted = min(number, len(rows) - 1)

    def _line(self, row: _Row) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        if row.tool is None:
            text.append(_source_name(row.status), "bold")
            text.append(f"  {self._count(row)}", "dim")
            if row.status.state != "ready":
                text.append(f"  {one_line(row.status.sentence) or row.status.state}")
            return text
        tool = row.tool
        name = tool.definition.source.name if tool.definition.source else tool.name
        text.append("  ☑ " if tool.name in self._offered else "  ☐ ")
        text.append(one_line(name, 60))
        if tool.name in self._costs:
            text.append(f"  {self._costs[tool.name]:,} tokens", "dim")
        return text.append(f"  {self._permission(tool)}", "dim")

    def _count(self, row: _Row) -> str:
        count = sum(tool.name in self._offered for tool in row.tools)
        return f"{count:,} of {len(row.tools):,} offered"

    def _permission(self, tool: Tool) -> str:
        if not tool.runs:
            return "you answer it"
        if tool.consent == "always":
            return "always runs (config.toml)"
        grants = self._workspace.tool_grants
        lasting = grants.lasting.get(tool.name)
        if lasting is not None and lasting.covers(tool):
            return "always runs"
        is_granted = grants.cover(self._workspace.state.session_id, tool)
        return "runs in this session" if is_granted else "asks"

    @property
    def _row(self) -> _Row:
        return self._rows[self.query_one(OptionList).highlighted or 0]

    @on(OptionList.OptionHighlighted)
    def _marked(self) -> None:
        tool = self._row.tool
        text = self._source_text(self._row) if tool is None else _tool_text(tool)
        self.query_one("#definition", Static).update(Text(sanitize(text[:LONGEST_DEFINITION])))
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def _source_text(self, row: _Row) -> str:
        """Return what there is to say of a source."""
        status = row.status
        parts = (_source_name(status), one_line(status.version), status.state)
        text = " · ".join(filter(None, parts)) + "\n"
        if status.runs:
            text += f"runs: {status.runs}\n"
        tokens = sum(self._costs.get(tool.name, 0) for tool in row.tools)
        text += f"{self._count(row)}: {tokens:,} tokens of each request\n"
        if status.sentence:
            text += f"\n{status.sentence}\n"
        if status.log:
            text += "\n".join(("", "Its standard error:", *status.log[-20:]))
        return text

    def _names(self, row: _Row) -> list[str]:
        """Return the tool of a line, or all tools of its source."""
        return [tool.name for tool in (row.tools if row.tool is None else (row.tool,))]

    def _do(self, work: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            await work()
            self._draw()

        app_of(self).run_worker(run, group="session-tools", description="tools")

    def action_offer(self) -> None:
        """Offer the tool, or all of the source, or no longer."""
        state, names = self._workspace.state, self._names(self._row)
        offered = [tool.name for tool in state.tools]
        if all(name in offered for name in names):
            chosen = [name for name in offered if name not in names]
        else:
            chosen = [*offered, *(name for name in names if name not in offered)]
        self._do(partial(self._workspace.tool_sources.choose, chosen))

    def action_default(self) -> None:
        """Let the role's sessions offer what this one does."""
        self._do(self._workspace.tool_sources.choose_for_role)

    def action_revoke(self) -> None:
        """Ask before each run of the tool, or of all of the source."""
        self._do(partial(self._workspace.tools.revoke, self._names(self._row)))

    def action_restart(self) -> None:
        """Start the source again, and ask it for its tools."""
        self._do(partial(self._workspace.tool_sources.restart, self._row.status.name))

    def action_scroll(self, direction: int) -> None:
        """Read the definition on, or back."""
        below = self.query_one(VerticalScroll)
        below.scroll_relative(y=direction * max(below.size.height - 1, 1), animate=False)
