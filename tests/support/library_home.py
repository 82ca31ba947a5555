"""A home with a file of each kind, and commands over it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import Done, Run

ROLE = {"name": "Poet", "system_prompt": "Rhyme.", "model": "echo", "parameters": {"seed": 3}}


@pytest.fixture
def home(tmp_path: Path, run: Run) -> Run:
    """Return a function that runs a command in a home with a file of each kind."""
    preset = [
        {"id": "p", "role": "system", "content": "Be brief.\nAnd kind."},
        {"id": "here", "type": "chat_history"},
        {"id": "d", "role": "user", "content": "!", "insertionPoint": -2, "enabled": False},
    ]
    for folder, name, value in [
        ("presets", "mine", preset),
        ("presets", "broken", {"messages": [{"role": "boss"}]}),
        ("roles", "poet", ROLE),
        ("profiles", "kim", {"name": "Kim", "content": "Kim is here."}),
    ]:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.json").write_text(json.dumps(value))

    def call(*words: object) -> Done:
        return run("--config-dir", tmp_path, "--data-dir", tmp_path / "data", *words)

    return call
