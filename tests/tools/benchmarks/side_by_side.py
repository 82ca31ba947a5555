"""Four replies that stream side by side as fast as they can, and what a key takes meanwhile.

    python -m tests.tools.benchmarks.side_by_side

A key counts from when it is pressed until the frame is on the screen that shows it; the aim is
95 of 100 under 50 ms. `--speed 60` streams at the pace of a fast provider instead.
"""

from __future__ import annotations

import argparse
import asyncio
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from textual import events
from textual.geometry import Region
from textual.strip import Strip

from tests.tools.benchmarks.app_streaming import AGAIN, KEYS, tell_keys
from tests.tools.benchmarks.shapes import reply_of
from tests.tools.benchmarks.stage import SIZE, Clock, laid, make_app, until
from tui_chat.offline import models as catalog
from tui_chat.offline.reply import split_tokens
from tui_chat.plugins.side_by_side.screen import ComparisonScreen, PanelComposer
from tui_chat.ui.areas.chat.transcript import Transcript
from tui_chat.workspace.target import Target


async def keys_while_streaming(folder: Path, speed: str, slots: int, tokens: int) -> None:
    """Have replies stream in some slots while somebody types; print what keys take."""
    words = "".join(reply_of("prose", tokens))
    catalog.blocks = lambda count: islice(split_tokens(words), count)
    app = make_app(folder, "mirror")
    async with app.run_test(size=SIZE) as pilot:
        await laid(pilot)
        workspace = app.workspace
        assert workspace is not None
        targets = [Target("loopback", f"lorem:{speed}:{tokens}")] * slots
        screen = ComparisonScreen(workspace, targets, app.chat.context, "", (), lambda: None)
        await app.push_screen(screen)
        composer = screen.query_one(PanelComposer)
        await until(lambda: composer.has_focus)
        drawn = typed = frames = 0
        shown: asyncio.Future[tuple[float, float]] | None = None
        clock = Clock()
        display, draw = app._display, composer.render_lines  # pyright: ignore[reportPrivateUsage]

        def displayed(*given: Any) -> None:
            nonlocal frames
            frames += 1
            display(*given)
            if shown is not None and not shown.done() and drawn == typed:
                shown.set_result(clock.read())

        def drew(crop: Region) -> list[Strip]:
            nonlocal drawn
            drawn = len(composer.text)
            return draw(crop)

        app._display = displayed  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        composer.render_lines = drew
        sending = asyncio.create_task(screen.panel.send("Go on.", (), lambda: None))
        await until(lambda: workspace.state.is_streaming)
        keys: list[tuple[float, float]] = []
        frames = 0
        whole = Clock()
        while workspace.state.is_streaming and len(keys) < KEYS:
            clock, typed = Clock(), len(composer.text) + 1
            shown = asyncio.get_running_loop().create_future()
            app.post_message(events.Key("a", "a"))
            keys.append(await shown)
            await asyncio.sleep(AGAIN)
            if typed > 40:
                composer.text = ""
        seconds = whole.read()[0] / 1000
        arrived = sum(len(each.reply.text) for each in workspace.state.partials.values())
        print(
            f"  {slots} at {speed}: {arrived / 1e3:,.0f} KB and {frames} frames in {seconds:.1f} s"
        )
        tell_keys(keys)
        assert screen.query(Transcript)
        await workspace.exchanges.stop()
        await sending


def main() -> None:
    """Print what keys take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", default="max", help="tokens per second of each model")
    parser.add_argument("--tokens", type=int, default=20_000)
    options = parser.parse_args()
    for slots in (1, 2, 4):
        with TemporaryDirectory() as folder:
            asyncio.run(keys_while_streaming(Path(folder), options.speed, slots, options.tokens))


if __name__ == "__main__":
    main()
