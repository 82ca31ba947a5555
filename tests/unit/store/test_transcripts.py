"""Importing and exporting transcripts: without loss, and without duplicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from tests.support.databases import made_at, plain
from tests.support.stores import RICH, Opener
from tui_chat.models.message import Message, with_content
from tui_chat.models.role import Role
from tui_chat.models.search import Query
from tui_chat.models.session import Entry, ImportResult, Session, SessionTranscript
from tui_chat.models.settings import Settings
from tui_chat.models.usage import Usage
from tui_chat.store import Store

SESSION = Session(
    "s", "Talk", role_id="r", model="m", endpoint="e", preset="p", profile="f", head_id="c",
    settings=Settings(temperature=0.5, max_tokens=9), pinned=True, archived=True, folder="F",
    tags=("x",), lorebooks=("l",), created=5.0, updated=6.0,
)  # fmt: skip
ENTRIES = (
    Entry(Message.of("user", "a fox", id="a", timestamp=1.5), None),
    Entry(replace(RICH, id="b"), "a", "failed", "It broke.", "Mend it.", "m", "e",
          Usage(1, 2, 3, 4, 5), "length", 2.5, 0.5, 0, 3,
          cost=Decimal("0.25"), priced="us, 2026-11-23"),
    Entry(Message.of("assistant", "狐狸", id="c"), "a", sibling=1, siblings=3),
    Entry(Message.of("assistant", "d", id="d"), "a", sibling=2, siblings=3),
    Entry(Message.of("user", "e", id="e"), "d"),
)  # fmt: skip
TRANSCRIPT = SessionTranscript(
    SESSION, ENTRIES, Role("r", "Pirate", "Arr."), (("mood", "fine"),), draft="x"
)


async def shown(store: Store) -> list[str]:
    return [entry.message.id for entry in await store.branches.load("s")]


async def test_an_imported_transcript_is_exported_equal(store: Store) -> None:
    assert await store.transcripts.add(TRANSCRIPT) == ImportResult("s", "Talk", True, 5, 0)
    assert await store.transcripts.get("s") == TRANSCRIPT
    assert await store.sessions.get("s") == SESSION
    assert await store.branches.load("s") == (ENTRIES[0], ENTRIES[2])
    (summary,) = await store.sessions.list()
    assert (summary.message_count, summary.total_tokens, summary.status, summary.role_name) == (
        *(5, 3, "complete", "Pirate"),
    )
    assert {hit.message_id for hit in await store.search.find(Query("fox"))} == {"a"}
    assert {hit.message_id for hit in await store.search.find(Query("狐狸"))} == {"c"}
    assert await store.transcripts.get("nowhere") is None


async def test_importing_twice_adds_nothing(store: Store) -> None:
    await store.transcripts.add(replace(TRANSCRIPT, variables=(("mood", "bad"),)))
    await store.sessions.update("s", title="Mine", tags=())
    await store.roles.save(Role("r", "Sailor"))
    await store.branches.activate("s", "e")
    before = await store.transcripts.get("s")
    assert await store.transcripts.add(TRANSCRIPT) == ImportResult("s", "Mine", False, 0, 5)
    assert await store.transcripts.get("s") == before
    assert len(await store.search.find(Query("fox"))) == 1
    await store.sessions.delete(["s"])
    assert (await store.transcripts.add(TRANSCRIPT)).added == 0
    assert await listed(store) == ["s"], "it is restored from the trash"


async def test_longer_messages_of_the_file_are_completed_and_others_stay(store: Store) -> None:
    first = (
        Entry(Message.of("user", "Why?", id="q")),
        Entry(Message.of("assistant", "Because", id="r"), "q"),
    )
    await store.transcripts.add(SessionTranscript(Session("t", "T"), first))
    question, reply = first
    for word, text, counts, stored in (
        ("Why?", "Because of that", (1, 0), "Because of that"),
        ("What?", "Otherwise", (0, 2), "Because of that"),
    ):
        again = (
            replace(question, message=with_content(question.message, word)),
            replace(reply, message=with_content(reply.message, text)),
        )
        done = await store.transcripts.add(SessionTranscript(Session("t", "T"), again))
        assert (done.completed, done.different) == counts
        [_, entry] = await store.branches.load("t")
        assert entry.message.content == stored


async def test_new_messages_of_a_grown_transcript_extend_the_active_branch(store: Store) -> None:
    await store.transcripts.add(TRANSCRIPT)
    grown = (
        *ENTRIES,
        Entry(Message.of("user", "f", id="f"), "c"),
        Entry(Message.of("user", "g", id="g"), "e"),
    )
    done = await store.transcripts.add(replace(TRANSCRIPT, entries=grown))
    assert (done.is_new, done.added, done.known) == (False, 2, 5)
    assert await shown(store) == ["a", "c", "f"]
    assert len(await store.branches.tree("s")) == 7


async def test_deleted_messages_stay_deleted(store: Store) -> None:
    await store.transcripts.add(TRANSCRIPT)
    await store.messages.delete("d")
    grown = (*ENTRIES, Entry(Message.of("user", "f fox", id="f"), "e"))
    assert (await store.transcripts.add(replace(TRANSCRIPT, entries=grown))).added == 1
    assert await shown(store) == ["a", "c"]
    assert [hit.message_id for hit in await store.search.find(Query("fox"))] == ["a"]
    await store.messages.restore("d")
    assert len(await store.branches.tree("s")) == 6


async def listed(store: Store) -> list[str]:
    return [each.session_id for each in await store.sessions.list()]


def told(session_id: str, updated: float, *said: str) -> SessionTranscript:
    ids = [f"{session_id}{word}" for word in said]
    entries = tuple(
        Entry(Message.of("user", word, id=own), parent)
        for word, own, parent in zip(said, ids, [None, *ids], strict=False)
    )
    return SessionTranscript(Session(session_id, session_id, created=1.0, updated=updated), entries)


async def test_imported_sessions_are_listed_by_their_time(
    store: Store, clock: Callable[[], float]
) -> None:
    first = (await store.sessions.create(title="first")).session_id
    between = clock()
    last = (await store.sessions.create(title="last")).session_id
    await store.transcripts.add_many(
        (told("old", 2.0), told("older", 1.0), told("between", between), told("never", 9e12))
    )
    assert await listed(store) == ["never", last, "between", first, "old", "older"]
    await store.messages.add("old", Message.of("user", "x"), None)
    assert (await listed(store))[:2] == ["old", "never"]
    later = clock()
    await store.transcripts.add(told("older", later, "a"))
    assert (await listed(store))[:2] == ["older", "old"]
    assert (await store.sessions.list())[0].updated == later


async def test_sessions_of_older_versions_keep_their_order(path: Path, open_store: Opener) -> None:
    made_at(path, 19)
    own, middle = ["a", "b", "c", "d"], 1_600_000_002.0
    with plain(path) as connection:
        # As a clock that once went backwards left it: the times are not in the list's order.
        connection.executemany(
            "INSERT INTO sessions (session_id, title, touched, created, updated) "
            "VALUES (?1, ?1, ?2, ?3, ?3)",
            [
                (session_id, touched, 1_600_000_001.0 + number)
                for number, (session_id, touched) in enumerate(zip(own, (2, 1, 3, 4), strict=True))
            ],
        )
    store = await open_store()
    await store.transcripts.add_many((told("old", 2.0), told("middle", middle + 0.5)))
    found = await listed(store)
    assert found == [own[3], own[2], "middle", own[0], own[1], "old"]


async def test_missing_values_are_filled_in(store: Store) -> None:
    bare = SessionTranscript(Session("s", ""), (Entry(Message.of("user", "x", id="a")),))
    assert (await store.transcripts.add(bare)).title == "New session"
    session = await store.sessions.get("s")
    assert session is not None
    assert session.head_id == "a"
    assert session.created == session.updated > 0
    await store.transcripts.add(SessionTranscript(Session("t", "", created=7.0)))
    empty = await store.sessions.get("t")
    assert empty is not None
    assert (empty.created, empty.updated, empty.head_id) == (7.0, 7.0, None)
    left = SessionTranscript(
        Session("u", "U"), (Entry(Message("user", id="u1"), status="streaming"),)
    )
    await store.transcripts.add(left)
    assert (await store.branches.load("u"))[0].status == "interrupted"


async def test_an_invalid_transcript_does_not_affect_the_others(store: Store) -> None:
    await store.transcripts.add(TRANSCRIPT)
    for number, (bad, words) in enumerate(
        [
            (replace(TRANSCRIPT, session=replace(SESSION, session_id="")), "has no id"),
            (replace(TRANSCRIPT, entries=ENTRIES[1:]), "has no parent in the conversation"),
            (replace(TRANSCRIPT, entries=(*ENTRIES, ENTRIES[0])), "a duplicate"),
            (replace(TRANSCRIPT, entries=(Entry(Message("user")),)), "missing"),
            (replace(TRANSCRIPT, session=replace(SESSION, session_id="t")), "another session"),
        ]
    ):
        first, second = await store.transcripts.add_many((bad, told(f"o{number}", 1.0, "x")))
        assert words in first.fault
        assert (second.fault, second.added) == ("", 1)
    assert await listed(store) == ["s", *(f"o{number}" for number in range(4, -1, -1))]
    assert len(await store.branches.tree("s")) == 5
