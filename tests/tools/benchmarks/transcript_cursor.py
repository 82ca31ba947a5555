"""What moving the cursor through a long transcript costs, with the inspector open and closed.

    uv run python -m tests.tools.benchmarks.transcript_cursor [MESSAGES]

Each move lights the places of a message in the body, whatever its length. A key counts from its
press until the screen is updated and nothing is left to do, in milliseconds of processor time.
The goal: p95 with the inspector open within 16 ms of p95 with it closed, in each protocol and in
the views that have places.
"""

from __future__ import annotations

import asyncio
import gc
from argparse import ArgumentParser
from statistics import median
from time import process_time

from textual import events
from textual.pilot import Pilot

from tests.support.app import settle
from tests.tools.benchmarks.inspector_views import look, with_long_session
from tests.tools.benchmarks.stage import p95
from tui_chat.models.endpoint import Protocol
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.inspector.pane import Inspector

MOVES = 120


async def moved(app: TuiChat, key: str) -> list[float]:
    """Press a key so often, from the end of the conversation or near it; return what each cost."""
    costs: list[float] = []
    for _ in range(MOVES):
        begun = process_time()
        app.post_message(events.Key(key, None))
        for _ in range(5):
            await asyncio.sleep(0.002)  # the key, the message that is pointed at, what is lit
        app.screen._on_timer_update()  # pyright: ignore[reportPrivateUsage]  the next frame, now
        costs.append((process_time() - begun) * 1000)
    return costs


async def walked(app: TuiChat, pilot: Pilot[None], name: str, closed: dict[str, float]) -> None:
    """Walk through the conversation by messages and by pages; tell what a key cost."""
    transcript = app.query_one(Transcript)
    for key in ("up", "pageup"):
        transcript.focus()
        await pilot.press("end")
        await settle(pilot)
        gc.collect()
        costs = await moved(app, key)
        beyond = "" if key not in closed else f"{p95(costs) - closed[key]:8.2f} beyond"
        print(f"{name:32} {key:8} {median(costs):8.2f} {p95(costs):8.2f}{beyond}", flush=True)
        closed.setdefault(key, p95(costs))


async def main(count: int) -> None:
    async with with_long_session(count) as (app, pilot):
        inspector, closed = app.query_one(Inspector), dict[str, float]()
        inspector.focus()
        await settle(pilot)
        app.panes.action_toggle_area("inspector")  # closes it, being focused
        await settle(pilot)
        assert not inspector.is_on_screen
        print(f"{'':32} {'':8} {'median':>8} {'p95':>8}")
        await walked(app, pilot, "inspector closed", closed)
        app.panes.action_toggle_area("inspector")
        await settle(pilot)
        for protocol in Protocol:
            for view in ("payload", "context"):
                await look(app, pilot, protocol, view)
                await walked(app, pilot, f"{protocol.label} {view}", closed)


if __name__ == "__main__":
    options = ArgumentParser()
    options.add_argument("messages", type=int, nargs="?", default=10_000)
    asyncio.run(main(options.parse_args().messages))
