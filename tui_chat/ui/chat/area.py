"""The area of the conversation. It shows what changed, and has replies generated; its containers
do what their widgets ask for: see `message_area`, `composer_area` and
`tool_question`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from heapq import nlargest
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import work
from textual.app import ComposeResult

from tui_chat.config import endpoints_with_key
from tui_chat.errors import NotYet, Refused, TuiChatError
from tui_chat.models.message import MessageOrigin
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.usage import short_number
from tui_chat.ui.ago import ago
from tui_chat.ui.area import Area, AreaContext
from tui_chat.ui.chat.chat_pane import ChatPane, PaneContainers
from tui_chat.ui.chat.composer import QUEUE_KEY
from tui_chat.ui.chat.composer_area import AttachmentArea, ComposerArea
from tui_chat.ui.chat.drafts import ComposerDrafts
from tui_chat.ui.chat.message_area import NO_MESSAGE_YET, MessageArea
from tui_chat.ui.chat.side_replies import HistoryCompaction, SideReplies
from tui_chat.ui.chat.side_replies import offer as offer_compaction
from tui_chat.ui.chat.status_lines import ChatFacts
from tui_chat.ui.chat.text_lines import clipped
from tui_chat.ui.chat.tool_call_area import ToolCallArea
from tui_chat.ui.chat.welcome import MAX_RECENT, RecentSessions, welcome
from tui_chat.ui.key_names import key_name

_LABEL = re.compile(r"^[^()]*\((HTTP [^()]*)\)")

if TYPE_CHECKING:
    from tui_chat.models.semantics import Brought
    from tui_chat.models.session import Entry, LastSession
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace


class ChatArea(Area):
    """The conversation, and the composer of its next message."""

    DEFAULT_CSS = """
    ChatArea > ChatPane { width: 1fr; height: 1fr; }
    """
    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("regenerate", "compact"))

    def __init__(self, context: AreaContext) -> None:
        super().__init__(context, "chat")
        self.pane = pane = ChatPane(context.read_only)
        pane.tool_question.clock = context.key_clock
        pane.set_hint_keys(context.key_labels)
        pane.queue.edit_key = key_name(QUEUE_KEY)
        self.drafts = ComposerDrafts(self, pane)
        self.compaction = HistoryCompaction(self, pane, self.show_budget)
        self.side_replies = SideReplies(self, pane, self.show_budget)
        self.tool_calls = ToolCallArea(context, pane.tool_question)
        self.conversation = MessageArea(
            context, pane, self.drafts, self.side_replies, self.tool_calls
        )
        self.attachments = AttachmentArea(context, pane, self.drafts)
        self.composer = ComposerArea(context, pane, self.drafts)
        pane.containers = PaneContainers(
            self.conversation, self.tool_calls, self.attachments, self.composer
        )
        self._cost_of = ""
        """The id of the session whose cost is shown."""
        self._facts = ChatFacts()

    def compose(self) -> ComposeResult:
        yield self.pane

    # --- the workspace's events ----------------------------------------------------------

    def show_start(self, last: LastSession | None) -> None:
        """Show the title of the session that will be opened at the start, if it is known."""
        self.drafts.named = last
        self.pane.show("" if last is None or self.context.read_only else last.title, "", ())

    async def start(self) -> None:
        """Restore the draft of the session that was opened at the start."""
        await self.drafts.restore(keep_typed=True)
        if mode := self.workspace.state.config.editing_mode:
            self.composer.set_editing_mode(mode)
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
            case events.SessionsChanged():
                state = self.workspace.state
                # Until then, the session that was open last is not known.
                is_open = self.host.is_workspace_open
                if is_open and state.is_branch_loaded and not state.entries:
                    self._show_entries(())  # the welcome lists the last sessions
            case events.BranchEndLoaded():
                self._show_entries(event.entries, is_part=True)
                self.drafts.restore_early(event.draft)
            case events.ConfigChanged(before):
                mode = self.workspace.state.config.editing_mode
                if mode != before.editing_mode:
                    self.composer.set_editing_mode(mode)
            case events.PresetChanged() | events.RequestOutdated():
                self.drafts.compose_soon()
            case events.RequestComposed():
                self.show_budget()
                # another role, profile or setting
                self.pane.transcript.set_speakers(self.workspace.state.speakers)
            case events.ReplyRetrying(pause):
                # Without “The provider refused the request”: a narrow line has the cause.
                why = _LABEL.sub(r"\1", str(pause.why))
                activity = self.pane.activity
                activity.show_pause(pause.attempt, pause.attempts, pause.seconds, why)
            case events.ReplyGrew():
                grown = event.grown
                self.pane.stream(grown.entry_id, grown.reply, grown.timing, grown.unsaved)
            case events.ReplySettled(session_id, _, error):
                self._show_queue()
                if session_id == self.workspace.state.session_id:
                    self._show_cost()
                    self._mark_edited_requests()
                    if isinstance(error, Refused) and error.retry_after is not None:
                        key = self.context.key_labels["regenerate"]
                        self.pane.activity.show_retry(key, error.retry_after)
            case events.Done():
                transcript = self.pane.transcript
                if event.message_id:
                    transcript.show_message(event.message_id)
            case _:
                pass

    def _show_branch(self) -> None:
        workspace = self.workspace
        if not workspace.state.is_branch_loaded:
            return
        self.drafts.adopt()
        self._show_entries(workspace.state.entries)
        if workspace.state.session_id != self._cost_of:
            self.pane.activity.end_retry()
            self._show_cost()
            self._mark_edited_requests()
        if (partial := workspace.state.partial) is not None:
            self.pane.stream(partial.entry_id, partial.reply, partial.timing)
        self.drafts.compose_soon()

    def _show_entries(self, entries: tuple[Entry, ...], *, is_part: bool = False) -> None:
        """Show the active session's branch, or the end of it."""
        workspace, state = self.workspace, self.workspace.state
        session, files = state.session, workspace.session_files
        fork_of = one_line(session.fork_of) if session is not None else ""
        if session is not None and session.title == f"Fork of {session.fork_of}":
            fork_of = ""
        is_subagent = files is not None and files.subagents.started_by(state.session_id) is not None
        recorded = one_line(session.model) if session is not None else ""
        facts = (
            f"role {state.role_fault}: /role continues without it" if state.role_fault else "",
            "nothing is stored" if state.is_temporary else "",
            "subagent, S goes back" if is_subagent else "",
            # In a read-only app nothing is sent, to no model.
            recorded if self.context.read_only else "",
            f"fork of {clipped(fork_of, 24)}" if fork_of and not self.context.read_only else "",
            state.preset_name if state.preset_name != "plain" else "",
        )
        self.pane.mark_temporary(state.is_temporary)
        self.pane.transcript.set_speakers(state.speakers)
        endpoints = state.config.endpoints
        keys = endpoints_with_key(endpoints, self.context.environ) if not entries else ()
        self.pane.show(
            session.title if session else "New chat",
            " · ".join(filter(None, facts)),
            entries,
            welcome(
                state.effective_model,
                state.is_offline,
                keys,
                self.context.key_labels,
                () if entries else self._recent_sessions(),
            ),
            workspace.replies.timing,
            session_id=session.session_id if session else None,
            is_part=is_part,
            elsewhere=not state.is_streaming,
        )
        transcript = self.pane.transcript
        calls = files.subagents.calls_of(state.session_id) if files is not None else {}
        transcript.set_subagents(frozenset(calls))
        self._show_muted(entries)
        self.pane.activity.tool_state = self.tool_calls.show()
        self._show_queue()
        self._show_facts(
            model=state.effective_model,
            endpoint=state.endpoint.name,
            role=state.role.name if state.role else "no role",
            is_temporary=state.is_temporary,
        )

    def _show_queue(self) -> None:
        state = self.workspace.state
        texts = tuple(message.text for message in state.queue)
        is_saved = not state.is_queue_unsaved
        self.pane.queue.show(texts, is_waiting=not state.is_streaming, is_saved=is_saved)
        self.pane.activity.is_saved = not state.unsaved

    def _show_muted(self, entries: tuple[Entry, ...]) -> None:
        from tui_chat.workspace.branches import muted_messages  # not before the first frame

        muted = muted_messages(entries)
        self.pane.transcript.set_muted(muted.ids, muted.calls)

    def _show_facts(self, **changes: str | int) -> None:
        """Show facts on the composer's border besides those that are there."""
        facts = replace(self._facts, **changes)
        if facts != self._facts:
            self._facts = facts
            self.pane.show_facts(facts)

    def _recent_sessions(self) -> RecentSessions:
        """Return what the welcome shows of the last sessions."""
        state, now = self.workspace.state, self.context.now()
        others = (
            session
            for session in state.sessions
            if not session.archived and session.session_id != state.session_id
        )
        newest = nlargest(MAX_RECENT, others, key=lambda session: session.updated)
        return tuple((each.session_id, each.title, ago(each.updated, now)) for each in newest)

    @work(group="cost", exclusive=True)
    async def _show_cost(self) -> None:
        """Show what the active session cost, if the prices of some of its replies are known."""
        workspace = self.workspace
        self._cost_of = session_id = workspace.state.session_id
        self._show_facts(cost="")
        with suppress(TuiChatError):  # the database reports its own faults
            total = await workspace.usage.session(session_id)
            if total.unknown < total.replies and session_id == workspace.state.session_id:
                self._show_facts(cost=total.dollars + (" +" if total.unknown else ""))

    @work(group="edited-requests", exclusive=True)
    async def _mark_edited_requests(self) -> None:
        """Mark the replies of the active session whose requests were edited by hand."""
        workspace = self.workspace
        session_id = workspace.state.session_id
        with suppress(TuiChatError):  # the database reports its own faults
            replies = await workspace.sent.edited_replies(session_id)
            if session_id == workspace.state.session_id:
                self.pane.transcript.set_edited(replies)

    def show_budget(self) -> None:
        """Show how many tokens Enter would send, and offer to compact them if they are many."""
        request = self.workspace.state.request
        live = request.live
        budget = live.envelope.budget if live is not None else None
        if live is None or budget is None:
            return
        sent, edited = budget, live.edited
        if request.command != "normal" and request.kind == request.command:
            shown = request.shown if not request.kind_fault else None
            sent = (shown.envelope.budget if shown is not None else None) or budget
            edited = shown.edited if shown is not None else edited
        about = "" if sent.exact else "~"
        limit = "" if sent.limit is None else f" of {short_number(sent.limit)}"
        tokens = f"{about}{sent.total:,}{limit} tokens"
        if sent.limit is not None and sent.free is not None and sent.free < 0:
            tokens = (
                f"{about}{-sent.free:,} over the budget of {max(sent.limit - sent.reserve, 0):,}"
            )
        self._show_facts(
            tokens=tokens,
            edits=len(edited.applied) if edited is not None else 0,
        )
        others = (self.compaction.is_writing, self.side_replies.is_writing, self.drafts.is_sending)
        if not any(others):
            self.pane.activity.show_status(offer_compaction(live.envelope), "warning")

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
                brought = author.brought if isinstance(author, MessageOrigin) else None
                if brought and brought.message_id and await self._show_source(brought):
                    return True
                if self.pane.transcript.show_message(author.id):
                    self.host.panes.show_conversation(focus_composer=False)
                else:
                    self.notify("That message is not on the active branch.")
            case OriginKind.DRAFT:
                self.pane.composer.focus()
            case _:
                return False
        return True

    async def _show_source(self, brought: Brought) -> bool:
        """Go to where a message was brought from. Return False, and say so, if it is gone."""
        workspace, session_id = self.workspace, ""
        with workspace.reporting():
            session_id = await workspace.active_store.branches.session_of(brought.message_id)
        if not session_id:
            self.notify("The branch that this came from no longer exists.")
            return False
        if session_id == workspace.state.session_id:
            await workspace.branches.show(brought.message_id)
        else:  # this session is a fork of that one
            await self.host.switch_session(
                lambda opened: opened.sessions.open_at(session_id, brought.message_id)
            )
        self.host.panes.show_message(brought.message_id)
        return True

    # --- generation ----------------------------------------------------------------------

    @work(group="send", description="regenerate")
    async def action_regenerate(self, kind: Literal["regenerate", "swipe"] = "regenerate") -> None:
        """Generate the last reply again, or a missing one; save one first that is not saved."""
        await self.drafts.wait_until_stored()  # it is about the message that was just sent
        workspace = await self.host.opened_workspace()
        entries = workspace.state.entries
        if workspace.state.unsaved_replies or workspace.state.is_queue_unsaved:
            await workspace.save_again()
            return
        replied = [e.message for e in entries[-2:] if e.message.semantics.summary is None]
        if not replied:
            raise NotYet(NO_MESSAGE_YET)
        workspace.tool_sources.load()
        await workspace.replies.regenerate(replied[-1].id, kind)

    @work(group="dialog", exclusive=True)
    async def action_compact(self) -> None:
        """Have a model sum up older messages, or show the summary that it wrote."""
        await self.compaction.begin(await self.host.opened_workspace())

    async def action_back(self) -> None:
        """Restore the panes if one is zoomed, else close the area that covers the conversation,
        else stop the reply that is arriving, else return the inspector to the live request. In a
        zoomed conversation a reply is stopped first. From a pane beside the chat, it leads back to
        the composer and stops nothing.
        """
        workspace, zoomed = self.host.workspace, self.host.panes.zoomed
        is_arriving = workspace is not None and workspace.state.is_streaming
        if zoomed is not None and not (zoomed is self and is_arriving):
            self.host.panes.zoom(None)
            return
        stops = self.has_focus_within or self.screen.focused is None
        if not self.host.panes.close_overlay() and workspace is not None:
            state, request = workspace.state, workspace.state.request
            if stops:
                self.compaction.stop()
                self.side_replies.stop()
                workspace.tool_sources.stop_waiting()
            if state.is_streaming or any(call.is_running for call in state.pending_calls):
                if stops and not workspace.tools.stop():
                    await workspace.replies.stop()
            elif request.viewed is not None or request.what_if is not None or request.chosen_kind:
                workspace.requests.return_to_live()
        self.pane.focus()
