"""Replies that cannot be stored while they arrive: what the command says of them, and its code."""

from __future__ import annotations

import json
import resource
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.program import DEVNULL, PIPE, Program, run_program
from tests.support.server import Answer, Provider, chat_calls, chat_text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process"),
]
WORDS = [f"word{number} " for number in range(12)]


def slow_reply() -> Answer:
    pieces = [chat_text(word, finish=None) for word in WORDS[:-1]]
    return Answer([*pieces, chat_text(WORDS[-1])], pause=0.1)


def slow_call() -> Answer:
    pieces = [chat_text(word, finish=None) for word in WORDS]
    return Answer([*pieces, chat_calls(("fmt", "{}"))], pause=0.1)


def stored(home: Path) -> str:
    sql = "SELECT content FROM messages"
    with closing(sqlite3.connect(home / "chat.db")) as connection:
        return "".join(text for (text,) in connection.execute(sql))


def ask(home: Path, provider: Provider, *words: str, full: bool) -> tuple[int, str, str]:
    """Ask, and let the program write no file once the request has arrived."""
    tool = '\n[tools.fmt]\ncommand = ["true"]\n'
    (home / "config.toml").write_text(provider.config() + tool)
    common = ("--data-dir", home, "--config-dir", home)
    run_program(*common, "ask", "first", "-m", "loopback/echo", check=True)
    process = Program(
        (*common, "ask", "hi", *words),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    while not provider.received:  # its row is written before the request leaves
        time.sleep(0.002)
    if full:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 0))
    out, err = process.communicate(timeout=90)
    return process.returncode, out.decode(), err.decode()


def test_a_reply_that_is_lost_is_printed_and_the_command_fails(tmp_path: Path):
    wrong: list[str] = []
    cases = {
        "plain": ((), slow_reply()),
        "json": (("--json",), slow_reply()),
        "several": (("-m", "local/m", "-m", "local/n"), slow_reply()),
        "call": ((), slow_call()),
    }
    for name, (words, answer) in cases.items():
        home = tmp_path / name
        home.mkdir()
        with Provider(answer) as provider:
            code, out, err = ask(home, provider, *words, full=True)
        said = json.loads(out)["content"] if name == "json" and code == 7 else out
        if code != 7 or "not stored" not in err or "written as soon" in err:
            wrong.append(f"{name}: code {code}, {err}")
        if not all(word.strip() in said for word in WORDS):
            wrong.append(f"{name}: printed {out}")
        if WORDS[-1].strip() in stored(home):
            wrong.append(f"{name}: it was stored")
    assert not wrong, "\n".join(wrong)


def test_a_reply_that_is_stored_says_nothing(tmp_path: Path):
    with Provider(slow_reply()) as provider:
        code, out, err = ask(tmp_path, provider, full=False)
    assert (code, "stored" in err) == (0, False), err
    assert WORDS[-1].strip() in out
    assert WORDS[-1].strip() in stored(tmp_path)
