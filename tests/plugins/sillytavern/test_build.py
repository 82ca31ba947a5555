"""The command build with world info, that of a card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.build_command import Build
from tests.support.program import run_program


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
