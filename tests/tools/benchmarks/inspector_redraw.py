"""What a keystroke costs the inspector, beside what the same work costs from nothing.

    uv run python tests/tools/benchmarks/inspector_redraw.py [MESSAGES]

A keystroke makes a payload that shares every node with the one before but the draft's. Measured
in one run: laying out anew and by taking over, drawing one screen, the whole `show`, and the
first sight of a five-megabyte payload and of a string of one megabyte on one line. Prints
medians and ratios; goals: `show` after a keystroke below 5 ms, one screen below 5 ms.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.support.inspector_app import (
    DRAFT,
    InspectorApp,
    chat_tree,
    composed,
    history,
    long_chat,
    said,
)
from tui_chat.compose import Composed
from tui_chat.models.payload import Payload, Tree, render
from tui_chat.models.text import Text
from tui_chat.ui.inspector.payload_layout import PayloadLayout

ROUNDS = 40
WIDTH = 58


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def tell(what: str, times: list[float]) -> float:
    median = statistics.median(times)
    print(f"{what:52} {median:9.2f} ms   (worst {max(times):.2f})")
    return median


def typed(stored: tuple[Tree, ...], length: int) -> Payload:
    """The payload after a keystroke, with what rendering remembers of it already there."""
    payload = render(chat_tree((*stored, said("user", Text.of("x" * length, DRAFT), DRAFT))))
    len(payload.lines)
    return payload


async def main(count: int) -> None:
    stored = long_chat(count)
    first = typed(stored, 1)
    print(f"{count:,} messages, {len(first.body):,} bytes, {len(first.lines):,} lines\n")

    fresh = tell(
        "layout from nothing", [timed(lambda: PayloadLayout(first, WIDTH)) for _ in range(3)]
    )
    layouts = [PayloadLayout(first, WIDTH)]
    payloads = [typed(stored, length) for length in range(2, ROUNDS)]
    taken = tell(
        "layout after a keystroke",
        [timed(lambda p=p: layouts.append(PayloadLayout(p, WIDTH, layouts[-1]))) for p in payloads],
    )
    print(f"{'':52} {fresh / taken:9.0f} times less\n")

    app = InspectorApp(composed())
    async with app.run_test(size=(60, 45)) as pilot:
        await pilot.pause()
        view = app.view
        view.show(first)
        tell(
            "view.show after a keystroke, following",
            [timed(lambda p=p: view.show(p)) for p in payloads],
        )
        view.go_to(f"/messages/{count // 2}")
        tell(
            "view.show after a keystroke, in the middle",
            [timed(lambda p=p: view.show(p)) for p in payloads],
        )

        requests = [
            composed(tree=chat_tree((*stored, said("user", Text.of("y" * n, DRAFT), DRAFT))))
            for n in range(2, ROUNDS)
        ]
        for request in requests:
            len(request.payload.lines)
        tell(
            "Inspector.show after a keystroke",
            [timed(lambda r=r: app.pane.show(r)) for r in requests],
        )

        def screen() -> None:
            for y in range(view.size.height):
                view.render_line(y)

        tell(
            f"one screen of {view.size.height} rows, drawn before",
            [timed(screen) for _ in range(ROUNDS)],
        )
        times: list[float] = []
        for top in range(0, 20_000, 700):
            view.scroll_to(y=top, animate=False)
            times.append(timed(screen))
        tell("one screen never seen before", times)
        await pilot.pause()

        print()
        words = "light falls through the leaves of an old pine\\n"
        for what, text in (
            ("prose", words * 22_000),
            ("base64", "QUJD" * 250_000),
            ("漢字", "漢字かな交じり文" * 40_000),
            ("hostile", "\u202e\u200b" * 50_000),
        ):
            big = chat_tree((said("user", history(1, text), DRAFT),))
            payload = render(big)
            size = len(payload.body)
            view.show(render(chat_tree(())))
            tell(
                f"first sight of one {what} line of {size:,} bytes",
                [timed(lambda p=payload: view.show(p))],
            )
            tell("   its screen", [timed(screen)])
            again: list[Composed] = [
                composed(
                    tree=chat_tree(
                        (*big.get("messages").items, said("user", Text.of("z" * n, DRAFT), DRAFT))
                    )
                )  # type: ignore[union-attr]  # it is an array
                for n in range(2, 8)
            ]
            tell(
                "   show after a keystroke beside it",
                [timed(lambda r=r: view.show(r.payload)) for r in again],
            )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
