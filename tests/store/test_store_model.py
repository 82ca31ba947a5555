"""The store against a plain model of it, under any sequence of calls; and JSON both ways."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tui_chat.model.endpoint import Protocol
from tui_chat.model.message import Message, Part, ToolCall
from tui_chat.model.request import RequestRecord
from tui_chat.model.semantics import MessageSemantics
from tui_chat.model.session import Entry
from tui_chat.store import Ending, Store
from tui_chat.store.growing import Written, grown
from tui_chat.store.json_values import pack, unpack

T = TypeVar("T")

texts = st.text(max_size=20)
semantics = st.from_type(MessageSemantics)
parts = st.lists(st.from_type(Part), max_size=1).map(tuple)
calls = st.lists(st.builds(ToolCall, texts, texts, texts), max_size=2).map(tuple)
replies = st.builds(
    Message, st.just("assistant"), texts, tool_calls=calls, parts=parts, semantics=semantics
)
pick = st.integers(0, 1000)


@given(semantics)
def test_semantics_survive_json(value: MessageSemantics) -> None:
    assert unpack(MessageSemantics, pack(value)) == value


@given(calls)
def test_tool_calls_survive_json(value: tuple[ToolCall, ...]) -> None:
    assert unpack(tuple[ToolCall, ...], pack(value)) == value


@dataclass(frozen=True)
class Inner:
    kind: Protocol | None = None
    pair: tuple[int, str] = (0, "")


@dataclass(frozen=True)
class Outer:
    maybe: Inner | None = None
    many: tuple[Inner, ...] = ()
    either: int | str | None = None
    loose: dict[str, Any] = field(default_factory=dict)


inner = st.builds(Inner, st.none() | st.sampled_from(Protocol), st.tuples(st.integers(), texts))
outer = st.builds(
    Outer,
    st.none() | inner,
    st.lists(inner, max_size=3).map(tuple),
    st.none() | st.integers() | texts,
    st.dictionaries(texts, st.integers() | texts | st.lists(st.booleans()), max_size=2),
)


@given(outer)
def test_whatever_semantics_may_become_survives_json(value: Outer) -> None:
    assert unpack(Outer, pack(value)) == value


def test_defaults_are_left_out_and_unknown_keys_are_ignored() -> None:
    assert pack(Outer()) == "{}"
    assert unpack(Outer, '{"from_the_future": 1, "either": 2}') == Outer(either=2)


@given(st.lists(st.text("ab", max_size=8), max_size=8))
def test_changes_say_exactly_what_changed(contents: list[str]) -> None:
    written, text = Written(Message("assistant")), ""
    for content in contents:
        written, changes = grown(written, Message("assistant", content))
        for change in changes:
            text = text[: change.keep] + change.text
        assert text == content
    if contents:
        again, nothing = grown(written, Message("assistant", contents[-1]))
        assert (again.texts["content"], nothing) == (contents[-1], [])


def test_a_growing_reply_costs_what_is_added() -> None:
    written, _ = grown(Written(Message("assistant")), Message("assistant", "x" * 1_000_000))
    _, changes = grown(written, Message("assistant", "x" * 1_000_001))
    assert [(change.keep, change.text) for change in changes] == [(1_000_000, "x")]


@dataclass
class Known:
    """What the model knows of a session."""

    entries: dict[str, Entry] = field(default_factory=dict)
    head: str | None = None
    draft: str = ""

    def branch(self) -> tuple[Entry, ...]:
        found: list[Entry] = []
        at = self.head
        while at is not None:
            found.append(self.entries[at])
            at = self.entries[at].parent_id
        return tuple(reversed(found))


class StoreMachine(RuleBasedStateMachine):
    """Calls in any order, and the store opened again in between."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.time, self.ids = count(1), count(1)
        self.known: dict[str, Known] = {}
        self.order: list[str] = []
        self.store = self.opened()

    def opened(self) -> Store:
        return self.run(
            Store.open(
                self.folder / "chat.db",
                now=lambda: float(next(self.time)),
                new_id=lambda: str(next(self.ids)),
            )
        )

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def choose(self, number: int) -> tuple[str, Known]:
        session_id = sorted(self.known)[number % len(self.known)]
        return session_id, self.known[session_id]

    def parent(self, known: Known, number: int) -> str | None:
        choices = [None, *known.entries]
        return choices[number % len(choices)]

    def top(self, session_id: str) -> None:
        self.order = [session_id, *(other for other in self.order if other != session_id)]

    def streaming(self) -> list[tuple[str, Known, Entry]]:
        return [
            (session_id, known, entry)
            for session_id, known in self.known.items()
            for entry in known.entries.values()
            if entry.status == "streaming"
        ]

    @rule(title=texts)
    def create(self, title: str) -> None:
        session = self.run(self.store.create_session(title=title))
        self.known[session.session_id] = Known()
        self.top(session.session_id)

    @precondition(lambda self: self.known)
    @rule(which=pick, where=pick, message=replies)
    def add(self, which: int, where: int, message: Message) -> None:
        session_id, known = self.choose(which)
        entry = self.run(self.store.add_message(session_id, message, self.parent(known, where)))
        known.entries[entry.message.id] = entry
        known.head = entry.message.id
        self.top(session_id)

    @precondition(lambda self: self.known)
    @rule(which=pick, where=pick, text=st.none() | texts)
    def begin(self, which: int, where: int, text: str | None) -> None:
        session_id, known = self.choose(which)
        exchange = self.run(
            self.store.begin_exchange(
                session_id,
                parent_id=self.parent(known, where),
                user=None if text is None else Message("user", text),
                model="m",
                endpoint="e",
                request=RequestRecord("e", Protocol.GEMINI, "POST", "u", "00", {}, b"{}"),
            )
        )
        for entry in (exchange.user, exchange.reply):
            if entry is not None:
                known.entries[entry.message.id] = entry
        known.head = exchange.reply.message.id
        known.draft = "" if known.draft == text else known.draft
        self.top(session_id)

    @precondition(lambda self: self.streaming())
    @rule(which=pick, message=replies)
    def flush(self, which: int, message: Message) -> None:
        found = self.streaming()
        _, known, entry = found[which % len(found)]
        old = entry.message
        message = replace(message, id=old.id, timestamp=old.timestamp)
        self.run(self.store.flush_reply(old.id, message))
        known.entries[old.id] = replace(entry, message=message)

    @precondition(lambda self: self.streaming())
    @rule(which=pick, message=replies, status=st.sampled_from(("complete", "stopped", "failed")))
    def finish(self, which: int, message: Message, status: Ending) -> None:
        found = self.streaming()
        session_id, known, entry = found[which % len(found)]
        ended = self.run(self.store.finish_reply(entry.message.id, message=message, status=status))
        expected = replace(message, id=entry.message.id, timestamp=entry.message.timestamp)
        assert ended == replace(entry, message=expected, status=status)
        known.entries[entry.message.id] = ended
        self.top(session_id)

    @precondition(lambda self: self.known)
    @rule(which=pick, text=texts)
    def type_draft(self, which: int, text: str) -> None:
        session_id, known = self.choose(which)
        self.run(self.store.save_draft(session_id, text))
        known.draft = text

    @precondition(lambda self: self.known)
    @rule(which=pick)
    def delete(self, which: int) -> None:
        session_id, _ = self.choose(which)
        self.run(self.store.delete_session(session_id))
        del self.known[session_id]
        self.order.remove(session_id)

    @rule()
    def reopen(self) -> None:
        self.run(self.store.close())
        self.store = self.opened()
        for _, known, entry in self.streaming():
            known.entries[entry.message.id] = replace(entry, status="interrupted")

    @invariant()
    def agrees(self) -> None:
        summaries = self.run(self.store.sessions())
        assert [s.session_id for s in summaries] == self.order
        assert [s.message_count for s in summaries] == [
            len(self.known[session_id].entries) for session_id in self.order
        ]
        for session_id, known in self.known.items():
            assert self.run(self.store.branch(session_id)) == known.branch()
            assert self.run(self.store.draft(session_id)) == known.draft


TestStore = StoreMachine.TestCase
TestStore.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
