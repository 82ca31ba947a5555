"""Settings of a session, and kinds of generation."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Button, OptionList, Static, TextArea

from tests.support.app import (
    body_shown,
    make_app,
    opened,
    press,
    replied,
    say,
    settle,
    typed_command,
    until,
    workspace_of,
)
from tests.support.pictures import MEDIUM, WIDE
from tests.support.vendors import HttpRequest
from tui_chat.models.role import Role
from tui_chat.models.settings import AuthorNote, Settings
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.model_choice import ModelChoiceDialog
from tui_chat.ui.dialogs.session_settings import SessionSettingsForm, SettingRow


async def open_form(pilot: Pilot[None], *keys: str) -> SessionSettingsForm:
    app = pilot.app
    await pilot.press(*(keys or ("f5",)))
    await until(
        pilot, lambda: isinstance(app.screen, SessionSettingsForm) and app.focused is not None
    )
    assert isinstance(app.screen, SessionSettingsForm)
    return app.screen


async def saved(pilot: Pilot[None]) -> None:
    await pilot.press("ctrl+s")
    await until(pilot, lambda: len(pilot.app.screen_stack) == 1)


def row(form: SessionSettingsForm, name: str) -> SettingRow:
    return form.rows[name]


def state_of(form: SessionSettingsForm, name: str) -> str:
    return str(row(form, name).query_one(".state", Static).render())


async def test_the_request_follows_each_change_escape_restores_it_and_enter_stores_it(
    tmp_path: Path,
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        before = body_shown(app)
        for keys in (("f5",), ("ctrl+p", *"temperature", "enter"), (*"/set", "enter")):
            form = await open_form(pilot, *keys)
            await pilot.press(*"0.5")
            await until(pilot, lambda: b'"temperature":0.5' in body_shown(app), str(keys))
            assert state_of(form, "temperature") == "this session"
            await pilot.press("up", *"none")  # the effort
            await until(pilot, lambda: b'"reasoning_effort":"none"' in body_shown(app))
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
            await until(pilot, lambda: body_shown(app) == before)
            assert workspace.state.settings == Settings()
        await say(pilot, "hello")
        await open_form(pilot)
        await pilot.press(*"0.5", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        stored = await workspace.store.sessions.get(workspace.state.session_id)
        assert stored.settings == Settings(temperature=0.5)
        form = await open_form(pilot)
        assert row(form, "temperature").text == "0.5"
        await pilot.press("ctrl+u")
        await saved(pilot)
        stored = await workspace.store.sessions.get(workspace.state.session_id)
        assert stored.settings == Settings()


async def test_values_say_where_they_come_from_or_why_they_are_not_taken(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        form = await open_form(pilot)
        assert state_of(form, "top_k") == "OpenAI Chat has no such setting"
        await press(pilot, "escape")
        form = await open_form(pilot)
        await pilot.press(*"3")
        await until(pilot, lambda: "from 0 to 2" in state_of(form, "temperature"))
        row(form, "logprobs").field.focus()
        await pilot.press("enter")
        await until(pilot, lambda: row(form, "temperature").field.has_focus)
        assert "from 0 to 2" in str(form.query_one("#fault", Static).render())
        assert workspace.state.settings == Settings(), "neither sent nor saved"
        await pilot.press("backspace", "1")
        form.query_one("#save", Button).press()
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert workspace.state.settings == Settings(temperature=1)
        role = Role("", "Cold", model="lorem", settings=Settings(temperature=0.1))
        role = await workspace.roles.save(role)
        await workspace.sessions.new(role.role_id)
        form = await open_form(pilot)
        field = row(form, "temperature").field
        assert (field.placeholder, state_of(form, "temperature")) == ("0.1", "from role Cold")
        assert row(form, "char_name").field.placeholder == "Cold"
        assert state_of(form, "seed") == "provider's default"
        await pilot.press("1")
        await until(pilot, lambda: state_of(form, "temperature") == "this session")
        await pilot.press("backspace")
        await until(pilot, lambda: state_of(form, "temperature") == "from role Cold")


async def test_an_author_s_note_is_a_text_or_an_object(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        form = await open_form(pilot)
        row(form, "author_note").field.focus()
        await pilot.press(*"Be", "enter", *"brief")
        await saved(pilot)
        assert workspace.state.settings.author_note == AuthorNote("Be\nbrief")
        form = await open_form(pilot)
        field = row(form, "author_note").field
        assert isinstance(field, TextArea)
        field.text = '{"text": "Be brief", "depth": -1}'
        await until(pilot, lambda: bool(row(form, "author_note").fault))
        field.text = '{"text": "Be brief", "depth": 2, "role": "user"}'
        await until(pilot, lambda: not row(form, "author_note").fault)
        await saved(pilot)
        assert workspace.state.settings.author_note == AuthorNote("Be brief", 2, "user")
        assert await workspace.settings.set_parameter("author_note", "Be brief")
        composed = workspace.requests.compose("x")
        note = next(turn for turn in composed.envelope.turns if "brief" in turn.text.plain)
        assert await app.sessions.reveal(note.origin)
        await until(
            pilot, lambda: app.screen.focused is not None and app.screen.focused.id == "author_note"
        )


async def test_a_model_is_made_the_default_in_the_chooser_and_unset_there(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=MEDIUM) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)

        async def default() -> str:
            found = await workspace.settings.default_model()
            return found[1] if found is not None else ""

        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, ModelChoiceDialog))
        await press(pilot, *"thinker", "ctrl+d")
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
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, ModelChoiceDialog))
        await press(pilot, *"thinker", "ctrl+d")
        assert await default() == ""


async def test_the_reserve_of_the_reply_is_the_one_that_follows_from_the_limit(
    tmp_path: Path,
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await workspace_of(app).settings.set_parameter("context_limit", "60")
        form = await open_form(pilot)
        assert row(form, "reply_reserve").field.placeholder == "15"


# --- The kinds of generation in the app, and their requests in the inspector --------------


def banner(app: TuiChat) -> str:
    return str(app.screen.query_one("#inspector-banner").render())


async def test_what_a_command_will_send_is_shown_while_it_is_typed(tmp_path: Path) -> None:
    received: list[HttpRequest] = []
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(160, 45)
    ) as pilot:
        app = await opened(pilot)
        await say(pilot, "one")
        for command, title in (
            ("/continue", "not sent yet: Continue by asking for the rest"),
            ("/swipe", "not sent yet: Swipe"),
            ("/regenerate", "not sent yet: Regenerate"),
        ):
            body = await typed_command(pilot, command)
            assert banner(app).startswith(title)
            count = len(received)
            await pilot.press("enter")
            await until(pilot, lambda count=count: len(received) > count)
            await replied(pilot)
            assert received[-1].body == body
            await settle(pilot)
        assert workspace_of(app).state.entries[-1].siblings == 4


async def test_the_request_for_a_summary_is_shown_before_sending(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        for text in ("one", "two", "three"):
            await say(pilot, text)
        composer = app.query_one(Composer)
        summary = await typed_command(pilot, "/compact")
        assert banner(app).startswith("not sent yet: Compact")
        composer.clear_text()
        await until(pilot, lambda: body_shown(app) != summary)
