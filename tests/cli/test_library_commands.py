"""`tui-chat presets`, `roles`, `profiles` and `models`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Run
from tests.plugins.sillytavern.test_character_cards import picture, text_chunk
from tui_chat.paths import bundled
from tui_chat.plugins.sillytavern.card_files import read_card

ROLE = {"name": "Poet", "system_prompt": "Rhyme.", "model": "echo", "parameters": {"seed": 3}}


@pytest.fixture
def home(tmp_path: Path, run: Run) -> Run:
    """Return a function that runs a command in a home with a file of each kind."""
    preset = [
        {"id": "p", "role": "system", "content": "Be brief.\nAnd kind."},
        {"id": "here", "type": "chat_history"},
        {"id": "d", "role": "user", "content": "!", "insertionPoint": -2, "enabled": False},
    ]
    for folder, name, value in [
        ("presets", "mine", preset),
        ("presets", "broken", {"messages": [{"role": "boss"}]}),
        ("roles", "poet", ROLE),
        ("profiles", "kim", {"name": "Kim", "content": "Kim is here."}),
    ]:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.json").write_text(json.dumps(value))

    def call(*words: object) -> Done:
        return run("--config-dir", tmp_path, "--data-dir", tmp_path / "data", *words)

    return call


def test_presets_are_listed_with_their_origin(home: Run, tmp_path: Path):
    listed = {each["name"]: each for each in json.loads(home("presets", "list", "--json").out)}
    assert (listed["mine"]["messages"], listed["mine"]["bundled"]) == (3, False)
    assert listed["mine"]["path"] == str(tmp_path / "presets" / "mine.json")
    assert listed["plain"]["bundled"] is True
    assert "boss" in listed["broken"]["error"] or "role" in listed["broken"]["error"]
    text = home("presets", "list").out
    assert text.splitlines()[0].split() == ["NAME", "MESSAGES", "FROM"]
    assert not (tmp_path / "data").exists()


def test_a_preset_is_shown_by_name_path_or_input(
    home: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shown = home("presets", "show", "mine").out
    assert "  1  system     p\n       Be brief.\n       And kind.\n" in shown
    assert "here: the place of chat history" in shown
    assert "d: at depth -2 (disabled)" in shown
    path = tmp_path / "presets" / "mine.json"
    assert home("presets", "show", path).out == shown
    assert home("presets", "show", "mine", "--json").out.strip() == path.read_text()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert "Be brief." in home("presets", "show", "-").out
    assert home("presets", "path", "mine").out == f"{path}\n"
    assert home("presets", "path").out == f"{path.parent}\n"


def test_a_preset_is_checked_by_name_and_the_old_group_works(home: Run, tmp_path: Path):
    for group in ("presets", "preset"):
        done = home(group, "check", "broken")
        assert done.code == 1
        assert str(tmp_path / "presets" / "broken.json") in done.out
        assert home(group, "check", "mine", "plain").code == 0
    assert "\n  preset " not in home("--help").out
    for words in (("check", "brokn"), ("show", "brokn"), ("path", "brokn")):
        done = home("presets", *words)
        assert done.code == 2
        assert "Did you mean “broken”?" in done.err


def test_roles_are_listed_and_shown(home: Run):
    assert [each["name"] for each in json.loads(home("roles", "list", "--json").out)] == ["Poet"]
    assert "Poet" in home("roles", "list").out
    shown = json.loads(home("roles", "show", "poet", "--json").out)
    assert {key: shown[key] for key in ROLE} == ROLE
    text = home("roles", "show", "Poet").out
    assert "  seed = 3\n" in text
    assert text.endswith("\nRhyme.\n")
    assert "Did you mean “Poet”?" in home("roles", "show", "Poot").err


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


def test_profiles_are_listed_and_shown(home: Run, tmp_path: Path):
    [listed] = json.loads(home("profiles", "list", "--json").out)
    assert (listed["name"], listed["user"]) == ("kim", "Kim")
    assert "Kim is here." in home("profiles", "list").out
    assert home("profiles", "show", "kim").out.endswith("\nKim is here.\n")
    assert json.loads(home("profiles", "show", "kim", "--json").out)["name"] == "Kim"
    (tmp_path / "profiles" / "kim.json").unlink()
    assert "There are no profiles." in home("profiles", "list").err
    assert home("profiles", "show", "kim").code == 2


def test_models_are_listed_with_limits_and_prices(home: Run):
    found = json.loads(home("models", "claude-haiku", "--json").out)
    [haiku] = [each for each in found if each["endpoint"] == "anthropic"]
    assert haiku["context_limit"] >= 200_000
    assert haiku["input_price"] > 0
    assert str(haiku["model"]) in home("models", "CLAUDE-haiku").out
    assert "No models." in home("models", "no-such-model").err
    assert home("models", "--endpoint", "antropic").code == 2


def test_the_offline_models_are_listed_once(home: Run):
    done = home("models", "mirror")
    assert done.out.count("mirror") == 1
    assert "The models of loopback are also at loopback-responses, " in done.err
    assert len(json.loads(home("models", "mirror", "--json").out)) == 5, "programs get all"
    assert "mirror" in home("models", "--endpoint", "loopback-gemini").out
    assert "also at" not in home("models", "claude").err


def test_models_are_asked_of_the_servers(home: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = home("models", "--endpoint", "loopback", "--online", "--json")
    assert done.code == 0
    assert "mirror" in {each["model"] for each in json.loads(done.out)}
    done = home("models", "--endpoint", "openai", "--online")
    assert done.code == 1
    assert "openai: The environment variable OPENAI_API_KEY is not set" in done.err


ENTRY_SHOWN = """\
   2  owl: fox  → depth -2, order 5, user
      · and none of “owl”, “elk”
      · probability 50 %
      · sticky 3 messages
      · cooldown 1 message
      · group “g” (weight 7)
      Red.
