"""Sessions: creating, changing and listing them; the trash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.stores import begin, remove_forever
from tests.support.strategies import EVERY_SETTING
from tui_chat.errors import InputError, StoreError
from tui_chat.models.message import Message
from tui_chat.models.request import RequestRecord
from tui_chat.models.role import Role
from tui_chat.models.settings import Settings
from tui_chat.models.usage import Usage
from tui_chat.store import Store

Make = Callable[..., RequestRecord]


async def test_a_new_session_is_stored(store: Store) -> None:
    made = await store.sessions.create(title="T", model="m", endpoint="e", preset="p", profile="me")
    assert await store.sessions.get(made.session_id) == made
    assert (made.title, made.model, made.endpoint, made.preset, made.profile) == (
        *("T", "m", "e", "p", "me"),
    )
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


@pytest.mark.parametrize(
    ("title", "role_id", "expected"),
    [("", None, "New chat"), ("", "r", "Pirate"), ("Mine", "r", "Mine"), ("Mine", None, "Mine")],
)
async def test_title_falls_back(
    store: Store, title: str, role_id: str | None, expected: str
) -> None:
    await store.roles.save(Role("r", "Pirate"))
    assert (await store.sessions.create(title=title, role_id=role_id)).title == expected


async def test_preset_falls_back_to_the_roles(store: Store) -> None:
    await store.roles.save(Role("r", "Pirate", preset="sea"))
    assert (await store.sessions.create(role_id="r")).preset == "sea"
    assert (await store.sessions.create(role_id="r", preset="land")).preset == "land"


@pytest.mark.parametrize("role_id", ["off", "unknown"])
async def test_a_disabled_or_unknown_role_is_refused(store: Store, role_id: str) -> None:
    await store.roles.save(Role("off", "Pirate", status="disabled"))
    with pytest.raises(InputError):
        await store.sessions.create(role_id=role_id)
    assert await store.sessions.list() == ()


async def test_settings_can_be_changed_and_unset(store: Store) -> None:
    made = await store.sessions.create(title="T", model="m")
    one = await store.sessions.update(made.session_id, settings=EVERY_SETTING)
    assert one == replace(made, settings=EVERY_SETTING)
    two = await store.sessions.update(
        made.session_id, title="U", model="", endpoint="e", preset="p", profile="f",
        settings=Settings(max_tokens=10),
    )  # fmt: skip
    assert two == replace(
        made,
        title="U",
        model="",
        endpoint="e",
        preset="p",
        profile="f",
        settings=Settings(max_tokens=10),
    )
    assert await store.sessions.get(made.session_id) == two
    assert await store.sessions.update(made.session_id) == two


async def test_only_settings_can_be_changed(store: Store) -> None:
    made = await store.sessions.create()
    with pytest.raises(TypeError):
        await store.sessions.update(made.session_id, head_id="x")  # type: ignore[call-arg]


async def test_a_removed_session_takes_all_its_rows(store: Store, request_record: Make) -> None:
    made = await store.sessions.create()
    kept = await store.sessions.create()
    await store.drafts.save(made.session_id, "d")
    exchange = await begin(store, made.session_id, request_record())
    reply = exchange.reply.message
    await store.replies.flush(reply.id, replace(reply, content="so far"))
    await remove_forever(store, made.session_id)

    assert await store.sessions.get(made.session_id) is None
    assert await store.branches.load(made.session_id) == ()
    assert await store.requests.get(reply.id) is None
    assert await store.drafts.get(made.session_id) == ""
    assert [s.session_id for s in await store.sessions.list()] == [kept.session_id]
    await remove_forever(store, made.session_id)


async def test_every_use_of_a_deleted_session_is_refused(
    store: Store, request_record: Make
) -> None:
    made = await store.sessions.create()
    exchange = await begin(store, made.session_id, request_record())
    reply = exchange.reply.message
    await remove_forever(store, made.session_id)
    for refused in (
        store.sessions.update(made.session_id, title="x"),
        store.messages.add(made.session_id, Message("user"), None),
        store.drafts.save(made.session_id, "x"),
        store.replies.flush(reply.id, reply),
        store.replies.finish(reply.id, message=reply, status="complete"),
        begin(store, made.session_id, request_record()),
    ):
        with pytest.raises(StoreError, match="no longer"):
            await refused


async def test_the_list_has_summaries(store: Store, request_record: Make) -> None:
    await store.roles.save(Role("r", "Pirate", model="role-model"))
    empty = await store.sessions.create(title="empty", endpoint="e")
    with_role = await store.sessions.create(role_id="r")
    busy = await store.sessions.create(title="busy", model="own-model")
    for tokens, status in ((10, "complete"), (5, "failed")):
        exchange = await begin(store, busy.session_id, request_record())
        await store.replies.finish(
            exchange.reply.message.id,
            message=exchange.reply.message,
            status=status,
            usage=Usage(input=tokens, output=1),
        )
    stamps = {s.session_id: s.updated for s in await store.sessions.list()}
    shown = [
        (s.session_id, s.title, s.role_name, s.model, s.endpoint, s.message_count,
         s.total_tokens, s.status)
        for s in await store.sessions.list()
    ]  # fmt: skip
    assert shown == [
        (busy.session_id, "busy", "", "own-model", "", 4, 17, "failed"),
        (with_role.session_id, "Pirate", "Pirate", "role-model", "", 0, 0, "complete"),
        (empty.session_id, "empty", "", "", "e", 0, 0, "complete"),
    ]
    assert stamps[busy.session_id] > busy.updated


async def test_the_status_is_that_of_the_newest_reply_on_the_active_branch(
    store: Store, request_record: Make
) -> None:
    made = await store.sessions.create()
    exchange = await begin(store, made.session_id, request_record())
    reply = exchange.reply.message

    async def status() -> str:
        return (await store.sessions.list())[0].status

    assert await status() == "streaming"
    await store.replies.finish(reply.id, message=reply, status="stopped")
    assert await status() == "stopped"
    tool = await store.messages.add(made.session_id, Message("tool"), reply.id)
    await store.messages.add(made.session_id, Message("user"), tool.message.id)
    assert await status() == "stopped"
    await store.messages.add(made.session_id, Message("user", "another branch"), None)
    assert await status() == "complete"


async def test_the_list_can_be_limited(store: Store) -> None:
    for title in "abc":
        await store.sessions.create(title=title)
    assert [s.title for s in await store.sessions.list(limit=2)] == ["c", "b"]
    assert [s.title for s in await store.sessions.list(limit=0)] == []
    assert len(await store.sessions.list()) == 3


async def test_a_clock_that_goes_backwards_does_not_change_the_order(
    store: Store, clock: Callable[[], float]
) -> None:
    first = await store.sessions.create()
    one = await store.messages.add(first.session_id, Message("user", "one"), None)
    clock.time = 1000.0  # type: ignore[attr-defined]
    second = await store.sessions.create()
    assert [s.session_id for s in await store.sessions.list()] == [
        *(second.session_id, first.session_id),
    ]
    await store.messages.add(first.session_id, Message("user", "two"), one.message.id)
    assert [s.session_id for s in await store.sessions.list()] == [
        *(first.session_id, second.session_id),
    ]
    assert [e.message.content for e in await store.branches.load(first.session_id)] == [
        "one",
        "two",
    ]


async def test_absurd_token_counts_do_not_spoil_the_list(
    store: Store, request_record: Make
) -> None:
    made = await store.sessions.create()
    for _ in range(3):
        exchange = await begin(store, made.session_id, request_record())
        reply = exchange.reply.message
        await store.replies.finish(
            reply.id, message=reply, status="complete", usage=Usage(10**30, -5)
        )
    assert (await store.sessions.list())[0].total_tokens == pytest.approx(3 * 2**53)
