"""Branches: siblings, activating, forking, deleting and restoring; the trash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from tests.support.stores import remove_forever, replace_variables
from tui_chat.errors import InputError, StoreError
from tui_chat.models.message import NOT_MUTED, Message, Muted, ToolCall
from tui_chat.models.request import RequestRecord
from tui_chat.models.session import PlaceName, Session
from tui_chat.models.settings import Settings
from tui_chat.models.usage import Usage
from tui_chat.store import Store

Make = Callable[..., RequestRecord]
Grow = Callable[[str], Awaitable[Session]]


@pytest.fixture
def grow(store: Store) -> Grow:
    """Create a session from lines `parent > child`; a message's id is its letter."""

    async def make(lines: str) -> Session:
        session = await store.sessions.create(title="tree")
        for line in lines.split():
            parent, _, child = line.rpartition(">")
            await store.messages.add(
                session.session_id, Message("user", child, id=child), parent or None
            )
        return session

    return make


@pytest.fixture
def shown(store: Store) -> Callable[[Session], Awaitable[str]]:
    async def read(session: Session) -> str:
        entries = await store.branches.load(session.session_id)
        return " ".join(
            e.message.content + (f"{e.sibling + 1}/{e.siblings}" if e.siblings > 1 else "")
            for e in entries
        )

    return read


Shown = Callable[[Session], Awaitable[str]]

#   a --- b --- c --- d
#   |      \--- e
#   |       \-- f --- g
#   z
TREE = "a a>b b>c c>d b>e b>f f>g z"


async def test_siblings_are_counted(store: Store, grow: Grow, shown: Shown) -> None:
    session = await grow(TREE)
    assert await shown(session) == "z2/2"
    for message, branch in {
        "d": "a1/2 b c1/3 d",
        "c": "a1/2 b c1/3 d",
        "e": "a1/2 b e2/3",
        "b": "a1/2 b f3/3 g",
        "a": "a1/2 b f3/3 g",
        "z": "z2/2",
    }.items():
        await store.branches.activate(session.session_id, message)
        assert await shown(session) == branch


async def test_added_siblings_are_counted_at_once(
    store: Store, grow: Grow, request_record: Make
) -> None:
    session = await grow("a a>b")
    again = await store.replies.begin(
        session.session_id,
        parent_id="a",
        user=Message("user", "c"),
        model="m",
        endpoint="e",
        request=request_record(),
    )
    assert again.user is not None
    assert (again.user.sibling, again.user.siblings) == (1, 2)
    assert (again.reply.sibling, again.reply.siblings) == (0, 1)
    edited = await store.messages.edit("b", Message("user", "d"))
    assert (edited.sibling, edited.siblings, edited.parent_id) == (2, 3, "a")
    ended = await store.replies.finish(
        again.reply.message.id, message=again.reply.message, status="complete"
    )
    assert (ended.sibling, ended.siblings) == (0, 1)


@pytest.mark.parametrize(
    ("start", "message", "step", "branch"),
    [
        ("d", "c", 1, "a1/2 b e2/3"),
        ("d", "c", 2, "a1/2 b f3/3 g"),
        ("d", "c", 9, "a1/2 b f3/3 g"),
        ("d", "c", -1, "a1/2 b c1/3 d"),
        ("g", "f", -1, "a1/2 b e2/3"),
        ("g", "a", 1, "z2/2"),
        ("z", "z", -1, "a1/2 b f3/3 g"),
    ],
)
async def test_siblings_are_walked(
    store: Store, grow: Grow, shown: Shown, start: str, message: str, step: int, branch: str
) -> None:
    session = await grow(TREE)
    await store.branches.activate(session.session_id, start)
    await store.branches.activate_sibling(message, step)
    assert await shown(session) == branch


async def test_activating_a_branch_is_not_activity(store: Store, grow: Grow) -> None:
    session = await grow("a a>b")
    other = await store.sessions.create()
    before = await store.sessions.list()
    await store.branches.activate(session.session_id, "a")
    await store.branches.activate_sibling("b", 1)
    assert [s.session_id for s in before] == [other.session_id, session.session_id]
    assert await store.sessions.list() == before


async def test_an_edit_adds_a_sibling(store: Store, grow: Grow, shown: Shown) -> None:
    session = await grow("a a>b b>c")
    edited = await store.messages.edit("b", Message("user", "B", id="b", pinned=True))
    assert edited.message.id != "b"
    assert edited.message.pinned
    assert await shown(session) == "a B2/2"
    await store.branches.activate_sibling(edited.message.id, -1)
    assert await shown(session) == "a b1/2 c"
    with pytest.raises(StoreError, match="no longer exists"):
        await store.messages.edit("nowhere", Message("user"))


