"""The command line with cards, lorebooks and presets of SillyTavern."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.plugins.sillytavern.test_character_cards import picture, text_chunk
from tests.plugins.sillytavern.test_characters import CARD
from tests.support.build_command import Build
from tests.support.command_line import Run
from tests.support.exports import lines, tavern, tavern_header
from tests.support.preset_findings import HISTORY, told
from tests.support.program import run_program
from tui_chat.paths import bundled
from tui_chat.plugins.sillytavern.card_files import read_card
from tui_chat.plugins.sillytavern.cases import build_case


def take(folder: Path, *entries: dict[str, Any]) -> None:
    """Import the card of Mira, whose book has these entries."""
    book = {"name": "b", "entries": [{"enabled": True, "insertion_order": 1, **e} for e in entries]}
    data = {"name": "Mira", "description": "", "first_mes": "", "character_book": book}
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    (folder / "mira.json").write_text(json.dumps(card))
    folders = ("--config-dir", folder, "--data-dir", folder / "data")
    run_program(*folders, "import", folder / "mira.json", check=True)


def test_a_lorebook_entry_is_sent_when_its_keyword_occurs(folder: Path, build: Build):
    place = {"position": 4, "depth": 1}
    take(
        folder,
        {"keys": ["fox"], "content": "Foxes are red.", "extensions": place},
        {"keys": ["red"], "content": "Red is a colour."},
    )
    words = ("--role", "Mira", "--model", "m-1")
    assert b"Foxes are red." in build(*words, "a fox").stdout
    assert b"Red is a colour." in build(*words, "red").stdout
    assert b"red" not in build(*words, "a dog").stdout.lower()


def test_why_lore_is_active_is_printed(folder: Path, build: Build):
    late = {"comment": "late", "keys": ["fox"], "content": "Late."}
    take(
        folder,
        {"comment": "Fox", "keys": ["fox"], "content": "Red.", "extensions": {"scan_depth": 1}},
        {**late, "extensions": {"scan_depth": 3, "delay": 9}},
    )
    history = [{"role": "user", "content": "A fox"}, {"role": "assistant", "content": "Yes"}]
    (folder / "said.json").write_text(json.dumps(history))
    words = ("--role", "Mira", "--history", "said.json", "--model", "m-1")
    found = json.loads(build(*words, "Hm", "--show", "lore").stdout)
    assert [(each["name"], each["state"]) for each in found["entries"]] == [
        ("Fox", "absent"),
        ("late", "held_back"),
    ]
    assert found["entries"][1]["sentence"].startswith("“fox” occurs in message “A fox”, but a ")
    empty = build("--model", "m-1", "Hm", "--show", "lore")
    assert json.loads(empty.stdout) == {"entries": []}


# --- `tui-chat sillytavern build`: the request of a case in one file ----------------------


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


# --- Chats that are imported by the command -----------------------------------------------


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


# --- Cards and their lorebooks in the commands about the library --------------------------


def test_a_role_is_exported_as_a_card(home: Run, tmp_path: Path):
    card = tmp_path / "ada.png"
    original = {"spec": "chara_card_v2", "data": {"name": "Ada", "first_mes": "Yes?", "own": [1]}}
    card.write_bytes(picture(text_chunk("chara", original)))
    home("import", card)
    assert json.loads(home("roles", "export", "Ada").out) == original
    written = tmp_path / "again.png"
    assert home("roles", "export", "Ada", "-o", written).code == 0
    assert read_card(written.read_bytes(), "again") == read_card(card.read_bytes(), "card")
    assert "exists already" in home("roles", "export", "Ada", "-o", written).err
    assert json.loads(home("roles", "export", "Poet").out)["data"]["system_prompt"] == "Rhyme."
    assert "has no picture" in home("roles", "export", "Poet", "-o", tmp_path / "poet.png").err


def test_lorebooks_are_listed_shown_and_exported(run: Run, tmp_path: Path) -> None:
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    (tmp_path / "config" / "lorebooks").mkdir(parents=True)
    fox = {"id": "fox", "keys": ["fox"], "content": "Red.", "insertionPoint": -2}
    town = {"entries": [fox, {**fox, "id": "owl", "role": "user"}]}
    (tmp_path / "config" / "lorebooks" / "town.json").write_text(json.dumps(town))
    [listed] = json.loads(run(*folders, "lorebooks", "list", "--json").out)
    assert (listed["name"], listed["about"]) == ("town", "2 entries")
    assert json.loads(run(*folders, "lorebooks", "show", "town").out) == town
    world = json.loads(run(*folders, "lorebooks", "export", "town").out)
    assert world["entries"]["0"]["depth"] == 2


# --- Checks of presets with policies ------------------------------------------------------


def test_what_is_merged_or_waits_for_another_action_can_be_sent():
    policies = {"depths": "joined", "squashSystem": True, "postProcessing": "merge"}
    messages = [
        {"id": "a", "role": "system", "content": "A"},
        {"id": "b", "role": "system", "content": "B"},
        {"id": "c", "role": "system", "content": "{{incvar::turns}}{{setglobalvar::x::y}}"},
        {"id": "d", "role": "system", "content": "D", "triggers": ["continue"]},
        {"id": "g", "role": "system", "content": "", "cardField": "post_history"},
        HISTORY,
        {"id": "e", "role": "user", "content": "E", "insertionPoint": -1},
        {"id": "f", "role": "user", "content": "F", "insertionPoint": -1},
    ]
    codes = {code for _, code, _ in told(*messages, policies=policies, systemPlacement="in_place")}
    assert "never-sent" not in codes
    assert "empty-content" not in codes - {"blank-content"}


# --- The command presets with presets of SillyTavern --------------------------------------


def test_bundled_presets_have_no_findings(run: Run):
    ours = bundled("sample_presets")
    assert len(list(ours.glob("*.json"))) >= 6
    done = run("preset", "check", ours, ours / "lorebooks")
    assert (done.code, done.out) == (0, "")


def test_the_sample_card_goes_where_the_sample_preset_has_it(run: Run, tmp_path: Path):
    home = ("--config-dir", tmp_path / "config", "--data-dir", tmp_path / "data")
    card = bundled("sample_presets") / "cards" / "ines-varga.json"
    assert run(*home, "import", card).code == 0
    words = ("--preset", "character", "What do the flags say?")
    done = run(*home, "build", "--role", "Ines Varga", *words)
    first, *rest = (message["content"] for message in json.loads(done.out)["messages"])
    assert first.endswith(
        "User's own. Ines Varga never speaks of the night nine years ago unless the lamp is out."
    )
    starts = ["Signal flags: ", "Ines Varga, 58, keeps", "Ines Varga's manner: ", "The scene: "]
    assert all(text.startswith(start) for start, text in zip(starts, rest, strict=False))
    assert "The hatch opens before you knock." in done.out
    other = run(*home, "build", "--role", "Assistant", *words)
    assert "The hatch" not in other.out
