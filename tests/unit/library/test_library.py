"""The library: files by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tui_chat import paths
from tui_chat.errors import ChangedElsewhere, InputError
from tui_chat.library.library import Library, file_name
from tui_chat.library.roles_and_profiles import dump_profile
from tui_chat.models.role import Profile


@pytest.fixture
def shelf(tmp_path: Path) -> Library:
    return Library(tmp_path, paths.bundled("sample_presets"))


def test_own_presets_take_precedence_over_bundled_ones(shelf: Library, tmp_path: Path):
    assert "plain" in shelf.names("presets")
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "plain.json").write_text('[{"role": "user", "content": "mine"}]')
    assert shelf.names("presets").count("plain") == 1
    assert shelf.preset("plain").messages[0].content == "mine"


def test_an_unknown_name_lists_the_available_ones(shelf: Library):
    with pytest.raises(InputError) as told:
        shelf.preset("nope")
    assert "There is no preset “nope”" in str(told.value)
    assert "plain" in told.value.advice
    with pytest.raises(InputError) as told:
        shelf.lorebook("nope")
    assert "lorebooks" in told.value.advice


def test_a_saved_profile_is_read_back(shelf: Library):
    profile = Profile("Zoë “Z”", "Two\nlines, and 中文")
    assert shelf.profile(shelf.save_profile(profile)) == profile
    with pytest.raises(InputError, match="exists already"):
        shelf.save_profile(profile)
    for placed in (
        Profile("At a depth", "x", "depth", 0, "user"),
        Profile("At the note", "x", "note_top"),
    ):
        assert shelf.profile(shelf.save_profile(placed, placed.name)) == placed


@each_row(
    ("name", "file"),
    [
        ("Ada", "Ada"),
        ("a/b\\c", "a b c"),
        ("..", None),
        ("", None),
        ("x\ny", "x y"),
        ("A" * 99, "A" * 80),
    ],
)
def test_file_names_are_valid_on_every_system(name: str, file: str | None):
    if file is None:
        with pytest.raises(InputError):
            file_name(name)
    else:
        assert file_name(name) == file


def test_an_edited_profile_keeps_its_file_and_its_unknown_keys(tmp_path: Path):
    (tmp_path / "profiles").mkdir()
    path = tmp_path / "profiles" / "me.json"
    path.write_text('{"name": "Kim", "content": "Old.", "note": "kept", "placement": "none"}')
    shelf = Library(tmp_path, tmp_path)
    assert shelf.save_profile(Profile("Kim Lee", "New."), "me") == "me"
    assert json.loads(path.read_text()) == {"name": "Kim Lee", "content": "New.", "note": "kept"}
    assert shelf.names("profiles") == ("me",)


def test_a_profile_at_a_depth_is_written_as_ever_so_that_imports_again_find_it():
    text = dump_profile(Profile("Kim", "Sails.", "depth", 3, "user"))
    assert list(json.loads(text)) == ["name", "content", "placement", "depth", "role"]


def test_a_profile_that_another_program_changed_is_overwritten_only_if_asked(tmp_path: Path):
    (tmp_path / "profiles").mkdir()
    path = tmp_path / "profiles" / "me.json"
    shelf, before = Library(tmp_path, tmp_path), Profile("Kim", "Old.", "anchor", 5, "user")
    path.write_text(
        '{"mood": 1, "name": "Kim", "content": "Elsewhere.", "depth": 5, "role": "user"}'
    )
    kept = json.loads(path.read_text())
    edited = Profile("Kim", "Mine.", "anchor", 5, "user")
    with pytest.raises(ChangedElsewhere, match="changed this profile"):
        shelf.save_profile(edited, "me", before=before)
    assert json.loads(path.read_text()) == kept
    shelf.save_profile(edited, "me", before=before, overwrite=True)
    assert json.loads(path.read_text()) == {**kept, "content": "Mine."}
    path.unlink()
    with pytest.raises(ChangedElsewhere, match="deleted"):
        shelf.save_profile(edited, "me", before=before)
    assert shelf.save_profile(edited, "me", before=before, overwrite=True) == "me"
    path.write_text("{")
    with pytest.raises(InputError):
        shelf.save_profile(edited, "me", before=before, overwrite=True)
    assert path.read_text() == "{", "what cannot be read is not replaced"
