from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from tests.store.direct import remove_forever
from tui_chat.errors import InputError, StoreError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Part, ToolCall
from tui_chat.models.request import Exchange, RequestRecord
from tui_chat.models.role import Role
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.session import Entry
from tui_chat.models.usage import Usage
from tui_chat.store import Ending, Store, requests
from tui_chat.store.database import Transaction
from tui_chat.store.messages import InsertPosition, insert_message
from tui_chat.store.sessions import set_head

Make = Callable[..., RequestRecord]

RICH = Message(
    "assistant",
    "Text with \0, 中文, 😀 and \u2028.",
    tool_call_id="c0",
    tool_calls=(ToolCall("c1", "find", '{"q": "中'), ToolCall("c2", "find", "{}")),
    name="Helper",
    timestamp=12.5,
    pinned=True,
    parts=(Part("image", "image/png", data="aGk="), Part("file", url="https://x", name="中")),
    semantics=MessageSemantics(
        reasoning=(
            ReasoningBlock(Protocol.ANTHROPIC, "Hm.\0", signature="s=="),
            ReasoningBlock(Protocol.OPENAI_RESPONSES, encrypted="e", id="rs_1"),
        ),
        refusal="No.",
    ),
)


async def begin(
    store: Store, session_id: str, record: RequestRecord, text: str | None = "Hello?"
) -> Exchange:
    branch = await store.branches.load(session_id)
    return await store.replies.begin(
        session_id,
        parent_id=branch[-1].message.id if branch else None,
        user=None if text is None else Message("user", text),
        model="m-1",
        endpoint="home",
        request=record,
    )


# Sessions


async def test_a_new_session_is_found_again(store: Store) -> None:
    made = await store.sessions.create(title="T", model="m", endpoint="e", preset="p", profile="me")
    assert await store.sessions.get(made.session_id) == made
    assert (made.title, made.model, made.endpoint, made.preset, made.profile) == (
        *("T", "m", "e", "p", "me"),
    )
    assert made.head_id is None
    assert made.created == made.updated > 0


async def test_what_was_never_made_is_none(store: Store) -> None:
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
async def test_a_disabled_or_unknown_role_starts_no_session(store: Store, role_id: str) -> None:
    await store.roles.save(Role("off", "Pirate", status="disabled"))
    with pytest.raises(InputError):
        await store.sessions.create(role_id=role_id)
    assert await store.sessions.list() == ()


async def test_settings_change_one_by_one_and_can_be_unset(store: Store) -> None:
    made = await store.sessions.create(title="T", model="m")
    one = await store.sessions.update(made.session_id, temperature=0.5, max_tokens=10)
    assert one == replace(made, temperature=0.5, max_tokens=10)
    two = await store.sessions.update(
        made.session_id, title="U", model="", endpoint="e", preset="p", profile="f",
        temperature=None,
    )  # fmt: skip
    assert two == replace(
        made, title="U", model="", endpoint="e", preset="p", profile="f", max_tokens=10
    )
    assert await store.sessions.get(made.session_id) == two
    assert await store.sessions.update(made.session_id) == two


async def test_only_settings_can_be_changed(store: Store) -> None:
    made = await store.sessions.create()
    with pytest.raises(TypeError):
        await store.sessions.update(made.session_id, head_id="x")  # type: ignore[call-arg]


async def test_a_deleted_session_takes_all_with_it(store: Store, request_record: Make) -> None:
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


# The list


async def test_the_list_shows_what_a_session_is(store: Store, request_record: Make) -> None:
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


