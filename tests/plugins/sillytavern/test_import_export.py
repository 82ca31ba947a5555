"""Chats that are imported by the command."""

from __future__ import annotations

import json
from pathlib import Path

from tests.plugins.sillytavern.test_characters import CARD
from tests.support.command_line import Run
from tests.support.exports import lines, tavern, tavern_header


def test_a_chat_gets_the_role_and_the_profile_of_its_names(run: Run, tmp_path: Path):
    home = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path)
    file, card = tmp_path / "chat.jsonl", tmp_path / "card.json"
    file.write_bytes(lines(tavern_header(), tavern("Yes?"), tavern("Hi", user=True)))
    card.write_text(json.dumps(CARD | {"data": CARD["data"] | {"name": "Ada"}}))
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "sailor.json").write_text('{"name": "Kim", "content": "Sails."}')
    done = run(*home, "import", file, "--dry-run")
    assert "1 × No role is called “Ada”, which {{char}} is. Import its card first" in done.out
    assert run(*home, "import", card).code == 0
    done = run(*home, "import", file)
    assert done.code == 0
    assert "No role" not in done.out
    content = "{{char}}, {{user}}: {{persona}} {{description}}"
    preset = tmp_path / "p.json"
    preset.write_text(
        json.dumps({"name": "p", "presetMessages": [{"id": "a", "content": content}]})
    )
    built = run(*home, "build", "--session", "Ada", "--preset", preset, "x")
    assert "Ada, Kim: Sails. Ada is a clerk." in built.out


def test_a_line_of_sillytavern_without_text_uses_its_swipe_or_is_left_out(run: Run, tmp_path: Path):
    done = run(
        "--data-dir",
        tmp_path / "data",
        "import",
        Path(__file__).parent / "data" / "sillytavern_chat.jsonl",
    )
    assert "line 3" in done.err
    assert "line 5" in done.err
    shown = json.loads(run("--data-dir", tmp_path / "data", "export", "--format", "json").out)
    texts = [message["content"] for message in shown["sessions"][0]["messages"]]
    assert sorted(texts) == ["A", "B", "D", "Hm"]
