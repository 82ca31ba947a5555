"""What a long conversation costs in the whole app, in one run, on a screen of 160 by 45.

    uv run --no-sync python -m tests.tools.benchmarks.whole_app [--tokens N] [--shape NAME]
        [--only PART]

The app is the one that people start: sidebar and inspector are open, conversations are in an
SQLite file, and the reply comes from the offline provider, which works on the same processor.
The aims: a session of 10,000 messages (5 MB of mixed Markdown) is on the screen within 150 ms;
95 of 100 frames of paging through it within 16 ms; another width within 100 ms; all of it takes
less than 150 MB more, since the benchmark itself is in memory as well. While a reply of 50,000
tokens comes as fast as it can, 95 of 100 keys are on the screen within 50 ms, and its last tenth
costs what its first one did.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
from pathlib import Path
from typing import Any

from textual import events
from textual.geometry import Size

from tests.tools.benchmarks.app_streaming import MAIN, streaming
from tests.tools.benchmarks.shapes import REPLIES
from tests.tools.benchmarks.stage import (
    SIZE,
    Clock,
    fill,
    laid,
    make_app,
    memory,
    paint,
    quiet,
    report,
    until,
)
from tui_chat.cli.interpreter import collect_seldom, share_heap
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.chat_pane import ChatPane

MESSAGES = 10_000
TOKENS = 50_000


async def reading(folder: Path) -> None:
    """Open the long session, page through it, and change the screen's width."""
    app = make_app(folder, "mirror")
    async with app.run_test(size=SIZE) as pilot:
        await laid(pilot)
        collect_seldom()  # as the command does
        workspace = app.workspace
        assert workspace is not None
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
            await workspace.sessions.open("short")
            await quiet(pilot)
            shown.clear()
            clock = Clock()
            opening = asyncio.create_task(workspace.sessions.open("long"))
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
                _resize(app, width)
                await until(lambda was=size_now: transcript.size != was)
                paint(app)
                widths.append(clock.read())
                await quiet(pilot)
            report(f"another width, {where}", widths, 100)
        drags: list[tuple[float, float]] = []
        for width in (159, 139) * 2:  # 20 widths in 200 ms, to and fro
            for passed in range(20):
                clock = Clock()
                _resize(app, width - passed if width == 159 else width + 1 + passed)
                await asyncio.sleep(0.01)
            last = app.size.width
            await until(lambda last=last: app.screen.size.width == last)
            paint(app)
            drags.append(clock.read())
            await quiet(pilot)
        report("the last width of a drag", drags, 100)
        gc.collect()
        now = memory()
        held = "held" if now - before <= 150 else "MISSED"
        print(
            f"  memory: {before:.0f} MB before it was opened, {now:.0f} after all this; "
            f"{now - before:.0f} more, aim 150: {held}"
        )


def _resize(app: TuiChat, width: int) -> None:
    size = Size(width, SIZE[1])
    assert app._driver is not None  # pyright: ignore[reportPrivateUsage]
    app._driver.process_message(events.Resize(size, size))  # pyright: ignore[reportPrivateUsage]


async def main() -> None:
    """Print the figures that are asked for; all of them if nothing is said."""
    options = argparse.ArgumentParser()
    options.add_argument("--tokens", type=int, default=TOKENS, help="length of a streamed reply")
    options.add_argument("--shape", action="append", choices=list(REPLIES), help="of these only")
    options.add_argument("--only", choices=("reading", "streaming"))
    asked = options.parse_args()
    tokens: int = asked.tokens
    share_heap()
    if asked.only != "streaming":
        with tempfile.TemporaryDirectory() as folder:
            await fill(Path(folder), {"short": 40, "long": MESSAGES})
            await reading(Path(folder))
    if asked.only == "reading":
        return
    print(f"{tokens:,} tokens as fast as they come: a key until it is on the screen, the whole app")
    for name in asked.shape or MAIN:
        with tempfile.TemporaryDirectory() as folder:
            await fill(Path(folder), {"short": 40})
            await streaming(Path(folder), name, tokens)


if __name__ == "__main__":
    asyncio.run(main())
