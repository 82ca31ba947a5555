"""Draws the README's animated picture, docs/screen.svg, from the real app, offline.

    uv run python docs/dev/picture.py

A row of the screen that stays the same over several frames is in the file once, with the times at
which it is visible. Without animation the last frame is shown.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from rich.segment import Segment
from rich.style import Style
from textual.pilot import Pilot

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.ui.app_under_test import make_app, opened, replied  # noqa: E402

COLUMNS, ROWS = 150, 40
WIDTH, HEIGHT = 8.4, 18
"""Pixels of a cell."""
NO_BREAK = "\N{NO-BREAK SPACE}"
"""Browsers draw several spaces as one."""
DRAFT = "Tell me about the river, and what to pack."

Row = tuple[tuple[str, Style], ...]
Frame = tuple[float, list[Row]]
"""How many seconds it is shown, and its rows."""


def rows(pilot: Pilot[None]) -> list[Row]:
    """Return what is on the screen."""
    update = pilot.app.screen._compositor.render_update(full=True)
    found: list[Row] = []
    for strips in getattr(update, "strips", ()):
        segments = [part for strip in strips for part in strip]
        found.append(
            tuple((text, style or Style()) for text, style, _ in Segment.simplify(segments))
        )
    return found


async def frames() -> list[Frame]:
    """Hold a short conversation and look at its request."""
    found: list[Frame] = []
    with tempfile.TemporaryDirectory() as folder:
        app = make_app(Path(folder), model="lorem:max:160")
        async with app.run_test(size=(COLUMNS, ROWS)) as pilot:

            async def show(seconds: float, *keys: str) -> None:
                await pilot.press(*keys)
                await pilot.pause()
                found.append((seconds, rows(pilot)))

            await opened(pilot)
            await show(1.2)
            for word in DRAFT.split():
                await show(0.25, *word, *([] if word.endswith("pack.") else ["space"]))
            await show(1.2)
            await show(0.3, "enter")
            await replied(pilot)
            await show(1.5)
            await show(0.8, "f4")
            for protocol in "345":
                await show(1.3, protocol)
            await show(1.2, "1")
            for view in "cb":
                await show(1.6, view)
            await show(2.5, "p")
            await app.action_quit()
    return found


def draw(row: Row) -> str:
    """Return the runs of a row: their backgrounds, then their texts."""
    below: list[str] = []
    above: list[str] = []
    column = 0
    for text, style in row:
        width = Segment(text).cell_length
        left, size = column * WIDTH, width * WIDTH
        column += width
        color = style.color.get_truecolor().hex if style.color else "#c9d1d9"
        back = style.bgcolor.get_truecolor().hex if style.bgcolor else ""
        if style.reverse:
            color, back = back or "#0d1117", color
        if back:
            below.append(f'<rect x="{left:g}" width="{size:.4g}" height="{HEIGHT}" fill="{back}"/>')
        if text.strip():
            marks = "".join(
                f' {name}="{value}"'
                for name, value, is_on in (
                    ("font-weight", "bold", style.bold),
                    ("font-style", "italic", style.italic),
                    ("text-decoration", "underline", style.underline),
                    ("opacity", "0.7", style.dim),
                )
                if is_on
            )
            left += (len(text) - len(text.lstrip())) * WIDTH
            size = Segment(text.strip()).cell_length * WIDTH
            above.append(
                f'<text x="{left:.4g}" y="13.5" textLength="{size:.4g}" fill="{color}"{marks}>'
                f"{escape(text.strip()).replace('  ', NO_BREAK * 2)}</text>"
            )
    return "".join(below + above)


def svg(shown: list[Frame]) -> str:
    """Return the animated picture."""
    total = sum(seconds for seconds, _ in shown)
    begins = [sum(seconds for seconds, _ in shown[:number]) for number in range(len(shown))]
    parts: list[str] = []
    for number in range(ROWS):
        drawn = [draw(screen[number]) for _, screen in shown]
        for picture in dict.fromkeys(drawn):
            on = [each == picture for each in drawn]
            changes = [(first, next(iter(times))[0]) for first, times in
                       groupby(zip(begins, on, strict=True), key=lambda each: each[1])]  # fmt: skip
            animation = ""
            if not all(on):
                values = ";".join("visible" if first else "hidden" for first, _ in changes)
                times = ";".join(f"{begin / total:.4g}" for _, begin in changes)
                animation = (
                    f'<animate attributeName="visibility" calcMode="discrete" dur="{total:g}s" '
                    f'repeatCount="indefinite" values="{values}" keyTimes="{times}"/>'
                )
            hidden = "" if on[-1] else ' visibility="hidden"'
            parts.append(
                f'<g transform="translate(0 {number * HEIGHT})"{hidden}>{animation}{picture}</g>'
            )
    width, height = COLUMNS * WIDTH, ROWS * HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13.5" '
        f'xml:space="preserve"><style>rect {{ shape-rendering: crispEdges }}</style>'
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#0b0e14"/>'
        f"{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    (ROOT / "docs" / "screen.svg").write_text(svg(asyncio.run(frames())), encoding="utf-8")
