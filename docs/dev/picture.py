"""Draws the README's animated picture, docs/screen.svg, from the real app, offline.

    uv run python docs/dev/picture.py

It shows what the README claims: the origin of each part, a macro that breaks the prompt cache, and
what another protocol merges. A row of the screen that stays the same over several frames is in the
file once, with the times at which it is visible. Without animation the last frame is shown.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from datetime import timedelta
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from rich.segment import Segment
from rich.style import Style
from textual.pilot import Pilot

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))


from tests.support.app import make_app, opened, replied  # noqa: E402
from tui_chat.models.prices import Prices  # noqa: E402
from tui_chat.plugins.practice.provider import PracticeTransport  # noqa: E402
from tui_chat.plugins.practice.script import read_script  # noqa: E402

COLUMNS, ROWS = 150, 40
WIDTH, HEIGHT = 8.4, 18
"""Pixels of a cell."""
NO_BREAK = "\N{NO-BREAK SPACE}"
"""Browsers draw several spaces as one."""
MODEL = "claude-opus-5-5"
PRESET = {
    "name": "code-review",
    "systemPlacement": "in_place",
    "presetMessages": [
        {
            "id": "reviewer",
            "name": "Reviewer",
            "role": "system",
            "content": "You review code for {{user}}. It is {{time}}. Name the worst fault first, "
            "then show the smallest fix.",
        },
        {"id": "history", "type": "chat_history"},
        {
            "id": "reminder",
            "name": "Reminder",
            "role": "system",
            "content": "At most three sentences.",
            "anchorPoint": "after",
        },
    ],
}
QUESTIONS = (
    "for row in rows: db.execute(f'... {row}') - is this safe?",
    "And how do I make it faster?",
)
REPLIES = (
    "No. `row` becomes part of the SQL text, so a quote in it changes the statement: that is an "
    "**SQL injection**. Pass it as a parameter:\n\n"
    '```python\nfor row in rows:\n    db.execute("insert into log values (?)", (row,))\n```',
    "Use `executemany` within one transaction.",
)

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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "presets").mkdir()
        (folder / "presets" / "code-review.json").write_text(json.dumps(PRESET))
        app = make_app(
            folder,
            model=MODEL,
            prices=Prices(input=Decimal(5), output=Decimal(25), cached=Decimal("0.5")),
            transport=lambda: PracticeTransport(
                alias="script", script=read_script(json.dumps(REPLIES).encode())
            ),
        )
        async with app.run_test(size=(COLUMNS, ROWS)) as pilot:

            async def show(seconds: float, *keys: str) -> None:
                await pilot.press(*keys)
                await pilot.pause()
                found.append((seconds, rows(pilot)))

            async def write(text: str, seconds: float) -> None:
                for piece in re.findall(r"\s?\S+", text):
                    await show(seconds, *("space" if key == " " else key for key in piece))

            await opened(pilot)
            await app.workspace.presets.choose("code-review")
            await pilot.press("f4", *["alt+left"] * 4, "escape")  # a wider inspector
            await pilot.pause()
            await show(1.2)
            await write(QUESTIONS[0], 0.12)
            await show(0.6)
            await pilot.press("enter")
            await replied(pilot)
            await show(1.8)
            start = app.workspace.now()
            app.workspace.now = lambda: start + timedelta(minutes=7)
            await write(QUESTIONS[1], 0.2)
            await show(2.6)
            await show(1.2, "f4")
            await show(2.2, "g")
            await show(1.6, "4")
            await show(3.2, "o")
            await show(2.4, "right", "right")
            await show(0.2, "1")
            await show(3.0, "left")
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