async def test_a_long_branch_is_read_from_its_end(store: Store, grow: Grow, shown: Shown) -> None:
    session = await grow("a a>b b>c b>x x>d d>e")
    everything = await store.branches.load(session.session_id)
    assert await store.branches.load(session.session_id, last=2) == everything[-2:]
    assert await store.branches.load(session.session_id, last=99) == everything
    assert await store.branches.load(session.session_id, last=2, before="d") == everything[1:3]
    assert await store.branches.load(session.session_id, before="d") == everything[:3]
    assert await store.branches.load(session.session_id, last=1, before="a") == ()


async def test_equal_values_of_messages_are_shared(store: Store, grow: Grow) -> None:
    session = await grow("a a>b b>c")
    first, _, last = await store.branches.load(session.session_id)
    assert first.status is last.status
    assert first.message.role is last.message.role


async def test_the_tree_shows_every_branch(store: Store, grow: Grow) -> None:
    session = await grow(TREE)
    await store.messages.delete("e")
    nodes = await store.branches.tree(session.session_id)
    assert [(n.message_id, n.parent_id) for n in nodes] == [
        ("a", None),
        ("b", "a"),
        ("c", "b"),
        ("d", "c"),
        ("f", "b"),
        ("g", "f"),
        ("z", None),
    ]
    await store.messages.add(session.session_id, Message("assistant", " Two\n lines " * 99), "z")
    last = (await store.branches.tree(session.session_id))[-1]
    assert (last.message_role, last.status) == ("assistant", "complete")


async def test_excerpts_are_read_for_some_messages(store: Store, grow: Grow) -> None:
    session = await grow("a a>b")
    calls = (ToolCall("1", "weather", "{}"), ToolCall("2", "time", "{}"))
    long, called = (
        Message("assistant", " Two\n lines " * 99),
        Message("assistant", tool_calls=calls),
    )
    two = (await store.messages.add(session.session_id, long, "b")).message.id
    tools = (await store.messages.add(session.session_id, called, "b")).message.id
    excerpts = await store.branches.excerpts(["a", two, tools, "gone"])
    assert excerpts.keys() == {"a", two, tools}
    assert (excerpts["a"], excerpts[tools]) == ("a", "weather, time")
    assert excerpts[two] == long.content[:200]
    assert await store.branches.excerpts([two], 4) == {two: long.content[:4]}


async def test_named_places_are_kept_and_go_with_a_fork(store: Store, grow: Grow) -> None:
    session = await grow("a a>b b>c")
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


async def test_a_single_message_is_found_on_any_branch(store: Store, grow: Grow) -> None:
    await grow(TREE)
    entry = await store.messages.get("e")
    assert entry is not None
    assert (entry.message.content, entry.parent_id, entry.sibling, entry.siblings) == (
        *("e", "b", 1, 3),
    )
    await store.messages.delete("b")
    assert await store.messages.get("e") is None
    assert await store.messages.get("nowhere") is None


@pytest.mark.parametrize(
    ("message_id", "before", "read"),
    [("c", 1, "bcd"), ("b", 2, "abf"), ("g", 2, "bfg"), ("?", 2, "")],
)
async def test_a_message_is_read_with_its_context(
    store: Store, grow: Grow, message_id: str, before: int, read: str
) -> None:
    await grow(TREE)
    around = await store.branches.around(message_id, before)
    assert "".join(entry.message.content for entry in around) == read


@pytest.mark.parametrize(
    ("start", "message", "after", "count"),
    [
        ("g", "g", "a1/2 b f3/3", 7),
        ("g", "f", "a1/2 b e2/2", 6),
        ("d", "c", "a1/2 b e1/2", 6),
        ("d", "b", "a1/2", 2),
        ("d", "a", "z", 1),
        ("d", "f", "a1/2 b c1/2 d", 6),
        ("d", "z", "a b c1/3 d", 7),
    ],
)
async def test_a_deleted_message_takes_its_descendants_and_can_be_restored(
    store: Store, grow: Grow, shown: Shown, start: str, message: str, after: str, count: int
) -> None:
    session = await grow(TREE)
    await store.branches.activate(session.session_id, start)
    before = await shown(session)
    await store.messages.delete(message)
    assert await shown(session) == after
    assert (await store.sessions.list())[0].message_count == count
    with pytest.raises(StoreError, match="deleted"):
        await store.messages.delete(message)
    with pytest.raises(StoreError, match="deleted"):
        await store.messages.add(session.session_id, Message("user"), message)
    with pytest.raises(StoreError, match="deleted"):
        await store.branches.activate(session.session_id, message)
    await store.messages.restore(message)
    assert await shown(session) == before
    assert (await store.sessions.list())[0].message_count == 8
    await store.messages.restore(message)
    assert await shown(session) == before


