"""`tui-chat build` over the files of a folder."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tui_chat.cli import main

HISTORY = [
    {"role": "user", "content": "Who wrote “红楼梦”?"},
    {"role": "assistant", "content": "Cao Xueqin."},
    {"role": "user", "content": "When?"},
    {"role": "assistant", "content": "In the 18th century."},
]


PRESET = {
    "name": "test",
    "presetMessages": [
        {"id": "s", "role": "system", "content": "Be exact."},
        {"id": "world", "type": "placeholder", "role": "user"},
        {"role": "user", "content": "W", "anchorTarget": "world", "anchorPoint": "before"},
        {"type": "chat_history", "role": "user"},
        {"id": "r", "role": "user", "content": "Reminder.", "insertionPoint": -2},
    ],
}


ROLE = {"name": "Critic", "system_prompt": "You are a critic.", "temperature": 0.3, "maxTokens": 64}


@dataclass(frozen=True)
class Built:
    """The exit code and output of `tui-chat build`."""

    returncode: int
    stdout: bytes
    stderr: bytes


Build = Callable[..., Built]


@pytest.fixture
def build(
    folder: Path,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Build:
    """Run the command in this process; the folder is its configuration and working folder."""
    monkeypatch.chdir(folder)

    def call(*words: str) -> Built:
        home = ("--data-dir", str(folder / "data"), "--config-dir", str(folder))
        monkeypatch.setattr(sys, "argv", ["tui-chat", *home, "build", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        code = 0
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1
        said = capsysbinary.readouterr()
        return Built(code, said.out, said.err)

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "history.json").write_text(json.dumps(HISTORY))
    (tmp_path / "history.jsonl").write_text("\n".join(json.dumps(m) for m in HISTORY))
    (tmp_path / "preset.json").write_text(json.dumps(PRESET))
    (tmp_path / "role.json").write_text(json.dumps(ROLE))
    return tmp_path


FILES = ("--preset", "preset.json", "--role", "role.json", "--model", "m-1", "Go on")
