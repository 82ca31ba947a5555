"""Requests: edited by hand, shown live, and the ways to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, Static, TextArea

from tests.support.app import (
    composer_facts,
    make_app,
    opened,
    rows_shown,
    say,
    screen_text,
    settle,
    told,
    until,
)
from tests.support.preset_app import SIZE, app_with, edited, press
from tests.support.screen import open_screen
from tests.support.vendors import HttpRequest
from tui_chat.models.envelope import Level
from tui_chat.models.request_edit import EDITED
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.requests import RequestEditForm
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.presets.pane import PresetPane

WIDE = (160, 45)
TALL = (160, 150)


class Desk:
    """The app with the cursor in the payload."""

    def __init__(self, pilot: Pilot[None], app: TuiChat, received: list[HttpRequest]) -> None:
        self.pilot, self.app, self.received = pilot, app, received
        self.inspector, self.view = app.query_one(Inspector), app.query_one(PayloadView)

    @property
    def body(self) -> Any:
        return json.loads(self.inspector.composed.payload.body)

    @property
    def keys(self) -> set[str]:
        bound = self.app.screen.active_bindings
        return {key for key, active in bound.items() if active.enabled}

    async def type(self, text: str) -> None:
        self.app.query_one(Composer).text = text
        await settle(self.pilot)
        self.view.focus()
        await settle(self.pilot)

    async def go_to(self, pointer: str) -> None:
        self.view.focus()
        assert self.view.go_to(pointer)
        await settle(self.pilot)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await settle(self.pilot)

    async def write(self, text: str, *, key: str = "", kept: bool = False) -> None:
        form = self.app.screen
        assert isinstance(form, RequestEditForm)
        if key:
            form.query_one(Input).value = key
        form.query_one(TextArea).text = text
        form.query_one(Checkbox).value = kept
        await self.press("ctrl+s")

    @property
    def fault(self) -> str:
        return str(self.app.screen.query_one("#fault", Static).render())


async def desk(pilot: Pilot[None], received: list[HttpRequest]) -> Desk:
    app = await opened(pilot)
    return Desk(pilot, app, received)


async def test_a_text_is_edited_and_sent(tmp_path: Path) -> None:
    received: list[HttpRequest] = []
    app = make_app(tmp_path, on_request=received.append)
    async with app.run_test(size=WIDE) as pilot:
        here = await desk(pilot, received)
        await here.type("Hello there")
        assert {"e", "a", "d", "u"} <= here.keys
        await here.press("u")
        await until(pilot, lambda: _said(here.app, "Nothing to undo."))
        last = len(here.body["messages"]) - 1
        await here.go_to(f"/messages/{last}/content")
        await here.press("e")
        assert here.app.screen.query_one(TextArea).text == "Hello there"
        await here.write("Hello\nyou")
        await until(pilot, lambda: here.body["messages"][last]["content"] == "Hello\nyou")
        note = here.view.note_here
        assert (note.level, note.code) == (Level.INFO, EDITED)
        here.app.query_one(Composer).focus()
        await say(pilot, "Hello there")
        assert json.loads(received[-1].body)["messages"][last]["content"] == "Hello\nyou"
        assert not here.app.workspace or here.app.workspace.state.edits[0].answered


async def test_keys_and_turns_are_added_removed_and_brought_back(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        here = await desk(pilot, [])
        await here.type("one")
        before = here.body
        await here.go_to("/model")
        await here.press("a")
        await here.write("nonsense", key="seed")
        assert "line 1, column 1" in here.fault
        await here.write("7")
        assert "key is missing" not in here.fault if here.app.screen.query("#fault") else True
        await until(pilot, lambda: here.body == {**before, "seed": 7})
        await here.go_to("/messages/0")
        await here.press("a")
        assert json.loads(here.app.screen.query_one(TextArea).text)["role"] == "user"
        await here.write('{"role": "user", "content": "added"}', kept=True)
        await until(pilot, lambda: len(here.body["messages"]) == len(before["messages"]) + 1)
        assert here.body["messages"][1] == {"role": "user", "content": "added"}
        await here.go_to("/messages/0")
        await here.press("delete")
        await until(pilot, lambda: here.body["messages"][0]["content"] == "added")
        await here.press("u", "u")
        await until(pilot, lambda: here.body == {**before, "seed": 7})
        await here.press("u")
        await until(pilot, lambda: here.body == before)
        await here.press("u")
        await until(pilot, lambda: _said(here.app, "Nothing to undo."))


async def test_the_list_of_edits(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        here = await desk(pilot, [])
        await here.type("one")
        before = here.body
        for key, value in (("seed", "1"), ("top_p", "0.5")):
            await here.go_to("/model")
            await here.press("a")
            await here.write(value, key=key)
        await until(pilot, lambda: here.body == {**before, "seed": 1, "top_p": 0.5})
        await here.press("o")
        notes = here.inspector.views.current
        assert "Edits by hand 2" in "\n".join(rows_shown(notes))
        notes.set_cursor(next(n for n, row in enumerate(rows_shown(notes)) if "seed" in row))
        assert notes.row_here.text.split() == ["●", "seed", "1", "this", "request", "only"]
        await here.press("down", "d")
        await until(pilot, lambda: here.body == {**before, "seed": 1})
        await here.press("end", "enter")
        await until(pilot, lambda: here.view.has_focus)
        assert here.view.edit_place.pointer == "/seed"
        await here.press("o")
        notes.set_cursor(next(n for n, row in enumerate(rows_shown(notes)) if "by hand" in row))
        await here.press("d")
        await until(pilot, lambda: here.body == before)
        await here.app.run_action("request_edits.undo")
        await here.app.run_action("request_edits.remove_all")
        await until(pilot, lambda: here.body == before)


async def test_what_cannot_be_edited_says_why(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        here = await desk(pilot, [])
        await say(pilot, "one")
        await here.type("two")
        await here.go_to("")
        await here.press("e")
        await until(pilot, lambda: _said(here.app, "This is the request as a whole."))
        await here.press("4")  # another protocol
        await here.press("d")
        await until(pilot, lambda: _said(here.app, "This is a preview in"))
        await here.app.run_action("request_edits.begin")
        await until(pilot, lambda: _said(here.app, "This is a preview in"))


def _said(app: TuiChat, words: str) -> bool:
    return words in told(app)


async def test_the_origin_of_an_edited_text_is_where_it_was_from(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        here = await desk(pilot, [])
        await say(pilot, "one")
        await here.type("two")
        index = next(i for i, m in enumerate(here.body["messages"]) if m["content"] == "one")
        await here.go_to(f"/messages/{index}/content")
        await here.press("e")
        await here.write("ONE")
        await until(pilot, lambda: here.body["messages"][index]["content"] == "ONE")
        await here.go_to(f"/messages/{index}/content")
        under = here.view.under
        assert under.origin.label == "edited by hand"
        await here.press("enter")
        assert here.app.chat.transcript.has_focus
        entry = here.app.chat.transcript.current
        assert entry.message.content == "one"


async def test_what_is_added_is_typed_at_once(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        here = await desk(pilot, [])
        await here.type("one")
        before = here.body
        await here.go_to("/model")
        await here.press("a")
        assert "Such as 0.5" in screen_text(here.app)
        await here.press(*"top_p", "ctrl+s")
        assert here.fault == "A value is missing."
        await here.press(*"0.5", "ctrl+s")
        await until(pilot, lambda: here.body == {**before, "top_p": 0.5})
        await here.go_to("/messages/0")
        await here.press("a")
        await here.press(*"added", "ctrl+s")
        await until(pilot, lambda: here.body["messages"][1]["content"] == "added")


async def test_the_chat_says_that_requests_are_edited(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=TALL) as pilot:
        here = await desk(pilot, [])
        await say(pilot, "one")
        assert "by hand" not in composer_facts(here.app)
        await here.type("two")
        await here.go_to("/model")
        await here.press("a")
        await here.write("0.5", key="top_p", kept=True)
        await until(pilot, lambda: "1 edit by hand" in composer_facts(here.app))
        here.app.query_one(Composer).focus()
        await say(pilot, "two")
        border = here.app.query_one(Composer)
        bottom = border.region.bottom - 1
        row = screen_text(here.app).splitlines()[bottom]
        await pilot.click(offset=(row.index("edit by hand"), bottom))
        await until(pilot, lambda: here.inspector.view_shown == "notes")
        await here.press("end", "d")
        await until(pilot, lambda: "by hand" not in composer_facts(here.app))


# --- The live request follows what is typed and chosen ------------------------------------


async def test_it_follows_after_a_setting_was_changed_and_saved_at_once(tmp_path: Path):
    """The dialog is closed by the key that follows the last digit, before it could be drawn."""
    async with open_screen(tmp_path) as screen:
        await screen.press("f4")
        await screen.sees('"messages"')
        for digit in "345":
            await screen.press("f5")
            await screen.sees("Session settings")
            await screen.press("ctrl+u", "0", "full_stop")
            screen.press_at_once((digit, digit), ("enter", "\r"))
            await screen.loses("Session settings")
            await screen.sees(f"0.{digit}")
        await screen.press("escape", "escape")
        await screen.type("the ferry leaves")
        await screen.sees('"the ferry leaves"')


# --- The ways from the preset editor to the request and from the request to lore, in the app


MESSAGES: list[dict[str, object]] = [
    {"id": "rule", "role": "system", "content": "Be brief."},
    {"id": "off", "role": "user", "content": "Never.", "enabled": False},
    {"id": "spot", "type": "placeholder"},
    {"id": "at", "role": "user", "content": "It rains.", "anchorTarget": "spot"},
    {"id": "idle", "type": "placeholder"},
    {"id": "history", "type": "chat_history"},
]


def told_by(app: TuiChat) -> list[str]:
    return [note.message for note in app.notifications.shown]


async def walk_to(pilot: Pilot[None], pane: PresetPane, name: str) -> None:
    """Press w on the row of a message."""
    await pilot.press("f3")
    pane.rows.light(next(i for i, m in enumerate(pane.edits.preset.messages) if m.id == name))
    pane.focus()
    await press(pilot, "w")


async def test_w_says_that_nothing_is_sent_and_why(tmp_path: Path) -> None:
    async with app_with(tmp_path, MESSAGES).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        app = pilot.app
        inspector = app.query_one(Inspector)
        for protocol in ("1", "3"):  # also in another protocol
            inspector.view_shown = "payload"
            await walk_to(pilot, pane, "rule")
            await press(pilot, protocol)
            await walk_to(pilot, pane, "off")
            assert told_by(app) == ["None of it is in this request."]
            app.notifications.clear()
            assert inspector.view_shown == "context"
            row = inspector.views.current.row_here
            assert row.hint == "preset message “off” is not sent: disabled."
            shown = rows_shown(inspector.views.current)
            assert any(each.startswith("Not sent") for each in shown)