async def test_the_last_message_can_be_deleted(store: Store, grow: Grow, shown: Shown) -> None:
    session = await grow("a")
    await store.messages.delete("a")
    assert await shown(session) == ""
    assert (await store.sessions.get(session.session_id)) == replace(
        session, updated=session.updated + 1
    )
    await store.messages.add(session.session_id, Message("user", "b"), None)
    assert await shown(session) == "b"
    await store.messages.restore("a")
    assert await shown(session) == "a1/2"


async def test_a_deletion_within_a_deletion_stays_deleted(
    store: Store, grow: Grow, shown: Shown
) -> None:
    session = await grow("a a>b b>c c>d")
    await store.messages.delete("d")
    await store.messages.delete("b")
    with pytest.raises(StoreError, match="deleted"):
        await store.messages.restore("d")
    await store.messages.restore("b")
    assert await shown(session) == "a b c"
    await store.messages.restore("d")
    assert await shown(session) == "a b c d"


async def test_a_streaming_reply_cannot_be_deleted_or_forked(
    store: Store, grow: Grow, request_record: Make
) -> None:
    session = await grow("a")
    exchange = await store.replies.begin(
        session.session_id,
        parent_id="a",
        user=None,
        model="m",
        endpoint="e",
        request=request_record(),
    )
    for refused in (store.messages.delete("a"), store.branches.fork(exchange.reply.message.id)):
        with pytest.raises(InputError, match="still arriving") as caught:
            await refused
        assert caught.value.advice
    assert len(await store.branches.load(session.session_id)) == 2
    assert len(await store.sessions.list()) == 1


async def test_pins_are_kept(store: Store, grow: Grow) -> None:
    session = await grow("a a>b")
    await store.messages.pin("a", True)
    assert [e.message.pinned for e in await store.branches.load(session.session_id)] == [
        True,
        False,
    ]
    await store.messages.pin("a", False)
    assert [e.message.pinned for e in await store.branches.load(session.session_id)] == [
        False,
        False,
    ]
    with pytest.raises(StoreError):
        await store.messages.pin("nowhere", True)


async def test_mutes_are_kept_and_are_the_opposite_of_pins(store: Store, grow: Grow) -> None:
    session = await grow("a a>b b>c")
    all_of_it, some = Muted(whole=True), Muted(reasoning=True, parts=(0, 2))

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
    assert await marks() == [(False, NOT_MUTED)] * 3
    with pytest.raises(StoreError):
        await store.messages.mute({"a": all_of_it, "nowhere": all_of_it})
    assert await marks() == [(False, NOT_MUTED)] * 3


async def test_an_edit_and_a_fork_have_mutes_of_their_own(store: Store, grow: Grow) -> None:
    await grow("a a>b")
    muted = Muted(whole=True)
    await store.messages.mute({"a": muted})
    edited = await store.messages.edit("a", Message("user", "A", id="a", muted=muted))
    assert edited.message.muted == muted
    fork = await store.branches.fork("b")
    [copy, _] = await store.branches.load(fork.session_id)
    assert copy.message.muted == muted
    await store.messages.mute({"a": NOT_MUTED})
    [copy, _] = await store.branches.load(fork.session_id)
    assert copy.message.muted == muted
    await store.messages.mute({copy.message.id: NOT_MUTED})
    assert (entry := await store.messages.get("a")) is not None
    assert entry.message.muted == NOT_MUTED


# Forks


