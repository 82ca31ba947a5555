"""What the tree of 10,000 messages on 500 branches costs, on a screen of 160 by 45.

Milliseconds are of work on the app's thread, and of reading by the clock on the wall.

    uv run --no-sync python -m tests.tools.benchmarks.tree

The aims: it is read and on the screen within 100 ms, and 95 of 100 keys within 16 ms.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, thread_time

from textual.app import App, ComposeResult

from tests.plugins.tree.trees import NOON, random_tree
from tui_chat.plugins.tree.layout import Tree
from tui_chat.plugins.tree.tree_list import TreeList
from tui_chat.store import Store

MESSAGES, BRANCHES = 10_000, 500
KEYS = ("down", "pagedown", "right", "left", "left", "pagedown", "up", "right", "end", "home")


class Bench(App[None]):
    """The rows and nothing else."""

    def compose(self) -> ComposeResult:
        yield TreeList(NOON)


def spent(began: float) -> float:
    return (thread_time() - began) * 1e3


def paint(app: App[None]) -> None:
    """Have the screen lay out and paint what it would with its next frame, now."""
    app.screen._on_timer_update()  # pyright: ignore[reportPrivateUsage]


async def measure(folder: Path) -> None:
    numbers = itertools.count()
    store = await Store.open(
        folder / "chat.db", now=lambda: NOON, new_id=lambda: f"id{next(numbers)}"
    )
    transcript = random_tree(MESSAGES, BRANCHES)
    await store.transcripts.add(transcript)
    for _ in range(3):
        began = perf_counter()
        nodes = await store.branches.tree("s")
        read = (perf_counter() - began) * 1e3
    app = Bench()
    async with app.run_test(size=(160, 45)) as pilot:
        rows = app.query_one(TreeList)
        rows.focus()
        await pilot.pause()
        began = thread_time()
        rows.show(Tree(nodes, transcript.session.head_id), {}, nodes[-1].message_id)
        paint(app)
        print(f"{len(nodes):,} messages, {rows.session_tree.branch_count:,} branches")
        print(f"  reading        {read:7.1f} ms")
        print(f"  first picture  {spent(began):7.1f} ms, {rows.row_count:,} rows")
        began = perf_counter()
        texts = await store.branches.excerpts(node.message_id for node in nodes[:135])
        print(f"  texts in sight {(perf_counter() - began) * 1e3:7.1f} ms, {len(texts)} of them")
        rows.add_texts(await store.branches.excerpts(node.message_id for node in nodes))
        times: list[float] = []
        for key in KEYS * 20:
            began = thread_time()
            await rows.run_action(rows._bindings.get_bindings_for_key(key)[0].action)  # pyright: ignore[reportPrivateUsage]
            paint(app)
            times.append(spent(began))
        p95 = quantiles(times, n=20)[-1]
        print(f"  a key          {median(times):7.1f} ms, p95 {p95:.1f}, worst {max(times):.1f}")
        began = thread_time()
        rows.show_results(dict.fromkeys(node.message_id for node in nodes[::100]))
        paint(app)
        print(f"  100 results    {spent(began):7.1f} ms")
    await store.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    main()
