"""Tool calls, which are answered by hand or by a command.

1. A reply that ended with calls waits at the end of its branch. Each call is answered once; with
   the last answer the conversation goes on by itself, unless the user declined to go on.
2. A tool runs if the user consents to the call, or a grant covers it (`tool_grants`), or if its
   configuration says `consent = "always"`.
3. Opening a session runs nothing and continues nothing.
4. A call is known by its reply and its position in it: ids are the provider's, and may be empty or
   the same. An answer is stored with the id, so of calls with the same id and name each waits for
   the answer of the one before it.
5. A model that keeps calling tools is stopped after `MAX_UNATTENDED_ROUNDS` rounds without the
   user.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from tui_chat.errors import InputError, StoreError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import Message, tool_result
from tui_chat.models.session import Entry
from tui_chat.models.text import clean
from tui_chat.models.tool import DECLINED, Tool
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, ReplySettled
from tui_chat.workspace.exchange import Slot
from tui_chat.workspace.programs import content_digest
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.state import PendingToolCall, unanswered_calls
from tui_chat.workspace.tool_grants import ToolGrants
from tui_chat.workspace.tool_runner import ToolRun
from tui_chat.workspace.tool_sources import ToolSources

MAX_UNATTENDED_ROUNDS = 20
"""Rounds of calls and answers without the user, after which the user is asked."""


_Key = tuple[str, int]
"""A call: the id of its reply, and its position in it."""

Scope = Literal["call", "session", "tool"]
"""What a user consents to: a call; calls of its tool in the session; always."""


@dataclass(eq=False)
class Tools:
    """Answers tool calls of the active session: those at the end of its active branch, and those of
    replies that were sent to targets, which wait at the ends of their own branches.
    """

    core: WorkspaceCore
    _sessions: Sessions
    _replies: Replies
    _sources: ToolSources
    _grants: ToolGrants

    def __post_init__(self) -> None:
        self._runs: dict[_Key, asyncio.Task[ToolRun]] = {}
        self._claimed: set[_Key] = set()
        """Calls that no one else may run until their answer is stored."""
        self._storing = asyncio.Lock()
        """Each answer follows the one that was stored before it."""
        self._unstored: dict[_Key, Message] = {}
        """Answers of commands that ran but could not be stored. Running the call again stores the
        answer instead: a command may do what must not be done twice.
        """

        self._unattended: set[asyncio.Future[None]] = set()
        """The commands that run after replies which have ended."""

    def follow(self, event: ReplySettled) -> None:
        """Run what is permitted of the calls of a reply that has ended."""
        if event.continues and event.entry is not None and event.entry.message.tool_calls:
            runs = self.run_permitted(event.session_id, event.entry.message.id)
            unattended = asyncio.ensure_future(runs)
            self._unattended.add(unattended)
            unattended.add_done_callback(self._unattended.discard)

    async def _branch_of(self, entry_id: str) -> tuple[Entry, ...]:
        """Return the branch through a reply: the active one if it is on that. Raises StoreError."""
        entries = self.core.state.entries
        if any(entry.message.id == entry_id for entry in reversed(entries)):
            return entries
        return await self.core.active_store.branches.path_to(entry_id, below=True)

    @reported(False)
    async def answer(
        self, entry_id: str, index: int, text: str, *, failed: bool | None = None
    ) -> bool:
        """Answer a call of the last reply, at its position `index`, by hand, cancelling its
        command. With the last answer the conversation goes on. `failed` is True if the text says
        why there is no result. Return False if the call is no longer pending, which is reported.
        """
        core = self.core
        await self._sessions.branch_loaded()
        session_id = core.state.session_id
        call = _pending_call(await self._branch_of(entry_id), entry_id, index)
        running = self._runs.get((entry_id, index))
        if running is not None:
            running.cancel()
        self._unstored.pop((entry_id, index), None)
        return await self._store(session_id, entry_id, {index: _answer(call, clean(text), failed)})

    async def decline(self, entry_id: str, index: int) -> bool:
        """Tell the model that the user declined a call; see `answer`."""
        return await self.answer(entry_id, index, DECLINED, failed=True)

    @reported(False)
    async def decline_and_stop(self, entry_id: str) -> bool:
        """Decline all pending calls of the last reply, cancelling their commands, and do not go on:
        the model reads that they were declined with the user's next message. Return False if there
        are none, which is reported.
        """
        await self._sessions.branch_loaded()
        session_id = self.core.state.session_id
        reply, calls = unanswered_calls(await self._branch_of(entry_id))
        if reply is None or reply.message.id != entry_id or not calls:
            raise InputError("These calls were answered already.")
        for index in calls:
            if (running := self._runs.get((entry_id, index))) is not None:
                running.cancel()
            self._unstored.pop((entry_id, index), None)
        declined = {index: _answer(call, DECLINED, failed=True) for index, call in calls.items()}
        return await self._store(session_id, entry_id, declined, goes_on=False)

    @reported(False)
    async def run(
        self, entry_id: str, index: int, *, arguments: str | None = None, scope: Scope = "call"
    ) -> bool:
        """Run the command of the call at a position of a reply, with the user's consent, and
        answer the call with its output.

        `arguments` are the user's in place of the model's; the answer says so. `scope` is what the
        user consents to beside the call: other calls run too, those of later replies included.
        Return False if the call was cancelled, or cannot be run, which is reported.
        """
        core = self.core
        await self._sessions.branch_loaded()
        session_id = core.state.session_id
        call = _pending_call(await self._branch_of(entry_id), entry_id, index)
        key = (entry_id, index)
        if key in self._claimed:
            raise InputError(f"The tool “{call.name}” is running already.")
        with self._claim(key):
            if (tool := core.state.tool_named(call.name)) is not None:
                if scope == "session":
                    self._grants.grant_in_session(session_id, tool)
                elif scope == "tool":
                    await self._grants.grant_always(tool, core.now().isoformat())
            answer = await self._run(key, call, arguments)
            if answer is None or not await self._store(session_id, entry_id, {index: answer}):
                return False
        if scope != "call":
            for reply_id in (entry_id, *self._replies.sent_to_targets):
                await self.run_permitted(session_id, reply_id)
        return True

    @contextmanager
    def _claim(self, *keys: _Key) -> Generator[None]:
        """Let nobody else run these calls. A grant covers them as soon as it is given, and a reply
        that settles then would have them run a second time.
        """
        self._claimed.update(keys)
        try:
            yield
        finally:
            self._claimed.difference_update(keys)

    def _may_run(self, session_id: str, tool: Tool | None) -> bool:
        """Return True if a tool needs no consent in a session."""
        return tool is not None and (
            tool.consent == "always" or self._grants.cover(session_id, tool)
        )

    @reported(None)
    async def revoke(self, names: Sequence[str]) -> None:
        """Ask again before each run of these tools."""
        await self._grants.revoke(names)
        self.core.publish(BranchChanged())

    def stop(self, entries: Sequence[Entry] | None = None) -> bool:
        """Cancel commands of a branch, by default the active one; return True if some ran."""
        reply, calls = unanswered_calls(self.core.state.entries if entries is None else entries)
        runs = [self._runs.get((reply.message.id, index)) for index in calls if reply is not None]
        for task in filter(None, runs):
            task.cancel()
        return any(runs)

    async def all_ended(self) -> None:
        """Wait until no reply arrives, and permitted commands and replies to them have ended."""
        while True:
            await self._replies.all_ended()
            left = [work for work in self._unattended if not work.done()]
            if not left:
                return
            await asyncio.wait(left)

    async def stop_all(self) -> None:
        """Cancel all commands."""
        runs = tuple(self._runs.values())
        for task in runs:
            task.cancel()
        if runs:
            await asyncio.wait(runs)

    async def run_permitted(self, session_id: str, entry_id: str) -> None:
        """Run the commands that need no consent at the end of a reply's branch, if that is the
        active one, or the reply was sent to a target of the active session.
        """
        core = self.core
        with core.reporting():
            if not core.state.is_active(session_id):
                return
            entries = core.state.entries
            if self._replies.target_of(entry_id) is not None:
                entries = await self._branch_of(entry_id)
            pending = core.state.calls_at_end(entries)
            if not pending:
                return
            await self._grants.load()  # another copy of the program may have revoked one
            # Permission is bound to programs, which may be large: they are read beside the loop.
            files = [call.tool.files for call in pending if call.tool is not None]
            await asyncio.gather(*(asyncio.to_thread(content_digest, it) for it in files if it))
            runnable = [call for call in pending if self._may_run(session_id, call.tool)]
            calls = {
                (call.entry_id, call.index): call
                for call in _first_of_same(pending)
                if call in runnable and call.can_run
            }
            for key in self._claimed & calls.keys():
                del calls[key]
            if not calls:
                return
            if _rounds(entries) > MAX_UNATTENDED_ROUNDS:
                raise InputError(
                    f"The model called tools {MAX_UNATTENDED_ROUNDS} times in a row.",
                    advice="Run the next call yourself to let it go on.",
                )
            with self._claim(*calls):
                runs = (self._run(key, call.call) for key, call in calls.items())
                ended = zip(calls, await asyncio.gather(*runs), strict=True)
                answers = {index: answer for (_, index), answer in ended if answer is not None}
                await self._store(session_id, pending[0].entry_id, answers)
            if answers and len(calls) < len(runnable):
                await self.run_permitted(session_id, entry_id)

    async def _run(
        self, key: _Key, call: CallBlock, arguments: str | None = None
    ) -> Message | None:
        """Run the command of a call, with `arguments` in place of its own; return its answer, None
        if it was cancelled. If it ran before, return the answer that could not be stored.
        """
        if (unstored := self._unstored.pop(key, None)) is not None:
            return unstored
        tool = self.core.state.tool_named(call.name)
        if tool is None or not tool.runs:
            raise InputError(
                f"There is no command for the tool “{call.name}”.",
                advice=f"Answer the call by hand, or set `command` in [tools.{call.name}].",
            )
        sent_arguments = call.arguments if arguments is None else arguments
        task = asyncio.ensure_future(self._sources.call(tool, sent_arguments))
        self._runs[key] = task
        self._publish_runs()
        try:
            await asyncio.wait((task,))
            if task.cancelled():
                return None
            result = task.result()
            text = result.text
            if sent_arguments.strip() != call.arguments.strip():
                text = f"The user changed the arguments of this call to {sent_arguments}\n\n{text}"
            answer = _answer(call, clean(text), failed=None if result.ok else True)
            return replace(answer, blocks=answer.blocks + result.parts)
        finally:
            task.cancel()
            del self._runs[key]
            self._publish_runs()

    def _publish_runs(self) -> None:
        """Publish which calls run."""
        self.core.update(BranchChanged(), running_calls=frozenset(self._runs))

    async def _store(
        self,
        session_id: str,
        entry_id: str,
        answers: Mapping[int, Message],
        *,
        goes_on: bool = True,
    ) -> bool:
        """Store answers behind a reply, by the positions of their calls; once all are there,
        continue if the conversation does.
        """
        core, store = self.core, self.core.store_of(session_id)
        async with self._storing:
            is_active = core.state.is_active(session_id)
            before = core.state.entries
            if is_active:
                entries = await self._branch_of(entry_id)
            else:
                entries = await store.branches.path_to(entry_id, below=True)
            is_shown = entries is before
            pending = unanswered_calls(entries)[1]
            if answers and pending.keys().isdisjoint(answers):
                raise _not_pending()
            left = {index: answers[index] for index in sorted(answers) if index in pending}
            for index, answer in tuple(left.items()):
                try:
                    entry = await store.messages.add(session_id, answer, entries[-1].message.id)
                except StoreError as error:
                    self._unstored |= {(entry_id, key): each for key, each in left.items()}
                    sentence = f"The answer of the tool could not be stored. {error}"
                    advice = (
                        "It is kept in memory: “Run once” stores it, and does not run the tool "
                        "again."
                    )
                    raise StoreError(sentence, advice=advice) from error
                del left[index]
                entries = (*entries, entry)
            if not core.state.is_active(session_id):
                return True  # the conversation goes on when the user is there to see it
            if is_shown and core.state.entries is before:
                core.update(BranchChanged(), entries=entries)
            else:
                await self._sessions.reload_branch()
        target = self._replies.target_of(entry_id)
        _, waiting = unanswered_calls(core.state.entries if target is None else entries)
        if waiting or not answers or not goes_on:
            return True
        if target is not None:
            return bool(await self._replies.submit_to((Slot(target, entries),)))
        return await self._replies.reply_to(entries[-1].message.id)


def _answer(call: CallBlock, text: str, failed: bool | None = None) -> Message:
    return Message("tool", tool_result(call.id, text, name=call.name, failed=failed))


def _pending_call(entries: Sequence[Entry], entry_id: str, index: int) -> CallBlock:
    """Return a pending call of the last reply. Raises InputError if there is none, or if an answer
    to it would be taken for that of an earlier call.
    """
    reply, calls = unanswered_calls(entries)
    if reply is None or reply.message.id != entry_id or index not in calls:
        raise _not_pending()
    if reply.unsaved:
        raise InputError("The reply is not saved yet.", advice="Regenerate (r) saves it again.")
    call = calls[index]
    for earlier, other in calls.items():
        if earlier < index and (other.id, other.name) == (call.id, call.name):
            raise InputError(
                f"The model called “{call.name}” more than once by the same id.",
                advice="Answer these calls in their order: an earlier one waits.",
            )
    return call


def _first_of_same(calls: Iterable[PendingToolCall]) -> list[PendingToolCall]:
    """Return of calls with the same id and name the first one."""
    firsts: dict[tuple[str, str], PendingToolCall] = {}
    for call in calls:
        firsts.setdefault((call.call.id, call.call.name), call)
    return list(firsts.values())


def _not_pending() -> InputError:
    return InputError("This call was answered already, or its reply is not the last one.")


def _rounds(entries: Sequence[Entry]) -> int:
    """Return how often tools were called since the last user message."""
    rounds = 0
    for entry in reversed(entries):
        if entry.message.role == "user":
            break
        rounds += bool(entry.message.tool_calls)
    return rounds
