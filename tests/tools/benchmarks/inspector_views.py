"""What a key in the composer costs while the inspector is open, in each view and protocol.

    uv run python -m tests.tools.benchmarks.inspector_views [MESSAGES] [--memory]
        [--protocol NAME] [--view NAME]

The real app over a real store, a request of the whole conversation already sent, so that forecast
and difference have something to hold against. Two hundred characters are typed; a key counts from
its press until the screen is updated and nothing is left to do, in milliseconds of processor time,
so that a busy machine does not count. Beside each figure, what it is beyond the composer alone:
the same keys with the inspector closed. The goal: p95 below 16 ms beyond the composer.

`--memory` types a line and throws it away, six times in each view of each protocol, and prints what
Python holds after each, in kilobytes more than before the first: it must not grow on. It takes
some minutes; `--protocol` and `--view` may be given several times and leave the others out.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import tracemalloc
from argparse import ArgumentParser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from statistics import quantiles
from time import process_time
from typing import TypeAlias

from textual import events
from textual.pilot import Pilot

from tests.support.app import NOON, make_app, opened, say, settle, until
from tui_chat.cli.app import collect_seldom
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Session, SessionTranscript
from tui_chat.store import Store
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.inspector.views import views

Chosen: TypeAlias = list[tuple[Protocol, str]]

TYPED = 200
LINE = 50
CYCLES = 6
WARM = 3
"""Lines that fill what remembers the last few hundred of something."""
WORDS = "light falls through the leaves of an old pine and nobody minds " * 3


async def fill(folder: Path, count: int) -> None:
    """Put one session of so many messages into a store."""
    numbers = iter(range(count))
    entries: list[Entry] = []
    for number in range(count):
        message = Message.of(
            "assistant" if number % 2 else "user", f"{number}: {WORDS}", id=f"m{number:08}"
        )
        entries.append(Entry(message, entries[-1].message.id if entries else None))
    session = Session("long", "long", endpoint="loopback", model="lorem")
    store = await Store.open(
        folder / "chat.db", now=lambda: NOON, new_id=lambda: f"f{next(numbers)}"
    )
    async with store:
        await store.transcripts.add_many([SessionTranscript(session, tuple(entries))])


async def typed(app: TuiChat, count: int) -> list[float]:
    """Press a key so often; return what each cost."""
    inspector, costs = app.query_one(Inspector), list[float]()
    for number in range(count):
        begun, before = process_time(), inspector.composed
        app.post_message(events.Key(*(("space", " ") if number % 6 == 5 else ("x", "x"))))
        while inspector.composed is before:  # noqa: ASYNC110  it tells nobody
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.002)
        app.screen._on_timer_update()  # pyright: ignore[reportPrivateUsage]  the next frame, now
        costs.append((process_time() - begun) * 1000)
    return costs


def p95(costs: list[float]) -> float:
    return quantiles(costs, n=20)[18]


async def fresh(app: TuiChat, pilot: Pilot[None]) -> None:
    app.query_one(Composer).text = ""
    app.query_one(Composer).focus()
    await settle(pilot)
    gc.collect()


async def speed(app: TuiChat, pilot: Pilot[None], chosen: Chosen) -> None:
    inspector = app.query_one(Inspector)
    inspector.focus()
    await settle(pilot)
    app.panes.action_toggle_area("inspector")  # closes it, being focused
    await settle(pilot)
    assert not inspector.is_on_screen
    await fresh(app, pilot)
    alone = await typed(app, TYPED)
    print(f"{'the composer alone':30} {quantiles(alone, n=2)[0]:8.2f} {p95(alone):8.2f}")
    app.panes.action_toggle_area("inspector")
    await settle(pilot)
    assert inspector.is_on_screen
    print(f"\n{'':30} {'median':>8} {'p95':>8} {'p95 beyond the composer':>26}")
    for protocol, view in chosen:
        await look(app, pilot, protocol, view)
        await typed(app, 5)
        costs = await typed(app, TYPED)
        print(
            f"{protocol.label:18} {view:11} {quantiles(costs, n=2)[0]:8.2f} {p95(costs):8.2f}"
            f" {p95(costs) - p95(alone):26.2f}",
            flush=True,
        )


async def memory(app: TuiChat, pilot: Pilot[None], chosen: Chosen) -> None:
    print(f"kilobytes held after each line of {LINE} characters that was typed and thrown away")
    tracemalloc.start()
    for protocol, view in chosen:
        await look(app, pilot, protocol, view)
        held: list[float] = []
        for _ in range(WARM + CYCLES):
            await typed(app, LINE)
            app.query_one(Composer).text = ""
            await settle(pilot)
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0] / 1e3)
        before, *after = held[WARM - 1 :]
        told = " ".join(f"{kilobytes - before:+8.1f}" for kilobytes in after)
        print(f"{protocol.label:18} {view:11} {told}", flush=True)


async def look(app: TuiChat, pilot: Pilot[None], protocol: Protocol, view: str) -> None:
    """Have a view of a protocol in sight, and nothing in the composer."""
    inspector = app.query_one(Inspector)
    app.inspector.action_show_in_protocol(protocol)
    inspector.view_shown = view
    await fresh(app, pilot)
    await until(pilot, lambda: inspector.active is protocol)


@asynccontextmanager
async def with_long_session(count: int) -> AsyncGenerator[tuple[TuiChat, Pilot[None]]]:
    """Run the app on a session of so many messages, one more sent in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await fill(folder, count)
        async with make_app(folder, model="lorem").run_test(size=(160, 45)) as pilot:
            app = await opened(pilot)
            workspace = app.workspace
            assert workspace is not None
            await workspace.sessions.open("long")
            await until(pilot, lambda: len(workspace.state.entries) >= count)
            await say(pilot, "One more thing.")
            collect_seldom()  # as the command does
            yield app, pilot


async def main(count: int, of_memory: bool, chosen: Chosen) -> None:
    async with with_long_session(count) as (app, pilot):
        assert app.workspace is not None
        print(f"{len(app.workspace.state.entries):,} messages on a screen of 160 by 45\n")
        await (memory if of_memory else speed)(app, pilot, chosen)


if __name__ == "__main__":
    options = ArgumentParser()
    options.add_argument("messages", type=int, nargs="?", default=10_000)
    options.add_argument("--memory", action="store_true")
    options.add_argument("--protocol", action="append", choices=list(Protocol))
    options.add_argument("--view", action="append", choices=list(views()))
    asked = options.parse_args()
    pairs = product(asked.protocol or Protocol, asked.view or views())
    asyncio.run(
        main(asked.messages, asked.memory, [(Protocol(one), other) for one, other in pairs])
    )
