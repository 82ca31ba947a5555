"""The form with the settings of the session."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, OptionList, Static

from tests.support.app import make_app, opened, say, settle, until
from tui_chat.models.role import Role
from tui_chat.models.setting_types import SETTINGS
from tui_chat.models.settings import AuthorNote, Settings
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.inspector.inspector import Inspector
from tui_chat.ui.dialogs.model_choice import ModelChoiceDialog
from tui_chat.ui.dialogs.session_settings import FIELDS, SessionSettingsForm, SettingRow


async def open_form(pilot: Pilot[None], *keys: str) -> SessionSettingsForm:
    app = pilot.app
    await pilot.press(*(keys or ("f5",)))
    await until(pilot, lambda: isinstance(app.screen, SessionSettingsForm))
    await settle(pilot)
    assert isinstance(app.screen, SessionSettingsForm)
    return app.screen


def row(form: SessionSettingsForm, name: str) -> SettingRow:
    return next(each for each in form.query(SettingRow) if each.setting.name == name)


def state_of(form: SessionSettingsForm, name: str) -> str:
    return str(row(form, name).query_one(".state", Static).render())


def body(app: TuiChat) -> bytes:
    composed = app.query_one(Inspector).composed
    assert composed is not None
    return composed.payload.body


def test_every_setting_has_a_row():
    assert SETTINGS.keys() < {field.name for field in FIELDS}


@pytest.mark.parametrize("keys", [("f5",), ("ctrl+p", *"temperature", "enter"), (*"/set", "enter")])
async def test_the_request_follows_each_change_and_escape_restores_it(
    tmp_path: Path, keys: tuple[str, ...]
):
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        before = body(app)
        form = await open_form(pilot, *keys)
        await pilot.press(*"0.5")
        await until(pilot, lambda: b'"temperature":0.5' in body(app))
        assert state_of(form, "temperature") == "this session"
        await pilot.press("up", "right")  # the effort, and its first word
        await until(pilot, lambda: b'"reasoning_effort":"none"' in body(app))
        await pilot.press("escape")
        await until(pilot, lambda: body(app) == before)
        assert workspace.state.settings == Settings()


async def test_what_is_saved_is_stored_with_the_session(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        await open_form(pilot)
        await pilot.press(*"0.5", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.workspace is not None
        stored = await app.workspace.store.sessions.get(app.workspace.state.session_id)
        assert stored is not None
        assert stored.settings == Settings(temperature=0.5)
        form = await open_form(pilot)
        assert row(form, "temperature").text == "0.5"
        await pilot.press("ctrl+r", "ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        stored = await app.workspace.store.sessions.get(app.workspace.state.session_id)
        assert stored is not None
        assert stored.settings == Settings()


async def test_inherited_values_say_where_they_come_from(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        role = Role("", "Cold", model="lorem", settings=Settings(temperature=0.1))
        role = await app.workspace.roles.save(role)
        await app.workspace.sessions.choose_role(role.role_id)
        form = await open_form(pilot)
        field = row(form, "temperature").field
        assert (field.placeholder, state_of(form, "temperature")) == ("0.1", "from role Cold")
        assert row(form, "char_name").field.placeholder == "Cold"
        assert state_of(form, "seed") == "provider's default"
        await pilot.press("1")
        await until(pilot, lambda: state_of(form, "temperature") == "this session")
        assert await pilot.click(row(form, "temperature").query_one(".reset", Static))
        await until(pilot, lambda: state_of(form, "temperature") == "from role Cold")


async def test_what_the_model_does_not_take_is_disabled_with_the_reason(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        await opened(pilot)
        form = await open_form(pilot)
        assert row(form, "top_k").field.disabled
        assert state_of(form, "top_k") == "OpenAI Chat has no such setting"
        row(form, "endpoint").field.focus()
        row(form, "endpoint").text = "loopback-gemini"
        await until(pilot, lambda: not row(form, "top_k").field.disabled)
        row(form, "top_k").text = "40"
        row(form, "endpoint").text = ""
        await until(pilot, lambda: "no such setting" in state_of(form, "top_k"))
        assert not row(form, "top_k").field.disabled, "it is set here, and can be taken away"


async def test_a_value_that_is_not_accepted_is_neither_sent_nor_saved(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        form = await open_form(pilot)
        await pilot.press(*"3")
        await until(pilot, lambda: "from 0 to 2" in state_of(form, "temperature"))
        row(form, "logprobs").field.focus()
        await pilot.press("enter")
        await until(pilot, lambda: row(form, "temperature").field.has_focus)
        assert "from 0 to 2" in str(form.query_one("#fault", Static).render())
        assert app.workspace.state.settings == Settings()
        await pilot.press("backspace", "1")
        form.query_one("#save", Button).press()
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.workspace.state.settings == Settings(temperature=1)


async def test_an_author_s_note_has_text_depth_and_role(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        form = await open_form(pilot)
        row(form, "author_note").field.focus()
        await pilot.press(*"Be", "enter", *"brief", "tab", "2", "down", "right", "right")
        await until(pilot, lambda: row(form, "note_role").text == "user")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.workspace.state.settings.author_note == AuthorNote("Be\nbrief", 2, "user")
        form = await open_form(pilot)
        row(form, "note_interval").text = "often"
        await until(pilot, lambda: "whole number" in state_of(form, "note_interval"))
        row(form, "note_interval").text = "3"
        row(form, "note_placement").text = "before_main"
        row(form, "note_depth").text = ""
        await until(pilot, lambda: row(form, "note_interval").fault == "")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        note = AuthorNote("Be\nbrief", role="user", placement="before_main", interval=3)
        assert app.workspace.state.settings.author_note == note
        assert await app.workspace.settings.set_parameter("author_note", "Be brief")
        composed = app.workspace.requests.compose("x")
        note = next(turn for turn in composed.envelope.turns if "brief" in turn.text.plain)
        assert await app.sessions.reveal(note.origin)
        await until(pilot, lambda: isinstance(app.screen, SessionSettingsForm))
        await until(pilot, lambda: app.screen.focused is not None)
        assert app.screen.focused is not None
        assert app.screen.focused.id == "author_note"


async def test_another_endpoint_takes_away_a_model_that_it_does_not_offer(tmp_path: Path):
    async with make_app(tmp_path, model="").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        await app.workspace.settings.set_model("loopback", "own-model")
        form = await open_form(pilot)
        row(form, "endpoint").text = "nowhere"
        await until(pilot, lambda: "no endpoint" in state_of(form, "endpoint"))
        row(form, "endpoint").text = "loopback-gemini"
        await until(pilot, lambda: row(form, "model").text == "")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        state = app.workspace.state
        assert (state.endpoint.name, state.model) == ("loopback-gemini", "")


async def test_a_model_is_made_the_default_in_the_chooser_and_unset_in_the_palette(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None

        async def default() -> str:
            found = await workspace.settings.default_model()
            return found[1] if found is not None else ""

        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, ModelChoiceDialog))
        await pilot.press(*"thinker", "ctrl+d")
        await settle(pilot)
        assert await default() == "thinker"
        options = app.screen.query_one(OptionList)
        assert options.highlighted is not None
        line = str(options.get_option_at_index(options.highlighted).prompt)
        assert "thinker" in line
        assert line.endswith("· default")
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert workspace.state.model == "echo", "that did not switch this session"
        await pilot.press("ctrl+n")
        await until(pilot, lambda: workspace.state.model == "thinker")
        await pilot.press("ctrl+p", *"unset default", "enter")
        await settle(pilot)
        assert await default() == ""
