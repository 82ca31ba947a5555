"""The cases that come with the program."""

from __future__ import annotations

from tests.cli.conftest import Run
from tui_chat.paths import bundled


def test_bundled_cases_pass(run: Run):
    done = run("preset", "test", bundled("sample_presets"))
    assert done.code == 0, done.out
