"""The store against a simple model, under any sequence of calls; and JSON round trips."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.support.databases import provide_database
from tests.support.transcripts import abouts, messages
from tui_chat.errors import InputError, StoreError
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import NOT_MUTED, About, Message, Muted
from tui_chat.models.search import Query
from tui_chat.models.session import Entry, RequestRecord, Session, SessionTranscript
from tui_chat.store import Ending, Store
from tui_chat.store.rows import blocks_text, read_blocks

T = TypeVar("T")

texts = st.text(max_size=20)
replies = messages.map(lambda m: Message("assistant", m.blocks, about=m.about))
mutes = st.builds(Muted, st.booleans(), st.sampled_from([(), (0,), (1, 3)]))
pick = st.integers(0, 1000)


@given(abouts)
def test_what_is_known_of_a_message_survives_json(value: About) -> None:
    assert unpack(About, pack(value)) == value


@given(messages)
def test_blocks_survive_their_columns(message: Message) -> None:
    assert read_blocks(message.content, blocks_text(message.blocks)) == message.blocks


@dataclass
class Known:
    """The model of a session."""

    entries: dict[str, Entry] = field(default_factory=dict)
    """Messages in the order in which they were created, without sibling counts."""
    hidden: dict[str, str] = field(default_factory=dict)
    """Deleted messages, each with the one whose deletion hid it."""
    heads: dict[str, str | None] = field(default_factory=dict)
    """The head that a deletion hid, if it did, by the deleted message."""
    head: str | None = None
    draft: str = ""
    trashed: int = 0
    """When it was moved to the trash; 0 if it was not."""

    def visible(self) -> list[str]:
        return [entry_id for entry_id in self.entries if entry_id not in self.hidden]

    def family(self, entry_id: str) -> list[str]:
        parent = self.entries[entry_id].parent_id
        return [other for other in self.visible() if self.entries[other].parent_id == parent]

    def versions(self, entry_id: str) -> list[str]:
        """Return a message and its siblings without failed attempts, of which nothing arrived."""
        parents = {entry.parent_id for entry in self.entries.values()}

        def is_attempt(other: str) -> bool:
            entry = self.entries[other]
            nothing = Message("assistant", id=other, timestamp=entry.message.timestamp)
            is_empty = replace(entry.message, pinned=False, muted=NOT_MUTED) == nothing
            return entry.status == "failed" and is_empty and other not in parents

        family = self.family(entry_id)
        return [other for other in family if other == entry_id or not is_attempt(other)]

    def below(self, entry_id: str) -> list[str]:
        """Return a message and its visible descendants, in the order of creation."""
        found = [entry_id]
        for other in self.visible():
            if self.entries[other].parent_id in found:
                found.append(other)
        return found

    def placed(self, entry_id: str) -> Entry:
        family = self.versions(entry_id)
        place = {"sibling": family.index(entry_id), "siblings": len(family)}
        return replace(self.entries[entry_id], **place)

    def path(self, at: str | None) -> list[str]:
        found: list[str] = []
        while at is not None:
            found.append(at)
            at = self.entries[at].parent_id
        return found[::-1]

    def branch(self) -> tuple[Entry, ...]:
        return tuple(map(self.placed, self.path(self.head)))


class StoreMachine(RuleBasedStateMachine):
    """Calls in any order, with the store reopened in between."""

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
                provide_database(self.folder / "chat.db"),
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

    def live(self) -> dict[str, Known]:
        return {key: known for key, known in self.known.items() if not known.trashed}

    def choose(self, number: int) -> tuple[str, Known]:
        live = self.live()
        session_id = sorted(live)[number % len(live)]
        return session_id, live[session_id]

    def parent(self, known: Known, number: int) -> str | None:
        choices = [None, *known.visible()]
        return choices[number % len(choices)]

    def message(self, number: int) -> tuple[str, Known, str]:
        found = self.messages()
        return found[number % len(found)]

    def messages(self) -> list[tuple[str, Known, str]]:
        return [
            (session_id, known, entry_id)
            for session_id, known in self.live().items()
            for entry_id in known.visible()
        ]

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
        session = self.run(self.store.sessions.create(title=title))
        self.known[session.session_id] = Known()
        self.top(session.session_id)

    def added(self, session_id: str, known: Known, entry: Entry) -> None:
        known.entries[entry.message.id] = replace(entry, sibling=0, siblings=1)
        assert entry == known.placed(entry.message.id)
        known.head = entry.message.id
        self.top(session_id)

    @precondition(lambda self: self.live())
    @rule(which=pick, where=pick, message=replies)
    def add(self, which: int, where: int, message: Message) -> None:
        session_id, known = self.choose(which)
        entry = self.run(self.store.messages.add(session_id, message, self.parent(known, where)))
        self.added(session_id, known, entry)

    @precondition(lambda self: self.messages())
    @rule(which=pick, message=replies)
    def edit(self, which: int, message: Message) -> None:
        session_id, known, entry_id = self.message(which)
        entry = self.run(self.store.messages.edit(entry_id, message))
        assert entry.parent_id == known.entries[entry_id].parent_id
        self.added(session_id, known, entry)

    @precondition(lambda self: self.live())
    @rule(which=pick, where=pick, text=st.none() | texts)
    def begin(self, which: int, where: int, text: str | None) -> None:
        session_id, known = self.choose(which)
        exchange = self.run(
            self.store.replies.begin(
                session_id,
                parent_id=self.parent(known, where),
                user=None if text is None else Message.of("user", text),
                model="m",
                endpoint="e",
                request=RequestRecord("e", Protocol.GEMINI, "POST", "u", "00", {}, b"{}"),
            )
        )
        for entry in (exchange.user, exchange.reply):
            if entry is not None:
                self.added(session_id, known, entry)
        known.draft = "" if known.draft == text else known.draft

    @precondition(lambda self: self.streaming())
    @rule(which=pick, message=replies)
    def flush(self, which: int, message: Message) -> None:
        found = self.streaming()
        _, known, entry = found[which % len(found)]
        old = entry.message
        message = replace(
            message, id=old.id, timestamp=old.timestamp, pinned=old.pinned, muted=old.muted
        )
        self.run(self.store.replies.flush(old.id, message))
        known.entries[old.id] = replace(entry, message=message)

    @precondition(lambda self: self.streaming())
    @rule(which=pick, message=replies, status=st.sampled_from(("complete", "stopped", "failed")))
    def finish(self, which: int, message: Message, status: Ending) -> None:
        found = self.streaming()
        session_id, known, entry = found[which % len(found)]
        old = entry.message
        ended = self.run(self.store.replies.end(old.id, message=message, status=status))
        expected = replace(
            message, id=old.id, timestamp=old.timestamp, pinned=old.pinned, muted=old.muted
        )
        known.entries[old.id] = replace(entry, message=expected, status=status)
        assert ended.entry == known.placed(old.id)
        self.top(session_id)

    @precondition(lambda self: self.messages())
    @rule(which=pick, pinned=st.booleans())
    def pin(self, which: int, pinned: bool) -> None:
        _, known, entry_id = self.message(which)
        self.run(self.store.messages.pin(entry_id, pinned))
        entry = known.entries[entry_id]
        muted = entry.message.muted
        muted = replace(muted, whole=False) if pinned else muted
        message = replace(entry.message, pinned=pinned, muted=muted)
        known.entries[entry_id] = replace(entry, message=message)

    @precondition(lambda self: self.messages())
    @rule(which=pick, also=pick, muted=mutes)
    def mute(self, which: int, also: int, muted: Muted) -> None:
        changed = [self.message(number) for number in (which, also)]
        self.run(self.store.messages.mute({entry_id: muted for _, _, entry_id in changed}))
        for _, known, entry_id in changed:
            entry = known.entries[entry_id]
            pinned = entry.message.pinned and not muted.whole
            message = replace(entry.message, pinned=pinned, muted=muted)
            known.entries[entry_id] = replace(entry, message=message)

    @precondition(lambda self: self.messages())
    @rule(which=pick)
    def show(self, which: int) -> None:
        session_id, known, entry_id = self.message(which)
        self.run(self.store.branches.activate(session_id, entry_id))
        known.head = known.below(entry_id)[-1]

    @precondition(lambda self: self.messages())
    @rule(which=pick, step=st.integers(-2, 2))
    def show_sibling(self, which: int, step: int) -> None:
        _, known, entry_id = self.message(which)
        self.run(self.store.branches.activate_sibling(entry_id, step))
        family = known.versions(entry_id)
        wanted = family[max(0, min(family.index(entry_id) + step, len(family) - 1))]
        known.head = known.below(wanted)[-1]

    @precondition(lambda self: self.messages())
    @rule(which=pick)
    def delete_message(self, which: int) -> None:
        _, known, entry_id = self.message(which)
        below = known.below(entry_id)
        if any(known.entries[other].status == "streaming" for other in below):
            with pytest.raises(InputError):
                self.run(self.store.messages.delete(entry_id))
            return
        self.run(self.store.messages.delete(entry_id))
        known.heads[entry_id] = known.head if known.head in below else None
        family = known.family(entry_id)
        known.hidden |= dict.fromkeys(below, entry_id)
        if known.head in below:
            at = family.index(entry_id)
            others = [*family[:at][-1:], *family[at + 1 :]]
            parent = known.entries[entry_id].parent_id
            known.head = known.below(others[0])[-1] if others else parent

    @precondition(lambda self: any(known.heads for known in self.live().values()))
    @rule(which=pick)
    def restore_message(self, which: int) -> None:
        found = [(known, top) for known in self.live().values() for top in known.heads]
        known, top = found[which % len(found)]
        if known.entries[top].parent_id in known.hidden:
            with pytest.raises(StoreError):
                self.run(self.store.messages.restore(top))
            return
        self.run(self.store.messages.restore(top))
        known.hidden = {one: by for one, by in known.hidden.items() if by != top}
        head = known.heads.pop(top)
        known.head = known.head if head is None else head

    @precondition(lambda self: self.messages())
    @rule(which=pick)
    def fork(self, which: int) -> None:
        _, known, entry_id = self.message(which)
        path = known.path(entry_id)
        if any(known.entries[other].status == "streaming" for other in path):
            with pytest.raises(InputError):
                self.run(self.store.branches.fork(entry_id))
            return
        session_id = self.run(self.store.branches.fork(entry_id)).session_id
        copies = self.run(self.store.branches.load(session_id))
        fork = self.known[session_id] = Known()
        for old_id, copy in zip(path, copies, strict=True):
            old, new_id = known.entries[old_id], copy.message.id
            message = replace(old.message, id=new_id)
            fork.entries[new_id] = replace(old, message=message, parent_id=fork.head)
            fork.head = new_id
        self.top(session_id)

    @rule(count=st.integers(0, 3), message=replies)
    def take_in(self, count: int, message: Message) -> None:
        """Import a conversation; known messages stay unchanged."""
        number = next(self.ids)
        entries = tuple(
            Entry(replace(message, id=f"{number}-{at}"), f"{number}-{at - 1}" if at else None)
            for at in range(count)
        )
        transcript = SessionTranscript(Session(f"in-{number}", "in"), entries)
        for already in (0, count):
            done = self.run(self.store.transcripts.add(transcript))
            assert (done.added, done.known, done.fault) == (count - already, already, "")
        known = self.known[f"in-{number}"] = Known()
        known.entries = {entry.message.id: entry for entry in entries}
        known.head = entries[-1].message.id if entries else None
        self.top(f"in-{number}")
        read = self.run(self.store.transcripts.get(f"in-{number}"))
        assert read is not None
        assert read.entries == entries

    @precondition(lambda self: self.messages())
    @rule(which=pick, order=st.sampled_from(("rank", "newest")))
    def find(self, which: int, order: Literal["rank", "newest"]) -> None:
        """Search finds a message by its words, and nothing else."""
        _, known, entry_id = self.message(which)
        entry = known.entries[entry_id]
        there = {other for _, _, other in self.messages()} | {None}
        try:
            query = Query(f'"{entry.message.content.replace(chr(34), " ")}"', order=order)
            found = {hit.message_id for hit in self.run(self.store.search.find(query))}
        except InputError:
            return  # it has no words
        assert found <= there
        assert len(found) == 50 or entry.status == "streaming" or entry_id in found

    @precondition(lambda self: self.live())
    @rule(which=pick, text=texts)
    def type_draft(self, which: int, text: str) -> None:
        session_id, known = self.choose(which)
        self.run(self.store.drafts.save(session_id, text))
        known.draft = text

    @precondition(lambda self: self.live())
    @rule(which=pick)
    def trash(self, which: int) -> None:
        session_id, known = self.choose(which)
        self.run(self.store.sessions.delete([session_id]))
        known.trashed = next(self.time)

    @precondition(lambda self: len(self.live()) < len(self.known))
    @rule(which=pick)
    def restore(self, which: int) -> None:
        trashed = sorted(self.known.keys() - self.live().keys())
        session_id = trashed[which % len(trashed)]
        self.run(self.store.sessions.restore([session_id]))
        self.known[session_id].trashed = 0

    @rule()
    def purge(self) -> None:
        gone = self.known.keys() - self.live().keys()
        assert self.run(self.store.sessions.purge_trash(0)) == len(gone)
        self.known = self.live()
        self.order = [session_id for session_id in self.order if session_id not in gone]
        for known in self.known.values():
            known.entries = {one: known.entries[one] for one in known.visible()}
            known.hidden, known.heads = {}, {}

    @rule()
    def reopen(self) -> None:
        self.run(self.store.close())
        self.store = self.opened()
        for _, known, entry in self.streaming():
            known.entries[entry.message.id] = replace(entry, status="interrupted")

    @invariant()
    def agrees(self) -> None:
        summaries = self.run(self.store.sessions.list())
        live = self.live()
        order = [session_id for session_id in self.order if session_id in live]
        assert [s.session_id for s in summaries] == order
        for summary in summaries:
            known = live[summary.session_id]
            branch = known.branch()
            replies = [entry.status for entry in branch if entry.message.role == "assistant"]
            assert summary.message_count == len(known.visible())
            assert summary.status == (replies[-1] if replies else "complete")
            assert self.run(self.store.branches.load(summary.session_id)) == branch
            assert self.run(self.store.drafts.get(summary.session_id)) == known.draft
            nodes = self.run(self.store.branches.tree(summary.session_id))
            assert [node.message_id for node in nodes] == known.visible()
        trashed = self.run(self.store.sessions.list_trash())
        assert {s.session_id for s in trashed} == self.known.keys() - live.keys()


TestStore = pytest.mark.slow(StoreMachine.TestCase)
TestStore.settings = settings(
    max_examples=20,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
