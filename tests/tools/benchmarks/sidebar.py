"""What the list of sessions costs with 5,000 sessions, beside 20, in one run.

    uv run python -m tests.tools.benchmarks.sidebar

Times are of the list's own work, headless at 160x45: showing a list of which something has changed,
drawing every visible line, and a letter in the filter. The processor's time is counted, so that a
busy machine does not matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from statistics import median
from time import thread_time as clock

from textual.app import App, ComposeResult

from tui_chat.models.session import SessionSummary
from tui_chat.ui.sessions.rows import SessionList, matches, session_rows

FEW, MANY = 20, 5_000
ROUNDS = 15
NOW = 1_767_268_800.0


class Stage(App[None]):
    """Nothing but the list."""

    CSS = "SessionList { width: 30; }"

    def compose(self) -> ComposeResult:
        yield SessionList()


def summary(number: int) -> SessionSummary:
    """Return a session; most have the usual role and model."""
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
    times: list[float] = []
    for number in range(ROUNDS):
        before = clock()
        work(number)
        times.append(1000 * (clock() - before))
    return median(times)


async def measured(count: int) -> dict[str, float]:
    """Return what each kind of work takes with so many sessions, in milliseconds."""
    app = Stage()
    async with app.run_test(size=(160, 45)) as pilot:
        rows, summaries = app.query_one(SessionList), [summary(n) for n in range(count)]

        def show(number: int) -> None:
            changed = summaries[number]._replace(updated=NOW + number)
            listed = [changed, *summaries[:number], *summaries[number + 1 :]]
            rows.show(session_rows(listed, "time", NOW), changed.session_id, NOW)

        def draw(_: int) -> None:
            rows.strips.clear()
            for y in range(rows.size.height):
                rows.render_line(y)

        def find(number: int) -> None:
            words = ["subject", str(number)]
            found = [each for each in summaries if matches(each, words)]
            rows.show(session_rows(found, "time", NOW), None, NOW, is_filtered=True)

        results = {"show": milliseconds(show), "draw": milliseconds(draw)}
        await pilot.pause()
        return results | {"filter": milliseconds(find)}


def main() -> None:
    """Print the times."""
    few, many = asyncio.run(measured(FEW)), asyncio.run(measured(MANY))
    for kind, time in few.items():
        print(f"{kind:8} {time:8.2f} ms with {FEW}  {many[kind]:8.2f} ms with {MANY:,}")


if __name__ == "__main__":
    main()