async def test_a_fork_is_a_session_of_its_own(
    store: Store, grow: Grow, shown: Shown, request_record: Make
) -> None:
    session = await grow("a a>b b>c")
    await store.sessions.update(
        session.session_id,
        model="m",
        tags=("x", "y"),
        lorebooks=("l",),
        folder="f",
        settings=Settings(max_tokens=5),
    )
    await replace_variables(store, session.session_id, {"mood": "fine"})
    exchange = await store.replies.begin(
        session.session_id,
        parent_id="b",
        user=None,
        model="m",
        endpoint="e",
        request=request_record(b"1", n=1),
    )
    reply = await store.replies.finish(
        exchange.reply.message.id,
        message=replace(exchange.reply.message, content="r"),
        status="complete",
        usage=Usage(3, 4),
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
    assert await shown(fork) == "a b r"
    before, after = (
        await store.branches.load(session.session_id),
        await store.branches.load(fork.session_id),
    )
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
    assert await shown(session) == "a b r2/2"
    assert (await store.branches.fork("c", title="Mine")).title == "Mine"


async def test_a_fork_outlives_its_role_and_its_original(
    store: Store, grow: Grow, shown: Shown
) -> None:
    session = await grow("a a>b")
    fork = await store.branches.fork("b")
    await remove_forever(store, session.session_id)
    assert await shown(fork) == "a b"


# The trash


async def test_sessions_in_the_trash_are_gone_until_restored(
    store: Store, grow: Grow, shown: Shown
) -> None:
    one, two, three = [await store.sessions.create(title=name) for name in ("one", "two", "three")]
    tree = await grow("a a>b")
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
    assert await shown(tree) == "a b"


async def test_the_trash_is_emptied_by_age(
    store: Store, grow: Grow, shown: Shown, clock: Callable[[], float]
) -> None:
    kept = await grow("a a>b b>c c>d c>e e>f")
    old, new = await store.sessions.create(title="old"), await store.sessions.create(title="new")
    await store.messages.delete("c")
    await store.sessions.delete([old.session_id])
    clock.time += 1000  # type: ignore[attr-defined]
    await store.messages.delete("b")
    await store.sessions.delete([new.session_id])
    assert await store.sessions.purge_trash(500) == 1
    assert [s.title for s in await store.sessions.list_trash()] == ["new"]
    await store.messages.restore("b")
    assert await shown(kept) == "a b"
    with pytest.raises(StoreError, match="no longer exists"):
        await store.messages.restore("c")
    await store.sessions.restore([old.session_id])
    assert [s.title for s in await store.sessions.list()] == ["tree"]
    assert (await store.sessions.list())[0].message_count == 2


async def test_a_clock_that_goes_backwards_never_splits_a_deletion(
    store: Store, grow: Grow, shown: Shown, clock: Callable[[], float]
) -> None:
    session = await grow("a a>b b>c c>d")
    await store.messages.delete("d")
    clock.time -= 100_000  # type: ignore[attr-defined]
    await store.messages.delete("b")
    clock.time += 50_000  # type: ignore[attr-defined]
    assert await store.sessions.purge_trash(0) == 0
    await store.messages.restore("b")
    await store.messages.restore("d")
    assert await shown(session) == "a b c d"


# Putting in order


async def test_sessions_are_organized(store: Store) -> None:
    one, two = await store.sessions.create(title="one"), await store.sessions.create(title="two")
    await store.sessions.update_many(
        {
            key: {"pinned": True, "tags": ("b", "a", "b"), "folder": "F"}
            for key in [one.session_id, two.session_id]
        }
    )
    await store.sessions.update(two.session_id, archived=True, unread=True, pinned=False, tags=())
    shown = [
        (s.title, s.pinned, s.archived, s.unread, s.folder, s.tags)
        for s in await store.sessions.list()
    ]
    assert shown == [
        ("two", False, True, True, "F", ()),
        ("one", True, False, False, "F", ("b", "a")),
    ]
    session = await store.sessions.get(one.session_id)
    assert session == replace(one, pinned=True, tags=("b", "a"), folder="F")
    assert (await store.sessions.list())[1].created == one.created


async def test_changes_of_several_sessions_are_atomic(store: Store) -> None:
    one = await store.sessions.create(title="one")
    with pytest.raises(StoreError, match="no longer"):
        await store.sessions.update_many(
            {key: {"pinned": True} for key in [one.session_id, "nowhere"]}
        )
    assert not (await store.sessions.list())[0].pinned


async def test_a_fork_names_its_own_messages_whatever_its_recipes_have(
    store: Store, grow: Grow, request_record: Make
) -> None:
    """Also where they stand behind a text with a backslash, as in an imported recipe."""
    session = await grow("a a>b b>c")
    recipe = {
        "variables": {"mood": "two\nlines", "x": "a"},
        "pinned": ["a", "gone"],
        "muted": [["b", {"whole": True}]],
        "edits": [{"path": ["b"], "answered": "c"}],
        "parent": "c",
    }
    exchange = await store.replies.begin(
        session.session_id,
        parent_id="c",
        user=None,
        model="m",
        endpoint="e",
        request=replace(request_record(b"1", n=1), recipe=recipe),
    )
    reply = await store.replies.finish(
        exchange.reply.message.id,
        message=exchange.reply.message,
        status="complete",
        usage=Usage(),
    )
    fork = await store.branches.fork(reply.message.id)
    a, b, c, last = (e.message.id for e in await store.branches.load(fork.session_id))
    copy = await store.requests.get(last)
    assert copy is not None
    assert copy.recipe == {
        "variables": recipe["variables"],
        "pinned": [a, "gone"],
        "muted": [[b, {"whole": True}]],
        "edits": [{"path": ["b"], "answered": c}],
        "parent": c,
    }
