"""What the viewer costs with 10,000 files of 2 GB.

    uv run python -m tests.tools.benchmarks.viewer [FILES [MEGABYTES]]

Makes the files in a temporary folder, and measures in a process of its own: the time until the
first sessions are listed, until the newest one is shown, all are listed and a rare word is found,
and the process's largest memory. The goals are 1 s to the first list, of the processor's time so
that a busy machine does not matter, and 200 MB.
"""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from textual.pilot import Pilot

FILES, MEGABYTES = 10_000, 2_000
PROJECTS = 40
RARE = "quincunx"
LIST_SECONDS, MOST_MEMORY = 1.0, 200
"""The goals: seconds, and MB."""
_LIST, _MEMORY = "first list, time of the processor", "memory (MB)"
_PATIENCE = 300.0


def make_files(folder: Path, files: int, megabytes: int) -> None:
    """Write sessions as Claude Code writes them; one of them holds a rare word."""
    size = megabytes * 1_000_000 // files
    output = "a line of output of a tool, with some words in it\\n" * 30
    for number in range(files):
        project = folder / f"-home-ada-project-{number % PROJECTS}"
        project.mkdir(exist_ok=True)
        session = f"{number:08x}-0000-4000-8000-000000000000"
        base = {
            "isSidechain": False,
            "cwd": f"/home/ada/project/{number % PROJECTS}",
            "sessionId": session,
            "version": "2.1.197",
            "timestamp": "2026-03-01T09:00:00Z",
        }
        with (project / f"{session}.jsonl").open("w") as file:
            before: str | None = None
            step = 0
            while file.tell() < size:
                told = f"Question {step} of session {number}"
                if number == files // 2 and not step:
                    told += f" about a {RARE}"
                for kind, content in (
                    ("user", told),
                    ("assistant", [{"type": "tool_use", "id": f"t{step}", "name": "Bash",
                                    "input": {"command": "make"}}]),
                    ("user", [{"type": "tool_result", "tool_use_id": f"t{step}",
                               "content": output}]),
                ):  # fmt: skip
                    uuid = f"{number}-{step}"
                    message = {"role": kind, "content": content}
                    if kind == "assistant":
                        message |= {"id": f"m{uuid}", "model": "claude-sonnet-4-5"}
                    record = {**base, "uuid": uuid, "parentUuid": before, "type": kind,
                              "message": message}  # fmt: skip
                    file.write(json.dumps(record) + "\n")
                    before, step = uuid, step + 1


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Wait for a condition. Raises TimeoutError."""
    async with asyncio.timeout(_PATIENCE):
        while not condition():
            await pilot.pause(0.01)


async def measure(folder: Path, files: int) -> dict[str, float]:
    """Run the viewer without a terminal, and return seconds by what was waited for."""
    from tui_chat.config import Config
    from tui_chat.plugins.transcripts import view
    from tui_chat.plugins.transcripts.file_index import require_conversations
    from tui_chat.ui.app import TuiChat

    found: dict[str, float] = {}
    with TemporaryDirectory() as own:
        began, began_work = perf_counter(), process_time()
        require_conversations([folder])
        config = view.read_only_config(Config(config_dir=Path(own)), Path(own, "data"))
        app = TuiChat(config, lambda: view.open_files(config, [folder]), read_only="x")
        async with app.run_test(size=(160, 45)) as pilot:

            def listed() -> int:
                return len(app.workspace.state.sessions) if app.workspace is not None else 0

            await until(pilot, lambda: listed() > 0)
            found["first list"] = perf_counter() - began
            found[_LIST] = process_time() - began_work
            found["first list and start of the process, likewise"] = process_time()
            await until(pilot, lambda: app.is_workspace_open)
            found["newest session shown"] = perf_counter() - began
            await until(pilot, lambda: listed() == files)
            found["all listed"] = perf_counter() - began
            workspace = app.workspace
            assert workspace is not None
            assert workspace.session_files is not None
            began = perf_counter()
            await workspace.session_files.search(RARE, lambda *_: True)
            found["all files searched"] = perf_counter() - began
    found[_MEMORY] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def main() -> None:
    """Make the files, and print what a process of its own measures."""
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(asyncio.run(measure(Path(sys.argv[2]), int(sys.argv[3])))))
        return
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else MEGABYTES
    with TemporaryDirectory() as name:
        if shutil.disk_usage(name).free < 2 * megabytes * 1_000_000:
            sys.exit(f"There is not enough room for {2 * megabytes} MB in {name}.")
        make_files(Path(name), files, megabytes)
        command = [
            sys.executable,
            "-m",
            "tests.tools.benchmarks.viewer",
            "measure",
            name,
            str(files),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    for what, value in found.items():
        print(f"{what:45} {value:8.2f}")
    if found[_LIST] > LIST_SECONDS or found[_MEMORY] > MOST_MEMORY:
        sys.exit(f"The goals are {LIST_SECONDS:g} s to the first list and {MOST_MEMORY} MB.")


if __name__ == "__main__":
    main()
