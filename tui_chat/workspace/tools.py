"""Tools: calls that wait for an answer, by hand or by a command, and the reply that goes on.

1. A reply that ended with calls waits at the end of its branch. Each call is answered once; with
   the last answer the reply goes on by itself.
2. A command runs when a person has consented, or where its tool says `consent = "always"`.
3. Nothing is run and nothing goes on because a session was opened.
4. A model that calls tools on and on is stopped after `MOST_ALONE` rounds that nobody was asked
   about.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from tui_chat.errors import InputError, StoreError
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, MessageSemantics
from tui_chat.models.session import Entry
from tui_chat.models.text import clean
from tui_chat.models.tool import Tool
from tui_chat.tool_runs import ToolRun, run
from tui_chat.workspace.calls import waiting
from tui_chat.workspace.changes import BranchChanged, Trouble
from tui_chat.workspace.composing import Composing
from tui_chat.workspace.opening import Opening
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.state import State

MOST_ALONE = 20
"""Rounds of calls and answers without a person, after which one is asked."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call of the shown branch's last reply that was not answered yet."""

    entry_id: str
    """Of the reply."""
    call: ToolCall
    tool: Tool | None
    """What would run; None where no tool of this name is configured."""
    is_running: bool

    @property
    def can_run(self) -> bool:
        """Whether a command can answer it."""
        return self.tool is not None and bool(self.tool.command) and not self.is_running


