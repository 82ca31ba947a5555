"""Draws the pictures of docs/see-what-claude-code-sends.md from the real tap and app, offline.

    uv run python docs/dev/tap_pictures.py

A program that sends requests in the form of Claude Code's runs behind `tui-chat tap`; the offline
provider plays the replies.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from picture import COLUMNS, ROOT, ROWS, rows, svg

from tests.support.app import make_app, opened, settle, until
from tui_chat.ui.inspector.pane import Inspector

PICTURES = ROOT / "docs" / "pictures"
MODEL = "claude-opus-5-5"
SCRIPT = [
    {"text": "I read it.", "tool_calls": [{"name": "Read", "arguments": {"file_path": "log.py"}}]},
    {"text": "`log.py` builds SQL from text. Pass the row as a parameter instead."},
]
TOOLS = {
    "Bash": "Run a command in a shell that keeps its folder between calls.",
    "Edit": "Replace a text in a file. It must occur exactly once, or `replace_all` must be set.",
    "Glob": "Find files by a pattern such as **/*.py, the newest first.",
    "Grep": "Search the contents of files by a regular expression.",
    "Read": "Read a file of the machine, from an offset and up to a limit of lines.",
    "Task": "Start an agent that works on a task of several steps by itself and reports.",
    "WebFetch": "Fetch a page and answer a question about it.",
    "Write": "Write a file, replacing what was there.",
    "mcp__github__create_issue": "Create an issue in a repository.",
    "mcp__github__list_issues": "List the issues of a repository, filtered by state and label.",
}


def tool(name: str, description: str) -> dict[str, Any]:
    """Return the definition of a tool."""
    properties = {
        key: {"type": "string", "description": f"The {key} that {name} works with."}
        for key in ("path", "pattern", "text", "reason")
    }
    schema = {"type": "object", "properties": properties, "required": ["path"]}
    return {"name": name, "description": description, "input_schema": schema}


def body(messages: list[dict[str, Any]], tools: dict[str, str]) -> dict[str, Any]:
    """Return a request as an agent sends it."""
    marked = {"type": "ephemeral"}
    return {
        "model": MODEL,
        "max_tokens": 32000,
        "stream": True,
        "system": [
            {"type": "text", "text": "You are a coding agent in a terminal."},
            {
                "type": "text",
                "text": "Be brief. Read a file before you edit it. Never commit unless asked. "
                "Prefer the tools for files to commands of the shell. " * 40,
                "cache_control": marked,
            },
        ],
        "tools": [tool(*each) for each in tools.items()],
        "messages": messages,
        "metadata": {"user_id": '{"session_id":"5e55"}'},
    }


def agent(base: str) -> None:
    """Send two calls of one task; the second one has a tool more, which breaks the cache."""
    reminder = (
        "<system-reminder>\nContents of /home/ada/app/CLAUDE.md (project instructions):\n\n"
        "# app\nRun `make test` before you finish. SQL belongs in queries.py.\n</system-reminder>"
    )
    messages: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": reminder},
                {"type": "text", "text": "Is log.py safe?"},
            ],
        }
    ]
    first = dict(list(TOOLS.items())[:-2])
    send(base, body(messages, first))
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "log.py"}}
    result = "for row in rows:\n    db.execute(f\"insert into log values ('{row}')\")\n" * 6
    messages += [
        {"role": "assistant", "content": [{"type": "text", "text": "I read it."}, call]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}],
        },
    ]
    send(base, body(messages, TOOLS))


def send(base: str, request: dict[str, Any]) -> None:
    """Post a request and read the reply."""
    headers = {
        "content-type": "application/json",
        "user-agent": "claude-cli/2.1.330 (external, cli)",
        "x-app": "cli",
        "anthropic-version": "2023-06-01",
        "x-api-key": "not-a-key",
    }
    data = json.dumps(request, separators=(",", ":")).encode()
    posted = urllib.request.Request(f"{base}/v1/messages?beta=true", data, headers)
    with urllib.request.urlopen(posted) as reply:
        reply.read()


async def draw(folder: Path) -> None:
    """Draw the inspector's views of the recorded session."""
    app = make_app(folder)
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        await opened(pilot)
        workspace = app.workspace
        await workspace.sessions.open(workspace.state.sessions[0].session_id)
        inspector = app.query_one(Inspector)
        await until(pilot, lambda: inspector.composed is not None)
        await settle(pilot)
        await pilot.press("f4", *["alt+left"] * 12)
        for name, keys in {
            "tap-payload": (),
            "tap-context": ("right",),
            "tap-budget": ("right", "right"),
            "tap-diff": ("left",),
            "tap-calls": ("left", "left", "left"),
        }.items():
            await pilot.press(*keys)
            await settle(pilot)
            await pilot.pause(0.3)
            picture = svg([(1, rows(pilot))])
            (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")
        await app.action_quit()


def main() -> None:
    """Record the calls, then draw the pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
        program = [sys.executable, "-m", "tui_chat", "--data-dir", folder, "--config-dir", folder]
        script = ["--alias", "script", "--script", folder / "script.json"]
        practice = [*program, "practice", "--port", "0", *script]
        with subprocess.Popen(practice, cwd=ROOT, stdout=subprocess.PIPE, text=True) as played:
            assert played.stdout is not None
            upstream = played.stdout.readline().split()[5].rstrip(",")
            agent = [sys.executable, __file__, "agent"]
            subprocess.run(
                [*program, "tap", "--upstream", upstream, "--", *agent], check=True, cwd=ROOT
            )
            played.terminate()
        asyncio.run(draw(folder))


if __name__ == "__main__":
    if sys.argv[1:] == ["agent"]:
        agent(os.environ["ANTHROPIC_BASE_URL"])
    else:
        main()
