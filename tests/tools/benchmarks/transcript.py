"""What the transcript costs, in one run, on a screen of 160 by 45.

Milliseconds are of work on the app's thread, so that a busy machine does not count; what keys
take to the screen is by the clock on the wall.

    uv run --no-sync python -m tests.tools.benchmarks.transcript

The aims: a session of 10,000 messages (5 MB of mixed Markdown) is on the screen within 150 ms;
95 of 100 frames of paging through it within 16 ms; another width within 100 ms; all of it in
150 MB. A reply of 50,000 tokens that comes as fast as it can: 95 of 100 keys are on the screen
within 50 ms, and a late token costs what an early one did. Beside it, what one Markdown widget
a message costs: measured at a few hundred messages and multiplied.
"""

from __future__ import annotations

import asyncio
import gc
import resource
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, thread_time

from textual import events
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from tests.tools.benchmarks.shapes import REPLIES, conversation, reply_of
from tui_chat.cli.app import collect_seldom
from tui_chat.models.message import Message
from tui_chat.models.reply import Reply, TextDelta, advance
from tui_chat.models.session import Entry
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.themes import color_defaults

SIZE = (160, 45)
MESSAGES = 10_000
TOKENS = 50_000
WIDGETS = 300
"""Messages that are shown as widgets; more would take minutes."""


class Bench(App[None]):
    """A transcript and a composer, and nothing else."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return color_defaults(dark=True)

    def compose(self) -> ComposeResult:
        yield Transcript()
        yield Composer()


class Widgets(App[None]):
    """One Markdown widget a message."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        super().__init__()
        self._entries = entries

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            for entry in self._entries:
                yield Markdown(entry.message.content)


def paint(app: App[None]) -> None:
    """Have the screen lay out and paint what it would with its next frame, now."""
    app.screen._on_timer_update()  # pyright: ignore[reportPrivateUsage]


def spent(began: float) -> float:
    """Return the milliseconds of work since `thread_time` said so; others' work is not counted."""
    return (thread_time() - began) * 1e3


def p95(values: list[float]) -> float:
    """Return what 95 of 100 values are below."""
    return quantiles(values, n=20)[-1]


