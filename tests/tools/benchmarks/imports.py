"""How quickly conversations come in and go out, and what memory that takes.

    uv run python -m tests.tools.benchmarks.imports [MESSAGES] [--cpu]

Aimed at: 10,000 messages a second into the store, search index included. `--cpu` counts the
processor's time instead, for machines that have other work too: all threads' together, so that
reading and writing count one after the other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import time
from collections.abc import Callable
from datetime import UTC
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.exports import (
    block,
    chatgpt,
    claude,
    claude_message,
    node,
    tavern,
    tavern_header,
)
from tui_chat.cli.interpreter import collect_seldom
from tui_chat.interop.reader import read_conversations
from tui_chat.store import Store
from tui_chat.workspace.exporter import exported_texts, write_file
from tui_chat.workspace.importer import import_files

_clock = time.perf_counter

EACH = 50
"""Messages of a conversation."""

_WORDS = [
    *("river", "garden", "north", "lantern", "quiet", "question", "answer", "because", "model"),
    *("prompt", "token", "window", "paper", "stone", "winter", "bridge", "今天", "天气", "很好"),
    *("我们", "去", "公园", "散步", "code", "function", "return", "value", "table"),
]


def text(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randint(10, 120)))


def of_chatgpt(number: int, chance: random.Random) -> dict[str, Any]:
    facts = {"model_slug": "gpt-4o", "finish_details": {"type": "stop"}, "citations": []}
    nodes = [
        node(
            f"{number}-{n}",
            f"{number}-{n - 1}" if n else None,
            "assistant" if n % 2 else "user",
            text(chance),
            metadata=facts,
        )
        for n in range(EACH)
    ]
    return chatgpt(*nodes, conversation_id=f"c{number}", title=f"Conversation {number}")


def of_claude(number: int, chance: random.Random) -> dict[str, Any]:
    told = [
        claude_message(f"{number}-{n}", "assistant" if n % 2 else "human", block(text(chance)))
        for n in range(EACH)
    ]
    return claude(*told, uuid=f"c{number}", name=f"Conversation {number}")


def of_tavern(number: int, chance: random.Random) -> list[dict[str, Any]]:
    told = [tavern(text(chance), user=n % 2 == 0) for n in range(EACH)]
    return [tavern_header(integrity=f"chat-{number}"), *told]


def write(folder: Path, messages: int) -> dict[str, list[Path]]:
    """Write the same number of messages in each format."""
    count = messages // EACH
    chance = random.Random(1)
    files: dict[str, list[Path]] = {"SillyTavern": []}
    makers: dict[str, Callable[[int, random.Random], dict[str, Any]]] = {
        "ChatGPT": of_chatgpt,
        "Claude": of_claude,
    }
    for name, make in makers.items():
        path = folder / f"{name}.json"
        with path.open("w", encoding="utf-8") as file:
            for number in range(count):
                file.write("[" if number == 0 else ",")
                json.dump(make(number, chance), file, ensure_ascii=False)
            file.write("]")
        files[name] = [path]
    for number in range(count):
        path = folder / f"chat-{number}.jsonl"
        path.write_text("\n".join(map(json.dumps, of_tavern(number, chance))))
        files["SillyTavern"].append(path)
    return files


def read(paths: list[Path]) -> int:
    count = 0
    for path in paths:
        with path.open("rb") as file:
            pieces = iter(partial(file.read, 2**20), b"")
            told = (found.transcript for found in read_conversations(pieces))
            count += sum(len(each.entries) for each in told if each)
    return count


async def run(messages: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = write(folder, messages)
        print(f"{'':14}{'MB':>7}{'read/s':>10}{'import/s':>10}{'again/s':>10}{'bytes each':>12}")
        for kind, paths in files.items():
            size = sum(path.stat().st_size for path in paths)
            began = _clock()
            count = read(paths)
            reading = _clock() - began
            database = folder / f"{kind}.db"
            ids = iter(range(10**9))
            async with await Store.open(
                database, now=time.time, new_id=lambda ids=ids: f"{next(ids):032x}"
            ) as store:
                began = _clock()
                reports = await import_files(store, paths)
                taking = _clock() - began
                assert sum(report.added for report in reports) == count
                began = _clock()
                await import_files(store, paths)
                again = _clock() - began
                if kind == "ChatGPT":
                    began = _clock()
                    sessions = [each.session_id for each in await store.sessions.list()]
                    own = folder / "own.json"
                    await write_file(exported_texts(store, sessions, "json", UTC), own)
                    leaving = _clock() - began
                    files_own = (own, leaving)
            print(
                f"{kind:14}{size / 1e6:7.1f}{count / reading:10,.0f}{count / taking:10,.0f}"
                f"{count / again:10,.0f}{database.stat().st_size / count:12,.0f}"
            )
        own, leaving = files_own
        async with await Store.open(
            folder / "own.db",
            now=time.time,
            new_id=lambda: str(random.random()),
        ) as store:
            began = _clock()
            [report] = await import_files(store, [own])
            taking = _clock() - began
        size, taken = own.stat().st_size / 1e6, report.added / taking
        print(f"{'our own JSON':14}{size:7.1f}{'':10}{taken:10,.0f}")
        print(f"written as our own JSON: {report.added / leaving:,.0f} messages/s")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"peak memory {peak:,.0f} MB")


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("messages", type=int, nargs="?", default=20_000)
    options.add_argument("--cpu", action="store_true", help="processor time, not wall time")
    given = options.parse_args()
    if given.cpu:
        global _clock
        _clock = time.process_time
    collect_seldom()  # as the commands do
    asyncio.run(run(given.messages))


if __name__ == "__main__":
    main()
