"""A long reply that comes as fast as it can, in the whole app, and what keys take meanwhile.

The reply comes twice. The first time nobody types: the work for what arrives is counted by the
token, and the work for what is drawn by the frame, for the first tenth of the reply and the last.
The second time a key counts from when it is pressed until the frame is on the screen that shows
it; the next one is pressed a moment later, whatever the reply does.
"""

from __future__ import annotations

import asyncio
from bisect import bisect
from collections.abc import Callable
from itertools import islice
from math import inf
from pathlib import Path
from statistics import quantiles
from time import perf_counter, thread_time
from typing import Any, NamedTuple

from textual import events
from textual.geometry import Region
from textual.strip import Strip

from tests.tools.benchmarks.shapes import reply_of
from tests.tools.benchmarks.stage import SIZE, Clock, laid, make_app, until
from tui_chat.models.reply import Reply
from tui_chat.offline import models as catalog
from tui_chat.offline.reply import split_tokens
from tui_chat.ui.chat.chat_pane import ChatPane
from tui_chat.ui.chat.composer import Composer

MAIN = ("prose", "a block of code", "a list", "a table", "a line")
"""The replies that are sent where none is named: what people ask for, and a paragraph as long as
the whole reply."""
KEYS = 200
"""Keys that are pressed at most while a reply streams."""
AGAIN = 0.02
"""Seconds from a key that is on the screen to the next one."""


class Sample(NamedTuple):
    """How far it had come at some time."""

    arrived: int
    """Times that more of the reply was told of."""
    work: float
    """Seconds of the thread's work."""
    drawing: float
    """Those of them that went into frames."""
    frames: int


class Drawing:
    """The work that goes into frames: laying out what has grown, and painting."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.frames = 0
        self._depth = 0

    def counted(self, call: Callable[..., Any], *, is_frame: bool) -> Callable[..., Any]:
        """Return a function that does the same and is counted."""

        def counting(*given: Any, **named: Any) -> Any:
            began = thread_time()
            self._depth += 1
            try:
                return call(*given, **named)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += thread_time() - began
                self.frames += is_frame

        return counting


async def streaming(folder: Path, name: str, tokens: int) -> None:
    """Have a reply stream at full speed, and again while somebody types; print what keys and
    tokens take.
    """
    words = "".join(reply_of(name, tokens))
    length = len("".join(islice(split_tokens(words), tokens)))
    catalog.blocks = lambda length: islice(split_tokens(words), length)
    app = make_app(folder, "mirror")
    async with app.run_test(size=SIZE) as pilot:
        await laid(pilot)
        workspace = app.workspace
        assert workspace is not None
        await workspace.settings.set_model("loopback", f"lorem:max:{tokens}")
        composer, pane = app.query_one(Composer), app.query_one(ChatPane)
        composer.focus()
        drawing, drawn, arrived, typed, came = Drawing(), 0, 0, 0, Reply()
        shown: asyncio.Future[tuple[float, float]] | None = None
        clock = Clock()
        display, draw, stream = app._display, composer.render_lines, pane.stream  # pyright: ignore[reportPrivateUsage]

        def displayed(*given: Any) -> None:
            display(*given)
            if shown is not None and not shown.done() and drawn == typed:
                shown.set_result(clock.read())

        def drew(crop: Region) -> list[Strip]:
            nonlocal drawn
            drawn = len(composer.text)
            return draw(crop)

        def streamed(*given: Any) -> None:
            nonlocal arrived, came
            came = given[1]
            arrived = len(came.content) * tokens // length
            stream(*given)

        screen: Any = app.screen
        app._display = displayed  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        composer.render_lines = drew
        pane.stream = streamed  # pyright: ignore[reportAttributeAccessIssue]
        pane.transcript.flush = drawing.counted(pane.transcript.flush, is_frame=False)
        screen._update_timer._callback = drawing.counted(screen._on_timer_update, is_frame=True)

        def go_on() -> asyncio.Task[bool]:
            """Send, beside what is measured: the reply begins before all of that is done."""
            nonlocal arrived
            arrived = 0
            return asyncio.create_task(workspace.replies.submit("Go on."))

        began = perf_counter()
        samples: list[Sample] = []
        sending = go_on()
        while not sending.done() or workspace.state.is_streaming:
            samples.append(Sample(arrived, thread_time(), drawing.seconds, drawing.frames))
            await asyncio.sleep(0.02)
        size, took = len(came.text) / 1e3, perf_counter() - began
        print(f"  {name}: {arrived:,} tokens, {size:.0f} KB in {took:.1f} s")
        tell_tokens(samples)
        keys: list[tuple[float, float]] = []
        sending = go_on()
        await until(lambda: workspace.state.is_streaming)
        while workspace.state.is_streaming and len(keys) < KEYS:
            clock, typed = Clock(), len(composer.text) + 1
            shown = asyncio.get_running_loop().create_future()
            app.post_message(events.Key("a", "a"))
            keys.append(await shown)
            await asyncio.sleep(AGAIN)
            if typed > 40:
                composer.text = ""
        tell_keys(keys)
        assert await sending
        await workspace.replies.stop()


def tell_tokens(samples: list[Sample]) -> None:
    """Print what the reply cost when it began and when it ended."""
    if len(samples) < 30:
        print("    too short a reply to tell what it costs")
        return
    first, last = tenth(samples, 0), tenth(samples, 9)
    print(
        f"    first tenth : last tenth: a token {first[0]:.0f} : {last[0]:.0f} µs "
        f"({last[0] / max(first[0], 1e-9):.2f} times), a frame {first[1]:.1f} : {last[1]:.1f} ms "
        f"({last[1] / max(first[1], 1e-9):.2f} times)"
    )


def tell_keys(keys: list[tuple[float, float]]) -> None:
    """Print how long keys took until they were on the screen."""
    if len(keys) < 20:
        print(f"    only {len(keys)} keys: too short a reply to tell anything")
        return
    by_wall, by_work = (quantiles([key[at] for key in keys], n=100) for at in (0, 1))
    p50, p95, p99 = (
        f"p{at} {by_wall[at - 1]:.0f} ms ({by_work[at - 1]:.0f} of work)" for at in (50, 95, 99)
    )
    verdict = "held" if by_wall[94] <= 50 else "held by the work" if by_work[94] <= 50 else "MISSED"
    print(f"    {len(keys)} keys: {p50}, {p95}, {p99}; aim for p95 50: {verdict}")


def tenth(samples: list[Sample], number: int) -> tuple[float, float]:
    """Return what a token took in a tenth of the reply, in µs, and what a frame took, in ms."""
    total = samples[-1].arrived
    at = [
        min(bisect(samples, (total * share // 10, inf)), len(samples) - 1)
        for share in (number, number + 1)
    ]
    start, end = samples[at[0]], samples[at[1]]
    drawing = end.drawing - start.drawing
    tokens, frames = max(end.arrived - start.arrived, 1), max(end.frames - start.frames, 1)
    return (end.work - start.work - drawing) / tokens * 1e6, drawing / frames * 1e3
