"""The command line, called as a program would be, in this process."""

from __future__ import annotations

import asyncio
import io
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.plugins import is_deleted
from tests.support.vendors import LOOPBACKS, VendorTransport, serve
from tui_chat import hooks
from tui_chat.api import OfflineProvider
from tui_chat.cli import main
from tui_chat.cli.app import open_workspace
from tui_chat.cli.common_options import CommonOptions


@dataclass(frozen=True)
class Done:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def _imports(words: Sequence[object]) -> bool:
    """Return True for `tui-chat import`, not for the commands of groups with this name."""
    groups = ("mcp", "preset", "presets")
    return any(two == "import" and one not in groups for one, two in pairwise(("", *words)))


def provide_test_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the offline provider of this process be that of the tests, whatever plugins there are."""
    load_all = hooks.load_all
    provider = OfflineProvider(LOOPBACKS, {}, VendorTransport, serve)
    monkeypatch.setattr(
        hooks,
        "load_all",
        lambda point, kind=object: (
            iter([provider]) if point == "offline provider" else load_all(point, kind)
        ),
    )


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    provide_test_models(monkeypatch)

    def call(*words: object) -> Done:
        if _imports(words) and is_deleted("transcripts"):
            pytest.skip("The plugin that imports files was deleted.")
        monkeypatch.setattr(sys, "argv", ["tui-chat", *map(str, words)])
        if not isinstance(sys.stdin, io.TextIOWrapper):  # pytest's, which refuses to be read
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        code = 0
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call


TOOL = """
[tools.weather]
description = "The weather."
parameters = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'
command = ["sh", "-c", "cat; echo sunny"]
"""


NO_RETRIES = "retries = { times = 0 }"


Ask = Callable[..., Done]


@pytest.fixture
def ask(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that runs `ask` in a home; `stdin` is what is piped."""

    def call(
        *words: object, stdin: bytes | None = b"", model: str = "echo", home: Path = tmp_path
    ) -> Done:
        stream = io.TextIOWrapper(io.BytesIO(stdin or b""))
        if stdin is None:
            monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdin", stream)
        of_model = ("--model", model) if model else ()
        return run("--data-dir", home, "--config-dir", home, "ask", *of_model, *words)

    return call


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(home / "chat.db")) as connection:
        return connection.execute(sql).fetchall()


def messages(home: Path) -> list[tuple[str, str, str]]:
    """Return role, text and status of the messages of the session that was active last."""

    async def read() -> list[tuple[str, str, str]]:
        workspace = await open_workspace(CommonOptions(home, home).config(), remembers=False)
        try:
            [last, *_] = await workspace.store.sessions.list()
            entries = await workspace.store.branches.load(last.session_id)
            return [(each.message.role, each.message.content, each.status) for each in entries]
        finally:
            await workspace.close()

    return asyncio.run(read())
