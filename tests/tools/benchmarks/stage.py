"""The whole app on a stage for benchmarks: sessions on disk, the offline provider, a screen of
160 by 45 with the sidebar and the inspector open; and the clocks that are read there.

Two figures are of time: by the clock on the wall, and in brackets the work of the app's own thread,
which a busy machine changes less; what SQLite reads, and what a thread composes, is not in it.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, thread_time
from typing import Any

from textual.pilot import Pilot

from tests.support.vendors import ENDPOINTS
from tests.tools.benchmarks.shapes import conversation
from tui_chat.cli.app import open_workspace
from tui_chat.config import Config
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.session import Session, SessionTranscript
from tui_chat.paths import database_file
from tui_chat.store import Store
from tui_chat.ui.app import TuiChat
from tui_chat.ui.inspector.pane import Inspector

SIZE = (160, 45)


def p95(values: list[float]) -> float:
    """Return what 95 of 100 values are below."""
    return quantiles(values, n=20)[-1]


def memory() -> float:
    """Return the megabytes the process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Clock:
    """Milliseconds on the wall and of this thread's work, since it was made."""

    def __init__(self) -> None:
        self._wall, self._work = perf_counter(), thread_time()

    def read(self) -> tuple[float, float]:
        """Return both."""
        return (perf_counter() - self._wall) * 1e3, (thread_time() - self._work) * 1e3


def report(what: str, spent: list[tuple[float, float]], goal: float) -> None:
    """Print the median, the 95th and the worst of some times, beside what is aimed at."""
    walls, works = (list(column) for column in zip(*spent, strict=True))
    judged = p95 if len(spent) >= 20 else max
    by_wall, by_work = judged(walls), judged(works)
    verdict = "held" if by_wall <= goal else "held by the work" if by_work <= goal else "MISSED"
    name = "p95" if judged is p95 else "worst"
    print(
        f"  {what:<27}{median(walls):6.1f} ms ({median(works):.1f} of work), {name} {by_wall:.1f} "
        f"({by_work:.1f}), of {len(spent)}; aim {goal:g}: {verdict}"
    )


def paint(app: TuiChat) -> None:
    """Have the screen lay out and paint what it would with its next frame, now."""
    app.screen._on_timer_update()  # pyright: ignore[reportPrivateUsage]


async def until(true: Callable[[], Any], seconds: float = 60) -> None:
    """Let the app work until it is so."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  what is waited for is on the screen and tells nobody
            await asyncio.sleep(0.002)


async def quiet(pilot: Pilot[None]) -> None:
    """Let what was set off come to its end."""
    await asyncio.sleep(0.3)
    await pilot.pause()


async def fill(folder: Path, sizes: dict[str, int]) -> None:
    """Keep sessions of these sizes; the first one is open at the start."""
    numbers = iter(range(1 << 30))
    async with await Store.open(
        database_file(folder), now=time.time, new_id=lambda: f"n{next(numbers)}"
    ) as store:
        for name, count in sizes.items():
            entries = conversation(count, name)
            title = f"The {name} one"
            session = Session(name, title, endpoint="loopback", created=1.7e9, updated=1.7e9)
            await store.transcripts.add_many([SessionTranscript(session, entries)])
        await store.settings.set("session", next(iter(sizes)))


def make_app(folder: Path, model: str, endpoints: tuple[Endpoint, ...] = ()) -> TuiChat:
    """Wire the app as the command does, with more endpoints than the ready-made ones."""
    config = Config(
        endpoints=(*ENDPOINTS, *endpoints),
        endpoint="loopback",
        model=model,
        theme="tui-chat-dark",
        data_dir=folder,
        config_dir=folder,
    )
    return TuiChat(config, lambda: open_workspace(config), environ={})


async def laid(pilot: Pilot[None]) -> TuiChat:
    """Wait for the app to stand, with its inspector open."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    await until(lambda: app.is_workspace_open and app.query_one(Inspector).composed is not None)
    await quiet(pilot)
    assert app.query_one(Inspector).is_on_screen
    return app
