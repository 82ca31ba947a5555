"""Carrying: conversations from files and into files, and the branches of the shown one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.paths import typed_path
from tui_chat.ui.acting.drafting import Drafting
from tui_chat.ui.chat.messages import BranchesRequested

if TYPE_CHECKING:
    from tui_chat.exporting import Format
    from tui_chat.importing import Report


class Carrying(Drafting):
    """Asks for files and branches, and tells the workspace."""

    @work(group="dialog", exclusive=True)
    async def action_import_file(self) -> None:
        """Take the conversations of a file in."""
        from tui_chat.ui.dialogs.file_questions import ask_import_path

        if path := await ask_import_path(self):
            await self.take_import(path)

    async def take_import(self, typed: str) -> None:
        """Import the conversations of a file, report the result, and open a single one."""
        from tui_chat.ui.dialogs.file_questions import import_summary

        await self._workspace_opened.wait()
        if self.workspace is None:
            return
        reports = await self.workspace.import_export.import_files(
            (typed_path(typed),), self._import_goes_on
        )
        self._chat.set_status("")
        for report in reports:
            words, severity = import_summary(report)
            self.notify(words, severity=severity, timeout=12, markup=False)
            if len(report.session_ids) == 1:
                session_id = report.session_ids[0]
                await self.show_session(
                    lambda workspace, session_id=session_id: workspace.sessions.open(session_id)
                )

    def _import_goes_on(self, report: Report) -> None:
        done = min(report.read * 100 // report.size, 100) if report.size else 0
        count = report.new + report.grown + report.known
        self._chat.set_status(f"Reading {report.path.name}: {done} %, {count:,} sessions")

    @work(group="dialog", exclusive=True)
    async def action_view_file(self) -> None:
        """Look at the conversations of a file, which stays out of one's own."""
        from tui_chat.ui.dialogs.file_questions import ask_view_path

        if path := await ask_view_path(self):
            await self.take_view(path)

    async def take_view(self, typed: str) -> None:
        """Look at the conversations of a file with `tui-chat view`, in our place on the terminal
        until it is left. Faults are reported here.
        """
        from tui_chat.ui.dialogs.file_questions import import_summary
        from tui_chat.ui.terminal.external_programs import run_in_terminal

        await self._workspace_opened.wait()
        if self.workspace is None:
            return
        path = typed_path(typed)
        reports = await self.workspace.import_export.import_files(
            (path,), self._import_goes_on, dry_run=True
        )
        self._chat.set_status("")
        readable = [report for report in reports if report.new + report.grown + report.known]
        for report in reports:
            words, severity = import_summary(report)
            if report not in readable:
                self.notify(words, severity=severity, timeout=12, markup=False)
        if readable:
            folder = str(self._config.config_dir)
            options = ("--config-dir", folder, "--theme", self.theme)
            # -P: what lies in the folder one happens to be in is no module.
            program = (sys.executable, "-P", "-m", "tui_chat")
            try:
                await run_in_terminal(self, (*program, *options, "view", "--", str(path)))
            except InputError as fault:
                self.show_error(fault)

    @work(group="dialog", exclusive=True)
    async def action_export(self) -> None:
        """Write the shown conversation into a file: ask how, and where."""
        from tui_chat.ui.dialogs.file_questions import ask_export_path, ask_format

        workspace = self.workspace
        if workspace is None or workspace.state.session is None:
            self.show_error(_nothing_yet())
            return
        kind = await ask_format(self)
        if kind is None:
            return
        if path := await ask_export_path(self, workspace.state.session.title, kind):
            await self._export(path, kind)

    async def take_export(self, argument: str) -> None:
        """Write the shown conversation into a file: `PATH`, `FORMAT PATH` or `FORMAT`."""
        from tui_chat.ui.dialogs.file_questions import ask_export_path, format_and_path

        if self.workspace is None or self.workspace.state.session is None:
            self.show_error(_nothing_yet())
            return
        kind, path = format_and_path(argument)
        if not path:
            path = await ask_export_path(self, self.workspace.state.session.title, kind) or ""
        if path:
            await self._export(path, kind)

    async def _export(self, typed: str, kind: Format) -> None:
        from tui_chat.ui.dialogs.file_questions import confirm_overwrite

        workspace = self.workspace
        if workspace is None or workspace.state.session is None:
            self.show_error(_nothing_yet())
            return
        session_id, path = workspace.state.session.session_id, typed_path(typed)
        exists = path.exists()
        if not exists or await confirm_overwrite(self, path):
            await workspace.import_export.export(session_id, kind, path, overwrite=exists)

    @work(group="dialog", exclusive=True)
    async def action_add_system(self) -> None:
        """Ask for a system message and add it to the conversation."""
        from tui_chat.ui.dialogs.base import TextAreaPrompt

        await self._workspace_opened.wait()
        text, stored = "", False
        while not stored:  # where it could not be, what was written must not be lost
            written = await self.push_screen_wait(TextAreaPrompt("System message", text))
            if written is None:
                return
            text = written.text
            stored = await self.take_system(text)

    async def take_system(self, text: str) -> bool:
        """Add a system message to the conversation; return False, with the
        error shown, if that fails.
        """
        return self.workspace is None or await self.workspace.branches.add_system_message(text)

    @on(BranchesRequested)
    def _branches_requested(self) -> None:
        self.action_branches()

    @work(group="dialog", exclusive=True)
    async def action_branches(self) -> None:
        """Compare the branches of the session, and show another."""
        from tui_chat.ui.branch_screen import BranchScreen

        workspace = self.workspace
        if workspace is None or workspace.state.session is None:
            self.show_error(_nothing_yet())
            return
        screen = BranchScreen(
            await workspace.branches.tree(), workspace.state.entries, workspace.branches.path_to
        )
        chosen = await self.push_screen_wait(screen)
        if chosen is not None:
            await workspace.branches.show(chosen)


def _nothing_yet() -> InputError:
    return InputError("Nothing has been said in this session yet.")
