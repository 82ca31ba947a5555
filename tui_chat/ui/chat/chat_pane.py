"""The chat: title, conversation, activity and composer, one above the other. It shows what changed
in the workspace; what is done with messages, draft, files and tool calls, their widgets do.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from textual import events, on, work
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Static

from tui_chat.config import endpoints_with_key, lacks_key
from tui_chat.errors import NotYet, TuiChatError
from tui_chat.hooks import parts
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.usage import NO_TIMING, Timing, short_number
from tui_chat.ui.area import Area, AreaContext
from tui_chat.ui.chat.attachments import AttachmentLine
from tui_chat.ui.chat.chat_composer import ChatComposer
from tui_chat.ui.chat.composer import FIRST_PLACEHOLDER, PLACEHOLDER
from tui_chat.ui.chat.conversation import NO_MESSAGE_YET, Conversation
from tui_chat.ui.chat.drafts import ComposerDrafts
from tui_chat.ui.chat.side_replies import SideReplies
from tui_chat.ui.chat.side_replies import offer as offer_compaction
from tui_chat.ui.chat.status_lines import (
    NO_REPLY,
    QUEUE_WAITS,
    ActivityLine,
    ChatFacts,
    TitleLine,
)
from tui_chat.ui.chat.tool_question import ToolQuestion
from tui_chat.ui.chat.welcome import welcome
from tui_chat.ui.keys import insert_keys
from tui_chat.ui.widgets.find_bar import FindBar
from tui_chat.ui.widgets.row_list import clipped

LOW = 10
"""Rows of a terminal in which the composer has a single row."""
_LABEL = re.compile(r"^[^()]*\((HTTP [^()]*)\)")

if TYPE_CHECKING:
    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry, LastSession
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace


class ChatPane(Area):
    """The conversation, and the composer of its next message."""

    DEFAULT_CSS = """
    ChatPane { background: $background; }
    ChatPane > Conversation { width: 100%; }  /* `1fr` would leave the suggestions' margin free */
    ChatPane.-low > ChatComposer { max-height: 3; }
    ChatPane > .read-only {
        height: auto; max-height: 3; padding: 0 1; background: $panel; color: $label;
    }
    """
    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("regenerate", "compact"))

    def __init__(self, context: AreaContext) -> None:
        super().__init__(context, "chat")
        self.title_line = TitleLine()
        self.transcript = Conversation(context)
        self.find_bar = FindBar("words in this conversation")
        self.activity = ActivityLine()
        self.attachments = AttachmentLine(context)
        self.composer = ChatComposer(context)
        self.tool_question = ToolQuestion(context, self._is_focus_free, replaces=self.composer)
        self.read_only = context.read_only
        self.drafts = ComposerDrafts(self)
        self.side_replies = SideReplies(self)
        self._keys = context.key_labels
        self._facts = ChatFacts()

    def compose(self) -> ComposeResult:
        yield self.title_line
        yield self.transcript
        yield self.find_bar
        yield self.activity
        yield self.composer.suggestions
        yield self.attachments
        yield self.tool_question
        yield self.composer
        if self.read_only:
            self.composer.display, self.composer.disabled = False, True
            yield Static(self.read_only, classes="read-only", markup=False)

    def on_mount(self) -> None:
        """Show the keys that hints name, and the facts of the conversation."""
        self.tool_question.focus_key = self._keys["tool-call"]
        self.watch(self.transcript, "has_new_text", self._show_new_text, init=False)

    def on_resize(self) -> None:
        """Give the composer its border and a row where 40 % of the height are less."""
        self.set_class(self.screen.size.height < LOW, "-low")

    def _show_new_text(self) -> None:
        self.title_line.has_new_text = self.transcript.has_new_text

    @property
    def title_row(self) -> Widget | None:
        return self.title_line

    def show_conversation(self, *, shown: bool) -> None:
        """Show title and conversation, or leave their place to another pane."""
        self.title_line.display = self.transcript.display = shown

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the composer; the conversation if nothing can be sent."""
        (self.transcript if self.read_only else self.composer).focus(scroll_visible)
        return self

    # --- the workspace's events ----------------------------------------------------------

    def show_start(self, last: LastSession | None, *, has_sessions: bool) -> None:
        """Show the title of the session that will be opened at the start, if it is known."""
        self.drafts.named = last
        self.title_line.title = "" if last is None or self.read_only else last.title
        self.composer.placeholder = PLACEHOLDER if has_sessions else FIRST_PLACEHOLDER

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
            self.composer.prompt_history.recall([text for _, text in prompts])

    def handle(self, event: WorkspaceEvent) -> None:
        """Show what changed in the conversation."""
        from tui_chat.workspace import events as happened

        match event:
            case happened.BranchChanged():
                self._show_branch()
            case happened.ConfigChanged(before):
                mode = self.workspace.state.config.editing_mode
                if mode != before.editing_mode:
                    self.composer.set_editing_mode(mode)
            case happened.PresetChanged() | happened.RequestOutdated():
                self.drafts.compose_soon()
            case happened.RequestComposed():
                self.show_budget()
                # another role, profile or setting
                self.transcript.set_options(speakers=self.workspace.state.speakers)
            case happened.ReplyRetrying(pause):
                # Without “The provider refused the request”: a narrow line has the cause.
                why = one_line(_LABEL.sub(r"\1", str(pause.why)))
                when = f" in {ceil(pause.seconds)} s" if pause.seconds > 0 else ""
                attempt = f"Retrying ({pause.attempt} of {pause.attempts})"
                self.activity.pause = f"{attempt}{when} · {why}"
            case happened.ReplyGrew():
                grown = event.grown
                self._stream(grown.entry_id, grown.reply, grown.timing, grown.unsaved)
            case happened.ReplySettled():
                self._show_queue()
            case happened.Done():
                if event.message_id:
                    self.transcript.show_message(event.message_id)
            case _:
                pass

    def _show_branch(self) -> None:
        workspace = self.workspace
        if not workspace.state.is_branch_loaded:
            return
        self.drafts.adopt()
        self._show_entries(workspace.state.entries)
        if (partial := workspace.state.partial) is not None:
            self._stream(partial.entry_id, partial.reply, partial.timing)
        self.drafts.compose_soon()

    def _show_entries(self, entries: tuple[Entry, ...]) -> None:
        """Show the active session's branch."""
        # Not before the first frame:
        from tui_chat.offline.models import MODELS
        from tui_chat.workspace.branches import muted_messages

        state = self.workspace.state
        session = state.session
        fork_of = one_line(session.fork_of) if session is not None else ""
        if session is not None and session.title == f"Fork of {session.fork_of}":
            fork_of = ""
        recorded = one_line(session.model) if session is not None else ""
        streaming = next((e for e in entries[-2:] if e.status == "streaming"), None)
        title = self.title_line
        title.title = session.title if session else "New session"
        title.is_temporary = state.is_temporary
        title.facts = (
            f"role {state.role_fault}: /role continues without it" if state.role_fault else "",
            # In a read-only app nothing is sent, to no model.
            recorded if self.read_only else "",
            f"fork of {clipped(fork_of, 24)}" if fork_of and not self.read_only else "",
            state.preset_name if state.preset_name != "plain" else "",
            "a reply is arriving in another window"
            if streaming is not None and not state.is_streaming
            else "",
        )
        muted = muted_messages(entries)
        self.transcript.set_options(
            speakers=state.speakers,
            muted=muted.ids,
            muted_calls=muted.calls,
        )
        session_id = session.session_id if session else None
        if not entries:
            keys = endpoints_with_key(state.config.endpoints, self.context.environ)
            model, about = state.effective_model, MODELS.get(state.effective_model, "")
            self.transcript.show_when_empty(
                welcome(
                    *(model, state.is_offline, keys, self._keys),
                    about=about[:1].lower() + about[1:].removesuffix("."),
                    has_import=any(added.name == "import" for _, added in parts("actions")),
                )
            )
        has_sessions = bool(state.sessions or entries)
        self.composer.placeholder = PLACEHOLDER if has_sessions else FIRST_PLACEHOLDER
        self.transcript.show(entries, session_id)
        if self.find_bar.display:
            self.transcript.post_find_status()  # the count may have changed
        self.composer.prompt_history.show(entries, session_id)
        self.activity.is_streaming = streaming is not None and state.is_streaming
        self.activity.tool_state = self.tool_question.show_waiting()
        self._update_hint()
        self._show_queue()
        self._show_facts(
            model=state.effective_model,
            has_key=not lacks_key(state.endpoint, self.context.environ),
            role=state.role.name if state.role else "no role",
        )

    def _stream(
        self, entry_id: str, reply: Reply, timing: Timing = NO_TIMING, unsaved: str = ""
    ) -> None:
        """Show the reply of a streaming entry as far as it came. `unsaved` says why it could not be
        stored; empty if it is stored.
        """
        self.transcript.stream(entry_id, reply, timing.elapsed)
        self.activity.data_received(is_saved=not unsaved)

    def _show_queue(self) -> None:
        state = self.workspace.state
        self._show_facts(queued=len(state.queue))
        self.activity.is_saved = not state.unsaved
        self._update_hint()

    def _show_facts(self, **changes: str | int) -> None:
        """Show facts on the composer's border besides those that are there."""
        facts = replace(self._facts, **changes)
        if facts != self._facts:
            self._facts = facts
            self.composer.show_facts(facts.line)

    def show_budget(self) -> None:
        """Show how many tokens Enter would send, and offer to compact them if they are many."""
        request = self.workspace.state.request
        live = request.live
        budget = live.envelope.budget if live is not None else None
        if live is None or budget is None:
            return
        sent, edited = budget, live.edited
        if request.kind != "normal":
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
        if not (self.side_replies.is_writing or self.drafts.is_sending):
            self.activity.show_status(offer_compaction(live.envelope), "warning")

    # --- what other areas show -----------------------------------------------------------

    def highlight(self, origin: Origin | None, *, scroll: bool) -> None:
        """Highlight the draft or the message that a piece of the request came from."""
        author = origin.outermost if origin is not None else None
        kind = author.kind if author is not None else OriginKind.GLUE
        self.composer.set_class(kind is OriginKind.DRAFT and scroll, "-lit")
        is_message = author is not None and kind is OriginKind.HISTORY
        self.transcript.highlight(author.id if author is not None and is_message else "")

    async def reveal(self, origin: Origin) -> bool:
        """Go to the message or the draft that a piece of the request came from."""
        author = origin.outermost
        match author.kind:
            case OriginKind.HISTORY:
                if self.transcript.show_message(author.id):
                    self.host.panes.show_conversation(focus_composer=False)
                else:
                    self.notify("That message is not on the active branch.")
            case OriginKind.DRAFT:
                self.composer.focus()
            case _:
                return False
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
        replied = [e.message for e in entries[-2:] if e.message.about.summary is None]
        if not replied:
            raise NotYet(NO_MESSAGE_YET)
        workspace.tool_sources.load()
        await workspace.replies.regenerate(replied[-1].id, kind)

    @work(group="dialog", exclusive=True)
    async def action_compact(self) -> None:
        """Have a model sum up older messages, or show the summary that it wrote."""
        await self.side_replies.compact(await self.host.opened_workspace())

    async def action_back(self) -> None:
        """Stop what arrives or runs, else restore the panes if one is zoomed, else return the
        inspector to the live request, else go to the composer, also from a pane that has the
        conversation's place.
        """
        workspace, panes = self.host.workspace, self.host.panes
        if workspace is not None and await self._stop(workspace):
            return
        request = workspace.state.request if workspace is not None else None
        if panes.zoomed is not None:
            panes.zoom(None)
        elif request is not None and request.viewed is not None:
            self.workspace.requests.return_to_live()
        else:
            panes.close_overlay()
            self.focus()

    async def _stop(self, workspace: Workspace) -> bool:
        """Stop a reply, a tool, or what waits for tools; return False if there is none of it."""
        state = workspace.state
        is_arriving = state.is_streaming or any(call.is_running for call in state.pending_calls)
        is_stopped = is_arriving or self.side_replies.is_writing or bool(state.awaited_sources)
        self.side_replies.stop()
        workspace.tool_sources.stop_waiting()
        if is_arriving and not workspace.tools.stop():
            await workspace.replies.stop()
        return is_stopped

    # --- finding, and the hint -----------------------------------------------------------

    def show_message(self, message_id: str, words: tuple[str, ...] = ()) -> bool:
        """Go to a message and mark words in it. Return False if it is not on this branch."""
        self.find_bar.display = False  # it has other words
        return self.transcript.show_message(message_id, words)

    def on_find_bar_words_changed(self, event: FindBar.WordsChanged) -> None:
        self.transcript.find(event.words)

    def on_find_bar_step_requested(self, event: FindBar.StepRequested) -> None:
        self.transcript.action_hit(event.step)

    def on_find_bar_exited(self) -> None:
        """Focus the transcript, or the composer while a pane covers the transcript."""
        if self.transcript.focusable:
            self.transcript.focus()
        else:
            self.composer.focus()

    @on(Conversation.FindStatus)
    def _show_find_status(self, event: Conversation.FindStatus) -> None:
        self.find_bar.show(event.number, event.count, event.is_on)

    def _update_hint(self) -> None:
        """Say what can be done now: have a reply generated, send what is queued."""
        entries, hint = self.transcript.entries, ""
        last = entries[-1] if entries and not self.read_only else None
        if last is not None and last.message.role == "user":
            hint = NO_REPLY
        if self._facts.queued and not self.workspace.state.is_streaming:
            hint = QUEUE_WAITS
        self.activity.hint = insert_keys(hint, self._keys)

    # --- the focus -----------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Let a click on the title focus the conversation."""
        if event.widget is self.title_line and "@click" not in event.style.meta:
            self.transcript.focus()

    def focus_moved(self, focused: Widget) -> None:
        """End the search when neither the find bar nor the transcript has the focus."""
        if focused is self.composer:
            self.tool_question.step_aside()
            self.tool_question.consider_focus()
        if focused is not self.transcript and self.find_bar not in focused.ancestors:
            self.find_bar.close()

    def _is_focus_free(self) -> bool:
        """Return True if nothing is being written or done that another focus would disturb."""
        has_draft = self.composer.text or self.drafts.attachments
        is_idle = self.composer.has_focus and not has_draft
        return self.screen.is_current and (is_idle or self.transcript.has_focus)

    @on(ToolQuestion.PlaceTaken)
    def _show_waiting_call(self) -> None:
        self.activity.tool_state = self.tool_question.show_waiting()

    def on_tool_question_left(self, event: ToolQuestion.Left) -> None:
        """Focus the composer, and type there what was meant for it."""
        self.tool_question.step_aside()
        self.composer.focus()
        if event.typed:
            self.composer.insert_text(event.typed)
