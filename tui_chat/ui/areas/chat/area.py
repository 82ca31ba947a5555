"""The area of the conversation: writing, sending, and everything done with a message."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult

from tui_chat.errors import InputError, TuiChatError
from tui_chat.files import write_bytes
from tui_chat.models.media import detect_mime, file_of, format_size, kind_of
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry
from tui_chat.models.text import Origin, OriginKind
from tui_chat.paths import typed_path
from tui_chat.ui.actions import UNDO_KEYS
from tui_chat.ui.areas.area import Area, AreaContext
from tui_chat.ui.areas.chat import transcript_messages as messages
from tui_chat.ui.areas.chat.chat_pane import ChatPane
from tui_chat.ui.areas.chat.compaction import HistoryCompaction
from tui_chat.ui.areas.chat.compaction import offer as offer_compaction
from tui_chat.ui.areas.chat.completion import CompletionQuery
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.drafts import ComposerDrafts
from tui_chat.ui.areas.chat.status_lines import AttachmentLine
from tui_chat.ui.areas.chat.text_lines import clipped
from tui_chat.ui.areas.chat.tool_question import WaitingCall
from tui_chat.ui.areas.chat.turns import facts_of, tokens_of, turn_at, user_turns, words_of
from tui_chat.ui.areas.chat.welcome import keys_found, welcome
from tui_chat.ui.key_names import key_name
from tui_chat.ui.slash_commands import CommandCall, UnknownCommand, parse_command

if TYPE_CHECKING:
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.state import PendingToolCall
    from tui_chat.workspace.workspace import Workspace

NO_MESSAGE_YET = "There is no message in this session yet."


class ChatArea(Area):
    """The conversation, and the composer of its next message."""

    DEFAULT_CSS = """
    ChatArea > ChatPane { width: 1fr; height: 1fr; }
    """
    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(
        (
            "regenerate",
            "edit_draft",
            "attach",
            "detach",
            "add_system",
            "insert_snippet",
            "save_snippet",
            "compact",
            "answer_tool_call",
        )
    )

    def __init__(self, context: AreaContext) -> None:
        super().__init__(context, "chat")
        self.pane = ChatPane(read_only=context.read_only)
        self.pane.tool_question.clock = context.key_clock
        self.pane.set_hint_keys(context.key_labels)
        self.drafts = ComposerDrafts(self)
        self._cost_of = ""
        """The id of the session whose cost is shown."""
        self.compaction = HistoryCompaction(self)

    def compose(self) -> ComposeResult:
        """Show the pane."""
        yield self.pane

    # --- the workspace's events ----------------------------------------------------------

    async def start(self) -> None:
        """Restore the draft of the session that was opened at the start."""
        await self.drafts.restore(keep_typed=True)
        self.drafts.compose_soon()

    async def recall_prompts(self, workspace: Workspace) -> None:
        """Read earlier prompts from the store."""
        with suppress(TuiChatError):  # the prompts of the active session are known all the same
            prompts = await workspace.store.messages.recent_prompts()
            self.pane.composer.prompt_history.recall(prompts)

    def handle(self, event: WorkspaceEvent) -> None:
        """Show what changed in the conversation."""
        from tui_chat.workspace import events

        match event:
            case events.BranchChanged():
                self._show_branch()
            case events.BranchEndLoaded():
                self._show_entries(event.entries, is_part=True)
                self.drafts.restore_early(event.draft)
            case events.PresetChanged() | events.RequestOutdated():
                self.drafts.compose_soon()
            case events.RequestComposed():
                self.show_budget()
            case events.ReplyRetrying(pause):
                self.pane.activity.show_pause(
                    pause.attempt, pause.attempts, pause.seconds, str(pause.why)
                )
            case events.ReplyGrew():
                grown = event.grown
                self.pane.stream(grown.entry_id, grown.reply, grown.timing, grown.unsaved)
            case events.ReplyEnded(session_id):
                if self.workspace is not None and session_id == self.workspace.state.session_id:
                    self._show_cost()
            case events.UnsavedWritesChanged():
                self.pane.activity.is_saved = not event.reason
            case events.Done() if event.message_id:
                self.pane.transcript.show_message(event.message_id)
            case _:
                pass

    def _show_branch(self) -> None:
        workspace = self.workspace
        if workspace is None or not workspace.state.is_branch_loaded:
            return
        self.drafts.adopt()
        self._show_entries(workspace.state.entries)
        if workspace.state.session_id != self._cost_of:
            self._show_cost()
        if (partial := workspace.state.partial) is not None:
            self.pane.stream(partial.entry_id, partial.reply, partial.timing)
        self.drafts.compose_soon()

    def _show_entries(self, entries: tuple[Entry, ...], *, is_part: bool = False) -> None:
        """Show the active session's branch, or the end of it."""
        workspace = self.workspace
        if workspace is None:
            return
        state = workspace.state
        model = state.effective_model
        role = state.role.name if state.role else "no role"
        original = one_line(state.session.fork_of) if state.session is not None else ""
        fork = f"fork of {clipped(original, 24)} · " if original else ""
        subtitle = f"{model or 'no model'} · {fork}{state.endpoint.name} · {role}"
        if state.preset_name != "plain":
            subtitle += f" · {state.preset_name}"
        if state.is_temporary:
            subtitle = f"nothing is stored · {subtitle}"
        if state.role_fault:
            subtitle = f"role {state.role_fault}, its prompt is not sent · {subtitle}"
        endpoints = state.config.endpoints
        keys = keys_found(endpoints, self.context.environ) if not entries else ()
        self.pane.show(
            state.session.title if state.session else "New chat",
            subtitle,
            entries,
            welcome(model, state.is_offline, keys, self.context.key_labels),
            workspace.replies.timing,
            session_id=state.session.session_id if state.session else None,
            is_part=is_part,
            elsewhere=not state.is_streaming,
        )
        self._show_tool_calls()

    @work(group="cost", exclusive=True)
    async def _show_cost(self) -> None:
        """Show what the active session cost, if the prices of some of its replies are known."""
        workspace, title = self.workspace, self.pane.title_line
        if workspace is None:
            return
        self._cost_of = session_id = workspace.state.session_id
        title.cost = ""
        with suppress(TuiChatError):  # the database reports its own faults
            total = await workspace.usage.session(session_id)
            if total.unknown < total.replies and session_id == workspace.state.session_id:
                title.cost = total.dollars + (" +" if total.unknown else "")

    def _show_tool_calls(self) -> None:
        """Ask about the first tool call that waits, and say which ones run."""
        calls = self.workspace.state.pending_calls if self.workspace is not None else ()
        running = [call for call in calls if call.is_running]
        waiting = [call for call in calls if not call.is_running]
        if self.context.read_only:
            waiting = []
        asked = next(iter(waiting), None)
        command = asked.tool.command if asked is not None and asked.tool is not None else ()
        self.pane.tool_question.show(
            None if asked is None else WaitingCall(asked.entry_id, asked.call, command),
            len(calls) - len(waiting) + 1,
            len(calls),
        )
        names = ", ".join(one_line(call.call.name, 30) for call in (running or waiting)[:3])
        key = self.context.key_labels["tool-call"]
        state = f"Running {names} · Esc stops" if running else f"{names} waits for you · {key}"
        self.pane.activity.tool_state = state if names else ""

    def show_budget(self) -> None:
        """Show how many tokens Enter would send."""
        live = self.workspace.state.request.live if self.workspace is not None else None
        budget = live.envelope.budget if live is not None else None
        if self.workspace is None or live is None or budget is None:
            return
        approximately = "" if budget.exact else "~"
        left = "" if budget.free is None else f" · {budget.free:,} left"
        sends = bool(self.workspace.state.request.draft.strip() or self.drafts.attachments)
        hint = f"Enter sends {approximately}{budget.total:,} tokens{left}" if sends else ""
        offer = offer_compaction(live.envelope)
        if not self.compaction.is_writing:
            tone = "warning" if offer else "hint"
            self.pane.set_status(" · ".join(filter(None, (offer, hint))), tone)
        limit = "" if budget.limit is None else f" of {_short(budget.limit)}"
        self.pane.title_line.tokens = f"{approximately}{_short(budget.total)}{limit} tokens"

    # --- what other areas show -----------------------------------------------------------

    def highlight(self, origin: Origin | None, *, scroll: bool) -> None:
        """Highlight the draft or the message that a piece of the request came from."""
        author = origin.outermost if origin is not None else None
        kind = author.kind if author is not None else OriginKind.GLUE
        self.pane.composer.set_class(kind is OriginKind.DRAFT and scroll, "-lit")
        is_message = author is not None and kind is OriginKind.HISTORY
        self.pane.transcript.highlight(author.id if author is not None and is_message else "")

    async def reveal(self, origin: Origin) -> bool:
        """Go to the message or the draft that a piece of the request came from."""
        author = origin.outermost
        match author.kind:
            case OriginKind.HISTORY:
                if self.pane.transcript.show_message(author.id):
                    self.host.show_conversation(focus_composer=False)
                else:
                    self.notify("It is not on the active branch.")
            case OriginKind.DRAFT:
                self.pane.composer.focus()
            case _:
                return False
        return True

    # --- writing and sending -------------------------------------------------------------

    @on(Composer.Changed)
    def _draft_changed(self) -> None:
        self.drafts.changed()
        if not self.pane.composer.text:
            self.pane.tool_question.consider_focus()

    @on(Composer.EnterPressed)
    @work(group="settings")
    async def _use_key_found(self) -> None:
        """Make the provider whose key is there the default, as the first screen offers."""
        await self.drafts.wait_until_stored()  # Enter may repeat the one that sent a message
        workspace = self.workspace
        if workspace is None or workspace.state.entries or not workspace.state.is_offline:
            return
        for endpoint in keys_found(workspace.state.config.endpoints, self.context.environ)[:1]:
            await workspace.settings.set_model(endpoint.name, endpoint.models[0])
            await workspace.settings.set_default_model(endpoint.name, endpoint.models[0])

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        line = parse_command(event.text)
        if isinstance(line, str):
            self.drafts.submit(line, event.text)
        else:
            self._run_command(line)

    @work(group="command")
    async def _run_command(self, line: CommandCall | UnknownCommand) -> None:
        """Run a command. One that cannot be run stays selected where it was typed: it can be
        corrected, and what is typed next replaces it.
        """
        from tui_chat.ui.areas.chat.command_suggestions import command_error

        composer = self.pane.composer
        if (error := command_error(line)) is not None or isinstance(line, UnknownCommand):
            if parse_command(composer.text) == line:  # else more was typed meanwhile
                composer.select_all()
            if error is not None:
                self.show_error(error)
            return
        composer.clear_text()
        area, _, name = line.command.run.rpartition(".")
        if line.argument:
            await self.tui.run_action((area, name, (line.argument,)))
        else:
            await self.tui.run_action(line.command.run)

    @on(Composer.Cleared)
    def _draft_cleared(self) -> None:
        keys = key_name(UNDO_KEYS.partition(",")[0])
        self.notify(f"The draft is cleared. {keys} brings it back.", markup=False)

    def action_first_message(self) -> None:
        """Show the beginning of the conversation."""
        self.pane.transcript.action_begin()

    def action_latest_message(self) -> None:
        """Show the end of the conversation, and follow it."""
        self.pane.transcript.action_end()

    @on(Composer.CompletionRequested)
    def _complete(self, event: Composer.CompletionRequested) -> None:
        from tui_chat.ui.areas.chat.command_suggestions import is_about_paths, suggest

        if is_about_paths(event.query):
            self._suggest_paths(event.query)
        else:
            found = suggest(event.query, self.workspace, self.tui.available_themes)
            self.pane.composer.offer_suggestions(event.query, found)

    @work(group="paths", exclusive=True)
    async def _suggest_paths(self, query: CompletionQuery) -> None:
        from tui_chat.ui.areas.chat.command_suggestions import suggest_paths

        self.pane.composer.offer_suggestions(query, await to_thread(suggest_paths, query))

    @work(group="dialog", exclusive=True)
    async def action_edit_draft(self) -> None:
        """Edit the draft in the user's own editor."""
        from tui_chat.ui.terminal.external_programs import edit_in_editor

        composer = self.pane.composer
        if self.workspace is not None and self.workspace.state.is_temporary:
            why = "$EDITOR would need a file: nothing of a temporary session is written to disk."
            self.show_error(InputError(why))
            return
        try:
            text = await edit_in_editor(self.tui, composer.text)
        except InputError as error:
            self.show_error(error)
            return
        if text != composer.text:
            composer.rewrite(text)
        composer.focus()

    # --- snippets ------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_insert_snippet(self, name: str = "") -> None:
        """Insert a snippet into the draft; without a name, ask which one."""
        from tui_chat.ui.areas.chat.snippets import insert_snippet

        if (workspace := await self.host.opened_workspace()) is not None:
            with self._showing_errors():
                await insert_snippet(self, workspace, name)

    @work(group="dialog", exclusive=True)
    async def action_save_snippet(self) -> None:
        """Write the draft to a snippet, asking for its name."""
        from tui_chat.ui.areas.chat.snippets import save_snippet

        if (workspace := await self.host.opened_workspace()) is not None:
            with self._showing_errors():
                await save_snippet(self, workspace)

    @contextmanager
    def _showing_errors(self) -> Generator[None]:
        try:
            yield
        except InputError as error:
            self.show_error(error)

    # --- attachments ---------------------------------------------------------------------

    @on(Composer.AttachRequested)
    def _attach_requested(self, event: Composer.AttachRequested) -> None:
        self.action_attach(event.path)

    def action_attach(self, path: str = "") -> None:
        """Attach a file; without a path, start to type one."""
        if path:
            self._attach_file(path)
        else:
            self.pane.composer.start_path()

    @work(group="attach")
    async def _attach_file(self, typed: str) -> None:
        from tui_chat.workspace.attachments import read_attachment

        try:
            attachment = await to_thread(read_attachment, typed_path(typed))
        except InputError as error:
            self.show_error(error)
            return
        attached = self.drafts.attachments
        if all(attachment.path != other.path for other in attached):
            self.drafts.show_attachments((*attached, attachment))

    @on(AttachmentLine.RemoveRequested)
    def _remove_attachment(self, event: AttachmentLine.RemoveRequested) -> None:
        attached = self.drafts.attachments
        self.drafts.show_attachments(attached[: event.index] + attached[event.index + 1 :])

    @on(Composer.DetachRequested)
    def _remove_last_attachment(self) -> None:
        if attached := self.drafts.attachments:
            self.drafts.show_attachments(attached[:-1])

    def action_detach(self, name: str = "") -> None:
        """Remove the attachments of the draft that have a name; without one, all."""
        attached = self.drafts.attachments
        left = tuple(
            each for each in attached if name and name not in (each.path.name, str(each.path))
        )
        if attached and len(left) == len(attached):
            names = ", ".join(one_line(each.path.name, 40) for each in attached)
            sentence = f"There is no attachment “{one_line(name, 40)}”."
            self.show_error(InputError(sentence, advice=f"Attached: {names}."))
        elif attached:
            self.drafts.show_attachments(left)
        else:
            self.show_error(InputError("Nothing is attached.", advice="@ attaches a file."))

    # --- the conversation ----------------------------------------------------------------

    @work(group="send")
    async def action_regenerate(self) -> None:
        """Generate the last reply again, or a missing one."""
        await self.drafts.wait_until_stored()  # it is about the message that was just sent
        workspace = self.workspace
        entries = workspace.state.entries if workspace is not None else ()
        replied = [e.message for e in entries[-2:] if e.message.semantics.summary is None]
        if workspace is None or not replied:
            self.show_error(InputError(NO_MESSAGE_YET))
        else:
            await workspace.replies.regenerate(replied[-1].id)

    @work(group="dialog", exclusive=True)
    async def action_compact(self) -> None:
        """Have a model sum up older messages, or show the summary that it wrote."""
        workspace = await self.host.opened_workspace()
        if workspace is not None:
            await self.compaction.begin(workspace)

    @on(messages.SummarySwitchRequested)
    @work(group="branch")
    async def _switch_summary(self, event: messages.SummarySwitchRequested) -> None:
        if self.workspace is not None and self._may_write:
            await self.workspace.compaction.switch(event.entry_id, event.enabled)

    async def action_act_on_message(self, action: str) -> None:
        """Show the last message, and run an action of the transcript on it."""
        await self.drafts.wait_until_stored()
        self.pane.transcript.action_end()
        await self.tui.run_action(action, self.pane.transcript)

    @on(Composer.StopRequested)
    async def action_back(self) -> None:
        """Close the area that covers the conversation, else stop the reply that is arriving."""
        workspace = self.workspace
        if not self.host.close_overlay() and workspace is not None:
            self.compaction.stop()
            state = workspace.state
            if state.is_streaming or any(call.is_running for call in state.pending_calls):
                await workspace.replies.stop()
        self.pane.focus()

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

        transcript = self.pane.transcript
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
            self.host.show_conversation(focus_composer=False)

    @on(messages.ExportPartRequested)
    @work(group="dialog", exclusive=True)
    async def _export_part(self, event: messages.ExportPartRequested) -> None:
        """Export a part of the branch: ask which, in which format, and where to."""
        from tui_chat.ui.dialogs import file_questions as questions

        workspace, entries = self.workspace, self.pane.transcript.entries
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

    # --- messages: each handler does what the message's class says ------------------------

    @on(messages.RegenerateRequested)
    @work(group="send")
    async def _regenerate(self, event: messages.RegenerateRequested) -> None:
        if self.workspace is not None and self._may_write:
            await self.workspace.replies.regenerate(event.entry_id)

    @on(messages.ContinueRequested)
    @work(group="send")
    async def _continue(self, event: messages.ContinueRequested) -> None:
        if self.workspace is not None and self._may_write:
            await self.workspace.replies.continue_reply(event.entry_id)

    @on(messages.VersionRequested)
    @work(group="branch")
    async def _show_version(self, event: messages.VersionRequested) -> None:
        if self.workspace is not None:
            await self.workspace.branches.show_version(event.entry_id, event.step)

    @on(messages.EditRequested)
    @work(group="dialog", exclusive=True)
    async def _edit(self, event: messages.EditRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_edit

        entries = self.workspace.state.entries if self.workspace is not None else ()
        entry = next((each for each in entries if each.message.id == event.entry_id), None)
        if self.workspace is None or entry is None or not self._may_write:
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

    @on(messages.ForkRequested)
    @work(group="dialog", exclusive=True)
    async def _ask_fork(self, event: messages.ForkRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_fork_title

        session = self.workspace.state.session if self.workspace is not None else None
        if session is None or not self._may_write:
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
        await self.drafts.wait_until_stored()
        workspace = self.workspace
        if workspace is None or not workspace.state.entries:
            self.show_error(InputError(NO_MESSAGE_YET))
        elif title and self._may_write:
            self._fork(workspace.state.entries[-1].message.id, title)
        else:
            await self.action_act_on_message("fork")

    @on(messages.DeleteMessageRequested)
    @work(group="branch")
    async def _delete_message(self, event: messages.DeleteMessageRequested) -> None:
        if self.workspace is not None:
            await self.workspace.branches.delete(event.entry_id)

    @on(messages.UndoDeleteRequested)
    @work(group="branch")
    async def _undo(self) -> None:
        await self.host.switch_session(lambda workspace: workspace.undo(), leaves=False)

    @on(messages.PinRequested)
    @work(group="branch")
    async def _pin(self, event: messages.PinRequested) -> None:
        if self.workspace is not None:
            await self.workspace.branches.pin(event.entry_id, event.pinned)

    @on(messages.AnswerCallRequested)
    @work(group="dialog", exclusive=True)
    async def _answer_call(self, event: messages.AnswerCallRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_tool_result

        call = self._pending_call(event.call_id)
        if self.workspace is None or call is None or not self._may_write:
            return
        text, is_stored = "", False
        while not is_stored:  # if storing fails, the text is not lost
            written = await ask_tool_result(self.tui, call.call, text)
            if written is None:
                return
            text = written
            is_stored = await self.workspace.tools.answer(event.entry_id, event.call_id, text)

    def action_answer_tool_call(self) -> None:
        """Focus the question about the waiting tool call."""
        if self.pane.tool_question.call is None:
            self.show_error(InputError("No tool call waits for a result."))
            return
        self.host.show_conversation()
        self.pane.focus_tool_question()

    @on(messages.RunCallRequested)
    @on(messages.AlwaysRunRequested)
    @work(group="tool")
    async def _run_call(self, event: messages.ToolCallRequest) -> None:
        if self.workspace is not None and self._may_write:
            always = isinstance(event, messages.AlwaysRunRequested)
            await self.workspace.tools.run(event.entry_id, event.call_id, always=always)

    @on(messages.DeclineCallRequested)
    @work(group="tool")
    async def _decline_call(self, event: messages.DeclineCallRequested) -> None:
        if self.workspace is not None and self._may_write:
            await self.workspace.tools.decline(event.entry_id, event.call_id)

    @on(messages.EditArgumentsRequested)
    @work(group="dialog", exclusive=True)
    async def _edit_arguments(self, event: messages.EditArgumentsRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_arguments
        from tui_chat.workspace.tool_runner import argument_fault

        call = self._pending_call(event.call_id)
        if self.workspace is None or call is None or not self._may_write:
            return
        text, fault = call.call.arguments, ""
        while True:
            written = await ask_arguments(self.tui, call, text, fault)
            if written is None:
                return
            text, fault = written, argument_fault(written)
            if not fault:
                break
        await self.workspace.tools.run(event.entry_id, event.call_id, arguments=text)

    async def action_ask_before_tools(self) -> None:
        """Ask again before every run of a tool in this session."""
        if self.workspace is not None:
            self.workspace.tools.forget_permissions()

    def _pending_call(self, call_id: str) -> PendingToolCall | None:
        calls = self.workspace.state.pending_calls if self.workspace is not None else ()
        return next((each for each in calls if each.call.id == call_id), None)

    @property
    def _may_write(self) -> bool:
        """True if messages can be sent and changed; if not, a notification says why."""
        if self.context.read_only:
            self.notify(self.context.read_only, markup=False)
        return not self.context.read_only

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
        file = await self._content_of(event)
        if file is not None:
            await self._save_file(*file)

    async def _content_of(self, event: messages.PartRequest) -> tuple[str, bytes] | None:
        """Return name and bytes of a part of a message; if they are not here, say so."""
        entries = {each.message.id: each.message for each in self.pane.transcript.entries}
        message = entries.get(event.entry_id)
        parts = message.parts if message is not None else ()
        if event.index >= len(parts):
            self.notify("This reply is still arriving.")
            return None
        file = await to_thread(file_of, parts[event.index], event.index + 1)
        if file is None:
            self.show_error(InputError("Its content is not here, so it cannot be shown or saved."))
        return file

    async def _save_file(self, name: str, content: bytes) -> None:
        """Save a file where the user says."""
        from tui_chat.ui.dialogs import file_questions as questions

        typed = await questions.ask_attachment_path(self.tui, name)
        if not typed:
            return
        path = typed_path(typed)
        exists = await to_thread(path.exists)
        if exists and not await questions.confirm_overwrite(self.tui, path):
            return
        try:
            await to_thread(write_bytes, content, path, overwrite=exists)
        except InputError as error:
            self.show_error(error)
            return
        saved = f"Saved {one_line(str(path))}, {format_size(len(content))}."
        self.notify(saved, markup=False)

    @on(messages.ViewPartRequested)
    @work(group="dialog", exclusive=True)
    async def _view_part(self, event: messages.ViewPartRequested) -> None:
        """Show a picture, sound or file of a message."""
        file = await self._content_of(event)
        if file is not None:
            await self._view_file(*file)

    @on(AttachmentLine.OpenRequested)
    @work(group="dialog", exclusive=True)
    async def _view_attachment(self, event: AttachmentLine.OpenRequested) -> None:
        """Show an attachment of the draft."""
        part = self.drafts.attachments[event.index].part
        file = await to_thread(file_of, part, event.index + 1)
        if file is not None:
            await self._view_file(*file)

    def action_view_part(self) -> None:
        """Show the draft's last attachment, else the last message's picture or file."""
        if attached := self.drafts.attachments:
            self.pane.attachments.post_message(AttachmentLine.OpenRequested(len(attached) - 1))
        else:
            self.pane.transcript.action_view()

    async def _view_file(self, name: str, content: bytes) -> None:
        """Preview a picture in the terminal if that is installed; open any other file outside."""
        from tui_chat.ui.dialogs.image_preview import ImagePreview, can_preview
        from tui_chat.ui.terminal.external_programs import open_outside

        wanted: str | None = "open"
        if can_preview() and kind_of(detect_mime(content)) == "image":
            try:
                preview = await to_thread(ImagePreview.of, name, content)
            except InputError as error:
                self.show_error(error)
            else:
                wanted = await self.tui.push_screen_wait(preview)
        if wanted == "save":
            await self._save_file(name, content)
        elif wanted == "open":
            try:
                opened = await to_thread(open_outside, content, self.context.environ)
            except InputError as error:
                self.show_error(error)
                return
            self.notify(f"Opened {one_line(name)} with {opened}.", markup=False)

    @on(messages.OpenLinkRequested)
    @work(group="dialog", exclusive=True)
    async def _open_link(self, event: messages.OpenLinkRequested) -> None:
        """Open a web link, once the user has read and confirmed its address."""
        from tui_chat.ui.dialogs.questions import confirm_open_link
        from tui_chat.ui.terminal.browser import open_link

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


def _short(tokens: int) -> str:
    """Return a number of tokens in at most five characters: 950, 12.3k, 1.05M."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 999_500:
        return f"{tokens / 1_000:.3g}k"
    return f"{tokens / 1_000_000:.3g}M"
