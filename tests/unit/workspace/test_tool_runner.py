"""Running local commands as tools: input, output, limits, failures."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.tool import CommandTool
from tui_chat.workspace.tool_runner import run


def tool(code: str, **settings) -> CommandTool:
    return CommandTool(
        ToolDefinition("t", "", {}), command=(sys.executable, "-c", code), **settings
    )


HOSTILE = '{"x": "; rm -rf $HOME `date` \\u001b[2J"}'


@each_row(
    ("code", "arguments", "settings", "output"),
    [
        # arguments are passed only on standard input
        ("import sys; print(sys.argv[1:], sys.stdin.read())", HOSTILE, {}, f"[] {HOSTILE}"),
        # no arguments are an empty object
        ("import sys; print(sys.stdin.read())", "", {}, "{}"),
        ("print('x' * 5_000_000)", "{}", {"most_output": 100},
         "x" * 100 + "\nThe rest of the output was cut off."),
        # output that is not UTF-8 is decoded
        ("import sys; sys.stdout.buffer.write(b'a\\xffb')", "{}", {}, "a\ufffdb"),
        # a tool need not read its input
        ("print('done')", '{"x": "' + "y" * 2_000_000 + '"}', {}, "done"),
    ],
)  # fmt: skip
async def test_the_output_of_a_tool(code: str, arguments: str, settings, output: str):
    assert (await run(tool(code, **settings), arguments)).text == output


@each_row(
    ("arguments", "fault"),
    [
        ("[1]", "not a JSON object"),
        ("{", "not JSON"),
        ('"x"', "not a JSON object"),
        ("[" * 99_999, "not JSON"),
    ],
)
async def test_invalid_arguments_start_nothing(arguments: str, fault: str):
    ran = await run(tool("raise SystemExit('started')"), arguments)
    assert not ran.ok
    assert fault in ran.text
    assert "started" not in ran.text


@pytest.mark.slow
async def test_a_tool_is_killed_after_its_timeout():
    code = "import time; print('begun', flush=True); time.sleep(600)"
    ran = await run(tool(code, timeout=1.5), "{}")
    assert not ran.ok
    assert ran.text == "begun\nThe tool was stopped after 1.5 seconds."


async def test_a_missing_program_is_reported():
    missing = CommandTool(ToolDefinition("t", "", {}), command=("/no/such/program",))
    ran = await run(missing, "{}")
    assert not ran.ok
    assert "could not be started: No such file" in ran.text


async def test_a_command_gets_few_variables_and_no_keys():
    code = "import os; print(*map(os.environ.get, ('LC_KEY', 'OTHER', 'LC_ALL', 'ADDED')))"
    environ = {**os.environ, "LC_KEY": "s", "OTHER": "o", "LC_ALL": "C"}
    command = tool(code, env=(("ADDED", "${OTHER}!"),))
    ran = await run(command, "{}", environ=environ, hidden={"LC_KEY"})
    assert ran.text == "None None C o!"
    ran = await run(tool(code, env=(("A", "${LC_KEY}"),)), "{}", environ=environ, hidden={"LC_KEY"})
    assert not ran.ok
    assert "LC_KEY holds a credential" in ran.text


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups are POSIX's")
async def test_cancelling_kills_child_processes(tmp_path: Path):
    pids = tmp_path / "pids"
    code = (
        "import os,subprocess,sys,time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(pids)!r} + '.tmp', 'w').write(f'{{os.getpid()}} {{child.pid}}');"
        f"os.replace({str(pids)!r} + '.tmp', {str(pids)!r});"
        "time.sleep(600)"
    )
    task = asyncio.create_task(run(tool(code), "{}"))
    async with asyncio.timeout(20):
        while not pids.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    async with asyncio.timeout(20):
        for pid in map(int, pids.read_text().split()):
            while is_alive(pid):  # noqa: ASYNC110 - another process ends
                await asyncio.sleep(0)


@pytest.mark.skipif(not Path("/proc/thread-self/children").exists(), reason="it looks in /proc")
def test_cancelling_at_any_moment_leaves_no_process_and_no_open_pipe():
    async def run_and_cancel(turns: int) -> None:
        task = asyncio.create_task(run(tool("import time; time.sleep(600)"), "{}"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    def left() -> tuple[int, str]:
        return len(os.listdir("/proc/self/fd")), Path("/proc/thread-self/children").read_text()

    for turns in range(6):
        before = left()
        asyncio.run(run_and_cancel(turns))
        assert left() == before


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="it finds processes in /proc")
@each_row("background", ["", "sleep 600 & ", "sleep 600 >/dev/null 2>&1 & "])
async def test_a_group_is_killed_while_its_id_is_its_own(background: str, tmp_path, monkeypatch):
    pid, kill = tmp_path / "pid", os.killpg
    taken: list[bool] = []

    def kill_taken(group: int, kind: int) -> None:
        taken.append(Path(f"/proc/{group}").exists())  # also of one that exited and was not reaped
        kill(group, kind)

    monkeypatch.setattr(os, "killpg", kill_taken)
    script = f"{background}echo $! > {pid}; echo done"
    command = CommandTool(ToolDefinition("t", "", {}), command=("/bin/sh", "-c", script))
    ran = await run(command, "{}")
    assert (ran.text, ran.ok) == ("done", True)
    assert taken == [True]
    async with asyncio.timeout(20):
        while background and is_alive(int(pid.read_text())):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it ended before, or while, we looked
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/dev/tty").exists(), reason="no terminals here")
async def test_a_tool_has_no_terminal():
    code = "open('/dev/tty')"
    ran = await run(tool(code), "{}")
    assert not ran.ok
    assert "OSError" in ran.text


_HOLDS_THE_PIPE = (
    "import os, sys, time\n"
    "print('first', flush=True)\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    print(os.getpid(), flush=True)\n"
    "    {child}\n"
    "    os._exit(0)\n"
    "time.sleep({parent})\n"
)


@pytest.mark.slow
async def test_a_grandchild_that_holds_the_output_does_not_hold_the_run():
    async def holds(child: str, parent: float, ok: bool) -> None:
        code = _HOLDS_THE_PIPE.format(child=child, parent=parent)
        async with asyncio.timeout(20):
            ran = await run(tool(code, timeout=1.0), "{}")
        assert ran.ok is ok, (child, parent)
        first, pid, note = ran.text.split("\n")
        assert first == "first"
        assert ("keeps its output open" if ok else "stopped after 1 seconds") in note
        with suppress(ProcessLookupError):
            os.kill(int(pid), 9)

    children = ("time.sleep(30)", "os.fork() or time.sleep(30)")
    parents = ((0.2, True), (30, False))
    async with asyncio.TaskGroup() as together:
        for child, parent in itertools.product(children, parents):
            together.create_task(holds(child, *parent))
    await asyncio.sleep(0)


@pytest.mark.slow
async def test_a_grandchild_that_writes_without_end_does_not_hold_the_run():
    child = "exec('while True: os.write(1, b\"x\" * 999)')"
    code = _HOLDS_THE_PIPE.format(child=child, parent=0.2)
    ran = await run(tool(code, timeout=1.0, most_output=1000), "{}")
    assert "keeps its output open" in ran.text
    assert len(ran.text) < 1400
