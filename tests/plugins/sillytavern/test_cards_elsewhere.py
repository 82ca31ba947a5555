"""Commands that get a character card where they expect something else say what it is."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.plugins.sillytavern.test_character_cards import PIXEL, V1, V2, V3, picture, text_chunk
from tests.support.command_line import Run
from tests.support.tables import each_row

COMMANDS = (
    ("presets", "check"),
    ("presets", "show"),
    ("presets", "show", "--json"),
    ("build", "x", "--preset"),
    ("build", "x", "--role"),
    ("build", "x", "--history"),
    ("build", "--turn"),
    ("convert", "--to", "anthropic"),
    ("convert", "--from", "openai_chat", "--to", "anthropic"),
    ("inspect",),
    ("read", "--protocol", "openai_chat"),
)
CARDS = {
    "one.json": json.dumps(V1).encode(),
    "two.json": json.dumps(V2).encode(),
    "a picture.png": picture(text_chunk("ccv3", V3)),
}


@each_row("command", COMMANDS, ids=" ".join)
@each_row("name", CARDS)
def test_a_card_is_called_a_card(
    run: Run, tmp_path: Path, command: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(CARDS[name])
    done = run("--config-dir", tmp_path / "config", *command, name)
    said = (done.out + done.err).replace("unreadable is", f"{name} is")
    quoted = f"'{name}'" if " " in name else name
    assert done.code != 0
    assert f"is a character card. Import it: `tui-chat import {quoted}`." in said
    assert list(tmp_path.rglob("*.json")) == [tmp_path / name] * name.endswith(".json")


def test_other_files_with_such_keys_are_read(run: Run, tmp_path: Path):
    path = tmp_path / "p.json"
    messages = [
        {"id": "personality", "content": '"personality" of {{char}}'},
        {"id": "scenario", "content": 'Answer with {"first_mes": ""}'},
        {"id": "history", "type": "chat_history"},
    ]
    path.write_text(json.dumps({"name": "p", "presetMessages": messages}))
    assert run("presets", "show", path).code == 0
    (tmp_path / "plain.png").write_bytes(PIXEL)
    done = run("presets", "show", tmp_path / "plain.png")
    assert "is not UTF-8 text" in done.err
    assert "card" not in done.err


@each_row("name", CARDS)
def test_a_card_that_is_attached_is_called_a_card(run: Run, tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(CARDS[name])
    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    done = run(*home, "ask", "--model", "echo", "Look", "--attach", tmp_path / name)
    kind = "picture" if name.endswith(".png") else "text"
    assert done.code == 0
    assert done.out.startswith("Look\n")
    assert f"is a character card; it is attached as a {kind}. Import it: `tui-chat" in done.err
    (tmp_path / "plain.png").write_bytes(PIXEL)
    assert "card" not in run(*home, "ask", "Hi", "--attach", tmp_path / "plain.png").err


def test_a_card_that_cannot_be_attached_is_called_a_card(run: Run, tmp_path: Path):
    path = tmp_path / "ada.charx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("card.json", json.dumps(V3))
    done = run("--data-dir", tmp_path, "--config-dir", tmp_path, "ask", "Hi", "--attach", path)
    assert done.code == 2
    assert "ada.charx is a character card. Import it" in done.err
