"""The actions on messages: edit, fork, pin, delete, export, and those on their files and links."""

from __future__ import annotations

from asyncio import to_thread
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import work

from tui_chat.errors import InputError, NotYet
from tui_chat.models.media import describe
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.area import Area
from tui_chat.ui.chat.token_strip import facts_of, tokens_of, turn_at, user_turns, words_of
from tui_chat.ui.notifications import Refusal
from tui_chat.ui.questions import ask, ask_line, ask_text, confirm

if TYPE_CHECKING:
    from tui_chat.models.message import Muted
    from tui_chat.models.session import Entry
    from tui_chat.ui.area import AreaContext
    from tui_chat.ui.chat.chat_pane import ChatPane
    from tui_chat.ui.chat.drafts import ComposerDrafts
    from tui_chat.ui.chat.side_replies import SideReplies
    from tui_chat.ui.chat.tool_call_area import ToolCallArea

NO_MESSAGE_YET = "There is no message in this session yet."


def _muting(what: str, is_muted: bool) -> str:
    return f"{'Unmute' if is_muted else 'Mute'} {what}"


class MessageArea(Area):
    """Contains the transcript; its actions are about the message under the transcript's cursor."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(
        (
            *("retry", "edit", "fork", "delete", "continue", "undo", "pin", "answer", "run"),
            *("add_system", "mute", "mute_part", "mute_tool_results", "unmute_all"),
        )
    )

    def __init__(
        self,
        context: AreaContext,
        pane: ChatPane,
        drafts: ComposerDrafts,
        side_replies: SideReplies,
        tool_calls: ToolCallArea,
    ) -> None:
        super().__init__(context, "conversation")
        self.transcript = pane.transcript
        self._pane, self._drafts = pane, drafts
        self._side_replies, self._tool_calls = side_replies, tool_calls
        self._inspected = ""
        """The id of the message whose request was asked for last."""

    def _refuse(self, why: str) -> None:
        self.notify(why, markup=False)

    def _entry(self) -> Entry | None:
        """Return the entry under the cursor; None, after saying so, if there is none."""
        if self.transcript.current is None:
            self._refuse(Refusal("There is no message yet."))
        return self.transcript.current

    def _complete_entry(self) -> Entry | None:
        """Return the entry under the cursor; None, after saying why, if it is still arriving."""
        entry = self._entry()
        if entry is not None and entry.status == "streaming":
            self._refuse(Refusal("This reply is still arriving; Esc stops it."))
            return None
        return entry

    def action_explain_read_only(self) -> None:
        """Say why nothing can be changed, if that is so."""
        self.may_write  # noqa: B018  it notifies

    # --- replies and versions ------------------------------------------------------------

    @work(group="send")
    async def action_retry(self) -> None:
        """Generate a reply again, as another version of it; save one first that is not saved."""
        if entry := self._complete_entry():
            if entry.unsaved:
                await self.workspace.replies.save_again()
                return
            self.workspace.tool_sources.load()
            await self.workspace.replies.regenerate(entry.message.id)

    @work(group="send")
    async def action_continue(self) -> None:
        """Continue a reply from where it ended, or the user's last message where presets do so."""
        from tui_chat.context.generation import may_continue

        entry = self._complete_entry()
        if entry is None:
            return
        workspace = self.workspace
        workspace.tool_sources.load()
        last = workspace.state.entries[-1:]
        by_user = last and last[0].message.role == "user" and entry.message.id == last[0].message.id
        if by_user and may_continue(workspace.state.preset, "user"):
            await self._side_replies.continue_message(workspace, entry.message.id)
        else:
            await workspace.replies.continue_reply(entry.message.id)

    @work(group="dialog", exclusive=True)
    async def action_edit(self) -> None:
        """Edit a message; the edited text becomes another version of it."""
        from tui_chat.ui.dialogs.base import TextAreaPrompt

        entry = self._complete_entry()
        if entry is None:
            return
        message, is_stored = entry.message, False
        while not is_stored:  # if storing fails, the text is not lost
            dialog = TextAreaPrompt("Edit message", message.content, sends=message.role == "user")
            written = await self.tui.push_screen_wait(dialog)
            if written is None or (not written.send and written.text == entry.message.content):
                return
            if written.send:
                self.workspace.tool_sources.load()
            is_stored = await self.workspace.branches.edit(
                message.id, written.text, send=written.send
            )
            message = replace(message, content=written.text)
            if is_stored and written.send:  # one goes on behind the new reply
                self.transcript.go_to_end()
                self.host.panes.focus_composer()

    @work(group="branch")
    async def action_sibling(self, step: int) -> None:
        """Show the previous or the next version of a message."""
        entry = self._entry()
        if entry is None:
            return
        if entry.siblings < 2:
            self._refuse("There is one version of this message; r and e make others.")
        elif 0 <= entry.sibling + step < entry.siblings:
            await self.workspace.branches.show_version(entry.message.id, step)
        else:
            self._refuse(f"This is the {'oldest' if step < 0 else 'newest'} version.")

    # --- forking, deleting, pinning ------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_fork(self) -> None:
        """Fork a session from the branch up to a message; ask for its title."""
        entry = self._complete_entry()
        session = self.workspace.state.session if entry is not None else None
        if entry is None or session is None:
            return
        proposed = f"Fork of {session.title.removeprefix('Fork of ')}"
        title = await ask_line(self.tui, "Title of the fork", proposed, enter="fork")
        if title is not None:
            self._fork(entry.message.id, title)

    @work(group="open", exclusive=True, description="fork")
    async def _fork(self, entry_id: str, title: str) -> None:
        await self.host.switch_session(
            lambda workspace: workspace.branches.fork(entry_id, title), leaves=False
        )
        self.host.panes.show_conversation()

    async def action_fork_branch(self, title: str = "") -> None:
        """Fork a session from the whole branch; without a title, ask for it."""
        await self._drafts.wait_until_stored()
        entries = self.transcript.entries
        if not entries:
            self.show_error(NotYet(NO_MESSAGE_YET))
        elif title and self.may_write:
            self._fork(entries[-1].message.id, title)
        else:
            await self.action_act_on_message("conversation.fork")

    @work(group="dialog", exclusive=True)
    async def action_delete(self) -> None:
        entry, index = self._complete_entry(), self.transcript.current_index
        if entry is None or index is None:
            return
        is_sure = await self.workspace.branches.was_made_here(entry.message.id)
        # `i d` means the inspector's Diff, where it has opened.
        if not is_sure or entry.message.id == self._inspected:
            after = len(self.transcript.entries) - index - 1
            what = "this message" + (f" and what follows it ({after:,} more)" if after else "")
            question = f"Delete {what}? {self.host.undo_key} undoes it."
            is_sure = await confirm(self.tui, "Delete?", question, yes="Delete")
        if is_sure:
            self._delete(entry.message.id)

    @work(group="branch")
    async def _delete(self, entry_id: str) -> None:
        await self.workspace.branches.delete(entry_id)

    @work(group="branch")
    async def action_undo(self) -> None:
        """Take the last change back."""
        await self.host.switch_session(lambda workspace: workspace.undo(), leaves=False)

    @work(group="branch")
    async def action_pin(self) -> None:
        if entry := self._entry():
            await self.workspace.branches.pin(entry.message.id, not entry.message.pinned)

    # --- muting --------------------------------------------------------------------------

    @work(group="branch")
    async def action_mute(self) -> None:
        """Leave a message out of requests, or send it again."""
        if entry := self._complete_entry():
            await self.workspace.branches.toggle_mute(entry.message.id)

    @work(group="dialog", exclusive=True)
    async def action_mute_part(self) -> None:
        """Mute or unmute a part of the message, or several messages: ask which."""
        entry, index = self._complete_entry(), self.transcript.current_index
        if entry is None or index is None:
            return
        message, entries, mutes = entry.message, self.transcript.entries, self.workspace.branches
        muted, is_summary = message.muted, message.semantics.summary is not None
        parts: dict[str, tuple[str, str, Muted]] = {}
        if message.semantics.reasoning and not is_summary:
            label = _muting("its reasoning", muted.reasoning)
            size = f"{sum(len(b.text) for b in message.semantics.reasoning):,} characters"
            parts["reasoning"] = label, size, replace(muted, reasoning=not muted.reasoning)
        for number, part in enumerate(message.parts):
            numbers = tuple(sorted({*muted.parts} ^ {number}))
            label = _muting(f"its {part.kind}", number in muted.parts)
            name = one_line(describe(part), 60)
            parts[f"part {number}"] = label, name, replace(muted, parts=numbers)
        older = [each.message.id for each in entries[:index]]
        tools = [e.message.id for e in entries[:index] if e.message.role == "tool"]
        newer = [each.message.id for each in entries[index + 1 :]]
        ranges = {
            "before": ("Mute all messages before it", older),
            "tools": ("Mute all tool results before it", tools),
            "after": ("Mute all messages after it", newer),
        }
        choices = [
            ("message", _muting("this message", message.id in self.transcript.muted), ""),
            *((key, label, name) for key, (label, name, _) in parts.items()),
            *(
                (key, label, f"{len(ids):,} message{'s' * (len(ids) != 1)}")
                for key, (label, ids) in ranges.items()
                if ids
            ),
        ]
        chosen = await ask(self.tui, "Leave out of requests", choices, choices[bool(parts)][0])
        if chosen == "message":
            await mutes.toggle_mute(message.id)
        elif chosen in parts:
            await mutes.set_mute(message.id, parts[chosen][2])
        elif chosen in ranges:
            await mutes.mute(ranges[chosen][1])

    @work(group="branch")
    async def action_mute_tool_results(self, turns: str = "") -> None:
        """Mute the tool results that are older than some turns, by default the last one."""
        count = turns or "1"
        if not (count.isascii() and count.isdigit()):
            advice = "For example: /mute-tool-results 3"
            raise InputError(f"“{turns[:40]}” is not a number of turns.", advice=advice)
        mutes, number = self.workspace.branches, int(count[:9])
        results = mutes.tool_results_before(number)
        if results:
            await mutes.mute(results)
        elif number:
            last = "last turn" if number == 1 else f"last {number:,} turns"
            raise InputError(f"No tool result is older than the {last}.")
        else:
            raise InputError("The conversation has no tool results.")

    @work(group="branch")
    async def action_unmute_all(self) -> None:
        """Send all messages of the branch again."""
        await self.workspace.branches.unmute()

    @work(group="branch")
    async def action_switch_summary(self) -> None:
        """Send a summary instead of the messages that it sums up, or send those again."""
        entry = self._entry()
        summary = entry.message.semantics.summary if entry is not None else None
        if entry is not None and summary is not None and self.may_write:
            await self.workspace.compaction.switch(entry.message.id, not summary.enabled)

    # --- the request ---------------------------------------------------------------------

    def action_inspect(self) -> None:
        """Show the request that produced a reply."""
        entry = self._complete_entry()
        self._inspected = entry.message.id if entry is not None else ""
        if entry is not None and entry.message.role != "assistant":
            self._refuse(
                "Only replies have their own request; w shows this message in the next one."
            )
        elif entry is not None:
            self.host.panes.show_request_of(entry.message.id)

    def action_reveal(self) -> None:
        """Show where a message is in the live request."""
        if entry := self._complete_entry():
            self.host.panes.show_in_live_request(Origin(OriginKind.HISTORY, entry.message.id))

    # --- the last message, and moving ----------------------------------------------------

    async def action_act_on_message(self, action: str) -> None:
        """Show the last message, and run an action on it."""
        await self._drafts.wait_until_stored()
        self.transcript.action_end()
        await self.tui.run_action(action, self.transcript)

    async def action_find(self, words: str = "") -> None:
        """Open the find bar, with words to find."""
        await self._pane.find(words)

    def action_page(self, direction: int) -> None:
        """Scroll by a screen, wherever the focus is."""
        self.transcript.action_page(direction)

    def action_first_message(self) -> None:
        """Show the beginning of the conversation."""
        self.transcript.action_begin()

    def action_latest_message(self) -> None:
        """Show the end of the conversation, and follow it."""
        self.transcript.action_end()

    @work(group="dialog", exclusive=True)
    async def action_contents(self) -> None:
        """Show the turns of the conversation, and go to one."""
        transcript = self.transcript
        entries = transcript.entries
        if not entries:
            raise NotYet(NO_MESSAGE_YET)
        turns = user_turns(entries)
        tokens, is_reported = tokens_of(turns)
        choices = [
            (
                entries[turn.first].message.id,
                f"{number:,}  {words_of(entries[turn.first])}",
                facts_of(turn, count, is_reported=is_reported),
            )
            for number, (turn, count) in enumerate(zip(turns, tokens, strict=True), 1)
        ]
        current = turn_at(turns, transcript.current_index or 0)
        title = f"Contents: {len(turns):,} turn{'s' * (len(turns) != 1)}"
        chosen = await ask(self.tui, title, choices, choices[current][0])
        if chosen is not None and transcript.show_message(chosen):
            self.host.panes.show_conversation(focus_composer=False)

    # --- system messages -----------------------------------------------------------------

    async def action_add_system(self, text: str = "") -> None:
        """Add a system message to the conversation; without a text, ask for it."""
        if text:
            self._add_system(text)
        else:
            self._ask_for_system()

    @work(group="branch", description="add a system message")
    async def _add_system(self, text: str) -> None:
        workspace = await self.host.opened_workspace()
        if not await workspace.branches.add_system_message(text):
            self._ask_for_system(text)  # it could not be stored, and must not be lost

    @work(group="dialog", exclusive=True, description="ask for a system message")
    async def _ask_for_system(self, text: str = "") -> None:
        await self.host.opened_workspace()
        written = await ask_text(self.tui, "System message", text)
        if written is not None:
            self._add_system(written)

    # --- tool calls and subagents --------------------------------------------------------

    def action_answer(self) -> None:
        """Enter the result of the waiting tool call by hand."""
        if waiting := self._waiting_call():
            self._tool_calls.enter_result(*waiting)

    def action_run(self) -> None:
        """Focus the question about the waiting tool call."""
        if self._waiting_call():
            self._pane.focus_tool_question()

    def _waiting_call(self) -> tuple[str, int] | None:
        """Return the id of the reply and the position of its call that waits; None, after saying
        so, without.
        """
        if self.transcript.waiting_call is None:
            self._refuse("No tool call is waiting for a result here.")
        return self.transcript.waiting_call

    @work(group="open", exclusive=True)
    async def action_subagent(self, call_id: str = "") -> None:
        """Open the session of a call's subagent, or go back to the call that started this one."""
        entry = self._entry()
        if entry is None:
            return
        here, files = self.workspace.state.session_id, self.workspace.session_files
        started = files.subagents.calls_of(here) if files is not None else {}
        own = (*(call.id for call in entry.message.tool_calls), entry.message.tool_call_id)
        calls = [call_id] if call_id else [each for each in own if each in started]
        started_by = files.subagents.started_by(here) if files is not None else None
        if calls:
            await self._open_subagent([started.get(call, "") for call in calls])
        elif started_by is not None:
            await self._open(started_by.session_id)
            self._show_call(started_by.call_id)
        elif started:
            self._refuse("This message started no subagent. Calls that did are marked with “S”.")
        else:
            self._refuse("There is no session of a subagent here.")

    async def _open_subagent(self, session_ids: list[str]) -> None:
        """Open the session of a subagent; of several, ask which."""
        chosen: str | None = session_ids[0]
        if len(session_ids) > 1:
            titles = {
                summary.session_id: summary.title for summary in self.workspace.state.sessions
            }
            choices = [(id, titles.get(id, id)) for id in session_ids]
            chosen = await ask(self.tui, "Subagents", choices, session_ids[0])
        if chosen:
            await self._open(chosen)
            self.transcript.action_begin()

    async def _open(self, session_id: str) -> None:
        await self.host.switch_session(lambda workspace: workspace.sessions.open(session_id))
        self.host.panes.show_conversation()

    def _show_call(self, call_id: str) -> None:
        """Go to the message with a call, if it is in the branch."""
        for entry in self.transcript.entries:
            if call_id and any(call.id == call_id for call in entry.message.tool_calls):
                self.transcript.show_message(entry.message.id)

    # --- files and links -----------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_export(self) -> None:
        """Export a part of the branch: ask which, in which format, and where to."""
        from tui_chat.ui.dialogs.export import ask_export_file, ask_format

        index, entries = self.transcript.current_index, self.transcript.entries
        if self._complete_entry() is None or index is None:
            return
        turns = user_turns(entries)
        turn = turns[turn_at(turns, index)]
        parts = {
            "message": ("This message", entries[index : index + 1]),
            "turn": ("This turn", entries[turn.first : turn.first + turn.count]),
            "after": ("From here to the end", entries[index:]),
            "before": ("From the beginning to here", entries[: index + 1]),
        }
        choices = [
            (key, label, f"{len(part):,} message{'s' * (len(part) != 1)}")
            for key, (label, part) in parts.items()
        ]
        chosen = await ask(self.tui, "Export which part?", choices, "turn")
        kind = None if chosen is None else await ask_format(self.tui)
        if chosen is None or kind is None:
            return
        session = self.workspace.state.session
        title = session.title if session is not None else ""
        if target := await ask_export_file(self.tui, title, kind):
            file, replaces = target
            await self.workspace.exports.export_part(
                parts[chosen][1], kind, file, overwrite=replaces
            )

    @work(group="dialog", exclusive=True)
    async def action_save(self) -> None:
        """Save the message's picture, sound or file; again, its next one."""
        from tui_chat.ui.dialogs.file_viewer import save_file

        if (file := await self._file()) is not None:
            await save_file(self, *file)

    @work(group="dialog", exclusive=True)
    async def action_view(self, index: int | None = None) -> None:
        """Show a part of the message by its index, else its picture or file; again, its next."""
        from tui_chat.ui.dialogs.file_viewer import view_file

        if (file := await self._file(index)) is not None:
            await view_file(self, *file)

    async def _file(self, index: int | None = None) -> tuple[str, bytes] | None:
        """Return name and bytes of a part of the message; None without one, which is said. Raises
        InputError if they are not here.
        """
        from tui_chat.models.media import file_of

        entry = self.transcript.current
        if index is None:
            index = self.transcript.next_part()
        if entry is None or index is None:
            self._refuse("There is no picture, sound or file in this message.")
            return None
        if index >= len(entry.message.parts):
            self._refuse(Refusal("This reply is still arriving."))
            return None
        file = await to_thread(file_of, entry.message.parts[index], index + 1)
        if file is None:
            raise InputError("Its content is not stored here, so it can't be shown or saved.")
        return file

    @work(group="dialog", exclusive=True)
    async def action_open_link(self, url: str = "") -> None:
        """Open a web link, once the user has read and confirmed its address: models write links
        too. Without one, open the message's; again, its next.
        """
        from tui_chat.ui.terminal.external_programs import open_link

        url = url or self.transcript.next_link()
        if not url:
            self._refuse("There is no link in this message.")
        elif not url.startswith(("https://", "http://")):
            raise InputError("Only web links can be opened.", advice=url[:200])
        elif not await confirm(self.tui, "Open this link?", url, yes="Open"):
            return
        elif self.tui.is_web:
            self.tui.open_url(url)
        elif not await to_thread(open_link, url):
            self.tui.copy_to_clipboard(url)
            self.notify("No browser can be opened from here; the link was copied.", markup=False)
