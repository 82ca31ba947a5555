"""A character card from its file to the request, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.data import table
from tests.support.command_line import Run

FIELDS = {
    "description": "MARK-D keeps the light of {{user}}'s island.",
    "personality": "MARK-P calm",
    "scenario": "MARK-S a storm near {{char}}",
    "mes_example": "<START>\n{{user}}: Hi\n{{char}}: MARK-E ahoy",
    "system_prompt": "MARK-M play {{char}}",
    "post_history_instructions": "MARK-J be short",
}
CALLED = {
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "mes_example": "example dialogues",
    "system_prompt": "system prompt",
    "post_history_instructions": "post-history instructions",
}
MARKS = {name: text[text.index("MARK") :][:6] for name, text in FIELDS.items()}


def card(version: str, **data: Any) -> dict[str, Any]:
    """A card of V1, V2 or V3 named Mira."""
    fields = {"name": "Mira", "first_mes": "MARK-G Hello, {{user}}.", **data}
    if version == "1":
        return {"description": "", "personality": "", "scenario": "", "mes_example": "", **fields}
    return {"spec": f"chara_card_v{version}", "spec_version": f"{version}.0", "data": fields}


class Home:
    """An empty home in a folder, and the commands over it."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.folder, self._run = folder, run

    def call(self, *words: object) -> tuple[str, str]:
        done = self._run("--data-dir", self.folder, "--config-dir", self.folder, *words)
        assert done.code == 0, done
        return done.out, done.err

    def take(self, value: dict[str, Any]) -> str:
        path = self.folder.parent / "mira.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return self.call("import", path)[0]

    def preset(self, name: str, *messages: dict[str, Any], **more: Any) -> None:
        path = self.folder / "presets" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = {"name": name, "presetMessages": [*messages, {"id": "h", "type": "chat_history"}]}
        path.write_text(json.dumps(whole | more), encoding="utf-8")

    def build(self, *words: object) -> tuple[str, list[str]]:
        """The request, and the warnings."""
        out, err = self.call("build", "Hi", "--model", "mirror", *words)
        return out, [line for line in err.splitlines() if line.startswith("warning")]


@pytest.fixture
def home(tmp_path: Path, run: Run) -> Home:
    folder = tmp_path / "home"
    folder.mkdir()
    return Home(folder, run)


def test_an_imported_card_is_sent_whole(home: Home):
    wrong: list[object] = []
    for version in ("1", "2", "3"):
        report = home.take(card(version, **FIELDS))
        body, warnings = home.build("--role", "Mira")
        absent = [name for name, mark in MARKS.items() if mark not in body]
        if version == "1":  # it has no prompts of its own
            absent = [name for name in absent if name not in FIELDS]
        if absent or warnings or "MARK-G" not in body or "character" not in report:
            wrong.append((version, absent, warnings, report))
    assert not wrong, wrong


def test_fields_without_a_place_are_named_with_the_cure(home: Home):
    home.take(card("2", **FIELDS))
    presets = table("card_presets")
    for name, row in presets.items():
        if "messages" in row:
            home.preset(name, *row["messages"], variables=row.get("variables", {}))
    wrong: list[object] = []
    for preset, row in presets.items():
        sent = row["sends"]
        body, warnings = home.build("--role", "Mira", "--preset", preset)
        told = "\n".join(warnings)
        for name, mark in MARKS.items():
            is_sent = mark in body
            if is_sent is not (name in sent) or (CALLED[name] in told) is is_sent:
                wrong.append((preset, name, is_sent, told))
        if len(sent) < len(FIELDS) and not (f"“{preset}”" in told and "/preset character" in told):
            wrong.append((preset, told))
    assert not wrong, wrong


def test_a_place_that_is_switched_off_is_named(home: Home):
    home.take(card("2", description=FIELDS["description"], mes_example=FIELDS["mes_example"]))
    home.preset(
        "off",
        {"id": "a", "name": "Who", "content": "{{description}}", "enabled": False},
        {"id": "b", "name": "Talk", "type": "example_dialogues", "enabled": False},
    )
    _, warnings = home.build("--role", "Mira", "--preset", "off")
    told = "\n".join(warnings)
    assert "description" in told, told
    assert "example dialogues" in told, told
    assert "the preset “off” has no enabled place for them" in told, told


