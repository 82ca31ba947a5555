"""“Import conversations…” in the app: reads a file while the user goes on, and tells the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tui_chat.models.sanitize import one_line
from tui_chat.paths import typed_path
from tui_chat.plugins.transcripts.report import Report
from tui_chat.ui.questions import ask_path

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

_MOST = 5
"""Notes on an imported file, and faults of it, that are shown."""


async def import_from_app(app: TuiChat, path: str) -> None:
    """Import a file or folder; without a path, ask for one."""
    workspace = await app.main.opened_workspace()
    path = path or await ask_path(app, "Import conversations of any program", enter="import") or ""
    if path:
        # Not in the group of dialogs: the next one would end it.
        app.run_worker(_import(app, workspace, path), group="files", description="import")


async def _import(app: TuiChat, workspace: Workspace, path: str) -> None:
    """Import a file, report the result, and open a single session."""
    from tui_chat.plugins.transcripts import importer

    def show(report: Report) -> None:
        words = f"{report.percent} %, {report.sessions:,} sessions"
        app.panes.show_status(f"Reading {one_line(report.path.name, 60)}: {words}")

    with workspace.reporting():
        try:
            files = (typed_path(path),)
            reports = await importer.import_into(workspace, files, progress=show)
        finally:
            app.panes.show_status("")
        for report in reports:
            words, severity = import_summary(report)
            app.notify(words, severity=severity, markup=False)
            if len(report.session_ids) == 1:
                session_id = report.session_ids[0]
                await app.main.switch_session(
                    lambda opened, session_id=session_id: opened.sessions.open(session_id)
                )


def import_summary(report: Report) -> tuple[str, Literal["information", "warning", "error"]]:
    """Return the result of importing a file in sentences, and its severity."""
    name = one_line(report.path.name, 60)
    lines = report.lines(name, most=_MOST)
    for sentence, advice in report.told_faults(name, _MOST):
        lines.append(f"{sentence}. {one_line(advice, 200)}".rstrip())
    if not report.faults:
        return "\n".join(lines), "information"
    return "\n".join(lines), "warning" if report.sessions or report.cards else "error"
