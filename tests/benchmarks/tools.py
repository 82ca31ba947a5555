"""A keystroke with 500 tools of 20 servers: `python -m tests.benchmarks.tools`.

Definitions are encoded once, and remembered by identity: without that it took 45 ms.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

from tests.tool_servers import ToolServer
from tests.ui.app_under_test import make_app, opened

DESCRIPTION = "Does one thing that takes many words to describe. " * 5


async def keystrokes(servers: int) -> list[float]:
    """Return the milliseconds that composing takes after each of 50 keys."""
    app = make_app(Path(tempfile.mkdtemp()))
    async with app.run_test(size=(160, 45)) as pilot:
        await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        names = [f"tool{number}" for number in range(25)]
        tools = tuple(
            tool
            for number in range(servers)
            for tool in ToolServer(f"server{number}", *names, description=DESCRIPTION).defined
        )
        workspace.update(known_tools=tools, tools=tools)
        draft, times = "a", list[float]()
        workspace.requests.compose(draft)
        for _ in range(50):
            draft += "b"
            begun = perf_counter()
            workspace.requests.compose(draft)
            times.append((perf_counter() - begun) * 1000)
    return times


if __name__ == "__main__":
    for count in (0, 20):
        times = asyncio.run(keystrokes(count))
        median, slowest = statistics.median(times), max(times)
        print(f"{count * 25:>4} tools: median {median:.2f} ms, slowest {slowest:.2f} ms")