def test_example_dialogues_without_speakers_are_named(home: Home):
    home.take(card("2", mes_example="<START>\nNobody speaks here."))
    body, warnings = home.build("--role", "Mira")
    assert "Nobody speaks" not in body
    assert any("example dialogues" in each and "{{char}}:" in each for each in warnings), warnings


def test_a_profile_without_a_place_is_named_with_the_cure(home: Home):
    wrong: list[object] = []
    home.preset("anchor", {"id": "a", "type": "user_profile"})
    home.preset("macro", {"id": "a", "content": "About me: {{persona}}"})
    for placement, preset, is_sent, warns in (
        ("anchor", "plain", False, True),
        ("anchor", "anchor", True, False),
        ("anchor", "macro", True, False),
        ("depth", "plain", True, False),
        ("note_top", "plain", True, False),
        ("none", "plain", False, False),
    ):
        path = home.folder / "profiles" / "me.json"
        path.parent.mkdir(exist_ok=True)
        profile = {"name": "Kim", "content": "MARK-K likes tea.", "placement": placement}
        path.write_text(json.dumps(profile), encoding="utf-8")
        body, warnings = home.build("--profile", "me", "--preset", preset)
        told = any("“Kim”" in each and "{{persona}}" in each for each in warnings)
        if ("MARK-K" in body) is not is_sent or told is not warns:
            wrong.append((placement, preset, body, warnings))
    assert not wrong, wrong


def test_lore_without_a_place_is_named(home: Home):
    entry = {"comment": "Shore", "keys": [], "constant": True, "content": "MARK-O"}
    entry |= {"enabled": True, "extensions": {"position": 7, "outlet_name": "sea"}}
    home.take(card("2", character_book={"name": "Book", "entries": [entry]}))
    home.preset(
        "outlet", {"id": "a", "content": "x {{outlet::sea}}"}, policies={"depths": "joined"}
    )
    home.preset("silent", {"id": "a", "content": "x"}, policies={"depths": "joined"})
    wrong: list[object] = []
    for preset in ("plain", "silent", "outlet"):
        body, warnings = home.build("--role", "Mira", "--preset", preset)
        told = any("“Shore”" in each and "not sent" in each for each in warnings)
        if ("MARK-O" in body) is told or told is (preset == "outlet"):
            wrong.append((preset, body, warnings))
    assert not wrong, wrong


def test_a_card_that_was_imported_earlier_is_warned_about(home: Home):
    """Its role has no preset; another import gives it one, and a chosen one stays."""
    home.take(card("2", **FIELDS))
    role = json.loads(home.call("roles", "show", "Mira", "--json")[0])
    roles = home.folder / "roles"
    roles.mkdir(exist_ok=True)
    for chosen in ("", "plain"):
        text = json.dumps({**role, "preset": chosen})
        (roles / "mira.json").write_text(text, encoding="utf-8")
        _, warnings = home.build("--role", "Mira")
        told = [each for each in warnings if "description" in each and "/preset character" in each]
        assert len(told) == 1, warnings
        report = home.take(card("2", **FIELDS))
        if chosen:
            assert "description" in report, report
            assert "/preset character" in report, report
        else:
            assert "preset “character”" in report, report
            (roles / "mira.json").unlink()


def test_ask_warns_as_build_does(home: Home):
    home.take(card("2", **FIELDS))
    _, err = home.call("ask", "Hi", "--role", "Mira", "--preset", "plain", "--model", "echo")
    assert "description" in err, err
    assert "/preset character" in err, err


def test_the_list_of_roles_shows_how_a_description_begins(home: Home):
    home.take(card("2", description="\n\nKeeps the light.\nSecond line."))
    out, _ = home.call("roles", "list")
    assert "Keeps the light." in out, out
