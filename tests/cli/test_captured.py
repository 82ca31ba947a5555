"""`tui-chat inspect`: what is no request is told before the screen opens; so is no screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

BODY = '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'


@pytest.mark.parametrize(
    ("text", "told"),
    [("Dear diary", "Error: {path}: "), (BODY, "Error: The screen needs a terminal.")],
)
def test_it_says_why_it_does_not_open(run: Run, tmp_path: Path, text: str, told: str):
    path = tmp_path / "captured.txt"
    path.write_text(text)
    done = run("inspect", path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(told.format(path=path))
