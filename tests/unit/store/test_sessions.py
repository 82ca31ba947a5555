"""Sessions, roles, drafts and settings; the list of sessions, which is cached."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.messages import make_message
from tests.support.stores import Opener, answer, begin, give_variables, remove_forever, shown
from tests.support.strategies import EVERY_SETTING
from tui_chat.errors import InputError, StoreDamaged, StoreError
from tui_chat.models.message import Message, with_content
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, Session, SessionTranscript
from tui_chat.models.settings import Settings
from tui_chat.models.usage import Usage
from tui_chat.store import Store


async def test_a_new_session_is_stored(store: Store) -> None:
    facts = {"title": "T", "model": "m", "endpoint": "e", "preset": "p", "profile": "me"}
    made = await store.sessions.create(**facts)
    assert await store.sessions.get(made.session_id) == made
    assert {name: getattr(made, name) for name in facts} == facts
    assert made.head_id is None
    assert made.created == made.updated > 0


async def test_unknown_ids_give_none(store: Store) -> None:
    assert await store.sessions.get("x") is None
    assert await store.roles.get("x") is None
    assert await store.requests.get("x") is None
    assert await store.settings.get("x") is None
    assert await store.drafts.get("x") == ""
    assert await store.branches.load("x") == ()
    assert await store.sessions.list() == ()
    assert await store.roles.list() == ()


async def test_title_and_preset_fall_back_to_the_roles(store: Store) -> None:
    await store.roles.save(Role("r", "Pirate", preset="sea"))
    for title, role_id, expected in (
        ("", None, "New session"),
        ("", "r", "Pirate"),
        ("Mine", "r", "Mine"),
        ("Mine", None, "Mine"),
    ):
        assert (await store.sessions.create(title=title, role_id=role_id)).title == expected
    assert (await store.sessions.create(role_id="r")).preset == "sea"
    assert (await store.sessions.create(role_id="r", preset="land")).preset == "land"


async def test_settings_can_be_changed_and_unset(store: Store) -> None:
    made = await store.sessions.create(title="T", model="m")
    one = await store.sessions.update(made.session_id, settings=EVERY_SETTING)
    assert one == replace(made, settings=EVERY_SETTING)
    two = replace(
        made, title="U", model="", endpoint="e", preset="p", profile="f",
        settings=Settings(max_tokens=10),
    )  # fmt: skip
    changed = await store.sessions.update(
        made.session_id, title="U", model="", endpoint="e", preset="p", profile="f",
        settings=two.settings,
    )  # fmt: skip
    assert changed == two
    assert await store.sessions.get(made.session_id) == two
    assert await store.sessions.update(made.session_id) == two
    with pytest.raises(TypeError):
        await store.sessions.update(made.session_id, head_id="x")  # type: ignore[call-arg]
    with pytest.raises(InputError):
        await store.sessions.update(made.session_id, pinned=2**63)  # type: ignore[arg-type]
    assert await store.sessions.get(made.session_id) == two


async def test_a_session_that_is_gone_has_no_rows_and_takes_none(store: Store) -> None:
    made, kept = await store.sessions.create(), await store.sessions.create()
    await store.drafts.save(made.session_id, "d")
    reply = (await begin(store, made.session_id)).reply.message
    await store.replies.flush(reply.id, with_content(reply, "so far"))
    await remove_forever(store, made.session_id)
    assert await store.sessions.get(made.session_id) is None
    assert await store.branches.load(made.session_id) == ()
    assert await store.requests.get(reply.id) is None
    assert await store.drafts.get(made.session_id) == ""
    assert [s.session_id for s in await store.sessions.list()] == [kept.session_id]
    for refused in (
        store.sessions.update(made.session_id, title="x"),
        store.messages.add(made.session_id, Message("user"), None),
        store.drafts.save(made.session_id, "x"),
        store.replies.flush(reply.id, reply),
        store.replies.end(reply.id, message=reply, status="complete"),
        begin(store, made.session_id),
    ):
        with pytest.raises(StoreError, match="no longer"):
            await refused


async def test_sessions_are_organized(store: Store) -> None:
    one, two = await store.sessions.create(title="one"), await store.sessions.create(title="two")
    change = {"pinned": True, "tags": ("b", "a", "b"), "folder": "F"}
    await store.sessions.update_many(dict.fromkeys((one.session_id, two.session_id), change))  # type: ignore[arg-type]
    await store.sessions.update(two.session_id, archived=True, unread=True, pinned=False, tags=())
    listed = [
        (s.title, s.pinned, s.archived, s.unread, s.folder, s.tags)
        for s in await store.sessions.list()
    ]
    assert listed == [
        ("two", False, True, True, "F", ()),
        ("one", True, False, False, "F", ("b", "a")),
    ]
    changed = replace(one, pinned=True, tags=("b", "a"), folder="F")
    assert await store.sessions.get(one.session_id) == changed
    with pytest.raises(StoreError, match="no longer"):
        await store.sessions.update_many(
            {key: {"pinned": False} for key in [one.session_id, "nowhere"]}
        )
    assert await store.sessions.get(one.session_id) == changed
    await store.sessions.update(one.session_id, updated=2e9)
    assert [s.title for s in await store.sessions.list()] == ["one", "two"], "newest first"


async def test_variables_belong_to_their_session(store: Store) -> None:
    one, two = await store.sessions.create(), await store.sessions.create()
    await give_variables(store, one.session_id, {"b": "2", "a": ""})
    assert await store.sessions.variables(one.session_id) == {"a": "", "b": "2"}
    assert await store.sessions.variables(two.session_id) == {}


# The list


async def test_the_list_has_summaries(store: Store) -> None:
    await store.roles.save(Role("r", "Pirate", model="role-model"))
    await store.sessions.create(title="empty", endpoint="e")
    await store.sessions.create(role_id="r")
    busy = await store.sessions.create(title="busy", model="own-model")
    await answer(store, busy.session_id, text="Hello?", usage=Usage(input=10, output=1))
    await answer(store, busy.session_id, "", "failed", text="Hello?", usage=Usage(5, 1))
    listed = await store.sessions.list()
    assert [
        (s.title, s.role_name, s.model, s.endpoint, s.message_count, s.total_tokens, s.status)
        for s in listed
    ] == [
        ("busy", "", "own-model", "", 4, 17, "failed"),
        ("Pirate", "Pirate", "role-model", "", 0, 0, "complete"),
        ("empty", "", "", "e", 0, 0, "complete"),
    ]
    assert listed[0].updated > busy.updated
    assert await store.sessions.list(limit=2) == listed[:2]
    assert await store.sessions.list(limit=0) == ()


async def test_the_status_is_that_of_the_newest_reply_on_the_active_branch(store: Store) -> None:
    made = await store.sessions.create()
    reply = (await begin(store, made.session_id)).reply.message

    async def status() -> str:
        return (await store.sessions.list())[0].status

    assert await status() == "streaming"
    await store.replies.end(reply.id, message=reply, status="stopped")
    assert await status() == "stopped"
    tool = await store.messages.add(made.session_id, make_message("tool"), reply.id)
    await store.messages.add(made.session_id, Message("user"), tool.message.id)
    assert await status() == "stopped"
    await store.messages.add(made.session_id, Message.of("user", "another branch"), None)
    assert await status() == "complete"


async def test_a_clock_that_goes_backwards_does_not_change_the_order(
    store: Store, clock: Callable[[], float]
) -> None:
    first = (await store.sessions.create()).session_id
    one = await store.messages.add(first, Message.of("user", "one"), None)
    clock.time = 1000.0  # type: ignore[attr-defined]
    second = (await store.sessions.create()).session_id
    assert [s.session_id for s in await store.sessions.list()] == [second, first]
    await store.messages.add(first, Message.of("user", "two"), one.message.id)
    assert [s.session_id for s in await store.sessions.list()] == [first, second]
    assert await shown(store, first) == "one two"


async def test_absurd_token_counts_do_not_spoil_the_list(store: Store) -> None:
    made = await store.sessions.create()
    for _ in range(3):
        await answer(store, made.session_id, text="Hello?", usage=Usage(10**30, -5))
    assert (await store.sessions.list())[0].total_tokens == pytest.approx(3 * 2**53)


TALK = SessionTranscript(
    Session("t", "Talk"), (Entry(Message.of("user", "a", id="a", timestamp=5.0)),)
)


async def test_the_list_is_the_same_in_all_programs(open_store: Opener) -> None:
    store, other = await open_store(), await open_store()
    await store.roles.save(Role("r", "Pirate", model="m"))
    one = (await store.sessions.create(title="One")).session_id
    two = (await store.sessions.create(role_id="r")).session_id
    changes: list[Callable[[], Awaitable[object]]] = [
        lambda: store.sessions.update(one, title="Uno", pinned=True, tags=("x",)),
        lambda: store.messages.add(one, Message.of("user", "hello"), None),
        lambda: store.transcripts.add(TALK),
        lambda: store.transcripts.add_many((TALK,), dry_run=True),
        lambda: store.sessions.update_many({key: {"archived": True} for key in (one, two)}),
        lambda: other.sessions.update(two, title="Dos"),
        lambda: store.roles.save(Role("r", "Sailor", model="n")),
        lambda: store.sessions.delete((one, "t")),
        lambda: store.sessions.restore((one,)),
        lambda: store.roles.delete("r"),
        lambda: remove_forever(other, two),
        lambda: store.sessions.purge_trash(-1.0),
        lambda: remove_forever(store, one),
    ]
    before = await store.sessions.list()
    assert [each.title for each in before] == ["Pirate", "One"]
    for number, change in enumerate(changes):
        await change()
        listed = await store.sessions.list()
        assert await store.sessions.list(10) == listed, number
        assert await other.sessions.list() == listed, number
    assert listed == ()


async def test_a_rolled_back_change_is_not_listed(store: Store) -> None:
    await store.roles.save(Role("off", "Pirate", status="disabled"))
    await store.sessions.create(title="One")
    listed = await store.sessions.list()
    for role_id in ("unknown", "off"):
        with pytest.raises(InputError):
            await store.sessions.create(title="Two", role_id=role_id)
    await store.transcripts.add_many((TALK,), dry_run=True)
    assert await store.sessions.list() == listed
    assert [each.title for each in listed] == ["One"]


async def test_an_unreadable_row_does_not_break_later_reads(store: Store, path: Path) -> None:
    session = (await store.sessions.create(title="One")).session_id
    await store.sessions.create(title="Two")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE sessions SET tags = 'x' WHERE session_id = ?", (session,))
        with pytest.raises(StoreDamaged) as told:  # and whoever has the error keeps it
            await store.sessions.list()
        other.execute("UPDATE sessions SET tags = '[]' WHERE session_id = ?", (session,))
    assert {each.title for each in await store.sessions.list()} == {"One", "Two"}
    await store.sessions.update(session, title="Eins")
    assert "cannot be read" in str(told.value)


# Roles, drafts, settings


async def test_roles_are_saved_changed_sorted_and_removed(store: Store) -> None:
    pirate = Role("r1", "pirate", "Arr.", "m", EVERY_SETTING, "sea")
    await store.roles.save(pirate)
    await store.roles.save(Role("r2", "Baker"))
    assert await store.roles.get("r1") == pirate
    assert [role.name for role in await store.roles.list()] == ["Baker", "pirate"]
    made = await store.sessions.create(role_id="r1")
    changed = Role("r1", "Admiral", status="disabled")
    await store.roles.save(changed)
    assert await store.roles.list() == (changed, Role("r2", "Baker"))
    assert await store.sessions.get(made.session_id) == made
    assert (await store.sessions.list())[0].role_name == "Admiral"
    with pytest.raises(InputError):
        await store.roles.save(Role("", "nobody"))
    for _ in range(2):
        await store.roles.delete("r1")
    assert await store.roles.list() == (Role("r2", "Baker"),)
    assert [(s.title, s.role_name) for s in await store.sessions.list()] == [("pirate", "")]
    session = await store.sessions.get(made.session_id)
    assert session is not None
    assert session.role_id is None


async def test_drafts_and_settings_are_stored(store: Store) -> None:
    made = await store.sessions.create()
    for text in ("Dear", "Dear 先生\n", "", "again"):
        await store.drafts.save(made.session_id, text)
        assert await store.drafts.get(made.session_id) == text
    for value in ("one", "", json.dumps({"two": 2})):
        await store.settings.set("last_session", value)
        assert await store.settings.get("last_session") == value


async def test_a_closed_store_is_an_error(store: Store) -> None:
    for _ in range(2):
        await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.sessions.list()