class Tools:
    """Answers calls in the shown session."""

    def __init__(
        self,
        state: State,
        outside: Outside,
        composing: Composing,
        opening: Opening,
        replies: Replies,
    ) -> None:
        self._state = state
        self._outside = outside
        self._composing = composing
        self._opening = opening
        self._replies = replies
        self._runs: dict[tuple[str, str], asyncio.Task[ToolRun]] = {}
        """By reply and call."""
        self._unstored: dict[tuple[str, str], Message] = {}
        """Answers of commands that ran and could not be stored, by reply and call. To run the
        call again stores them: a command may have done what must not be done twice.
        """

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The calls that wait for an answer."""
        reply, calls = waiting(self._state.entries)
        if reply is None:
            return ()
        entry_id = reply.message.id
        return tuple(
            OpenCall(
                entry_id,
                call,
                self._state.config.tool_named(call.name),
                (entry_id, call.id) in self._runs,
            )
            for call in calls
        )

    async def choose(self, names: tuple[str, ...]) -> None:
        """Offer these tools to the model; see `Desk.choose_tools`."""
        state = self._state
        with self._outside.telling():
            unknown = [name for name in names if state.config.tool_named(name) is None]
            if unknown:
                raise InputError(f"There is no tool “{unknown[0]}”.")
            state.tools = tuple(filter(None, map(state.config.tool_named, names)))
            await self._outside.store.settings.set(f"tools/{state.session_id}", json.dumps(names))
            self._composing.forget()
            self._outside.tell(BranchChanged())

    async def answer(self, entry_id: str, call_id: str, text: str) -> bool:
        """Answer a call by hand; see `Desk.answer_tool`."""
        await self._opening.whole()
        with self._outside.telling():
            session_id = self._state.session_id
            call = _open_call(self._state.entries, entry_id, call_id)
            run = self._runs.get((entry_id, call_id))
            if run is not None:
                run.cancel()
            self._unstored.pop((entry_id, call_id), None)
            return await self._store(session_id, [_answer(call, clean(text))])
        return False

    async def run(self, entry_id: str, call_id: str) -> bool:
        """Run the command of a call, which a person has consented to; see `Desk.run_tool`."""
        await self._opening.whole()
        with self._outside.telling():
            session_id = self._state.session_id
            call = _open_call(self._state.entries, entry_id, call_id)
            if (entry_id, call_id) in self._runs:
                raise InputError(f"The tool “{call.name}” is running already.")
            answer = self._unstored.pop((entry_id, call_id), None)
            answer = answer or await self._run(entry_id, call)
            return answer is not None and await self._store(session_id, [answer])
        return False

    def stop(self) -> bool:
        """Give up the commands that run for the shown reply; whether there were any."""
        reply, calls = waiting(self._state.entries)
        found = [self._runs.get((reply.message.id, call.id)) for call in calls if reply is not None]
        for task in filter(None, found):
            task.cancel()
        return any(found)

    async def stop_all(self) -> None:
        """Give up all commands."""
        runs = tuple(self._runs.values())
        for task in runs:
            task.cancel()
        if runs:
            await asyncio.wait(runs)

    async def go_on_alone(self, session_id: str) -> None:
        """Run what needs no consent, once a reply has ended in the shown session."""
        calls = self.open_calls
        if not calls or not self._state.shows(session_id):
            return
        if not all(each.can_run and each.tool and each.tool.consent == "always" for each in calls):
            return
        if _rounds(self._state.entries) > MOST_ALONE:
            words = f"The model called tools {MOST_ALONE} times in a row."
            self._outside.tell(
                Trouble(InputError(words, advice="Run the next call yourself to let it go on."))
            )
            return
        with self._outside.telling():
            ran = await asyncio.gather(*(self._run(each.entry_id, each.call) for each in calls))
            await self._store(session_id, [answer for answer in ran if answer is not None])

    async def _run(self, entry_id: str, call: ToolCall) -> Message | None:
        """Run a call's command; return its answer, None where it was given up."""
        config = self._state.config
        tool = config.tool_named(call.name)
        if tool is None or not tool.command:
            raise InputError(
                f"There is no command for the tool “{call.name}”.",
                advice=f"Answer the call by hand, or set `command` in [tools.{call.name}].",
            )
        hidden = {
            endpoint.key.removeprefix("env:")
            for endpoint in config.endpoints
            if endpoint.key.startswith("env:")
        }
        task = asyncio.ensure_future(run(tool, call.arguments, hidden=hidden))
        self._runs[(entry_id, call.id)] = task
        self._outside.tell(BranchChanged())
        try:
            await asyncio.wait((task,))
            if task.cancelled():
                return None
            ran = task.result()
            return _answer(call, clean(ran.text), failed=None if ran.ok else True)
        finally:
            task.cancel()
            del self._runs[(entry_id, call.id)]
            self._outside.tell(BranchChanged())

    async def _store(self, session_id: str, answers: Sequence[Message]) -> bool:
        """Store answers behind the branch, and let the reply go on when all are there."""
        store = self._outside.store
        shown = self._state.shows(session_id)
        entries = self._state.entries if shown else await store.branches.load(session_id)
        for number, answer in enumerate(answers):
            try:
                entry = await store.messages.add(session_id, answer, entries[-1].message.id)
            except StoreError as error:
                reply, _ = waiting(entries)
                for each in answers[number:]:
                    if reply is not None:
                        self._unstored[(reply.message.id, each.tool_call_id)] = each
                words = f"The answer of the tool could not be stored. {error}"
                advice = "It is kept in memory: x stores it, and does not run the tool again."
                raise StoreError(words, advice=advice) from error
            entries = (*entries, entry)
        if not self._state.shows(session_id):
            return True  # the reply goes on when somebody is there to see it
        await self._opening.reload()
        _, left = waiting(self._state.entries)
        return bool(left) or not answers or await self._replies.go_on(entries[-1].message.id)


def _answer(call: ToolCall, text: str, failed: bool | None = None) -> Message:
    semantics = NO_MESSAGE_SEMANTICS if failed is None else MessageSemantics(failed=failed)
    return Message("tool", text, tool_call_id=call.id, name=call.name, semantics=semantics)


def _open_call(entries: Sequence[Entry], entry_id: str, call_id: str) -> ToolCall:
    reply, calls = waiting(entries)
    if reply is not None and reply.message.id == entry_id:
        for call in calls:
            if call.id == call_id:
                return call
    raise InputError("This call was answered already, or its reply is not the last one.")


def _rounds(entries: Sequence[Entry]) -> int:
    """Return how often tools were called since a person said something."""
    rounds = 0
    for entry in reversed(entries):
        if entry.message.role == "user":
            break
        rounds += bool(entry.message.tool_calls)
    return rounds
