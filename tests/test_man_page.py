"""docs/man/tui-chat.1 says what --help says, and is a correct manual page."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.test_command_line_docs import commands
from tui_chat.cli.commands import cli

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "man" / "tui-chat.1"


def test_the_page_is_up_to_date():
    code = runpy.run_path(str(ROOT / "docs" / "dev" / "man_page.py"))
    assert code["text"]() == PAGE.read_text("utf-8"), "run `python docs/dev/command_line.py`"


def test_the_page_has_every_command():
    text = PAGE.read_text("utf-8").replace("\\-", "-")
    for path, _ in commands(cli):
        assert f"\n.SS {path.removeprefix('tui-chat ')}\n" in text


def test_the_wheel_installs_the_page():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {"docs/man/tui-chat.1": "share/man/man1/tui-chat.1"}


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
def test_mandoc_finds_no_fault():
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", PAGE], capture_output=True, text=True
    )
    assert done.stdout == ""