"""


def test_lorebooks_of_files_and_cards_are_listed_shown_and_exported(
    run: Run, tmp_path: Path
) -> None:
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    (tmp_path / "config" / "lorebooks").mkdir(parents=True)
    fox = {"id": "fox", "keys": ["fox"], "content": "Red.", "insertionPoint": -2}
    conditions = {"secondaryKeys": ["owl", "elk"], "secondaryLogic": "not_any", "probability": 50}
    timers = {"sticky": 3, "cooldown": 1, "groups": ["g"], "groupWeight": 7, "order": 5}
    town = {"entries": [fox, {**fox, **conditions, **timers, "id": "owl", "role": "user"}]}
    (tmp_path / "config" / "lorebooks" / "town.json").write_text(json.dumps(town))
    card = bundled("sample_presets") / "cards" / "ines-varga.json"
    assert run(*folders, "import", card).code == 0
    listed = json.loads(run(*folders, "lorebooks", "list", "--json").out)
    assert listed[0]["name"] == "town"
    assert listed[1]["place"] == "card of Ines Varga"
    assert "fox  → depth -2" in run(*folders, "lorebooks", "show", "town").out
    assert run(*folders, "lorebooks", "show", "town").out.endswith(ENTRY_SHOWN)
    world = json.loads(run(*folders, "lorebooks", "export", "town").out)
    assert world["entries"]["0"]["depth"] == 2
    of_card = json.loads(run(*folders, "lorebooks", "export", listed[1]["name"]).out)
    assert len(of_card["entries"]) == listed[1]["entries"]


def test_a_role_of_a_card_is_shown_with_its_creators_notes(run: Run, tmp_path: Path) -> None:
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    card = tmp_path / "ada.json"
    data = {"name": "Ada", "creator": "Kim", "creator_notes": "Be kind to her.", "extensions": {}}
    card.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}))
    assert run(*folders, "import", card).code == 0
    out = run(*folders, "roles", "show", "Ada").out
    assert "creator = Kim" in out
    assert "Creator's notes\nBe kind to her." in out
