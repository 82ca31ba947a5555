"""`tui-chat sillytavern check`: every kind of file, damaged ones, and a corpus if there is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.sillytavern.test_character_cards import PIXEL, V2, picture, text_chunk
from tests.plugins.sillytavern.test_preset_command import THEIRS
from tests.support.command_line import Run

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "sillytavern"
CHAT = [
    {"chat_metadata": {"note_prompt": "Be brief."}, "user_name": "Kim", "character_name": "Ada"},
    {"name": "Ada", "is_user": False, "mes": "Yes?", "send_date": "2026-01-02T03:04:05Z"},
    {"name": "Kim", "is_user": True, "is_system": True, "mes": "Hidden."},
]
WORLD = {"entries": {"0": {"uid": 0, "key": ["oak"], "content": "Old.", "vectorized": True}}}


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A user's folder with one file of each kind."""
    preset: dict[str, Any] = {**THEIRS, "temperature": 0.5, "min_p": 0.1}
    files: dict[str, object] = {
        "OpenAI Settings/Calm.json": preset,
        "characters/Ada.json": V2,
        "worlds/Town.json": WORLD,
        "secrets.json": {"api_key_openai": "not read"},
    }
    for name, value in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")
    (tmp_path / "characters" / "Ada.png").write_bytes(picture(text_chunk("chara", V2)))
    (tmp_path / "chats" / "Ada").mkdir(parents=True)
    text = "\n".join(json.dumps(each) for each in CHAT)
    (tmp_path / "chats" / "Ada" / "one.jsonl").write_text(text, "utf-8")
    return tmp_path


def sentences(found: list[dict[str, Any]]) -> list[str]:
    return [each["sentence"] for each in found]


def test_a_linked_lorebook_is_taken(run: Run, user: Path):
    linked = {**V2, "data": {**V2["data"], "extensions": {"world": "Town"}}}
    (user / "characters" / "Ada.json").write_text(json.dumps(linked), "utf-8")
    files = json.loads(run("sillytavern", "check", user, "--json").out)["files"]
    card = next(each for each in files if "Ada.json" in str(each))
    sentence = "the link to the lorebook “Town”, which a new session chooses if it is there"
    assert sentence in card["taken"]
    assert "Town" not in str(card["not_supported"])


def test_each_file_says_what_would_be_taken_changed_and_lost(run: Run, user: Path):
    before = sorted(user.rglob("*"))
    done = run("sillytavern", "check", user, "--json")
    assert done.code == 0
    found = json.loads(done.out)
    preset, card_json, card_png, book, chat = sorted(
        found["files"], key=lambda each: ("preset", "card", "lorebook", "chat").index(each["kind"])
    )
    assert "preset messages, " in preset["taken"][0]
    assert preset["taken"][1] == "settings: temperature"
    assert any("is the character card's" in each for each in sentences(preset["changed"]))
    assert sentences(preset["not_supported"]) == [
        "Kept, but not supported: min_p 0.1.",
    ]
    assert {"picture"} == set(card_png["taken"]) ^ set(card_json["taken"])
    assert card_json["taken"][0] == "the role “Ada”"
    assert book["taken"] == ["1 entry"]
    assert sentences(book["not_supported"]) == ["“vectorized” (vector search) is ignored."]
    role = "the role “Ada” if there is one, else its name"
    assert chat["taken"] == ["2 messages", role, "the author's note"]
    assert len(chat["changed"]) == 1
    assert sentences(chat["not_supported"]) == []
    totals = {key: found["totals"][key] for key in ("preset", "card", "lorebook", "chat")}
    assert totals == {"preset": 1, "card": 2, "lorebook": 1, "chat": 1}
    assert found["totals"]["unreadable"] == 0
    assert sorted(user.rglob("*")) == before