async def test_the_status_is_of_the_newest_reply_on_the_shown_branch(
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


async def test_the_beginning_of_the_list_can_be_asked_for(store: Store) -> None:
    for title in "abc":
        await store.sessions.create(title=title)
    assert [s.title for s in await store.sessions.list(limit=2)] == ["c", "b"]
    assert [s.title for s in await store.sessions.list(limit=0)] == []
    assert len(await store.sessions.list()) == 3


async def test_a_clock_that_goes_backwards_changes_no_order(
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


# Messages


async def test_a_message_comes_back_as_it_was(store: Store) -> None:
    plain = Message("user")
    same = {f.name for f in fields(Message) if getattr(RICH, f.name) == getattr(plain, f.name)}
    assert same == {"id"}, "a new field of Message wants a value in RICH"
    made = await store.sessions.create()
    entry = await store.messages.add(made.session_id, RICH, None)
    assert entry == Entry(replace(RICH, id=entry.message.id))
    assert await store.branches.load(made.session_id) == (entry,)


async def test_an_id_that_is_brought_along_is_kept(store: Store) -> None:
    made = await store.sessions.create()
    entry = await store.messages.add(made.session_id, Message("user", id="mine"), None)
    assert entry.message.id == "mine"
    with pytest.raises(StoreError):
        await store.messages.add(made.session_id, Message("user", id="mine"), None)
    assert len(await store.branches.load(made.session_id)) == 1


async def test_the_shown_branch_leads_from_the_root_to_the_newest(store: Store) -> None:
    made = await store.sessions.create()

    async def say(text: str, parent: Entry | None) -> Entry:
        return await store.messages.add(
            made.session_id, Message("user", text), parent and parent.message.id
        )

    async def shown() -> str:
        return " ".join(e.message.content for e in await store.branches.load(made.session_id))

    a = await say("a", None)
    b = await say("b", a)
    await say("c", b)
    assert await shown() == "a b c"
    await say("d", a)
    assert await shown() == "a d"
    await say("e", None)
    assert await shown() == "e"
    assert (await store.sessions.list())[0].message_count == 5


async def test_a_parent_of_another_session_is_refused(store: Store) -> None:
    one, two = await store.sessions.create(), await store.sessions.create()
    entry = await store.messages.add(one.session_id, Message("user"), None)
    for parent in (entry.message.id, "nowhere"):
        with pytest.raises(StoreError):
            await store.messages.add(two.session_id, Message("user"), parent)


async def test_lone_surrogates_cost_a_character_and_no_more(store: Store) -> None:
    made = await store.sessions.create(title="\ud800")
    await store.messages.add(
        made.session_id,
        Message("user", "a\udc00b", semantics=MessageSemantics(refusal="\ud800")),
        None,
    )
    (entry,) = await store.branches.load(made.session_id)
    assert entry.message.content == "a\ufffdb"
    assert entry.message.semantics.refusal == "\ufffd"


async def test_a_branch_deeper_than_sqlites_cascades_is_read_and_deleted(store: Store) -> None:
    made = await store.sessions.create()
    depth = 1500  # more than the 1,000 levels that a cascade may have

    async def fill(tx: Transaction) -> None:  # at one go: each message by itself is a sync
        for number in range(depth):
            message = Message("user", str(number), id=f"m{number}")
            entry = Entry(message, f"m{number - 1}" if number else None)
            await insert_message(tx, entry, InsertPosition(made.session_id, 0.0))
        await set_head(tx, made.session_id, f"m{depth - 1}")

    await store.database.write(fill)
    branch = await store.branches.load(made.session_id)
    assert [e.message.content for e in branch] == list(map(str, range(depth)))
    await remove_forever(store, made.session_id)
    assert await store.branches.load(made.session_id) == ()


# Exchanges


async def test_an_exchange_is_stored_before_the_request_leaves(
    store: Store, request_record: Make
) -> None:
    made = await store.sessions.create()
    record = request_record(b'{"x":1}', preset="p", draft="Hello?")
    exchange = await begin(store, made.session_id, record)

    assert exchange.user is not None
    assert exchange.user.message.content == "Hello?"
    assert exchange.user.message.timestamp is not None
    assert exchange.reply.status == "streaming"
    assert exchange.reply.parent_id == exchange.user.message.id
    assert (exchange.reply.model, exchange.reply.endpoint) == ("m-1", "home")
    assert await store.branches.load(made.session_id) == (exchange.user, exchange.reply)
    remembered = await store.requests.get(exchange.reply.message.id)
    assert remembered is not None
    assert replace(remembered, created=0.0) == record
    assert remembered.created > 0


async def test_a_reply_is_asked_for_again(store: Store, request_record: Make) -> None:
    made = await store.sessions.create()
    first = await begin(store, made.session_id, request_record())
    assert first.user is not None
    again = await store.replies.begin(
        made.session_id,
        parent_id=first.user.message.id,
        user=None,
        model="m-2",
        endpoint="home",
        request=request_record(),
    )
    assert again.user is None
    assert await store.branches.load(made.session_id) == (first.user, again.reply)


async def test_a_failed_begin_leaves_nothing(store: Store, request_record: Make) -> None:
    made = await store.sessions.create()
    with pytest.raises(TypeError):
        await begin(store, made.session_id, request_record(bad=object()))
    assert await store.branches.load(made.session_id) == ()
    assert (await store.sessions.list())[0].message_count == 0


async def test_what_was_flushed_is_seen_and_the_end_is_kept(
    store: Store, request_record: Make
) -> None:
    made = await store.sessions.create()
    exchange = await begin(store, made.session_id, request_record())
    reply = exchange.reply.message
    for message in (
        replace(reply, content="Text"),
        replace(reply, content="Text"),
        replace(reply, content="Text with", semantics=RICH.semantics),
        replace(RICH, id=reply.id, content="Text with \0", timestamp=reply.timestamp),
        replace(RICH, id=reply.id, content="Quite another", tool_calls=()),
    ):
        await store.replies.flush(reply.id, message)
        seen = (await store.branches.load(made.session_id))[-1]
        assert seen.status == "streaming"
        # The rest is not for a stream to say; it comes with the end.
        assert seen.message == replace(
            message, pinned=False, name="", tool_call_id="", timestamp=reply.timestamp
        )

    ended = await store.replies.finish(
        reply.id,
        message=replace(RICH, id="", timestamp=None),
        status="failed",
        error="It broke.",
        advice="Mend it.",
        usage=Usage(1, 2, 3, 4, 5),
        finish="length",
        seconds=1.5,
        first=0.5,
    )
    assert ended == Entry(
        replace(RICH, id=reply.id, timestamp=reply.timestamp, pinned=False),
        parent_id=exchange.reply.parent_id,
        status="failed",
        error="It broke.",
        advice="Mend it.",
        model="m-1",
        endpoint="home",
        usage=Usage(1, 2, 3, 4, 5),
        finish="length",
        seconds=1.5,
        first=0.5,
    )
    assert (await store.branches.load(made.session_id))[-1] == ended
    with pytest.raises(StoreError):
        await store.replies.flush(reply.id, reply)


@pytest.mark.parametrize("status", ["complete", "stopped", "failed", "interrupted"])
async def test_a_reply_ends_without_a_flush(
    store: Store, request_record: Make, status: Ending
) -> None:
    made = await store.sessions.create()
    exchange = await begin(store, made.session_id, request_record())
    ended = await store.replies.finish(
        exchange.reply.message.id, message=Message("assistant", "All."), status=status
    )
    assert (ended.status, ended.message.content) == (status, "All.")


async def test_a_sent_draft_is_gone_and_another_stays(store: Store, request_record: Make) -> None:
    made = await store.sessions.create()
    await store.drafts.save(made.session_id, "Hello?")
    await begin(store, made.session_id, request_record(), "Hello?")
    assert await store.drafts.get(made.session_id) == ""
    await store.drafts.save(made.session_id, "I am still typing")
    await begin(store, made.session_id, request_record(), "Edited earlier")
    assert await store.drafts.get(made.session_id) == "I am still typing"


async def test_old_bodies_go_and_their_records_stay(
    store: Store, request_record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "BODIES_KEPT", 3)
    made = await store.sessions.create()
    ids: list[str] = []
    for number in range(5):
        exchange = await begin(store, made.session_id, request_record(b"%d" % number, n=number))
        ids.append(exchange.reply.message.id)
    records = [await store.requests.get(entry_id) for entry_id in ids]
    assert [r and r.body for r in records] == [None, None, b"2", b"3", b"4"]
    assert [r and r.recipe for r in records] == [{"n": n} for n in range(5)]


async def test_heavy_bodies_go_sooner_but_the_newest_stays(
    store: Store, request_record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "BODY_BYTES_KEPT", 10)
    made = await store.sessions.create()
    ids: list[str] = []
    for size in (4, 6, 4, 99):
        exchange = await begin(store, made.session_id, request_record(b"x" * size))
        ids.append(exchange.reply.message.id)
        kept = [await store.requests.get(entry_id) for entry_id in ids]
        weights = [len(r.body) for r in kept if r and r.body]
        assert weights in ([4], [4, 6], [6, 4], [99])
        assert weights[-1] == size


# Roles and memory


async def test_roles_are_saved_changed_and_sorted(store: Store) -> None:
    pirate = Role("r1", "pirate", "Arr.", "m", 0.7, 100, "sea", "disabled")
    await store.roles.save(pirate)
    await store.roles.save(Role("r2", "Baker"))
    assert await store.roles.get("r1") == pirate
    assert [role.name for role in await store.roles.list()] == ["Baker", "pirate"]
    changed = Role("r1", "Admiral")
    await store.roles.save(changed)
    assert await store.roles.list() == (changed, Role("r2", "Baker"))
    with pytest.raises(InputError):
        await store.roles.save(Role("", "nobody"))


async def test_a_role_can_be_disabled_under_its_sessions(store: Store) -> None:
    await store.roles.save(Role("r", "Pirate"))
    made = await store.sessions.create(role_id="r")
    await store.roles.save(Role("r", "Pirate", status="disabled"))
    assert await store.sessions.get(made.session_id) == made
    assert (await store.sessions.list())[0].role_name == "Pirate"


async def test_drafts_and_settings_are_kept(store: Store) -> None:
    made = await store.sessions.create()
    for text in ("Dear", "Dear 先生\n", "", "again"):
        await store.drafts.save(made.session_id, text)
        assert await store.drafts.get(made.session_id) == text
    for value in ("one", "", json.dumps({"two": 2})):
        await store.settings.set("last_session", value)
        assert await store.settings.get("last_session") == value


async def test_numbers_too_large_for_sqlite_are_refused_in_words(store: Store) -> None:
    made = await store.sessions.create()
    with pytest.raises(InputError):
        await store.sessions.update(made.session_id, max_tokens=2**63)
    assert await store.sessions.get(made.session_id) == made


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.sessions.list()
