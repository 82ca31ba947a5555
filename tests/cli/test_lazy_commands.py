"""Commands are imported when they run; listing and completing their names imports none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tui_chat import hooks
from tui_chat.cli.commands import cli
from tui_chat.hooks import built_in_plugins

PROGRAM = """
import sys
from tui_chat.cli import main
try:
    main()
except SystemExit:
    pass
print("imported", *(name for name in sys.modules if name.startswith("tui_chat.")))
"""


def imported(folder: Path, *words: str) -> set[str]:
    """Return our modules that a command line imports."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--config-dir", folder, "--data-dir", folder, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.slow
@each_row("words", [("--help",), ("--version",), ("no-such-command",)])
def test_the_list_of_commands_imports_none(tmp_path: Path, words: tuple[str, ...]):
    modules = {entry.path.partition(":")[0] for entry in cli.table.values()}
    assert imported(tmp_path, *words) & modules == {"tui_chat.cli.completion"}


@pytest.mark.slow
def test_a_command_imports_its_own_module_and_no_screen(tmp_path: Path):
    modules = {entry.path.partition(":")[0] for entry in cli.table.values()}
    found = imported(tmp_path, "ask", "--help")
    assert found & modules == {"tui_chat.cli.ask", "tui_chat.cli.completion"}
    # The manifests name the kinds of generation, and the configuration has the endpoints of an
    # offline provider; nothing else of a plugin is imported.
    manifests = {f"tui_chat.plugins.{plugin.name}" for plugin in built_in_plugins()}
    manifests |= {part.path.partition(":")[0] for _, part in hooks.parts_at("offline provider")}
    others = found - manifests
    assert not {name for name in others if name.startswith(("tui_chat.ui", "tui_chat.plugins."))}
