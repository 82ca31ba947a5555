"""What the store costs with a million messages in twenty thousand sessions.

    uv run --no-sync python -m tests.tools.benchmarks.store [--messages N] [--sessions N]
        [--keep FILE]

Makes the database first (some minutes), unless FILE is there already, and prints what was
measured beside the goal. Times are of whole calls of the store, from its thread and back;
`--cpu` counts the processor's time instead, for machines that have other work too.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Literal

from tests.tools.benchmarks.store_data import LONG, fill
from tui_chat.cli.app import collect_seldom
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.search import Query
from tui_chat.models.session import RequestRecord
from tui_chat.store import Store

VISIBLE = 60
"""Messages that are read to show the end of a session: more than a screen holds."""

_clock = time.perf_counter

LISTED = 200
"""Sessions that are listed at first: more than a screen holds."""

Call = Callable[[], Awaitable[object]]


async def timed(call: Call) -> float:
    """Return how many milliseconds a call took."""
    began = _clock()
    await call()
    return (_clock() - began) * 1e3


async def times(calls: list[Call]) -> list[float]:
    gc.collect()
    gc.disable()
    try:
        return [await timed(call) for call in calls]
    finally:
        gc.enable()


def p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]


def show(what: str, measured: str, goal: str = "", *, met: bool | None = None) -> None:
    sign = "" if met is None else ("ok" if met else "MISSED")
    print(f"{what:<52}{measured:>18}  {goal:<16}{sign}", flush=True)


def show_ms(what: str, milliseconds: float, goal: float | None = None) -> None:
    if goal is None:
        show(what, f"{milliseconds:.2f} ms")
    else:
        show(what, f"{milliseconds:.2f} ms", f"< {goal:g} ms", met=milliseconds < goal)


async def words_said(store: Store, sessions: list[str]) -> tuple[list[str], list[str]]:
    """Return Latin words and runs of Chinese, as often said as messages say them."""
    latin: list[str] = []
    chinese: list[str] = []
    for session_id in sessions:
        for entry in await store.branches.load(session_id):
            for word in entry.message.content.replace("，", " ").replace("。", " ").split():
                word = word.strip(".")
                if word.isascii():
                    latin.append(word)
                elif len(word) >= 4:
                    chinese.append(word)
    return latin, chinese


async def searching(store: Store, chance: random.Random) -> None:
    sessions = [s.session_id for s in await store.sessions.list()]
    latin, chinese = await words_said(store, chance.sample(sessions, min(300, len(sessions))))
    runs = [word[at : at + 4] for word in chinese for at in (0, 3) if len(word) >= at + 4]
    kinds: dict[str, list[str]] = {
        "a Latin word": latin,
        "two Latin words": [f"{a} {b}" for a, b in pairwise(latin)],
        "a Latin phrase": [f'"{a} {b}"' for a, b in pairwise(latin)],
        "the beginning of a Latin word": [f"{word[:3]}*" for word in latin if len(word) > 4],
        "four Chinese characters": runs,
        "two Chinese characters": [run[:2] for run in runs],
        "one Chinese character": [run[:1] for run in runs],
    }
    for kind, words in kinds.items():
        queries = chance.sample(words, min(60, len(words)))
        taken = await times([lambda q=q: store.search.find(Query(q)) for q in queries])
        show_ms(f"search, {kind}, p95", p95(taken), 50)
        worst = queries[taken.index(max(taken))]
        show_ms(f"    median; worst was {max(taken):.0f} ms, {worst[:12]}", median(taken))
    for kind, filters in _FILTERS.items():
        queries = _COMMON
        for order in _ORDERS:
            asked = [replace(filters, text=text, order=order) for text in queries]
            taken = await times([lambda q=q: store.search.find(q) for q in asked])
            show_ms(f"search, common words, {kind}, {order}, p95", p95(taken), 50)
            worst = queries[taken.index(max(taken))]
            show_ms(f"    median; worst was {max(taken):.0f} ms, {worst[:12]}", median(taken))


_ORDERS: tuple[Literal["rank", "newest"], ...] = ("rank", "newest")
_COMMON = [
    *("the", "water", "people", "of", "my", "time", "way", "a", "first", "的", "然", "的一"),
    *("and*", "th*", "wo*", "the of", "the water", '"of the"', '"in the"', "time way", "的 是"),
]
"""Words that are found nearly everywhere, beginnings, phrases, and several at once."""
_FILTERS = {
    "anywhere": Query(""),
    "of one role": Query("", role_name="Role 7"),
    "with a tag": Query("", tag="work"),
    "of a model": Query("", model="model-3"),
    "of an endpoint": Query("", endpoint="endpoint-1"),
    "of the user": Query("", message_role="user"),
    "of tools": Query("", message_role="tool"),
    "of a model that never wrote": Query("", model="never"),
    "of an endpoint never asked": Query("", endpoint="never"),
    "of a role and the user": Query("", role_name="Role 7", message_role="user"),
    "of a model with a tag": Query("", tag="work", model="model-3"),
    "of a week": Query("", since=1.66e9, until=1.66e9 + 7 * 86400),
    "of a year": Query("", since=1.62e9, until=1.65e9),
}


def synced(path: Path, times: int) -> list[float]:
    """Return how many milliseconds it takes to have a page on the disk: what any commit costs."""
    taken: list[float] = []
    with path.open("wb", buffering=0) as file:
        for _ in range(times):
            began = _clock()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            taken.append((_clock() - began) * 1e3)
    path.unlink()
    return taken


async def writing(store: Store, session_id: str) -> None:
    parent: str | None = (await store.branches.load(session_id))[-1].message.id
    taken: list[float] = []
    for number in range(300):
        message = Message.of("user", f"{number} and some words to be found again " * 4)
        began = _clock()
        parent = (await store.messages.add(session_id, message, parent)).message.id
        taken.append((_clock() - began) * 1e3)
    show_ms("append a message, p95", p95(taken), 5)
    show_ms("    median", median(taken))
    bare = synced(store.path.with_name("synced"), len(taken))
    show_ms("    of that the disk, told to write 4 KB: p95", p95(bare))
    show_ms("    median", median(bare))
    record = RequestRecord("e", Protocol.GEMINI, "POST", "https://x", "00", {}, b"{}" * 5000)
    exchange = await store.replies.begin(
        session_id, parent_id=parent, user=Message.of("user", "?"), model="m", endpoint="e",
        request=record,
    )  # fmt: skip
    reply, text = exchange.reply.message.id, "some words of a reply " * 20
    taken = await times(
        [
            lambda n=n: store.replies.flush(reply, Message.of("assistant", text * n))
            for n in range(1, 101)
        ]
    )
    show_ms("flush a growing reply, p95", p95(taken), 5)
    whole = Message.of("assistant", text * 100)
    show_ms(
        "end it", await timed(lambda: store.replies.end(reply, message=whole, status="complete"))
    )


async def measure(path: Path, messages: int) -> None:
    chance = random.Random(3)

    async def opened() -> Store:
        return await Store.open(path, now=time.time, new_id=lambda: uuid.uuid4().hex)

    size = path.stat().st_size
    show("size", f"{size / messages:,.0f} bytes/message", f"{size / 1e6:,.0f} MB")
    began = _clock()
    store = await opened()
    show_ms("open the store", (_clock() - began) * 1e3)
    page = lambda: store.sessions.list(LISTED)  # noqa: E731
    show_ms(f"list the first {LISTED} sessions, at first", await timed(page), 30)
    show_ms("    median", median(await times([page] * 10)))
    show_ms("list all sessions, at first", await timed(store.sessions.list), 30)
    kept = (await store.sessions.list())[LISTED].session_id
    taken: list[float] = []
    for number in range(10):  # as it is each time that something was said or changed
        await store.sessions.update(kept, title=f"Title {number}")
        taken.append(await timed(store.sessions.list))
    show_ms("list all sessions after a change, median", median(taken), 30)
    long = next((s for s in await store.sessions.list() if s.message_count >= LONG), None)
    long = long or max(await store.sessions.list(), key=lambda s: s.message_count)
    show_ms("all of its branch", await timed(lambda: store.branches.load(long.session_id)))
    show_ms("its tree", await timed(lambda: store.branches.tree(long.session_id)))
    await searching(store, chance)
    await writing(store, long.session_id)
    await store.close()


def main() -> None:
    """Make the database, and print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--messages", type=int, default=1_000_000)
    options.add_argument("--sessions", type=int, default=20_000)
    options.add_argument("--keep", type=Path, help="where the database is or will be")
    options.add_argument("--cpu", action="store_true", help="processor time, not wall time")
    given = options.parse_args()
    if given.cpu:
        global _clock
        _clock = time.process_time
    collect_seldom()  # as the commands and the app do
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or Path(folder) / "chat.db"
        if not path.exists():
            seconds = asyncio.run(fill(path, given.messages, given.sessions))
            rate = given.messages / seconds
            show("import", f"{rate:,.0f} messages/s", "> 10,000", met=rate >= 10_000)
        asyncio.run(measure(path, given.messages))


if __name__ == "__main__":
    main()
