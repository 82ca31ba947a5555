"""The command build with world info."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.build_command import Build

LORE = {"key": ["fox"], "content": "Foxes are red.", "position": 4, "depth": 1}


def test_a_lorebook_entry_is_sent_when_its_keyword_occurs(folder: Path, build: Build):
    (folder / "lore.json").write_text(json.dumps({"entries": {"0": LORE}}))
    own = [{"keys": ["red"], "content": "Red is a colour."}]
    (folder / "own.json").write_text(json.dumps(own))
    words = ("--lorebook", "lore.json", "--lorebook", "own.json", "--model", "m-1")
    assert b"Foxes are red." in build(*words, "--draft", "a fox").stdout
    assert b"Red is a colour." in build(*words, "--draft", "red").stdout
    assert b"red" not in build(*words, "--draft", "a dog").stdout.lower()


def test_lorebook_warnings_are_printed(folder: Path, build: Build):
    lore = {"entries": {"0": {**LORE, "vectorized": True}}}
    (folder / "lore.json").write_text(json.dumps(lore, indent=1))
    done = build("--lorebook", "lore.json", "--model", "m-1", "--draft", "a fox")
    assert done.stderr.decode().startswith("lore.json:10: warning: “vectorized”")


def test_why_lore_is_active_is_printed_for_every_turn(folder: Path, build: Build):
    entries = [
        {"id": "fox", "name": "Fox", "keys": ["fox"], "content": "Red.", "scanDepth": 1},
        {"id": "late", "keys": ["fox"], "content": "Late.", "scanDepth": 3, "delay": 9},
    ]
    (folder / "lore.json").write_text(json.dumps({"name": "b", "entries": entries}))
    history = [{"role": "user", "content": "A fox"}, {"role": "assistant", "content": "Yes"}]
    (folder / "said.json").write_text(json.dumps(history))
    words = ("--lorebook", "lore.json", "--history", "said.json", "--model", "m-1")
    found = json.loads(build(*words, "--draft", "Hm", "--show", "lore").stdout)
    assert [(each["name"], each["state"]) for each in found["entries"]] == [
        ("Fox", "absent"),
        ("fox", "held_back"),
    ]
    assert found["entries"][1]["sentence"].startswith("“fox” occurs in message “A fox”, but a ")
    fox, late = ({"book": "b", "entry": name} for name in ("fox", "late"))
    first, last = found["turns"]
    assert (first["active"], first["held_back"]) == ([fox], [late])
    assert (last["active"], last["held_back"], last["reply"]) == ([], [late], None)
    assert json.loads(build("--model", "m-1", "--draft", "Hm", "--show", "lore").stdout) == {
        "entries": [],
        "turns": [{"reply": None, "active": [], "held_back": []}],
    }
