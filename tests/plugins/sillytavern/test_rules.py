"""Rules of SillyTavern, each in a small case; what is expected was read off SillyTavern 1.19."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from tests.plugins.sillytavern.folders import composed_case
from tests.support.command_line import Run
from tests.support.golden import cases
from tests.support.workspace import MakeWorkspace
from tui_chat.compose import compose
from tui_chat.models.message import Muted

RULES = Path(__file__).parent / "rules"
ORDER = ("main", "worldInfoBefore", "charDescription", "scenario", "chatHistory", "jailbreak")
WORLD = {"world_info_budget": 100, "world_info_match_whole_words": True}


def case_of(
    order: Sequence[str] = ORDER,
    prompts: Sequence[dict[str, Any]] = (),
    settings: dict[str, Any] | None = None,
    world: dict[str, Any] | None = None,
    entries: Sequence[dict[str, Any]] = (),
    preset: dict[str, Any] | None = None,
    card: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return a case."""
    rows = [{"identifier": identity, "enabled": True} for identity in order]
    return {
        "preset": {
            "prompts": [{"identifier": "main", "content": "Main."}, *prompts],
            "prompt_order": [{"character_id": 100001, "order": rows}],
            "new_chat_prompt": "",
            **(preset or {}),
        },
        "card": {"name": "Rook", "description": "A rook.", **(card or {})},
        "settings": {"world_info": {**WORLD, **(world or {})}, **(settings or {})},
        "lorebooks": {
            "active_global": ["Book"],
            "files": {"Book": {"entries": {str(n): entry(n, e) for n, e in enumerate(entries)}}},
        },
        "user_input": "Hello.",
        **fields,
    }


def entry(number: int, fields: dict[str, Any]) -> dict[str, Any]:
    return {"uid": number, "key": ["hello"], "position": 0, "order": 100, **fields}


def said(name: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "is_user": name == "User", "mes": text, **fields}


async def contents(make_workspace: MakeWorkspace, number: int, **case: Any) -> list[str]:
    """Return the texts of the messages of a case."""
    composed = await composed_case(make_workspace, number, case_of(**case))
    return [message["content"] for message in json.loads(composed.payload.body)["messages"]]


async def test_every_rule(make_workspace: MakeWorkspace) -> None:
    wrong: list[str] = []
    for number, (name, case, expected) in enumerate(cases(RULES)):
        found = await contents(make_workspace, number, **case)
        if found != expected:
            wrong.append(f"{name}: {found}, not {expected}")
    assert not wrong, "\n".join(wrong)


async def test_no_more_than_a_thousand_messages_are_searched(make_workspace: MakeWorkspace):
    anvil = {"content": "Found.", "key": ["anvil"], "scanDepth": 5_000}
    later = [said("Rook", "Caw.")] * 998
    for before in (1, 2):
        chat = [said("Rook", "An anvil."), *later, *[said("Rook", "Caw.")] * (before - 1)]
        found = await contents(make_workspace, before, entries=(anvil,), chat=chat)
        assert ("Found." in found) is (before == 1)


async def test_a_muted_message_is_sent_as_a_hidden_one(make_workspace: MakeWorkspace):
    """What our key takes out of a request, `/hide` does there."""
    prompts = [{"identifier": "main", "content": "{{lastMessageId}} {{lastMessage}}"}]
    bodies: list[bytes] = []
    for number, (name, is_hidden) in enumerate(product(("User", "Rook"), (False, True))):
        chat = [
            said("User", "Salt."),
            said("Rook", "Caw."),
            said(name, "Hidden.", is_system=is_hidden),
            said("Rook", "Marsh."),
        ]
        case = case_of(("main", "chatHistory"), chat=chat, preset={"prompts": prompts})
        composed = await composed_case(make_workspace, number, case)
        if is_hidden:
            assert [left_out.preview for left_out in composed.envelope.muted] == ["Hidden."]
            bodies.append(composed.payload.body)
        else:
            shown = composed.inputs
            assert shown is not None
            history = tuple(
                replace(message, muted=Muted(whole=message.content == "Hidden."))
                for message in shown.history
            )
            bodies.append(compose(replace(shown, history=history)).payload.body)
            assert bodies[-1] != composed.payload.body
    assert bodies[0] == bodies[1]
    assert bodies[2] == bodies[3]


# --- Group chats of a user's folder, and what is said of lore entries with blank keys -----


WORLD_ENTRY = {
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
        book = {"entries": {"0": {"uid": 0, "key": keys, "content": "LORE"} | WORLD_ENTRY}}
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
