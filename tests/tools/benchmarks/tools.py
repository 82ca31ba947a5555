"""500 tools of 20 servers: what a key costs with them, and the start to the first frame.

    uv run python -m tests.tools.benchmarks.tools [ROUNDS]

A key is the whole one, in the running app with the inspector open: see `inspector_views`. The start
is that to the first screen, with 20 MCP servers in `config.toml` and with none, in turn; needs
tmux.
Goals: a key below 16 ms, a start as fast as without.

Definitions are encoded once, and remembered by identity: without that composing took 45 ms.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

import pytest

from tests.support.app import make_app, opened
from tests.support.tool_servers import ToolServer, tool_servers
from tests.tools.benchmarks.inspector_views import TYPED, fresh, p95, typed
from tests.tools.benchmarks.startup import seconds_until, tmux

SERVERS, TOOLS = 20, 25
DESCRIPTION = "Does one thing that takes many words to describe. " * 5
SERVER = """
import json, sys
schema = {"type": "object", "properties": {"city": {"type": "string"}}}
tools = [{"name": f"tool{n}", "description": "Does one thing. " * 15, "inputSchema": schema}
         for n in range(25)]
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = {"tools": tools}
        if request["method"] == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "bench", "version": "1"}}
        elif request["method"] != "tools/list":
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"],
                              "error": {"code": -32601, "message": "unknown"}}), flush=True)
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


async def keystrokes(servers: int) -> list[float]:
    """Return the milliseconds of processor time of each key."""
    folder = Path(tempfile.mkdtemp())
    names = [f"tool{number}" for number in range(TOOLS)]
    sources = (
        ToolServer(f"server{number}", *names, description=DESCRIPTION) for number in range(servers)
    )
    with pytest.MonkeyPatch.context() as patch, tool_servers(folder, patch, *sources):
        app = make_app(folder)
        async with app.run_test(size=(160, 45)) as pilot:
            app = await opened(pilot)
            assert app.workspace is not None
            await app.workspace.tool_sources.loaded()
            assert len(app.workspace.state.tools) == servers * TOOLS
            await typed(app, 20)
            await fresh(app, pilot)
            return await typed(app, TYPED)


def starts(rounds: int) -> tuple[list[float], list[float]]:
    """Return the seconds of starts to the first screen, without servers and with 20. Both have a
    configuration file, and nothing is typed: that would start the servers.
    """
    times: dict[int, list[float]] = {0: [], SERVERS: []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "server.py"
        script.write_text(SERVER)
        os.environ["TERM"] = "xterm-256color"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        tmux("new-session", "-d", "-s", "keeper", "cat")
        for round_ in range(rounds + 1):
            for servers, seconds in times.items():
                home = folder / str(servers)
                home.mkdir(exist_ok=True)
                tables = (
                    f"[mcp.s{n}]\ncommand = {sys.executable!r}\nargs = [{str(script)!r}]\n"
                    for n in range(servers)
                )
                (home / "config.toml").write_text("theme = 'tui-chat-dark'\n" + "".join(tables))
                command = f"{sys.executable} -m tui_chat --config-dir {home} --data-dir {home}"
                taken = seconds_until(command, "", "No sessions yet")
                if round_:  # the first round warms the disk's cache and makes the database
                    seconds.append(taken)
        tmux("kill-server")
    return times[0], times[SERVERS]


def main() -> None:
    without, with_tools = (asyncio.run(keystrokes(count)) for count in (0, SERVERS))
    for name, times in (("no tools", without), (f"{SERVERS * TOOLS} tools", with_tools)):
        print(f"a key, {name:10} median {median(times):6.2f} ms, p95 {p95(times):6.2f} ms")
    print(f"ratio {median(with_tools) / median(without):.2f}")
    if shutil.which("tmux") is not None:
        rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
        none, many = starts(rounds)
        print(f"a start, no servers {median(none):.3f} s, {SERVERS} servers {median(many):.3f} s")
        print(f"ratio {median(many) / median(none):.2f}")


if __name__ == "__main__":
    main()
