"""Files that the user names are regular files of a bounded size; nothing waits for a pipe."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_chat import attachments, files
from tui_chat.errors import InputError
from tui_chat.ui.acting.supposing import in_file
from tui_chat.ui.themes import load_theme

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with names")

COMMANDS = (
    ("import", "{}"),
    ("inspect", "{}"),
    ("convert", "{}", "--to", "gemini"),
    ("read", "{}", "--protocol", "gemini"),
    ("preset", "check", "{}"),
    ("preset", "import", "{}"),
    ("preset", "test", "{}"),
    ("build", "--preset", "{}"),
    ("build", "--history", "{}"),
    ("build", "--turn", "{}"),
    ("build", "--role", "{}"),
    ("build", "--profile", "{}"),
    ("build", "--lorebook", "{}"),
    ("db", "salvage", "{}", "--to", "new.db"),
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


def ran(
    tmp_path: Path, *words: str, stdin: int | None = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    folders = ("--data-dir", str(tmp_path / "data"), "--config-dir", str(tmp_path / "config"))
    return subprocess.run(
        [sys.executable, "-m", "tui_chat", *folders, *words],
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        check=False,
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_waits_for_a_pipe(
    tmp_path: Path, strange: dict[str, Path], words: tuple[str, ...]
) -> None:
    done = ran(tmp_path, *(word.format(strange["pipe"]) for word in words))
    assert done.returncode in (1, 2), done
    said = done.stdout + done.stderr
    assert "pipe.json" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_regular_file_is_not_opened(strange: dict[str, Path], kind: str) -> None:
    path = strange[kind]
    with pytest.raises(InputError, match=f"it is a {kind}, not a regular file"):
        files.read_file(path, 100)
    with pytest.raises(InputError, match="no ordinary file"):
        attachments.read_attachment(path)
    with pytest.raises(InputError, match="not a regular file"):
        load_theme(path)
    with pytest.raises(InputError, match="not a regular file"):
        in_file(str(path))


def test_a_path_that_became_a_pipe_after_it_was_looked_at_is_refused(
    strange: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    regular = tmp_path / "regular"
    regular.write_text("x")
    before = os.stat(regular)
    monkeypatch.setattr(files.os, "stat", lambda _: before)
    with pytest.raises(OSError, match="it is a pipe"):
        files.open_file(strange["pipe"])


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(3 * 2**20)
    assert len(files.read_file(path, 3 * 2**20)) == 3 * 2**20
    with pytest.raises(InputError, match="large: is larger than 2 MiB"):
        files.read_file(path, 2 * 2**20)


@pytest.mark.parametrize(
    "words",
    [("import", "-"), ("convert", "-", "--to", "gemini"), ("read", "-", "--protocol", "gemini")],
)
def test_a_device_on_the_standard_input_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/zero").open("rb") as zero:
        done = ran(tmp_path, *words, stdin=zero.fileno())
    assert done.returncode == 2
    assert "standard input: is a device" in done.stderr


def test_the_standard_input_has_a_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_bytes(b"x" * 5_000)
    with given.open() as stdin, (tmp_path / "copy").open("wb") as copy:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(InputError, match="standard input: is larger"):
            files.copy_standard_input(copy, 1_000)
        stdin.seek(0)
        with pytest.raises(InputError, match="standard input: is larger"):
            files.read_standard_input(1_000)
        stdin.seek(0)
        assert len(files.read_standard_input(5_000)) == 5_000


def test_a_database_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    os.mkfifo(tmp_path / "data" / "chat.db")
    for words in (("sessions", "list"), ("db", "status"), ("db", "check"), ("db", "migrate")):
        done = ran(tmp_path, *words)
        assert done.returncode in (1, 2)
        assert "chat.db is not a regular file" in done.stdout + done.stderr


def test_folders_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        files.make_private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_everybody_uses_stays_open(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    files.restrict(tmp_path, 0o700)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777


@pytest.mark.parametrize("words", [("sessions", "list"), ("import", "chat.json")])
def test_headless_commands_make_a_private_data_folder(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "Hi"}]')
    before = os.umask(0)
    try:
        done = ran(tmp_path, *words)
    finally:
        os.umask(before)
    assert done.returncode == 0, done
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "chat.db").stat().st_mode) == 0o600
