"""`tui-chat preset import`: SillyTavern's presets become files, and what is lost is told."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from tui_chat.library import load_preset

PROMPTS = [
    {"identifier": "main", "role": "system", "content": "Go."},
    {"identifier": "chatHistory", "marker": True},
]
ORDER = [{"identifier": "main", "enabled": True}, {"identifier": "chatHistory", "enabled": True}]
THEIRS = {"prompts": PROMPTS, "prompt_order": [{"character_id": 100001, "order": ORDER}]}


def test_it_becomes_a_file_of_ones_own_and_never_writes_over_one(run: Run, tmp_path: Path):
    path = tmp_path / "Calm.json"
    path.write_text(json.dumps({**THEIRS, "squash_system_messages": True}))
    for name in ("Calm", "Calm 2"):
        done = run("preset", "import", path, "--config-dir", tmp_path / "config")
        kept = tmp_path / "config" / "presets" / f"{name}.json"
        assert (done.code, done.out) == (0, f"{kept}\n")
        assert "warning: System messages are not joined" in done.err
        assert load_preset(kept).messages[0].content == "Go."
    named = run("preset", "import", path, "--name", "Other", "--config-dir", tmp_path / "config")
    assert named.out.endswith("Other.json\n")


def test_what_is_none_is_an_error(run: Run, tmp_path: Path):
    path = tmp_path / "ours.json"
    path.write_text('[{"type": "chat_history"}]')
    done = run("preset", "import", path, "--config-dir", tmp_path)
    assert done.code == 2
    assert f"{path} is no chat completion preset of SillyTavern's." in done.err
