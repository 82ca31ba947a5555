"""Group chats of a user's folder, and what is said of lore entries with blank keys."""

from __future__ import annotations

import json
from pathlib import Path

from tests.plugins.sillytavern.folders import composed_case
from tests.support.command_line import Run
from tests.support.workspace import MakeWorkspace

ENTRY = {
    "keysecondary": [], "constant": False, "selective": True, "selectiveLogic": 0, "order": 100,
    "position": 0, "disable": False, "probability": 100, "useProbability": True, "depth": 4,
}  # fmt: skip


def test_a_group_chat_is_titled_by_its_group_and_char_is_who_spoke_last(run: Run, tmp_path: Path):
    folder = tmp_path / "default-user"
    for name in ("group chats", "groups", "OpenAI Settings", "chats"):
        (folder / name).mkdir(parents=True)
    (folder / "settings.json").write_text("{}")
    group = {"id": "1", "name": "Radio crew", "members": ["Mira.png"], "chats": ["c1"]}
    (folder / "groups" / "1.json").write_text(json.dumps(group))
    lines = (
        {"user_name": "unused", "character_name": "unused", "chat_metadata": {}},
        {"name": "Mira", "is_user": False, "mes": "On air."},
        {"name": "Rowan", "is_user": True, "mes": "Who is there?"},
        {"name": "Otto", "is_user": False, "mes": "I am."},
    )
    (folder / "group chats" / "c1.jsonl").write_text("\n".join(map(json.dumps, lines)))
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    assert run(*folders, "import", folder).code == 0
    (session,) = json.loads(run(*folders, "sessions", "list", "--json").out)
    assert session["title"] == "Radio crew"
    presets = tmp_path / "config" / "presets"
    presets.mkdir(parents=True, exist_ok=True)
    message = {"id": "a", "role": "system", "content": "You are {{char}}."}
    (presets / "who.json").write_text(json.dumps({"presetMessages": [message]}))
    words = ("build", "--session", "Radio crew", "--preset", "who", "Hello")
    assert "You are Otto." in run(*folders, *words).out


async def test_no_note_says_that_an_entry_with_a_blank_key_is_idle_where_it_is_sent(
    make_workspace: MakeWorkspace,
):
    wrong = []
    order = [{"identifier": name, "enabled": True} for name in ("worldInfoBefore", "chatHistory")]
    preset = {"prompts": [], "prompt_order": [{"character_id": 100001, "order": order}]}
    for number, keys in enumerate((["", "  "], [" "], [""], [], ["hello"], ["absent"])):
        book = {"entries": {"0": {"uid": 0, "key": keys, "content": "LORE"} | ENTRY}}
        case = {
            "preset": preset,
            "lorebooks": {"active_global": ["w"], "files": {"w": book}},
            "user_input": "hello",
        }
        composed = await composed_case(make_workspace, number, case)
        is_sent = b"LORE" in composed.payload.body
        is_idle = any(note.code == "lore-idle" for note in composed.notes)
        if is_sent is (keys in ([], [""], ["absent"])) or (is_sent and is_idle):
            wrong.append((keys, is_sent, is_idle))
    assert not wrong, wrong
