"""What a long conversation costs in the whole app, in one run, on a screen of 160 by 45.

    uv run --no-sync python -m tests.benchmarks.whole_app [--tokens N] [--shape NAME] [--only PART]

The app is the one that people start: sidebar and inspector are open, conversations are in an
SQLite file, and the reply comes from the offline provider, which works on the same processor.
The aims: a session of 10,000 messages (5 MB of mixed Markdown) is on the screen within 150 ms;
95 of 100 frames of paging through it within 16 ms; another width within 100 ms; all of it in
150 MB. While a reply of 50,000 tokens comes as fast as it can, 95 of 100 keys are on the screen
within 50 ms.

Two figures are of time: by the clock on the wall, and in brackets the work of the app's own thread,
which a busy machine does not change; what SQLite reads, and what a thread composes, is not in it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, thread_time
from typing import Any

from textual import events
from textual.pilot import Pilot

from tests.benchmarks.shapes import REPLIES, conversation, reply_of
from tui_chat.cli.app import open_desk
from tui_chat.config import BUILT_IN_ENDPOINTS, Config
from tui_chat.loopback import lorem
from tui_chat.model.session import Session
from tui_chat.model.transcript import Transcript
from tui_chat.paths import database_file
from tui_chat.store import Store
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat import ChatPane, Composer
from tui_chat.ui.inspector import Inspector

SIZE = (160, 45)
MESSAGES = 10_000
TOKENS = 50_000


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
            session = Session(name, f"The {name} one", created=1.7e9, updated=1.7e9)
            await store.import_sessions([Transcript(session, entries)])
        await store.remember("session", next(iter(sizes)))


def make_app(folder: Path, model: str) -> TuiChat:
    """Wire the app as the command does."""
    config = Config(
        endpoints=BUILT_IN_ENDPOINTS,
        endpoint="loopback",
        model=model,
        theme="tui-chat-dark",
        data_dir=folder,
        config_dir=folder,
    )
    return TuiChat(config, lambda tell: open_desk(config, tell), environ={})


async def laid(pilot: Pilot[None]) -> TuiChat:
    """Wait for the app to stand, with its inspector open."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    await until(lambda: app.is_laid and app.query_one(Inspector).composed is not None)
    await quiet(pilot)
    assert app.query_one(Inspector).is_on_screen
    return app


async def reading(folder: Path) -> None:
    """Open the long session, page through it, and change the screen's width."""
    app = make_app(folder, "mirror")
    async with app.run_test(size=SIZE) as pilot:
        await laid(pilot)
        desk = app.desk
        assert desk is not None
        transcript = app.query_one(ChatPane).transcript
        display = app._display  # pyright: ignore[reportPrivateUsage]
        shown = asyncio.Event()

        def displayed(*given: Any) -> None:
            display(*given)
            entries = transcript.entries
            if entries and entries[-1].message.id.startswith("long"):
                shown.set()

        app._display = displayed  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        gc.collect()
        before = memory()
        firsts: list[tuple[float, float]] = []
        for _ in range(5):
            await desk.open("short")
            await quiet(pilot)
            shown.clear()
            clock = Clock()
            opening = asyncio.create_task(desk.open("long"))
            await shown.wait()
            firsts.append(clock.read())
            await opening
            await until(lambda: len(transcript.entries) == MESSAGES)
            await quiet(pilot)
        size = sum(len(entry.message.content) for entry in transcript.entries) / 1e6
        print(f"{MESSAGES:,} messages, {size:.1f} MB, out of SQLite, the whole app")
        report("opened, first picture", firsts, 150)
        pages: list[tuple[float, float]] = []
        for action in ("page(-1)",) * 100 + ("begin",) + ("page(1)",) * 100 + ("end",):
            await pilot.pause()
            clock = Clock()
            await transcript.run_action(action)
            paint(app)
            pages.append(clock.read())
        report("a page", pages, 16)
        for where, action in (("at the end", "end"), ("in the middle", "middle")):
            if action == "middle":
                transcript.scroll_to(y=transcript.max_scroll_y // 2)
            else:
                await transcript.run_action(action)
            await quiet(pilot)
            widths: list[tuple[float, float]] = []
            for width in (156, 140, 120, 100, 80, 120, 160):
                size_now = transcript.size
                clock = Clock()
                app._driver.process_message(_resized(width))  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
                await until(lambda was=size_now: transcript.size != was)
                paint(app)
                widths.append(clock.read())
                await quiet(pilot)
            report(f"another width, {where}", widths, 100)
        gc.collect()
        now = memory()
        held = "held" if now - before <= 150 else "MISSED"
        print(
            f"  memory: {before:.0f} MB before it was opened, {now:.0f} after all this; "
            f"{now - before:.0f} more, aim 150: {held}"
        )


def _resized(width: int) -> events.Resize:
    from textual.geometry import Size

    size = Size(width, SIZE[1])
    return events.Resize(size, size)


async def streaming(folder: Path, name: str, tokens: int) -> None:
    """Have a reply stream at full speed while somebody types; print what keys take."""
    lorem.blocks = lambda length: iter(reply_of(name, tokens))
    app = make_app(folder, f"lorem:max:{tokens}")
    async with app.run_test(size=SIZE) as pilot:
        await laid(pilot)
        desk = app.desk
        assert desk is not None
        composer = app.query_one(Composer)
        composer.focus()
        shown = asyncio.Event()
        display = app._display  # pyright: ignore[reportPrivateUsage]

        def displayed(*given: Any) -> None:
            display(*given)
            shown.set()

        app._display = displayed  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        keys: list[tuple[float, float]] = []
        began = perf_counter()
        assert await desk.submit("Go on.")
        while desk.is_streaming:
            clock, length = Clock(), len(composer.text)
            app.post_message(events.Key("a", "a"))
            while len(composer.text) == length:
                shown.clear()
                await shown.wait()
            keys.append(clock.read())
            if len(composer.text) > 40:
                composer.text = ""
            await asyncio.sleep(0.02)
        took = perf_counter() - began
        report(f"{name} ({took:.1f} s)", keys, 50)
        half = len(keys) // 2
        early, late = (
            median(wall for wall, _ in keys[:half]),
            median(wall for wall, _ in keys[half:]),
        )
        print(f"{'':28}its second half costs {late / early:.2f} times what its first did")


async def main() -> None:
    """Print the figures that are asked for; all of them if nothing is said."""
    options = argparse.ArgumentParser()
    options.add_argument("--tokens", type=int, default=TOKENS, help="length of a streamed reply")
    options.add_argument("--shape", action="append", choices=list(REPLIES), help="of these only")
    options.add_argument("--only", choices=("reading", "streaming"))
    asked = options.parse_args()
    tokens: int = asked.tokens
    if asked.only != "streaming":
        with tempfile.TemporaryDirectory() as folder:
            await fill(Path(folder), {"short": 40, "long": MESSAGES})
            await reading(Path(folder))
    if asked.only == "reading":
        return
    print(f"{tokens:,} tokens as fast as they come: a key until it is on the screen, the whole app")
    for name in asked.shape or REPLIES:
        with tempfile.TemporaryDirectory() as folder:
            await fill(Path(folder), {"short": 40})
            await streaming(Path(folder), name, tokens)


if __name__ == "__main__":
    asyncio.run(main())
