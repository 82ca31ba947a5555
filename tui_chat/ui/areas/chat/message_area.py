"""What the user does with messages: edit, fork, pin, delete, copy and export them."""

from __future__ import annotations

from asyncio import to_thread
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.paths import typed_path
from tui_chat.ui.areas.area import Area
from tui_chat.ui.areas.chat import transcript_messages as messages
from tui_chat.ui.areas.chat.token_strip import facts_of, tokens_of, turn_at, user_turns, words_of

if TYPE_CHECKING:
    from tui_chat.ui.areas.chat.area import ChatArea

NO_MESSAGE_YET = "There is no message in this session yet."


class MessageArea(Area):
    """Contains the transcript and does what its messages ask for; each handler does what the
    message's class says.
    """

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("add_system",))

    def __init__(self, chat: ChatArea) -> None:
        super().__init__(chat.context, "conversation")
        self.chat = chat

    @on(messages.EditRequested)
    @work(group="dialog", exclusive=True)
    async def _edit(self, event: messages.EditRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_edit

        entries = self.workspace.state.entries if self.workspace is not None else ()
        entry = next((each for each in entries if each.message.id == event.entry_id), None)
        if self.workspace is None or entry is None or not self.may_write:
            return
        message, is_stored = entry.message, False
        while not is_stored:  # if storing fails, the text is not lost
            written = await ask_edit(self.tui, message)
            if written is None or (not written.send and written.text == entry.message.content):
                return
            is_stored = await self.workspace.branches.edit(
                event.entry_id, written.text, send=written.send
            )
            message = replace(message, content=written.text)

    @on(messages.VersionRequested)
    @work(group="branch")
    async def _show_version(self, event: messages.VersionRequested) -> None:
        if self.workspace is not None:
            await self.workspace.branches.show_version(event.entry_id, event.step)

    @on(messages.ForkRequested)
    @work(group="dialog", exclusive=True)
    async def _ask_fork(self, event: messages.ForkRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_fork_title

        session = self.workspace.state.session if self.workspace is not None else None
        if session is None or not self.may_write:
            return
        title = await ask_fork_title(self.tui, session.title)
        if title is not None:
            self._fork(event.entry_id, title)

    @work(group="open", exclusive=True, description="fork")
    async def _fork(self, entry_id: str, title: str) -> None:
        await self.host.switch_session(
            lambda workspace: workspace.branches.fork(entry_id, title), leaves=False
        )

    async def action_fork(self, title: str = "") -> None:
        """Fork a session from the whole branch; without a title, ask for it."""
        await self.chat.drafts.wait_until_stored()
        workspace = self.workspace
        if workspace is None or not workspace.state.entries:
            self.show_error(InputError(NO_MESSAGE_YET))
        elif title and self.may_write:
            self._fork(workspace.state.entries[-1].message.id, title)
        else:
            await self.action_act_on_message("fork")

    @on(messages.DeleteMessageRequested)
    @work(group="dialog", exclusive=True)
    async def _ask_to_delete(self, event: messages.DeleteMessageRequested) -> None:
        from tui_chat.ui.dialogs.questions import confirm_delete_message

        if self.workspace is None:
            return
        is_own = await self.workspace.branches.was_made_here(event.entry_id)
        if (is_own and not event.asks) or await confirm_delete_message(
            self.tui, self.workspace.state.entries, event.entry_id
        ):
            self._delete_message(event.entry_id)

    @work(group="branch")
    async def _delete_message(self, entry_id: str) -> None:
        if self.workspace is not None:
            await self.workspace.branches.delete(entry_id)

    @on(messages.UndoDeleteRequested)
    @work(group="branch")
    async def _undo(self) -> None:
        await self.host.switch_session(lambda workspace: workspace.undo(), leaves=False)

    @on(messages.PinRequested)
    @work(group="branch")
    async def _pin(self, event: messages.PinRequested) -> None:
        if self.workspace is not None:
            await self.workspace.branches.pin(event.entry_id, event.pinned)

    @on(messages.SummarySwitchRequested)
    @work(group="branch")
    async def _switch_summary(self, event: messages.SummarySwitchRequested) -> None:
        if self.workspace is not None and self.may_write:
            await self.workspace.compaction.switch(event.entry_id, event.enabled)

    async def action_act_on_message(self, action: str) -> None:
        """Show the last message, and run an action of the transcript on it."""
        await self.chat.drafts.wait_until_stored()
        self.chat.pane.transcript.action_end()
        await self.tui.run_action(action, self.chat.pane.transcript)

    async def action_find(self, words: str = "") -> None:
        """Open the find bar, with words to find."""
        await self.chat.pane.find(words)

    def action_first_message(self) -> None:
        """Show the beginning of the conversation."""
        self.chat.pane.transcript.action_begin()

    def action_latest_message(self) -> None:
        """Show the end of the conversation, and follow it."""
        self.chat.pane.transcript.action_end()

    async def action_add_system(self, text: str = "") -> None:
        """Add a system message to the conversation; without a text, ask for it."""
        if text:
            self._add_system(text)
        else:
            self._ask_for_system()

    @work(group="branch", description="add a system message")
    async def _add_system(self, text: str) -> None:
        workspace = await self.host.opened_workspace()
        if workspace is not None and not await workspace.branches.add_system_message(text):
            self._ask_for_system(text)  # it could not be stored, and must not be lost

    @work(group="dialog", exclusive=True, description="ask for a system message")
    async def _ask_for_system(self, text: str = "") -> None:
        from tui_chat.ui.dialogs.base import TextAreaPrompt

        await self.host.opened_workspace()
        written = await self.tui.push_screen_wait(TextAreaPrompt("System message", text))
        if written is not None:
            self._add_system(written.text)

    @on(messages.ContentsRequested)
    @work(group="dialog", exclusive=True)
    async def action_contents(self) -> None:
        """Show the turns of the conversation, and go to one."""
        from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog

        transcript = self.chat.pane.transcript
        entries = transcript.entries
        if not entries:
            self.show_error(InputError(NO_MESSAGE_YET))
            return
        turns = user_turns(entries)
        tokens, is_reported = tokens_of(turns)
        choices = [
            Choice(
                entries[turn.first].message.id,
                f"{number:,}  {words_of(entries[turn.first])}",
                facts_of(turn, count, is_reported=is_reported),
            )
            for number, (turn, count) in enumerate(zip(turns, tokens, strict=True), 1)
        ]
        current = turn_at(turns, transcript.current_index or 0)
        title = f"Contents: {len(turns):,} turn{'s' * (len(turns) != 1)}"
        dialog = ChoiceDialog(title, choices, choices[current].id)
        chosen = await self.tui.push_screen_wait(dialog)
        if chosen is not None and transcript.show_message(chosen):
            self.host.panes.show_conversation(focus_composer=False)

    @on(messages.BranchesRequested)
    @work(group="dialog", exclusive=True)
    async def action_branches(self) -> None:
        """Compare the branches of the session, and switch to another."""
        from tui_chat.ui.dialogs.branches import BranchScreen

        workspace = self.workspace
        if workspace is None or workspace.state.session is None:
            self.show_error(InputError(NO_MESSAGE_YET))
            return
        screen = BranchScreen(
            await workspace.branches.tree(), workspace.state.entries, workspace.branches.path_to
        )
        chosen = await self.tui.push_screen_wait(screen)
        if chosen is not None:
            await workspace.branches.show(chosen)

    @on(messages.SubagentRequested)
    @work(group="open", exclusive=True, description="subagent")
    async def _open_subagent(self, event: messages.SubagentRequested) -> None:
        """Open the session of a subagent, or go back to the call that started it."""
        from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog

        workspace = self.workspace
        if workspace is None or workspace.session_files is None:
            return
        subagents, here = workspace.session_files.subagents, workspace.state.session_id
        if not event.call_ids:
            started_by = subagents.started_by(here)
            if started_by is not None:
                await self._open(started_by.session_id)
                self._show_call(started_by.call_id)
            return
        found = {call: subagents.calls_of(here).get(call, "") for call in event.call_ids}
        chosen: str | None = found[event.call_ids[0]]
        if len(found) > 1:
            titles = {each.session_id: each.title for each in workspace.state.sessions}
            choices = [Choice(each, titles.get(each, each)) for each in found.values()]
            chosen = await self.tui.push_screen_wait(
                ChoiceDialog("Subagents", choices, choices[0].id)
            )
        if chosen:
            await self._open(chosen)
            self.chat.pane.transcript.action_begin()

    async def _open(self, session_id: str) -> None:
        await self.host.switch_session(lambda workspace: workspace.sessions.open(session_id))
        self.host.panes.show_conversation()

    def _show_call(self, call_id: str) -> None:
        """Go to the message with a call, if it is in the branch."""
        transcript = self.chat.pane.transcript
        for entry in transcript.entries:
            if call_id and any(call.id == call_id for call in entry.message.tool_calls):
                transcript.show_message(entry.message.id)

    @on(messages.ExportPartRequested)
    @work(group="dialog", exclusive=True)
    async def _export_part(self, event: messages.ExportPartRequested) -> None:
        """Export a part of the branch: ask which, in which format, and where to."""
        from tui_chat.ui.dialogs import file_questions as questions

        workspace, entries = self.workspace, self.chat.pane.transcript.entries
        ids = [entry.message.id for entry in entries]
        if workspace is None or event.entry_id not in ids:
            return
        at = ids.index(event.entry_id)
        turns = user_turns(entries)
        turn = turns[turn_at(turns, at)]
        part = await questions.ask_part(self.tui, at, turn.first, turn.count, len(entries))
        kind = None if part is None else await questions.ask_format(self.tui)
        if part is None or kind is None:
            return
        title = workspace.state.session.title if workspace.state.session else ""
        typed = await questions.ask_export_path(self.tui, title, kind)
        if not typed:
            return
        file = typed_path(typed)
        exists = await to_thread(file.exists)
        if not exists or await questions.confirm_overwrite(self.tui, file):
            await workspace.import_export.export_part(
                entries[part.start : part.stop], kind, file, overwrite=exists
            )

    @on(messages.ActionRefused)
    def _refused(self, event: messages.ActionRefused) -> None:
        self.notify(event.why, markup=False)

    @on(messages.CopyRequested)
    def _copy(self, event: messages.CopyRequested) -> None:
        self.tui.copy_to_clipboard(event.text)
        count = len(event.text)
        what = f"the {event.what}: " if event.what else ""
        sentence = f"Copied {what}{count:,} character{'s' * (count != 1)}."
        self.notify(sentence, markup=False)

    @on(messages.SavePartRequested)
    @work(group="dialog", exclusive=True)
    async def _save_part(self, event: messages.SavePartRequested) -> None:
        """Save a picture, sound or file of a message where the user says."""
        from tui_chat.ui.areas.file_views import save_file

        file = await self._content_of(event)
        if file is not None:
            await save_file(self, *file)

    @on(messages.ViewPartRequested)
    @work(group="dialog", exclusive=True)
    async def _view_part(self, event: messages.ViewPartRequested) -> None:
        """Show a picture, sound or file of a message."""
        from tui_chat.ui.areas.file_views import view_file

        file = await self._content_of(event)
        if file is not None:
            await view_file(self, *file)

    async def _content_of(self, event: messages.PartRequest) -> tuple[str, bytes] | None:
        """Return name and bytes of a part of a message; if they are not here, say so."""
        entries = {each.message.id: each.message for each in self.chat.pane.transcript.entries}
        message = entries.get(event.entry_id)
        parts = message.parts if message is not None else ()
        if event.index >= len(parts):
            self.notify("This reply is still arriving.")
            return None
        from tui_chat.models.media import file_of

        file = await to_thread(file_of, parts[event.index], event.index + 1)
        if file is None:
            self.show_error(InputError("Its content is not here, so it cannot be shown or saved."))
        return file

    @on(messages.OpenLinkRequested)
    @work(group="dialog", exclusive=True)
    async def _open_link(self, event: messages.OpenLinkRequested) -> None:
        """Open a web link, once the user has read and confirmed its address."""
        from tui_chat.ui.dialogs.questions import confirm_open_link
        from tui_chat.ui.terminal.external_programs import open_link

        url = event.url
        if not url.startswith(("https://", "http://")):
            self.show_error(InputError("Only web links can be opened.", advice=url[:200]))
        elif not await confirm_open_link(self.tui, url):
            return
        elif self.tui.is_web:
            self.tui.open_url(url)
        elif not await to_thread(open_link, url):
            self.tui.copy_to_clipboard(url)
            sentence = "No browser can be opened from here; the link is copied."
            self.notify(sentence, markup=False)