def test_damaged_files_are_named_and_the_rest_is_read(run: Run, user: Path):
    (user / "OpenAI Settings" / "Broken.json").write_text('{"prompts": [')
    (user / "characters" / "Cut.png").write_bytes(picture(text_chunk("chara", V2))[:60])
    (user / "characters" / "Plain.png").write_bytes(PIXEL)
    (user / "worlds" / "Odd.json").write_text('{"entries": {"0": []}}')
    (user / "worlds" / "Other.json").write_text('{"theme": "dark"}')
    (user / "worlds" / "Folder.json").mkdir()
    with (user / "chats" / "Ada" / "one.jsonl").open("a") as file:
        file.write('\n{"name": "Ada", "mes": ')
    done = run("sillytavern", "check", user)
    assert done.code == 1
    faults = [line for line in done.out.splitlines() if "cannot be read" in line]
    assert len(faults) == 7
    assert "line 1, column 14: is not JSON" in faults[0]
    assert any("$.entries" in line and "must be an object, not a list" in line for line in faults)
    assert any("a picture without a character card" in line for line in faults)
    assert any("is no preset of the chat completion API" in line for line in faults)
    assert any("line 4 is not JSON: it ends too early" in line for line in faults)
    assert "taken: 2 messages, the role “Ada” if there is one" in done.out
    assert done.out.endswith(" 7 unreadable. Nothing was written.\n")
    assert not done.err


def test_a_folder_with_such_files_directly(run: Run, tmp_path: Path):
    (tmp_path / "a.json").write_text(json.dumps(THEIRS))
    (tmp_path / "b.json").write_text(json.dumps(V2))
    (tmp_path / "c.jsonl").write_text("\n".join(json.dumps(each) for each in CHAT))
    (tmp_path / "notes.txt").write_text("mine")
    done = run("sillytavern", "check", tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "1 preset, 1 card, 1 chat: " in done.out


def test_a_folder_without_such_files(run: Run, tmp_path: Path):
    done = run("sillytavern", "check", tmp_path)
    assert done.code != 0
    assert "has no files of SillyTavern" in done.err


def test_many_notes_are_counted(run: Run, tmp_path: Path):
    entries = {
        str(n): {"uid": n, "key": "odd", "order": "x", "content": f"@@own{n}\nText."}
        for n in range(300)
    }
    (tmp_path / "book.json").write_text(json.dumps({"entries": entries}))
    (found,) = json.loads(run("sillytavern", "check", tmp_path, "--json").out)["files"]
    assert found["taken"] == ["300 entries"]
    assert 0 < len(found["changed"]) + len(found["not_supported"]) <= 200


def test_sentences_have_no_control_characters(run: Run, tmp_path: Path):
    card = {**V2, "data": {**V2["data"], "name": "A\x1b]0;x\x07\u202e"}}
    (tmp_path / "card.json").write_text(json.dumps(card))
    done = run("sillytavern", "check", tmp_path)
    assert "the role “A" in done.out
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


@pytest.mark.parametrize(
    ("folder", "kind", "unreadable"), [("cards", "card", 1), ("lorebooks", "lorebook", 0)]
)
def test_the_corpus(run: Run, folder: str, kind: str, unreadable: int):
    files = sorted((CORPUS / folder).glob("*.*"))
    if not files:
        pytest.skip("the corpus is not here")
    found = json.loads(run("sillytavern", "check", CORPUS / folder, "--json").out)
    assert [each["file"] for each in found["files"]] == [str(path) for path in files]
    assert found["totals"][kind] == len(files)
    assert found["totals"]["unreadable"] == unreadable


def test_the_chats_of_the_corpus(run: Run):
    if not (CORPUS / "chats").is_dir():
        pytest.skip("the corpus is not here")
    done = run("sillytavern", "check", CORPUS)
    assert done.code == 0
    assert "\n3 chats: " in done.out


def test_a_folder_that_is_not_there(run: Run, tmp_path: Path):
    done = run("sillytavern", "check", tmp_path / "gone")
    assert (done.code, done.out) == (2, "")
    assert "gone cannot be read: No such file or directory" in done.err
