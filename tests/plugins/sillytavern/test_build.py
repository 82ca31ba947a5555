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