def memory() -> float:
    """Return the megabytes the process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


async def reading(count: int, tell: Callable[[str], None] = print) -> float:
    """Open, page and resize; return the milliseconds to the first picture."""
    app = Bench()
    async with app.run_test(size=SIZE) as pilot:
        chat = app.query_one(Transcript)
        chat.show(conversation(20))
        await pilot.pause()
        entries = conversation(count)
        size = sum(len(entry.message.content) for entry in entries) / 1e6
        gc.collect()
        before = memory()
        began = thread_time()
        chat.show(entries)
        paint(app)
        first = spent(began)
        tell(f"{count:,} messages, {size:.1f} MB")
        tell(f"  first picture  {first:7.1f} ms")
        frames: list[float] = []
        for action in ("page(-1)",) * 200 + ("begin",) + ("page(1)",) * 200 + ("end",):
            await pilot.pause()
            began = thread_time()
            await chat.run_action(action)
            paint(app)
            frames.append(spent(began))
        worst = f"worst {max(frames):.1f}"
        tell(f"  a page         {median(frames):7.1f} ms, p95 {p95(frames):.1f}, {worst}")
        jumps: list[float] = []
        for step in range(50):
            began = thread_time()
            chat.scroll_to(y=chat.max_scroll_y * (step * 37 % 50) / 50)
            paint(app)
            jumps.append(spent(began))
        tell(f"  the scroll bar {median(jumps):7.1f} ms, p95 {p95(jumps):.1f}")
        widths: list[float] = []
        for width in (120, 100, 80, 160):
            began = thread_time()
            await pilot.resize_terminal(width, SIZE[1])
            widths.append(spent(began))
        tell(f"  another width  {median(widths):7.1f} ms, worst {max(widths):.1f}")
        began = thread_time()
        chat.find("writer exclude")
        chat.find("never blocks")
        paint(app)
        tell(f"  finding        {spent(began):7.1f} ms for two searches")
        tell(f"  memory         {memory():7.1f} MB, {memory() - before:.1f} of them for this")
        return first


async def streaming(name: str) -> None:
    """Stream a reply at full speed while somebody types; print what both cost."""
    app = Bench()
    async with app.run_test(size=SIZE) as pilot:
        chat = app.query_one(Transcript)
        composer = app.query_one(Composer)
        composer.focus()
        live = Entry(Message.of("assistant", "", id="live"), status="streaming", model="m")
        entries = conversation(1000)
        chat.show((*entries, live))
        await pilot.pause()
        shown = asyncio.Event()
        display = app._display  # pyright: ignore[reportPrivateUsage]

        def displayed(*given: object) -> None:
            display(*given)  # pyright: ignore[reportArgumentType]
            shown.set()

        app._display = displayed  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        done = False
        delays: list[float] = []
        works: list[float] = []

        async def type_on() -> None:
            while not done:
                began, worked, length = perf_counter(), thread_time(), len(composer.text)
                app.post_message(events.Key("a", "a"))
                while len(composer.text) == length:
                    shown.clear()
                    await shown.wait()
                delays.append((perf_counter() - began) * 1e3)
                works.append(spent(worked))
                if len(composer.text) > 40:
                    composer.text = ""
                await asyncio.sleep(0.005)

        typist = asyncio.create_task(type_on())
        reply = Reply()
        began = perf_counter()
        for index, word in enumerate(reply_of(name, TOKENS)):
            reply = advance(reply, TextDelta(word))
            chat.stream("live", reply)
            if index % 8 == 7:  # a chunk of the network
                await asyncio.sleep(0)
        took = perf_counter() - began
        done = True
        await typist
        finished = thread_time()
        whole = Entry(Message.of("assistant", reply.text, id="live"), model="m")
        chat.show((*entries, whole))
        paint(app)
        print(
            f"{TOKENS:,} tokens of {name}, {len(reply.text):,} characters, in {took:.1f} s: "
            f"key to screen {median(delays):.0f} ms, "
            f"p95 {p95(delays):.0f}, of which work {p95(works):.0f}, of {len(delays)} keys; "
            f"its end {spent(finished):.0f} ms"
        )


async def growing(name: str) -> None:
    """Draw a growing reply every ten tokens; print what that costs early and late."""
    app = Bench()
    async with app.run_test(size=SIZE) as pilot:
        chat = app.query_one(Transcript)
        live = Entry(Message("assistant", id="live"), status="streaming", model="m")
        chat.show((*conversation(1000), live))
        await pilot.pause()
        reply = Reply()
        costs: list[float] = []
        for index, word in enumerate(reply_of(name, TOKENS)):
            reply = advance(reply, TextDelta(word))
            if index % 10 == 0:
                chat.stream("live", reply)
                began = thread_time()
                chat.flush()
                costs.append(spent(began))
            if index % 2000 == 0:
                await pilot.pause()
        tenth = len(costs) // 10
        early, late = median(costs[tenth : 2 * tenth]), median(costs[-tenth:])
        print(
            f"  drawn every 10 tokens of {name}: {early:.2f} ms early, {late:.2f} late, "
            f"ratio {late / early:.2f}, p95 {p95(costs):.2f}"
        )


async def widgets(first: float) -> None:
    """Print what a Markdown widget a message costs, beside what the transcript cost."""
    entries = conversation(WIDGETS)
    before = memory()
    app = Widgets(entries)
    began = thread_time()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        opened = spent(began)
        began = thread_time()
        await pilot.resize_terminal(120, SIZE[1])
        resized = spent(began)
    more = MESSAGES / WIDGETS
    print(
        f"one Markdown widget a message, {WIDGETS} messages measured, {MESSAGES:,} by multiplying"
    )
    print(
        f"  first picture  {opened:7.0f} ms, so {opened * more / 1e3:.0f} s; "
        f"another width {resized:.0f} ms, so {resized * more / 1e3:.0f} s; "
        f"memory {memory() - before:.0f} MB, so {(memory() - before) * more:.0f} MB"
    )
    print(f"  the transcript's first picture comes {opened * more / first:,.0f} times sooner")


async def main() -> None:
    """Print all figures."""
    few = await reading(100)
    many = await reading(MESSAGES)
    print(f"opening {MESSAGES:,} costs {many / few:.1f} times what 100 cost")
    gc.collect()
    collect_seldom()  # as the app does
    for name in REPLIES:
        await streaming(name)
        await growing(name)
    await widgets(many)


if __name__ == "__main__":
    asyncio.run(main())
