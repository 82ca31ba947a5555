"""What a keystroke costs each view of the inspector, in each protocol.

    uv run python tests/benchmarks/inspector_views.py [MESSAGES]

Two hundred characters are typed into a conversation; each gives a request, composed as the app
composes it, and is shown. Prints for each view and protocol the p95 of showing it with the rows
of the screen drawn. The goal: below 16 ms with composing.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.ui.inspector_requests import InspectorApp
from tui_chat.compose import compose, encode
from tui_chat.config import BUILT_IN_ENDPOINTS
from tui_chat.context import Inputs
from tui_chat.model.endpoint import Protocol
from tui_chat.model.message import Message
from tui_chat.model.preset import Preset
from tui_chat.ui.inspector import View

TYPED = 200


async def main(count: int) -> None:
    words = "light falls through the leaves of an old pine and nobody minds " * 3
    history = tuple(
        Message("assistant" if n % 2 else "user", f"{n}: {words}", f"m{n}") for n in range(count)
    )
    endpoints = {one.protocol: one for one in BUILT_IN_ENDPOINTS}
    inputs = Inputs(endpoints[Protocol.OPENAI_CHAT], Preset("plain"), history)
    print(f"{count:,} messages; p95 of {TYPED} keystrokes: composing, then showing, in ms\n")
    for protocol in Protocol:
        for view in View:
            app = InspectorApp(None)
            async with app.run_test(size=(60, 45)) as pilot:
                first = encode(compose(inputs).envelope, endpoints[protocol])
                app.inspector.show(first)
                app.inspector.compare_with("the last request", first.payload)
                app.inspector.view_shown = view
                await pilot.pause()
                composing: list[float] = []
                showing: list[float] = []
                for length in range(1, TYPED + 1):
                    begun = time.perf_counter()
                    made = compose(replace(inputs, draft="x" * length))
                    composed = encode(made.envelope, endpoints[protocol])
                    made_at = time.perf_counter()
                    app.inspector.show(composed)
                    now = app.inspector.view_now
                    for y in range(now.size.height):
                        now.render_line(y)
                    composing.append((made_at - begun) * 1000)
                    showing.append((time.perf_counter() - made_at) * 1000)
            p95 = [statistics.quantiles(times, n=20)[18] for times in (composing, showing)]
            print(f"{protocol.label:18} {view:10} {p95[0]:8.2f} {p95[1]:8.2f}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
