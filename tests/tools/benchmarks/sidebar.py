"""What the sidebar costs with 20,000 sessions, beside 20, in one run.

    uv run python -m tests.tools.benchmarks.sidebar

Times are of the sidebar's own work, headless at 160x45: showing a list of which something has
changed, showing the same list again, drawing every visible line, and a letter in the filter.
The processor's time is counted,
so that a busy machine does not matter. The goal is less than a frame, 16 ms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from statistics import median
from time import thread_time as clock

from textual.app import App, ComposeResult

from tui_chat.models.session import SessionSummary
from tui_chat.ui.areas.sessions import SessionList
from tui_chat.ui.areas.sessions.session_rows import SessionRows

FEW, MANY = 20, 20_000
FRAME = 16.0
ROUNDS = 15
NOW = 1_767_268_800.0


class Stage(App[None]):
    """Nothing but the sidebar."""

    CSS = "SessionList { width: 30; }"

    def compose(self) -> ComposeResult:
        yield SessionList()


def summary(number: int) -> SessionSummary:
    """Return a session; most have the usual role and model, so that rows differ in height."""
    is_other = number % 4 == 0
    return SessionSummary(
        session_id=f"session-{number}",
        title=f"A conversation about subject {number}",
        role_name=f"Role {number % 7}" if is_other else "Assistant",
        model=f"model-{number % 5}" if is_other else "usual",
        endpoint="openai",
        message_count=12,
        total_tokens=3000,
        status="complete",
        updated=NOW - number * 3600,
        pinned=number % 1000 == 3,
        archived=number % 50 == 7,
        folder=f"Folder {number % 20}" if number % 3 else "",
        tags=(f"tag{number % 30}", f"tag{number % 11}") if number % 2 else (),
    )


def milliseconds(work: Callable[[int], object]) -> float:
    """Return the median of some rounds."""
    taken: list[float] = []
    for number in range(ROUNDS):
        began = clock()
        work(number)
        taken.append((clock() - began) * 1e3)
    return median(taken)


async def measured(count: int) -> dict[str, float]:
    app = Stage()
    async with app.run_test(size=(160, 45)) as pilot:
        sessions, rows = app.query_one(SessionList), app.query_one(SessionRows)
        summaries = [summary(number) for number in range(count)]
        open_id = summaries[count // 3].session_id
        turned = [(*summaries[n:], *summaries[:n]) for n in range(ROUNDS)]
        found = {
            "show another list": milliseconds(lambda n: sessions.show(turned[n], open_id, NOW)),
            "show the same list": milliseconds(lambda _: sessions.show(turned[-1], open_id, NOW)),
            "draw what is visible": milliseconds(
                lambda _: [rows.render_line(y) for y in range(rows.size.height)]
            ),
            "move the cursor": milliseconds(lambda _: rows.action_move(1)),
            "group by something else": milliseconds(lambda _: sessions.action_group()),
        }
        began = clock()
        sessions._find.prepare()
        found["go to the filter"] = (clock() - began) * 1e3
        typed: list[float] = []
        for letter in "subject 19":
            began = clock()
            sessions.filter.value += letter
            sessions.show(turned[-1], open_id, NOW)
            typed.append((clock() - began) * 1e3)
        found["a letter in the filter"] = max(typed)
        await pilot.pause()
    return found


async def main() -> None:
    few, many = await measured(FEW), await measured(MANY)
    print(f"{'':<28}{FEW:>10,}{MANY:>12,} sessions; goal < {FRAME:g} ms")
    for name, taken in many.items():
        sign = "ok" if taken < FRAME else "MISSED"
        print(f"{name:<28}{few[name]:>7.2f} ms{taken:>9.2f} ms  {sign}")


if __name__ == "__main__":
    asyncio.run(main())
