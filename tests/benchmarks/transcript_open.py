"""What opening and streaming cost in the transcript, as ratios within one run.

    uv run --no-sync python tests/benchmarks/transcript_open.py

Opening 10,000 messages should cost little more than opening 100, and a token late in a reply
of 50,000 as much as an early one.
"""

from __future__ import annotations

import asyncio
import gc
from statistics import median
from time import perf_counter

from textual.app import App, ComposeResult

from tui_chat.model.message import Message
from tui_chat.model.reply import Reply, TextDelta, advance
from tui_chat.model.session import Entry
from tui_chat.ui.chat import ChatPane

PROSE = (
    "Readers never block the writer, and the writer never blocks **readers**; see `wal`. "
    "Only two *writers* exclude each other, and then only for a moment.\n\n"
)
CODE = "```python\ndef settle(self) -> None:\n    self.rows = [1, 2, 3]  # what is seen\n```\n\n"
LIST = "- one thing\n- another thing, with [a link](https://example.org)\n\n"


def conversation(count: int) -> tuple[Entry, ...]:
    """Make a branch of `count` messages of some hundred characters."""
    return tuple(
        Entry(
            Message(
                "assistant" if index % 2 else "user",
                (PROSE * (1 + index % 3) + CODE + LIST) if index % 2 else f"Question {index}?",
                id=f"m{index}",
                timestamp=1.7e9 + index * 60,
            ),
            model="some-model",
        )
        for index in range(count)
    )


class Bench(App[None]):
    """A chat pane and nothing else."""

    def compose(self) -> ComposeResult:
        yield ChatPane()


async def opening(count: int) -> float:
    """Return the seconds from `show` to the picture."""
    app = Bench()
    async with app.run_test(size=(120, 45)) as pilot:
        chat = app.query_one(ChatPane)
        entries = conversation(count)
        chat.show("warm", "", conversation(20))
        await pilot.pause()
        gc.collect()
        began = perf_counter()
        chat.show("Benchmark", "", entries)
        shown = perf_counter() - began
        await pilot.pause()
        print(f"{count:>7} messages: show {shown * 1e3:6.1f} ms, ", end="")
        times: list[float] = []
        for _ in range(40):
            began = perf_counter()
            chat.transcript.action_page(-1)
            times.append(perf_counter() - began)
        began = perf_counter()
        chat.transcript.action_begin()
        begin = perf_counter() - began
        print(f"page up {median(times) * 1e3:5.2f} ms, home {begin * 1e3:5.2f} ms")
        return shown


async def streaming(tokens: int, label: str, piece: str) -> None:
    """Print the cost of a redraw early and late in a reply of `tokens` pieces."""
    app = Bench()
    async with app.run_test(size=(120, 45)) as pilot:
        chat = app.query_one(ChatPane)
        entries = conversation(1000)
        entry = Entry(Message("assistant", "", id="live"), status="streaming", model="m")
        chat.show("Benchmark", "", (*entries, entry))
        await pilot.pause()
        words = [f"{word} " if word else "\n" for word in piece.split(" ")]
        reply = Reply()
        costs: list[float] = []
        for index in range(tokens):
            reply = advance(reply, TextDelta(words[index % len(words)]))
            if index % 10 == 0:
                chat.stream("live", reply)
                began = perf_counter()
                chat.transcript.flush()
                costs.append(perf_counter() - began)
            if index % 2000 == 0:
                await pilot.pause()
        tenth = len(costs) // 10
        early, late = median(costs[tenth : 2 * tenth]), median(costs[-tenth:])
        done = Entry(Message("assistant", reply.text, id="live"), model="m")
        began = perf_counter()
        chat.show("Benchmark", "", (*entries, done))
        finish = perf_counter() - began
        print(
            f"{label:>7}, {len(reply.text):,} characters: redraw early {early * 1e3:.2f} ms, "
            f"late {late * 1e3:.2f} ms, ratio {late / early:.2f}; "
            f"worst {max(costs) * 1e3:.1f} ms; finish {finish * 1e3:.1f} ms"
        )


async def main() -> None:
    """Print all figures."""
    few = await opening(100)
    many = await opening(10_000)
    print(f"opening 10,000 costs {many / few:.1f} times what 100 cost")
    await streaming(50_000, "mixed", PROSE * 4 + CODE + LIST)
    await streaming(50_000, "list", "- item of a very long list \n")
    await streaming(50_000, "line", "word " * 40)


if __name__ == "__main__":
    asyncio.run(main())
