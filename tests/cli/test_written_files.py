"""Who may read the files that the program writes, with a umask that forbids nothing."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.tables import each_row
from tui_chat import files
from tui_chat.config.file import create_config_file
from tui_chat.library.library import Library
from tui_chat.models.preset import Preset
from tui_chat.paths import bundled
from tui_chat.ui.pane_layout import PaneLayout, write_layout
from tui_chat.ui.themes import save_choice

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no permission bits")


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
