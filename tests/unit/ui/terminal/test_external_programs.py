"""Which editor opens a draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tables import each_row
from tests.unit.ui.terminal.test_clipboard import program
from tui_chat.errors import InputError
from tui_chat.ui.terminal.external_programs import editor_command


@each_row(
    ("environ", "platform", "command"),
    [
        ({"VISUAL": "code --wait", "EDITOR": "vi"}, "linux", ["code", "--wait"]),
        ({"EDITOR": "'my editor' -x"}, "linux", ["my editor", "-x"]),
        ({"EDITOR": ""}, "win32", ["notepad"]),
        ({"EDITOR": r'"C:\Program Files\ed.exe" -w'}, "win32", [r"C:\Program Files\ed.exe", "-w"]),
    ],
)
def test_the_named_editor(environ: dict[str, str], platform: str, command: list[str]):
    assert editor_command(environ, platform) == command


def test_the_systems_editor(tmp_path: Path):
    environ = {"PATH": str(tmp_path)}
    assert editor_command(environ, "linux") == ["vi"]
    program(tmp_path, "nano", "")
    assert editor_command(environ, "linux") == ["nano"]
    program(tmp_path, "editor", "")
    assert editor_command(environ, "linux") == ["editor"]


@pytest.mark.parametrize("named", ["'", "  "])
def test_no_command(named: str):
    with pytest.raises(InputError, match="EDITOR"):
        editor_command({"EDITOR": named}, "linux")
