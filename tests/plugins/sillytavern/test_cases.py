"""`tui-chat sillytavern build`: the request of a case in one file."""

from __future__ import annotations

import json

from tui_chat.plugins.sillytavern.cases import build_case


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
