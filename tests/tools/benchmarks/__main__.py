"""The main figures in one table, compared with a saved run: ratios, so that any machine will do.

    uv run python -m tests.tools.benchmarks [--save] [--limit 1.5]

Each figure is processor time divided by that of a fixed piece of work in the same run: reading and
writing 1,000 messages as JSON with Python's `json`. `--save` writes the ratios to `baseline.json`
beside this file; without it they are compared, and the exit code is 1 if one is more than `--limit`
times as high. Takes about a minute. Details are in the modules of this package; each is a program.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import process_time

from tests.support.inspector_app import long_chat
from tests.tools.benchmarks import compose as composing
from tests.tools.benchmarks import sidebar, transcript
from tests.tools.benchmarks.inspector_redraw import WIDTH, typed
from tests.tools.benchmarks.inspector_views import look, settle, with_long_session
from tests.tools.benchmarks.inspector_views import typed as keystrokes
from tests.tools.benchmarks.protocols.ours import streams
from tests.tools.benchmarks.store_data import fill
from tests.tools.benchmarks.transcript_cursor import moved
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.paths import database_file
from tui_chat.providers.response_recorder import read_recorded
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.inspector.views import views

BASELINE = Path(__file__).with_name("baseline.json")
ROUNDS = 7
TOKENS = 5_000


def spent(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median milliseconds of processor time."""
    taken: list[float] = []
    for _ in range(rounds):
        gc.collect()
        began = process_time()
        work()
        taken.append((process_time() - began) * 1e3)
    return median(taken)


def reference() -> float:
    """Return the milliseconds of the work that all figures are divided by."""
    messages = [{"role": m.role, "content": m.content} for m in composing.conversation(1_000, 0)]
    return spent(lambda: [json.loads(json.dumps(messages)) for _ in range(5)], 15)


def composed() -> Iterator[tuple[str, float]]:
    for protocol in Protocol:
        times = composing.measure(protocol, 1_000, ROUNDS)
        yield f"compose 1,000 messages, {protocol.label}", median(times["cold work"])
    endpoint = Endpoint("bench", Protocol.OPENAI_CHAT, "https://bench.invalid", models=("gpt-4o",))
    for count in (1_000, 10_000):
        history = composing.conversation(count, 1)
        drafts = iter(range(1_000))

        def keys(history: object = history, drafts: Iterator[int] = drafts) -> None:
            for _ in range(20):
                inputs = Inputs(endpoint, composing.PRESET, history, f"Hello {next(drafts)}")  # type: ignore[arg-type]
                assert compose(inputs).payload.body

        keys()
        yield f"twenty keystrokes in {count:,} messages, and their bytes", spent(keys)


def read() -> Iterator[tuple[str, float]]:
    for name, body in streams(TOKENS).items():

        def parse(name: str = name, body: bytes = body) -> None:
            reply, error = read_recorded(body, Protocol(name))
            assert error is None
            assert len(reply.text) > 1_000

        yield f"read a stream of {TOKENS:,} tokens, {Protocol(name).label}", spent(parse, 3)


def drawn() -> Iterator[tuple[str, float]]:
    stored = long_chat(10_000)
    first, second = typed(stored, 1), typed(stored, 2)
    yield "lay out 10,000 messages", spent(lambda: PayloadLayout(first, WIDTH), 3)
    known = PayloadLayout(first, WIDTH)
    yield (
        "lay out a hundred keystrokes in them",
        spent(lambda: [PayloadLayout(second, WIDTH, known) for _ in range(100)], 3),
    )
    for name, taken in asyncio.run(sidebar.measured(20_000)).items():
        if name in ("show another list", "a letter in the filter"):
            yield f"20,000 sessions: {name}", taken
    taken = asyncio.run(transcript.reading(10_000, lambda _: None))
    yield "open 10,000 messages in the transcript", taken


async def _in_the_app() -> dict[str, float]:
    costs: dict[str, float] = {}
    async with with_long_session(10_000) as (app, pilot):
        app.query_one(Transcript).focus()
        await pilot.press("end")
        await settle(pilot)
        for key in ("up", "pageup"):
            costs[f"10,000 messages in the app: {key}"] = median(await moved(app, key))
        for view in views():
            await look(app, pilot, Protocol.OPENAI_CHAT, view)
            await keystrokes(app, 5)
            costs[f"a letter with the {view} view open"] = median(await keystrokes(app, 40))
    return costs


def used() -> Iterator[tuple[str, float]]:
    yield from asyncio.run(_in_the_app()).items()


def stored() -> Iterator[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as folder:

        def store() -> None:
            path = database_file(Path(tempfile.mkdtemp(dir=folder)))
            asyncio.run(fill(path, 5_000, 100))

        yield "store 5,000 messages, and index them", spent(store, 3)


def started() -> Iterator[tuple[str, float]]:
    for name, words in (("the help of the command line", ["-m", "tui_chat", "--help"]),
                        ("import of the app", ["-c", "import tui_chat.ui.app"])):  # fmt: skip
        taken: list[float] = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(
                (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3
            )
        yield name, median(taken)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--limit", type=float, default=1.5)
    chosen = parser.parse_args()
    saved: dict[str, float] = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    unit = reference()
    print(f"{'':<58}{'ms':>9}{'ratio':>9}{'saved':>9}{'change':>9}")
    print(f"{'1,000 messages as JSON, five times':<58}{unit:>9.2f}{1:>9.2f}")
    ratios: dict[str, float] = {}
    slower: list[str] = []
    for group in (composed, read, drawn, used, stored, started):
        for name, taken in group():
            ratios[name] = ratio = round(taken / unit, 3)
            before = saved.get(name)
            compared = ""
            if before:
                compared = f"{before:>9.2f}{ratio / before:>8.2f}x"
                if ratio > before * chosen.limit:
                    slower.append(name)
                    compared += "  SLOWER"
            print(f"{name:<58}{taken:>9.2f}{ratio:>9.2f}{compared}", flush=True)
    if chosen.save:
        BASELINE.write_text(json.dumps(ratios, indent=1) + "\n")
    elif slower:
        sys.exit(f"More than {chosen.limit} times the saved run: {', '.join(slower)}")


if __name__ == "__main__":
    main()
