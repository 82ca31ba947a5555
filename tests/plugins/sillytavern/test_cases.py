"""Every captured request of SillyTavern, built from the same inputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui_chat.plugins.sillytavern.cases import build_case

CASES = Path(__file__).parents[4] / "shared" / "corpus" / "sillytavern" / "dev"
DIFFERENT = {
    "112-macros-format-vars-legacy": "The legacy macro engine, which sets variables first.",
    "117-macros-nested": "A field of a card may contain others and the profile.",
    "237-macros-arg-forms": "Macros with operators: {{.b = 5}}, {{.c ?? dflt}}.",
}
"""The captures that give another request, with the reason."""


@pytest.mark.slow
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


def test_the_entries_of_a_lorebook_may_be_a_list():
    entry = {"uid": 3, "key": [], "constant": True, "content": "Rain.", "position": 0}
    case = {
        "preset": {"prompts": []},
        "card": {"name": "Ada", "description": "", "first_mes": ""},
        "lorebooks": {"active_global": ["Sea"], "files": {"Sea": {"entries": [entry]}}},
        "user_input": "Hi.",
    }
    messages, _ = build_case(json.dumps(case), "case")
    assert {"role": "system", "content": "Rain."} in messages
