"""Commands run as programs of their own while an open workspace receives reply after reply."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.program import run_program
from tests.support.workspace import Heard, settled
from tui_chat.workspace.workspace import Workspace

TALKS = 12


async def command(folder: Path, *words: str) -> str:
    """Run one command beside the workspace; return what it printed."""
    done = await asyncio.to_thread(run_program, "--data-dir", folder, *words)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    assert "locked" not in done.stdout + done.stderr
    assert "Error" not in done.stdout + done.stderr
    return done.stdout


def talks(folder: Path) -> list[str]:
    """Write files to import; return their names."""
    names: list[str] = []
    for number in range(TALKS):
        path = folder / f"talk{number}.jsonl"
        lines = ({"role": "user", "content": f"heron {number} {n}"} for n in range(200))
        path.write_text("\n".join(map(json.dumps, lines)))
        names.append(str(path))
    return names


async def test_commands_during_streaming_lose_nothing(make_workspace, tmp_path: Path):
    pytest.importorskip("tui_chat.plugins.transcripts")
    workspace: Workspace
    heard: Heard
    workspace, heard = await make_workspace(model="lorem:4000:1200")
    names = talks(tmp_path)
    said = 0
    over = False

    async def talk() -> None:
        nonlocal said
        while not over:
            await workspace.replies.submit(f"question {said} about a bittern")
            said += 1
            await settled(workspace, heard)

    talking = asyncio.create_task(talk())
    await heard.until(lambda: workspace.state.is_streaming)
    half = TALKS // 2
    await asyncio.gather(
        command(tmp_path, "import", *names[:half]),
        command(tmp_path, "import", *names[half:]),
        command(tmp_path, "db", "check"),
        command(tmp_path, "sessions", "list", "--json"),
    )
    shown = workspace.state.entries[0].message
    found, listed, exported, _ = await asyncio.gather(
        command(tmp_path, "search", "bittern", "--json"),
        command(tmp_path, "sessions", "list", "--json"),
        command(tmp_path, "export", "--all", "--format", "json"),
        command(tmp_path, "import", *names),  # all known by now
    )
    over = True
    await talking

    assert shown.id in {hit["message_id"] for hit in json.loads(found)}
    counts = sorted(each["message_count"] for each in json.loads(listed))
    assert counts.count(200) == TALKS
    assert exported.count('"heron 7 199"') == 1
    assert [entry.status for entry in workspace.state.entries] == ["complete"] * (2 * said)
    stored = await asyncio.gather(
        command(tmp_path, "sessions", "list", "--json"), command(tmp_path, "db", "check")
    )
    counts = sorted(each["message_count"] for each in json.loads(stored[0]))
    assert counts == sorted([200] * TALKS + [2 * said])
