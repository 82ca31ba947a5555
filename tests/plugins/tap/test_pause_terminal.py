"""`tui-chat tap --pause` on a terminal of its own."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sys
import termios
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.tap.wire import PATIENCE
from tests.support.command_line import Run
from tests.support.program import Program

pytestmark = pytest.mark.slow

EDITOR = """
import pathlib, sys
path = pathlib.Path(sys.argv[1])
folder = pathlib.Path({folder!r})
(folder / "given").write_text(path.read_text())
path.write_text((folder / "text").read_text())
"""


class Terminal:
    """A running tap on a terminal."""

    def __init__(self, folder: Path, *flags: str, editor: str = "") -> None:
        self.folder = folder
        script = folder / "editor.py"
        script.write_text(EDITOR.format(folder=str(folder)))
        self._own, other = pty.openpty()
        self._mode = termios.tcgetattr(other)[3]
        self._other = other
        command = ("--data-dir", str(folder / "data"), "tap")
        names = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
        environ = {**os.environ, **{name: str(folder / "home") for name in names}}
        environ |= {"EDITOR": editor or f"{sys.executable} {script}", "VISUAL": ""}
        self.process = Program(
            (*command, "--listen", "0", "--upstream", "offline", "--alias", "echo", *flags),
            env=environ,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        self._read = ""
        self.base = self.until("Recording at ", ";").rpartition("Recording at ")[2].rstrip(";")

    def until(self, *texts: str) -> str:
        """Return what is printed up to and with some texts, one after the other."""
        done = ""
        for text in texts:
            end = time.monotonic() + 3 * PATIENCE
            while text not in self._read:
                ready, _, _ = select.select([self._own], [], [], max(0, end - time.monotonic()))
                assert ready, f"no {text!r} in {self._read!r}"
                self._read += os.read(self._own, 4096).decode()
            before, text, self._read = self._read.partition(text)
            done += before + text
        return done

    def press(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def edits_to(self, text: str) -> None:
        """Have the editor write this text."""
        (self.folder / "text").write_text(text)

    @property
    def shown_in_editor(self) -> str:
        return (self.folder / "given").read_text()

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        code = self.process.wait(3 * PATIENCE)
        assert termios.tcgetattr(self._other)[3] == self._mode, "the terminal is left changed"
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._own)
        os.close(self._other)


class Client(threading.Thread):
    """A program that asks once."""

    def __init__(self, base: str, text: str = "Hi") -> None:
        super().__init__(daemon=True)
        body = {"model": "echo", "messages": [{"role": "user", "content": text}]}
        headers = {"user-agent": "my-agent/1", "x-stainless-timeout": "600"}
        self._request = urllib.request.Request(
            f"{base}/v1/chat/completions", json.dumps(body).encode(), headers
        )
        self._reply: tuple[int, Any] | None = None
        self.start()

    def run(self) -> None:
        try:
            with urllib.request.urlopen(self._request, timeout=6 * PATIENCE) as reply:
                self._reply = reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            self._reply = error.code, json.load(error)

    @property
    def reply(self) -> tuple[int, Any]:
        """Status and text of the reply, or of the error."""
        self.join(6 * PATIENCE)
        assert self._reply is not None
        status, body = self._reply
        message = body["error"] if status >= 400 else body["choices"][0]["message"]
        return status, message["message" if status >= 400 else "content"]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    running = Terminal(tmp_path, "--pause", "model:echo", "--output", str(tmp_path / "calls.jsonl"))
    yield running
    running.close()


def test_keys_decide(terminal: Terminal, run: Run):
    held = ("Held ", "my-agent", "tokens", "in 120 s", "gives up after 600 s")
    client = Client(terminal.base)
    terminal.until(*held, "s sends it on")
    terminal.press("\n")
    terminal.until(*held)
    terminal.press("s")
    terminal.until("sent as it came.")
    assert client.reply == (200, "Hi")

    client = Client(terminal.base)
    terminal.until(*held)
    terminal.edits_to('{"model": "echo", ')
    terminal.press("e")
    terminal.until("still waits", "ends too early", "e opens it again")
    assert json.loads(terminal.shown_in_editor)["messages"][0]["content"] == "Hi"
    edited = {"model": "echo", "messages": [{"role": "user", "content": "Edited"}]}
    terminal.edits_to(json.dumps(edited))
    terminal.press("e")
    terminal.until("sent as edited.")
    assert terminal.shown_in_editor == '{"model": "echo", '
    assert client.reply == (200, "Edited")

    client = Client(terminal.base)
    terminal.until(*held)
    terminal.edits_to("\n")
    terminal.press("a")
    terminal.until("the answer was empty")
    terminal.edits_to("By hand.\n")
    terminal.press("a")
    terminal.until("answered by hand.")
    assert client.reply == (200, "By hand.")

    client = Client(terminal.base)
    terminal.until(*held)
    terminal.press("99d")
    terminal.until("No request 99 is held.")
    terminal.press("4d")
    terminal.until("Request 4: dropped.")
    status, text = client.reply
    assert (status, "dropped" in text) == (403, True)

    clients = [Client(terminal.base, text) for text in ("One", "Two")]
    terminal.until(*held, *held)
    terminal.press("S")
    terminal.until("no more are held.")
    clients.append(Client(terminal.base, "Three"))
    assert [client.reply for client in clients] == [(200, "One"), (200, "Two"), (200, "Three")]
    assert terminal.end() == 0
    lines = (terminal.folder / "calls.jsonl").read_text().splitlines()
    calls = sorted(map(json.loads, lines), key=lambda call: call["number"])
    ends = [call["held"] and call["held"]["decision"] for call in calls]
    assert ends == ["sent", "edited", "answered", "dropped", "sent", "sent", None]
    sent = calls[1]["request"]["sent"]["body"]
    assert json.loads(sent)["messages"][0]["content"] == "Edited"
    assert json.loads(calls[1]["request"]["body"])["messages"][0]["content"] == "Hi"
    assert [call["request"]["sent"] for call in calls[2:]] == [None] * 5


def test_the_end_of_the_tap_refuses_what_is_held_and_ends_the_editor(tmp_path: Path):
    running = Terminal(tmp_path, "--pause", "echo", editor="sh -c 'echo editing; exec sleep 60' --")
    try:
        client = Client(running.base)
        running.until("Held 1")
        running.press("e")
        running.until("editing")
        assert running.end(signal.SIGTERM) == 143
        status, text = client.reply
        assert (status, "it was not sent" in text) == (503, True)
    finally:
        running.close()


def test_the_time_limit_is_said(tmp_path: Path):
    running = Terminal(tmp_path, "--pause", "echo", "--pause-for", "1")
    try:
        client = Client(running.base)
        running.until("Held 1", "in 1 s", "sent as it came, since the time was up")
        assert client.reply == (200, "Hi")
        assert running.end() == 0
    finally:
        running.close()


def test_it_says_where_to_decide(run: Run, tmp_path: Path):
    for words in (["--", "true"], []):
        done = run("--data-dir", tmp_path, "tap", "--no-store", "--pause", "x", *words)
        assert done.code == 2
        assert "needs a place where you decide" in done.err
    done = run("--data-dir", tmp_path, "tap", "--pause", "x", "--", "true")
    assert (done.code, done.out) == (0, "")
    assert "/held in the app decides" in done.err
