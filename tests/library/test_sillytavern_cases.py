"""Every captured request of SillyTavern, built from the same inputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui_chat.cli.sillytavern import build_case

CASES = Path(__file__).parents[3] / "shared" / "corpus" / "sillytavern" / "dev"
DIFFERENT: dict[str, str] = {}
"""The captures that give another request, with the reason."""


def test_every_capture_gives_the_same_messages():
    paths = sorted(CASES.glob("*.json"))
    if not paths:
        pytest.skip("the corpus is not here")
    different: list[str] = []
    for path in paths:
        text = path.read_text("utf-8")
        messages, _ = build_case(text, path.name)
        if messages != json.loads(text)["messages"]:
            different.append(path.stem)
    assert different == sorted(DIFFERENT)
