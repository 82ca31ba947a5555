"""Homes with a configuration, and commands about it."""

from __future__ import annotations

import io
import os
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.support.command_line import Done, Run

SECRET = "sk-secret-0123456789"


COMMENTED = """\
# mine
theme = "tui-chat-light"   # at noon

[endpoints.work]
protocol = "openai_chat"
base_url = "https://llm.example.org/v1"
key = "env:WORK_LLM_KEY"
"""


@pytest.fixture
def home(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command in the home `tmp_path`."""
    for name in ("OPENAI_API_KEY", "WORK_LLM_KEY", "TUI_CHAT_MODEL", "VISUAL"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: object, stdin: str | None = None) -> Done:
        if stdin is not None:
            stream = io.TextIOWrapper(io.BytesIO(stdin.encode()))
            monkeypatch.setattr(sys, "stdin", stream)
        return run("--config-dir", tmp_path, "--data-dir", tmp_path / "data", *words)

    return call


SCREEN_FAULTS = [
    ('theme = "nosuch"', "There is no theme “nosuch”."),
    ('[keys]\nnonsense = "F9"', "“nonsense”, which is not an action."),
    ('[keys]\nnew = "Ctrl+F"', "Ctrl+F"),
]
"""Lines of the configuration that only the app finds fault with, and words of the error."""


KEY = "sk-proj-0123456789abcdef"


@pytest.fixture
def endpoints(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command with an empty home folder, without keys, settings or proxies."""
    for name in list(os.environ):
        if name.upper().endswith(("_API_KEY", "_PROXY")) or name.startswith("TUI_CHAT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    return partial(run, "--config-dir", tmp_path, "endpoints")
