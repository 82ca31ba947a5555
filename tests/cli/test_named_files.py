"""Files that the user names are regular files of a bounded size; nothing waits for a pipe."""

from __future__ import annotations

import os
import signal
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.program import run_program
from tests.support.tables import each_row
from tui_chat import files
from tui_chat.errors import InputError
from tui_chat.ui.themes import load_theme
from tui_chat.workspace.attachments import read_attachment
from tui_chat.workspace.sent import text_or_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with names")

COMMANDS = (
    ("import", "{}"),
    ("inspect", "{}"),
    ("convert", "{}", "--to", "gemini"),
    ("read", "{}", "--protocol", "gemini"),
    ("preset", "check", "{}"),
    ("preset", "test", "{}"),
    ("build", "--preset", "{}"),
    ("build", "--history", "{}"),
    ("build", "--turn", "{}"),
    ("build", "--role", "{}"),
    ("db", "restore", "{}"),
)


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """A pipe, a socket, a device that never ends, and a folder."""
    pipe, address = tmp_path / "pipe.json", tmp_path / "socket.json"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        yield {"pipe": pipe, "socket": address, "device": Path("/dev/zero")}


@pytest.fixture
def in_folder(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command over `tmp_path`, in this process."""
    monkeypatch.chdir(tmp_path)
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    return lambda *words: run(*folders, *words)


@contextmanager
def nobody_waits_for(pipe: Path) -> Iterator[None]:
    """Fail after ten seconds, and let go whoever waits for the pipe."""

    def release(*_: object) -> None:
        os.close(os.open(pipe, os.O_RDWR))
        pytest.fail("the command waits for the pipe")

    before = signal.signal(signal.SIGALRM, release)
    signal.alarm(10)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@each_row("words", COMMANDS, ids=" ".join)
def test_no_command_waits_for_a_pipe(in_folder, strange: dict[str, Path], words: tuple[str, ...]):
    with nobody_waits_for(strange["pipe"]):
        done = in_folder(*(word.format(strange["pipe"]) for word in words))
    assert done.code in (1, 2), done
    assert "pipe.json" in done.out + done.err
    assert "Traceback" not in done.out + done.err


@each_row("kind", ["pipe", "socket", "device"])
def test_only_regular_files_are_opened(strange: dict[str, Path], kind: str):
    path = strange[kind]
    with pytest.raises(InputError, match=f"it is a {kind}, not a regular file"):
        files.read_file(path, 100)
    with pytest.raises(InputError, match="not a regular file"):
        read_attachment(path)
    with pytest.raises(InputError, match="not a regular file"):
        load_theme(path)
    with pytest.raises(InputError, match="not a regular file"):
        text_or_file(str(path))


def test_a_path_that_became_a_pipe_after_the_check_is_refused(
    strange: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    regular = tmp_path / "regular"
    regular.write_text("x")
    before = os.stat(regular)
    monkeypatch.setattr(files.os, "stat", lambda _: before)
    with pytest.raises(OSError, match="it is a pipe"):
        files.open_file(strange["pipe"])


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(3 * 2**20)
    assert len(files.read_file(path, 3 * 2**20)) == 3 * 2**20
    with pytest.raises(InputError, match="large is larger than 2 MiB"):
        files.read_file(path, 2 * 2**20)


@each_row(
    "words",
    [("convert", "-", "--to", "gemini"), ("read", "-", "--protocol", "gemini")],
)
def test_a_device_on_the_standard_input_is_refused(in_folder, words: tuple[str, ...], monkeypatch):
    with Path("/dev/zero").open() as zero:
        monkeypatch.setattr(sys, "stdin", zero)
        done = in_folder(*words)
    assert done.code == 2
    assert "standard input is a device" in done.err


def test_the_standard_input_has_a_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    given = tmp_path / "given"
    given.write_bytes(b"x" * 5_000)
    with given.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(InputError, match="standard input is larger"):
            files.read_standard_input(1_000)
        stdin.seek(0)
        assert len(files.read_standard_input(5_000)) == 5_000


def test_a_database_that_is_a_pipe_is_refused(tmp_path: Path, in_folder: Run):
    (tmp_path / "data").mkdir()
    pipe = tmp_path / "data" / "chat.db"
    os.mkfifo(pipe)
    for words in (("sessions", "list"), ("db", "status"), ("db", "check"), ("db", "vacuum")):
        with nobody_waits_for(pipe):
            done = in_folder(*words)
        assert done.code in (1, 2)
        assert "chat.db is not a regular file" in done.out + done.err


def test_new_folders_are_private(tmp_path: Path):
    before = os.umask(0)
    try:
        files.make_private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_shared_folder_keeps_its_permissions(tmp_path: Path):
    tmp_path.chmod(0o1777)
    files.restrict(tmp_path, 0o700)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777


@pytest.mark.slow
@each_row("words", [("sessions", "list"), ("import", "chat.json")])
def test_headless_commands_make_a_private_data_folder(tmp_path: Path, words: tuple[str, ...]):
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "Hi"}]')
    folders = ("--data-dir", str(tmp_path / "data"), "--config-dir", str(tmp_path / "config"))
    run_program(*folders, *words, cwd=tmp_path, umask=0, check=True)
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "chat.db").stat().st_mode) == 0o600
