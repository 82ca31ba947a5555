"""What a key in the composer costs while the inspector is open, in each view and protocol.

    uv run python -m tests.benchmarks.inspector_views [MESSAGES] [--memory]

The real app over a real store, a request of the whole conversation already sent, so that forecast
and difference have something to hold against. Two hundred characters are typed; a key counts from
its press until the screen is updated and nothing is left to do, in milliseconds of processor time,
so that a busy machine does not count. Beside each figure, what it is beyond the composer alone:
the same keys with the inspector closed. The goal: p95 below 16 ms beyond the composer.

`--memory` types and rubs out two thousand characters in each view instead, and prints how much
memory Python holds after every five hundred: it must not grow.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import tracemalloc
from pathlib import Path
from statistics import quantiles
from time import process_time

from textual.pilot import Pilot

from tests.ui.app_under_test import NOON, make_app, opened, say, settle, until
from tui_chat.cli.app import calm_collector
from tui_chat.model.endpoint import Protocol
from tui_chat.model.message import Message
from tui_chat.model.session import Entry, Session
from tui_chat.model.transcript import Transcript
from tui_chat.store import Store
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat import Composer
from tui_chat.ui.inspector import Inspector, View

TYPED = 200
CYCLE = 250
WORDS = "light falls through the leaves of an old pine and nobody minds " * 3


async def fill(folder: Path, count: int) -> None:
    """Put one session of so many messages into a store."""
    numbers = iter(range(count))
    entries: list[Entry] = []
    for number in range(count):
        message = Message(
            "assistant" if number % 2 else "user", f"{number}: {WORDS}", id=f"m{number:08}"
        )
        entries.append(Entry(message, entries[-1].message.id if entries else None))
    session = Session("long", "long", endpoint="loopback", model="lorem")
    store = await Store.open(
        folder / "chat.db", now=lambda: NOON, new_id=lambda: f"f{next(numbers)}"
    )
    async with store:
        await store.import_sessions([Transcript(session, tuple(entries))])


async def typed(pilot: Pilot[None], count: int) -> list[float]:
    """Press a key so often; return what each cost."""
    costs: list[float] = []
    for number in range(count):
        begun = process_time()
        await pilot.press("space" if number % 6 == 5 else "x")
        costs.append((process_time() - begun) * 1000)
    return costs


def p95(costs: list[float]) -> float:
    return quantiles(costs, n=20)[18]


async def fresh(app: TuiChat, pilot: Pilot[None]) -> None:
    app.query_one(Composer).text = ""
    app.query_one(Composer).focus()
    await settle(pilot)
    gc.collect()


async def speed(app: TuiChat, pilot: Pilot[None]) -> None:
    inspector = app.query_one(Inspector)
    inspector.focus()
    await settle(pilot)
    app.action_pane("inspector")  # closes it, being focused
    await settle(pilot)
    assert not inspector.is_on_screen
    await fresh(app, pilot)
    alone = await typed(pilot, TYPED)
    print(f"{'the composer alone':30} {quantiles(alone, n=2)[0]:8.2f} {p95(alone):8.2f}")
    app.action_pane("inspector")
    await settle(pilot)
    assert inspector.is_on_screen
    print(f"\n{'':30} {'median':>8} {'p95':>8} {'p95 beyond the composer':>26}")
    for protocol in Protocol:
        app.post_message(Inspector.ProtocolChosen(protocol))
        for view in View:
            inspector.view_shown = view
            await fresh(app, pilot)
            await typed(pilot, 5)
            await until(pilot, lambda p=protocol: inspector.active is p)
            costs = await typed(pilot, TYPED)
            print(
                f"{protocol.label:18} {view:11} {quantiles(costs, n=2)[0]:8.2f} {p95(costs):8.2f}"
                f" {p95(costs) - p95(alone):26.2f}",
                flush=True,
            )


async def memory(app: TuiChat, pilot: Pilot[None]) -> None:
    inspector = app.query_one(Inspector)
    tracemalloc.start()
    print(f"{'':30} MB held after each 500 keys")
    for view in View:
        inspector.view_shown = view
        await fresh(app, pilot)
        await typed(pilot, 50)
        held: list[str] = []
        for _ in range(4):
            await typed(pilot, CYCLE)
            for _ in range(CYCLE):
                await pilot.press("backspace")
            await settle(pilot)
            gc.collect()
            held.append(f"{tracemalloc.get_traced_memory()[0] / 1e6:8.2f}")
        print(f"{view:30} {' '.join(held)}", flush=True)


async def main(count: int, of_memory: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await fill(folder, count)
        app = make_app(folder, model="lorem")
        async with app.run_test(size=(160, 45)) as pilot:
            app = await opened(pilot)
            assert app.desk is not None
            await app.desk.open("long")
            await until(pilot, lambda: app.desk is not None and len(app.desk.entries) >= count)
            await say(pilot, "One more thing.")
            calm_collector()  # as the command does
            print(f"{len(app.desk.entries):,} messages on a screen of 160 by 45\n")
            await (memory if of_memory else speed)(app, pilot)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    asyncio.run(main(numbers[0] if numbers else 10_000, "--memory" in sys.argv))
