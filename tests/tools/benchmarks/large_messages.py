"""How long a session takes to open whose only message is up to 70 MB large, in the whole app.

    uv run --no-sync python -m tests.tools.benchmarks.large_messages [SHAPE ...]

The screen is 160 by 45, the sidebar and the inspector are open. The clock runs from the request to
open the session until its message is painted, and the longest step of the event loop is printed
beside it. The aim: under 1 s for any stored message.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.tools.benchmarks.shapes import LARGE
from tests.tools.benchmarks.stage import SIZE, fill, laid, make_app, paint, quiet, until
from tui_chat.cli.interpreter import collect_seldom, share_heap
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.paths import database_file
from tui_chat.store import Store
from tui_chat.ui.areas.chat.chat_pane import ChatPane


def large(shape: str) -> Message:
    """Return an answer of the shape; "reasoning" has its text in a reasoning block."""
    if shape == "reasoning":
        block = ReasoningBlock(Protocol.ANTHROPIC, LARGE["lines"]())
        return Message("assistant", "", "large", semantics=MessageSemantics(reasoning=(block,)))
    return Message("assistant", LARGE[shape](), "large")


async def opened(shape: str, folder: Path) -> tuple[float, float]:
    """Return the seconds until the message is painted, and the longest step of the event loop."""
    await fill(folder, {"short": 4})
    numbers = iter(range(1 << 30))
    async with await Store.open(
        database_file(folder), now=time.time, new_id=lambda: f"m{next(numbers)}"
    ) as store:
        session = Session(
            "large", "The large one", endpoint="loopback", created=1.7e9, updated=1.6e9
        )
        await store.transcripts.add_many([SessionTranscript(session, [Entry(large(shape))])])
    app = make_app(folder, "mirror")
    async with app.run_test(size=SIZE) as pilot:
        await laid(pilot)
        collect_seldom()  # as the command does
        workspace = app.workspace
        assert workspace is not None
        transcript = app.query_one(ChatPane).transcript
        longest = 0.0

        async def watch() -> None:
            nonlocal longest
            last = time.perf_counter()
            while True:
                await asyncio.sleep(0.001)
                now = time.perf_counter()
                longest, last = max(longest, now - last), now

        watching = asyncio.create_task(watch())
        began = time.perf_counter()
        await workspace.sessions.open("large")
        await until(lambda: [entry.message.id for entry in transcript.entries] == ["large"])
        paint(app)
        took = time.perf_counter() - began
        await quiet(pilot)
        watching.cancel()
        return took, longest


def main() -> None:
    """Open one session of each shape, each in a folder of its own."""
    share_heap()
    for shape in sys.argv[1:] or [*LARGE, "reasoning"]:
        with tempfile.TemporaryDirectory() as folder:
            took, longest = asyncio.run(opened(shape, Path(folder)))
            print(
                f"{shape:<20}{took * 1e3:6.0f} ms, longest step {longest * 1e3:5.0f} ms", flush=True
            )


if __name__ == "__main__":
    main()
