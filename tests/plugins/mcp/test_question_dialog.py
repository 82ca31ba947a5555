"""The dialog in which a server asks the user something."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.widgets import Input, Static

from tests.support.tables import each_row
from tui_chat.plugins.mcp.elicitation import read_question
from tui_chat.plugins.mcp.question_dialog import QuestionForm
from tui_chat.ui.themes import color_defaults
from tui_chat.ui.widgets.choice_select import ChoiceSelect

PROPERTIES = {
    "name": {"type": "string", "minLength": 2, "title": "Your\u202e name"},
    "age": {"type": "integer", "minimum": 0},
    "height": {"type": "number"},
    "color": {"type": "string", "enum": ["red", "green"]},
    "news": {"type": "boolean", "default": True},
}
FORM = {
    "message": "Who are you?\x1b[31m",
    "requestedSchema": {"type": "object", "properties": PROPERTIES, "required": ["name", "color"]},
}


class Stage(App[None]):
    """An app with the colors that the dialog uses."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return color_defaults(self.current_theme.dark)


async def shown(
    app: App[None], params: dict[str, object]
) -> tuple[list[bool | None], dict[str, object]]:
    """Show a question; return the answers, and the content of an answered form."""
    answers: list[bool | None] = []
    content: dict[str, object] = {}
    await app.push_screen(QuestionForm(read_question("bad", params), content), answers.append)
    return answers, content


def texts(app: App[None]) -> str:
    return "\n".join(str(one.render()) for one in app.screen.query(Static))


async def test_a_form_names_its_server_and_is_checked():
    app = Stage()
    async with app.run_test(size=(100, 40)) as pilot:
        answers, content = await shown(app, FORM)
        await pilot.pause()
        assert app.screen.query_one("Vertical").border_title == "The MCP server “bad” asks"
        assert "Who are you?" in texts(app)
        assert "Give it no password and no key." in texts(app)
        assert "\x1b" not in texts(app)
        assert "\u202e" not in texts(app)
        name, age, height = app.screen.query(Input)
        assert name.has_focus
        await pilot.press("x", "ctrl+s")
        await pilot.pause()
        assert not answers
        assert "name must be 2 characters or more." in texts(app)
        name.value, age.value, height.value = "Ann", "1.5", "nan"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "age must be a whole number." in texts(app)
        age.value = "15"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "height must be a number." in texts(app)
        height.value = "1.5"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "color is required." in texts(app)
        app.screen.query_one(ChoiceSelect).choose("green")
        await pilot.press("ctrl+s")
        await pilot.pause()
    assert answers == [True]
    assert content == {"name": "Ann", "age": 15, "height": 1.5, "color": "green", "news": True}


async def test_a_long_form_begins_with_its_first_field():
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, FORM)
        await pilot.pause()
        fields = app.screen.query_one("#fields")
        assert fields.virtual_size.height > fields.size.height
        assert fields.scroll_offset.y == 0


@each_row(
    ("keys", "action"),
    [(("escape",), None), (("ctrl+s",), True)],
)
async def test_an_address_is_shown_and_not_opened(
    keys: tuple[str, ...], action: bool | None, monkeypatch: pytest.MonkeyPatch
):
    opened: list[object] = []
    monkeypatch.setattr(App, "open_url", lambda *values, **_: opened.append(values))
    app = Stage()
    async with app.run_test(size=(100, 40)) as pilot:
        url = "https://bücher.example/login?a=1"
        answers, _ = await shown(app, {"mode": "url", "message": "Log in.", "url": url})
        await pilot.pause()
        assert url in texts(app)
        assert "xn--bcher-kva.example" in texts(app)
        await pilot.press(*keys)
        await pilot.pause()
    assert answers == [action]
    assert not opened
