"""Files that the user names are regular files of a bounded size; who may read those we write."""

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
from tui_chat.config.file import create_config_file
from tui_chat.errors import InputError
from tui_chat.library.library import Library
from tui_chat.models.preset import Preset
from tui_chat.paths import bundled
from tui_chat.ui.pane_layout import PaneLayout, write_layout
from tui_chat.ui.themes import load_theme, save_choice
from tui_chat.workspace.attachments import read_attachment
from tui_chat.workspace.sent import text_or_file

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="has no pipes with names and no permission bits"
)

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


# --- Who may read the files that the program writes, with a umask that forbids nothing ----


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_what_is_written_unasked_is_private(tmp_path: Path):
    data, config = tmp_path / "data" / "below", tmp_path / "config" / "below"
    write_layout(data / "layout.json", PaneLayout())
    save_choice(data / "theme", "mine", "configured")
    create_config_file(config / "config.toml")
    library = Library(config, bundled("sample_presets"))
    library.add_preset(Preset("own"))
    library.save_snippet("Hello", "greeting")
    for path in (*data.parent.rglob("*"), *config.parent.rglob("*"), data.parent, config.parent):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.usefixtures("umask")
@each_row(
    ("access", "new", "before", "after"),
    [
        ("private", 0o600, 0o666, 0o600),
        ("own", 0o600, 0o664, 0o664),
        ("shared", 0o666, 0o640, 0o640),
    ],
)
def test_who_may_read_a_file(tmp_path, access: files.Access, new: int, before: int, after: int):
    files.write_text("x", tmp_path / "new", access)
    assert mode(tmp_path / "new") == new
    old = tmp_path / "old"
    old.write_text("x")
    old.chmod(before)
    files.write_text("y", old, access)
    assert (mode(old), old.read_text()) == (after, "y")


def test_an_export_is_never_wider_than_the_umask(tmp_path: Path):
    old = tmp_path / "old"
    old.write_text("x")
    old.chmod(0o666)
    before = os.umask(0o027)
    try:
        files.write_text("y", old, "shared")
        files.write_bytes(b"z", tmp_path / "new", "shared", overwrite=False)
    finally:
        os.umask(before)
    assert (mode(old), mode(tmp_path / "new")) == (0o640, 0o640)


def test_a_new_file_takes_a_free_name(tmp_path: Path):
    names = [files.write_new_file(tmp_path / "a" / "b.png", b"x").name for _ in range(3)]
    assert names == ["b.png", "b-2.png", "b-3.png"]
    assert {mode(path) for path in (tmp_path / "a").iterdir()} == {0o600}
    assert mode(tmp_path / "a") == 0o700


@pytest.mark.usefixtures("umask")
def test_commands_write_private_files(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch):
    chat = tmp_path / "chat.json"
    chat.write_text('[{"role": "user", "content": "Hi"}]')
    home = tmp_path / "home"
    folders = ("--data-dir", str(home / "data"), "--config-dir", str(home / "config"))
    exports = tmp_path / "exports"
    commands = (
        ("import", str(chat)),
        ("ask", "Hi", "--model", "echo"),
        ("ask", "Hi", "--model", "picture", "--save-to", str(exports / "pictures")),
        *(
            ("export", "--format", kind, "--output", str(exports / kind))
            for kind in ("json", "jsonl", "markdown", "html", "sillytavern")
        ),
        ("export", "--all", "--output", str(chat), "--force"),
    )
    exports.mkdir(mode=0o700)
    monkeypatch.chdir(exports)
    for words in commands:
        done = run(*folders, *words)
        assert done.code == 0, done.err
    written = [*home.rglob("*"), *exports.rglob("*")]
    assert [path for path in written if path.suffix == ".png"]
    for path in (*written, chat):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
