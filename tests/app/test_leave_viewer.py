"""A file that takes minutes to read can be left at once, on a real terminal."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.terminal_app import CTRL_Q, TerminalApp

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs a pty"),
]


def archive(path: Path, count: int) -> None:
    """Write an export of ChatGPT with so many conversations of a message."""

    def conversation(number: int) -> str:
        message = {
            "id": f"m{number}",
            "author": {"role": "user"},
            "content": {"content_type": "text", "parts": ["hi"]},
        }
        nodes = {
            "r": {"id": "r", "message": None, "parent": None, "children": ["a"]},
            "a": {"id": "a", "parent": "r", "children": [], "message": message},
        }
        facts = {"title": f"c{number}", "create_time": 1, "update_time": 1}
        facts |= {"conversation_id": f"{number:08x}", "current_node": "a"}
        return json.dumps({**facts, "mapping": nodes})

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", f"[{','.join(map(conversation, range(count)))}]")


def used_seconds(pid: int) -> float:
    """Return the processor time that a program has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_file_of_very_many_conversations_can_be_left_while_it_is_read(tmp_path: Path):
    path = tmp_path / "many.zip"
    archive(path, 300_000)
    home = tmp_path / "home"
    home.mkdir()
    with TerminalApp(home, ("view", str(path))) as app:
        app.until(lambda: app.shows("Read-only") and used_seconds(app.process.pid) > 6)
        app.type(CTRL_Q)
        assert app.wait(20) == 0
