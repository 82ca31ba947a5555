"""`tui-chat roles` and `profiles`. Lorebooks of cards are tested where cards are read."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import Run
from tests.support.library_home import ROLE


def test_roles_are_listed_and_shown(home: Run):
    assert [each["name"] for each in json.loads(home("roles", "list", "--json").out)] == ["Poet"]
    assert "Poet" in home("roles", "list").out
    shown = json.loads(home("roles", "show", "poet", "--json").out)
    assert {key: shown[key] for key in ROLE} == ROLE
    text = home("roles", "show", "Poet").out
    assert "  seed = 3\n" in text
    assert text.endswith("\nRhyme.\n")
    assert "Did you mean “Poet”?" in home("roles", "show", "Poot").err


def test_profiles_are_listed_and_shown(home: Run, tmp_path: Path):
    [listed] = json.loads(home("profiles", "list", "--json").out)
    assert (listed["name"], listed["user"]) == ("kim", "Kim")
    assert "Kim is here." in home("profiles", "list").out
    assert home("profiles", "show", "kim").out.endswith("\nKim is here.\n")
    assert json.loads(home("profiles", "show", "kim", "--json").out)["name"] == "Kim"
    (tmp_path / "profiles" / "kim.json").unlink()
    assert "There are no profiles." in home("profiles", "list").err
    assert home("profiles", "show", "kim").code == 2
