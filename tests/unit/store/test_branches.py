"""Branches: siblings, activating, forking, deleting and restoring; what is stored of messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from tests.support.messages import make_message
from tests.support.stores import RICH, answer, begin, give_variables, plant, record, shown
from tui_chat.errors import InputError, StoreError
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import NOT_MUTED, Message, Muted
from tui_chat.models.session import Entry, PlaceName, Session, SessionTranscript
from tui_chat.models.settings import Settings
from tui_chat.models.usage import Usage
from tui_chat.store import Store

#   a --- b --- c --- d
#   |      \--- e
#   |       \-- f --- g
#   z
TREE = "a a>b b>c c>d b>e b>f f>g z"


async def test_a_message_is_read_back_equal(store: Store) -> None:
    plain = Message("user")
    same = {f.name for f in fields(Message) if getattr(RICH, f.name) == getattr(plain, f.name)}
    assert same == {"id"}, "a new field of Message wants a value in RICH"
    made = await store.sessions.create()
    entry = await store.messages.add(made.session_id, RICH, None)
    assert entry == Entry(replace(RICH, id=entry.message.id))
    assert await store.branches.load(made.session_id) == (entry,)


async def test_an_id_is_there_once_and_a_parent_is_of_the_same_session(store: Store) -> None:
    session, other = await plant(store, "a"), await store.sessions.create()
    for session_id, message, parent in (
        (session.session_id, Message("user", id="a"), None),
        (other.session_id, Message("user"), "a"),
        (other.session_id, Message("user"), "nowhere"),
    ):
        with pytest.raises(StoreError):
            await store.messages.add(session_id, message, parent)
    assert await shown(store, session) == "a"


async def test_lone_surrogates_are_replaced(store: Store) -> None:
    made = await store.sessions.create(title="\ud800")
    odd = make_message("user", "a\udc00b", refusal="\ud800")
    await store.messages.add(made.session_id, odd, None)
    (entry,) = await store.branches.load(made.session_id)
    assert (entry.message.content, entry.message.refusal) == ("a\ufffdb", "\ufffd")


async def test_a_branch_deeper_than_sqlites_cascades_is_read_and_deleted(store: Store) -> None:
    depth = 1500  # more than the 1,000 levels that a cascade may have
    entries = tuple(
        Entry(
            Message.of("user", str(number), id=f"m{number}"), f"m{number - 1}" if number else None
        )
        for number in range(depth)
    )
    await store.transcripts.add(SessionTranscript(Session("s", "deep"), entries))
    assert await shown(store, "s") == " ".join(map(str, range(depth)))
    await store.sessions.delete(["s"])
    assert await store.sessions.purge_trash(-9.0) == 1
    assert await store.branches.load("s") == ()


async def test_siblings_are_counted_and_walked(store: Store) -> None:
    session = await plant(store, TREE)
    assert await shown(store, session) == "z2/2"
    for message, branch in {
        "d": "a1/2 b c1/3 d",
        "c": "a1/2 b c1/3 d",
        "e": "a1/2 b e2/3",
        "b": "a1/2 b f3/3 g",
        "a": "a1/2 b f3/3 g",
        "z": "z2/2",
    }.items():
        await store.branches.activate(session.session_id, message)
        assert await shown(store, session) == branch
    for start, message, step, branch in (
        ("d", "c", 1, "a1/2 b e2/3"),
        ("d", "c", 9, "a1/2 b f3/3 g"),
        ("d", "c", -1, "a1/2 b c1/3 d"),
        ("g", "f", -1, "a1/2 b e2/3"),
        ("g", "a", 1, "z2/2"),
        ("z", "z", -1, "a1/2 b f3/3 g"),
    ):
        await store.branches.activate(session.session_id, start)
        await store.branches.activate_sibling(message, step)
        assert await shown(store, session) == branch, (start, message, step)


async def test_activating_a_branch_is_not_activity(store: Store) -> None:
    session = await plant(store, "a a>b")
    other = await store.sessions.create()
    before = await store.sessions.list()
    await store.branches.activate(session.session_id, "a")
    await store.branches.activate_sibling("b", 1)
    assert [s.session_id for s in before] == [other.session_id, session.session_id]
    assert await store.sessions.list() == before


async def test_the_tree_shows_every_branch_and_excerpts_of_messages(store: Store) -> None:
    session = await plant(store, TREE)
    await store.messages.delete("e")
    nodes = await store.branches.tree(session.session_id)
    places = " ".join(f"{node.parent_id or ''}>{node.message_id}" for node in nodes)
    assert places == ">a a>b b>c c>d b>f f>g >z"
    calls = (CallBlock("1", "weather", "{}"), CallBlock("2", "time", "{}"))
    for message in (
        make_message("assistant", tool_calls=calls, id="tools"),
        Message.of("assistant", " Two\n lines " * 99, id="long"),
    ):
        await store.messages.add(session.session_id, message, "z")
    last = (await store.branches.tree(session.session_id))[-1]
    assert (last.message_role, last.status) == ("assistant", "complete")
    assert await store.branches.excerpts(["a", "long", "tools", "gone"]) == {
        "a": "a",
        "tools": "weather, time",
        "long": message.content[:200],
    }
    assert await store.branches.excerpts(["long"], 4) == {"long": message.content[:4]}


async def test_named_places_are_kept_and_go_with_a_fork(store: Store) -> None:
    session = await plant(store, "a a>b b>c")
    places = (PlaceName("a", "begin"), PlaceName("c", "end"))
    changed = await store.sessions.update(session.session_id, places=places)
    assert changed.places == places
    assert await store.sessions.get(session.session_id) == changed
    fork = await store.branches.fork("b")
    [copy, _] = await store.branches.load(fork.session_id)
    assert fork.places == (PlaceName(copy.message.id, "begin"),)
    await store.messages.delete("c")
    assert await store.branches.session_of("c") == ""
    assert await store.branches.session_of("b") == session.session_id


async def test_a_single_message_is_found_on_any_branch_with_its_context(store: Store) -> None:
    await plant(store, TREE)
    entry = await store.messages.get("e")
    assert entry is not None
    assert (entry.message.content, entry.parent_id) == ("e", "b")
    assert (entry.sibling, entry.siblings) == (1, 3)
    for message, before, read in (("c", 1, "bcd"), ("b", 2, "abf"), ("g", 2, "bfg"), ("?", 2, "")):
        around = await store.branches.around(message, before)
        assert "".join(entry.message.content for entry in around) == read
    await store.messages.delete("b")
    assert await store.messages.get("e") is None
    assert await store.messages.get("nowhere") is None


async def test_a_deleted_message_takes_its_descendants_and_can_be_restored(store: Store) -> None:
    session = await plant(store, TREE)
    for start, message, after, count in (
        ("g", "g", "a1/2 b f3/3", 7),
        ("g", "f", "a1/2 b e2/2", 6),
        ("d", "c", "a1/2 b e1/2", 6),
        ("d", "b", "a1/2", 2),
        ("d", "a", "z", 1),
        ("d", "f", "a1/2 b c1/2 d", 6),
        ("d", "z", "a b c1/3 d", 7),
    ):
        await store.branches.activate(session.session_id, start)
        before = await shown(store, session)
        await store.messages.delete(message)
        assert await shown(store, session) == after
        assert (await store.sessions.list())[0].message_count == count
        for refused in (
            store.messages.delete(message),
            store.messages.add(session.session_id, Message("user"), message),
            store.branches.activate(session.session_id, message),
        ):
            with pytest.raises(StoreError, match="deleted"):
                await refused
        for _ in range(2):
            await store.messages.restore(message)
            assert await shown(store, session) == before
        assert (await store.sessions.list())[0].message_count == 8


async def test_a_streaming_reply_cannot_be_deleted_or_forked(store: Store) -> None:
    session = await plant(store, "a")
    reply = (await begin(store, session.session_id, None)).reply.message
    for refused in (store.messages.delete("a"), store.branches.fork(reply.id)):
        with pytest.raises(InputError, match="still arriving") as caught:
            await refused
        assert caught.value.advice
    assert len(await store.branches.load(session.session_id)) == 2
    assert len(await store.sessions.list()) == 1


async def test_pins_and_mutes_are_kept_and_exclude_each_other(store: Store) -> None:
    session = await plant(store, "a a>b b>c")
    all_of_it, some = Muted(whole=True), Muted(blocks=(0, 2))

    async def marks() -> list[tuple[bool, Muted]]:
        branch = await store.branches.load(session.session_id)
        return [(entry.message.pinned, entry.message.muted) for entry in branch]

    await store.messages.pin("a", True)
    await store.messages.pin("b", True)
    await store.messages.mute({"a": all_of_it, "b": some})
    assert await marks() == [(False, all_of_it), (True, some), (False, NOT_MUTED)]
    await store.messages.mute({"b": replace(some, whole=True)})
    await store.messages.pin("b", True)
    assert (await marks())[1] == (True, some)
    await store.messages.pin("b", False)
    assert (await marks())[1] == (False, some)
    await store.messages.mute({"a": NOT_MUTED, "b": NOT_MUTED})
    for refused in (
        store.messages.mute({"a": all_of_it, "nowhere": all_of_it}),
        store.messages.pin("nowhere", True),
    ):
        with pytest.raises(StoreError):
            await refused
    assert await marks() == [(False, NOT_MUTED)] * 3


async def test_an_edit_and_a_fork_have_mutes_of_their_own(store: Store) -> None:
    await plant(store, "a a>b")
    muted = Muted(whole=True)
    await store.messages.mute({"a": muted})
    edited = await store.messages.edit("a", Message.of("user", "A", id="a", muted=muted))
    assert edited.message.muted == muted
    fork = await store.branches.fork("b")
    await store.messages.mute({"a": NOT_MUTED})
    [copy, _] = await store.branches.load(fork.session_id)
    assert copy.message.muted == muted
    await store.messages.mute({copy.message.id: NOT_MUTED})
    assert (entry := await store.messages.get("a")) is not None
    assert entry.message.muted == NOT_MUTED


async def test_a_fork_is_a_session_of_its_own(store: Store) -> None:
    session = await plant(store, "a a>b b>c")
    await store.sessions.update(
        session.session_id,
        model="m",
        tags=("x", "y"),
        lorebooks=("l",),
        folder="f",
        settings=Settings(max_tokens=5),
    )
    await give_variables(store, session.session_id, {"mood": "fine"})
    reply = await answer(
        store, session.session_id, "r", below="b", request=record(b"1", n=1), usage=Usage(3, 4)
    )
    await store.messages.pin("a", True)
    fork = await store.branches.fork(reply.message.id)
    old = await store.sessions.get(session.session_id)
    assert old is not None
    assert fork == replace(
        old, session_id=fork.session_id, head_id=fork.head_id, created=fork.created,
        updated=fork.updated, fork_of=old.title,
    )  # fmt: skip
    assert fork.created > old.created
    assert await shown(store, fork) == "a b r"
    before = await store.branches.load(session.session_id)
    after = await store.branches.load(fork.session_id)
    ids = [e.message.id for e in after]
    assert set(ids).isdisjoint(e.message.id for e in before)
    assert [e.parent_id for e in after] == [None, *ids[:-1]]
    for old_entry, new_entry in zip(before, after, strict=True):
        assert replace(old_entry.message, id="") == replace(new_entry.message, id="")
        assert (old_entry.usage, old_entry.model) == (new_entry.usage, new_entry.model)
    request, copy = await store.requests.get(reply.message.id), await store.requests.get(ids[-1])
    assert request is not None
    assert copy == replace(request, body=None)
    assert await store.sessions.variables(fork.session_id) == {"mood": "fine"}
    assert (await store.sessions.list())[0].session_id == fork.session_id

    await store.messages.delete(ids[0])
    assert await shown(store, session) == "a b r2/2"
    named = await store.branches.fork("c", title="Mine")
    assert named.title == "Mine"
    await store.sessions.delete([session.session_id])
    await store.sessions.purge_trash(-9.0)
    assert await shown(store, named) == "a b c"


async def test_a_fork_names_its_own_messages_whatever_its_recipes_have(store: Store) -> None:
    """Also where they stand behind a text with a backslash, as in an imported recipe."""
    session = await plant(store, "a a>b b>c")
    recipe = {
        "variables": {"mood": "two\nlines", "x": "a"},
        "pinned": ["a", "gone"],
        "muted": [["b", {"whole": True}]],
        "summaries": ["c"],
        "edits": [{"path": ["b"], "answered": "c"}],
        "parent": "c",
    }
    reply = await answer(store, session.session_id, below="c", request=record(b"1", **recipe))
    fork = await store.branches.fork(reply.message.id)
    a, b, c, last = (e.message.id for e in await store.branches.load(fork.session_id))
    copy = await store.requests.get(last)
    assert copy is not None
    assert copy.recipe == {
        "variables": recipe["variables"],
        "pinned": [a, "gone"],
        "muted": [[b, {"whole": True}]],
        "summaries": [c],
        "edits": [{"path": ["b"], "answered": c}],
        "parent": c,
    }


# The trash


async def test_sessions_in_the_trash_are_gone_until_restored(store: Store) -> None:
    one, two, three = [await store.sessions.create(title=name) for name in ("one", "two", "three")]
    tree = await plant(store, "a a>b")
    before = await store.sessions.list()
    await store.sessions.delete([one.session_id, tree.session_id, "nowhere"])
    assert [s.title for s in await store.sessions.list()] == ["three", "two"]
    assert [s.title for s in await store.sessions.list_trash()] == ["tree", "one"]
    assert all(s.deleted for s in await store.sessions.list_trash())
    for refused in (
        store.sessions.update(tree.session_id, title="x"),
        store.sessions.update_many(
            {key: {"title": "x"} for key in [two.session_id, tree.session_id]}
        ),
        store.messages.add(tree.session_id, Message("user"), "b"),
        store.messages.edit("b", Message("user")),
        store.drafts.save(tree.session_id, "x"),
        store.branches.fork("b"),
    ):
        with pytest.raises(StoreError, match="no longer"):
            await refused
    assert await store.sessions.get(tree.session_id) is None
    assert [s.title for s in await store.sessions.list()] == ["three", "two"]
    await store.sessions.restore([one.session_id, tree.session_id, three.session_id, "nowhere"])
    assert await store.sessions.list() == before
    assert await shown(store, tree) == "a b"


async def test_the_trash_is_emptied_by_age(store: Store, clock: Callable[[], float]) -> None:
    kept = await plant(store, "a a>b b>c c>d c>e e>f")
    old, new = await store.sessions.create(title="old"), await store.sessions.create(title="new")
    await store.messages.delete("c")
    await store.sessions.delete([old.session_id])
    clock.time += 1000  # type: ignore[attr-defined]
    await store.messages.delete("b")
    await store.sessions.delete([new.session_id])
    assert await store.sessions.purge_trash(500) == 1
    assert [s.title for s in await store.sessions.list_trash()] == ["new"]
    await store.messages.restore("b")
    assert await shown(store, kept) == "a b"
    with pytest.raises(StoreError, match="no longer exists"):
        await store.messages.restore("c")
    await store.sessions.restore([old.session_id])
    (summary,) = await store.sessions.list()
    assert (summary.title, summary.message_count) == ("tree", 2)


async def test_a_clock_that_goes_backwards_never_splits_a_deletion(
    store: Store, clock: Callable[[], float]
) -> None:
    session = await plant(store, "a a>b b>c c>d")
    await store.messages.delete("d")
    clock.time -= 100_000  # type: ignore[attr-defined]
    await store.messages.delete("b")
    clock.time += 50_000  # type: ignore[attr-defined]
    assert await store.sessions.purge_trash(0) == 0
    await store.messages.restore("b")
    await store.messages.restore("d")
    assert await shown(store, session) == "a b c d"
