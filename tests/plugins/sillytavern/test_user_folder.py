"""The folder of a SillyTavern user is imported as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import golden
from tests.support.reading import import_into
from tui_chat.plugins.sillytavern.policies import policies_of
from tui_chat.workspace.workspace import Workspace

_DATA = golden.read(Path(__file__).parent / "data" / "user_folder.json")
PROMPTS = _DATA["PROMPTS"]
PRESET: dict[str, Any] = _DATA["PRESET"]
SETTINGS: dict[str, Any] = _DATA["SETTINGS"]
CARD = _DATA["CARD"]
BOOK = _DATA["BOOK"]


def line(text: str, *, is_user: bool = False, **more: Any) -> dict[str, Any]:
    name = "Bo" if is_user else "Ada"
    return {"name": name, "is_user": is_user, "is_system": False, "mes": text, **more}


CHAT = [
    {"chat_metadata": {"world_info": "Chat", "note_prompt": ""}, "user_name": "unused"},
    line("Hi."),
    line("Hello.", is_user=True, force_avatar="/thumbnail?type=persona&file=bo.png"),
]


@pytest.fixture
async def workspace(make_workspace: Any) -> Workspace:
    made, _ = await make_workspace()
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "default-user"
    write(root / "OpenAI Settings" / "Calm.json", PRESET)
    write(root / "settings.json", SETTINGS)
    write(root / "characters" / "Ada.json", CARD)
    for name in ("Town", "Sea", "Extra", "Bo's", "Chat"):
        write(root / "worlds" / f"{name}.json", BOOK)
    write(root / "themes" / "Dark.json", {})
    write(root / "secrets.json", {"api_key": "hidden"})
    chat = "\n".join(map(json.dumps, CHAT))
    (root / "chats" / "Ada").mkdir(parents=True)
    (root / "chats" / "Ada" / "one.jsonl").write_text(chat)
    return root


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


async def test_a_session_of_a_chat_has_preset_role_persona_and_books(
    workspace: Workspace, folder: Path
) -> None:
    (report,) = await import_into(workspace, [folder])
    assert not report.failed
    (session_id,) = report.session_ids
    await workspace.sessions.open(session_id)
    state = workspace.state
    assert state.preset_name == "Calm"
    assert state.role is not None
    assert (state.role.name, state.role.preset) == ("Ada", "Calm")
    assert state.profile is not None
    assert (state.profile.name, state.profile.placement, state.profile.depth) == ("Bo", "depth", 1)
    assert state.lorebook_names == ("Chat", "Bo's", "Town", "Extra", "Sea")
    assert state.settings.lore is not None
    assert state.settings.lore.tiers == (0, 1, 2, 2, 3)
    settings, policies = state.preset.settings, policies_of(state.preset)
    assert settings.lore is not None
    assert (settings.lore.scan_depth, settings.lore.recursive) == (7, True)
    assert settings.reply_start == "Sure, "
    assert [script.name for script in settings.scripts or ()] == ["s"]
    assert policies.strip_examples
    assert state.speakers == ("Bo", "Ada")


@pytest.mark.parametrize(
    ("default", "chosen", "name"),
    [("", None, "Kim"), ("bo.png", None, "Bo"), ("bo.png", "Me", "Me"), ("bo.png", "", "")],
)
async def test_new_chats_have_the_default_persona_unless_a_profile_was_chosen(
    workspace: Workspace, folder: Path, default: str, chosen: str | None, name: str
) -> None:
    power = {**SETTINGS["power_user"], "default_persona": default}
    write(folder / "settings.json", {**SETTINGS, "power_user": power})
    if chosen is not None:
        workspace.library.add_file("profiles", "Me", '{"name": "Me", "content": ""}')
        await workspace.settings.set_profile(chosen)
    await import_into(workspace, (folder,), dry_run=True)
    assert workspace.state.profile_name == (chosen or "")
    [report] = await import_into(workspace, (folder,))
    assert workspace.state.profile_name == name
    assert (f"New chats begin with the profile “{name}”." in report.notes) is (chosen is None)
    await workspace.sessions.new()
    assert workspace.state.profile_name == name


async def test_speakers_have_their_names_in_texts_to_be_read(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    (report,) = await import_into(workspace, [folder])
    (session_id,) = report.session_ids
    for kind, file in (("markdown", "a.md"), ("html", "a.html")):
        await workspace.exports.export(session_id, kind, tmp_path / file)  # type: ignore[arg-type]
        text = (tmp_path / file).read_text()
        assert "Ada" in text
        assert "Bo" in text
        assert "You" not in text
        assert "Assistant" not in text


async def test_the_report_names_what_is_not_taken(workspace: Workspace, folder: Path) -> None:
    (report,) = await import_into(workspace, [folder], dry_run=True)
    assert report.names("presets") == ["Calm"]
    assert report.names("lorebooks") == ["Bo's", "Chat", "Extra", "Sea", "Town"]
    assert sorted(report.names("profiles")) == ["Bo", "Kim"]
    assert report.notes["themes: not imported."] == 1
    assert report.notes["“proxy_password” may hold a secret: it is not kept."] == 1
    assert workspace.library.names("lorebooks") == ()
    assert not any("hidden" in note for note in report.notes)


async def test_a_second_import_adds_nothing_and_keeps_what_was_chosen(
    workspace: Workspace, folder: Path
) -> None:
    await import_into(workspace, [folder])
    (role,) = [each for each in workspace.state.roles if each.name == "Ada"]
    await workspace.roles.save(replace(role, model="echo", preset="plain"))
    (again,) = await import_into(workspace, [folder])
    assert (again.new, again.grown, again.known) == (0, 0, 1)
    assert not any(again.files.values())
    (role,) = [each for each in workspace.state.roles if each.name == "Ada"]
    assert (role.model, role.preset) == ("echo", "plain")


async def test_a_changed_file_gets_a_number_and_is_found_again(
    workspace: Workspace, folder: Path
) -> None:
    await import_into(workspace, [folder])
    book = {"entries": {"0": {**BOOK["entries"]["0"], "content": "Blue."}}}
    write(folder / "worlds" / "Sea.json", book)
    for is_new in (True, False):
        (report,) = await import_into(workspace, [folder])
        assert report.files["lorebooks", "Sea 2"] is is_new
    assert workspace.library.lorebook("Sea").entries[0].content == "Red."


async def test_the_prompts_in_use_go_before_those_that_were_saved(
    workspace: Workspace, folder: Path
) -> None:
    used = {
        "preset_settings_openai": "Calm",
        "prompts": [{**PROMPTS[0], "content": "Be {{char}}."}],
    }
    write(folder / "settings.json", {**SETTINGS, "oai_settings": used})
    (report,) = await import_into(workspace, [folder])
    await workspace.sessions.open(report.session_ids[0])
    assert workspace.state.preset_name == "Calm (unsaved changes)"
    assert workspace.state.preset.messages[0].content == "Be {{char}}."
    assert workspace.library.preset("Calm").messages[0].content == "Play {{char}}."


async def test_damaged_files_are_faults_and_the_rest_is_imported(
    workspace: Workspace, folder: Path
) -> None:
    (folder / "settings.json").write_text("{")
    (folder / "OpenAI Settings" / "Broken.json").write_text("[]")
    (folder / "worlds" / "Sea.json").write_bytes(b"\xff\xfe")
    (report,) = await import_into(workspace, [folder])
    assert sorted(fault.place for fault in report.faults) == [
        "OpenAI Settings/Broken.json",
        "settings.json",
        "worlds/Sea.json",
    ]
    assert (report.new, report.names("presets")) == (1, ["Calm"])


async def test_presets_and_lorebooks_are_imported_alone(workspace: Workspace, folder: Path) -> None:
    files = [folder / "OpenAI Settings" / "Calm.json", folder / "worlds"]
    one, many = await import_into(workspace, files)
    assert one.names("presets") == ["Calm"]
    assert len(many.names("lorebooks")) == 5
    assert workspace.library.lorebook("Sea").entries[0].keys == ("fox",)


async def test_what_is_sent_if_nothing_is_typed_is_expanded(
    workspace: Workspace, folder: Path
) -> None:
    write(folder / "chats" / "Ada" / "two.jsonl", line("Hi."))
    (report,) = await import_into(workspace, [folder])
    await workspace.sessions.open(report.session_ids[-1])
    body = json.loads(workspace.requests.compose("").payload.body)
    assert {"role": "user", "content": "(go on, Ada)"} in body["messages"]
