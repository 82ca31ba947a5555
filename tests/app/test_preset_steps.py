"""The preset editor by keys: the list, the steps, the form; the request follows."""

from __future__ import annotations

import json
from pathlib import Path

from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea
from textual.widgets._select import SelectOverlay

from tests.support.app import asked, opened, rows_shown, say, settle, until
from tests.support.list_dialogs import on
from tests.support.preset_app import (
    SIZE,
    app_with,
    body,
    edited,
    editing,
    ids,
    let_go,
    line_of,
    lines,
    message,
    preset_of,
    press,
    told,
)
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.base import TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.presets.form import ChoiceSelect
from tui_chat.ui.presets.pane import PresetPane
from tui_chat.ui.presets.rows import PresetList

STEPS = [
    (["Y"], ["rule", "rule-2", "world", "lore", "history", "note"]),
    (["d"], ["world", "lore", "history", "note"]),
    (["end", "delete"], ["rule", "world", "lore", "history"]),
    (["d", "u"], ["rule", "world", "lore", "history", "note"]),
    (
        ["d", "d", "ctrl+underscore", "ctrl+underscore", "ctrl+y"],
        ["world", "lore", "history", "note"],
    ),
    (["down", "J"], ["rule", "lore", "history", "world", "note"]),
    (["down", "alt+down", "alt+up"], ["rule", "lore", "world", "history", "note"]),
]


async def test_every_step_can_be_undone_and_redone(tmp_path: Path) -> None:
    """By keys; that there is no end to it is tested where the steps are kept."""
    async with editing(tmp_path) as (pilot, pane):
        states = [preset_of(pane)]
        for number in range(12):
            await pilot.press(("Y", "space", "Y", "d")[number % 4])
            await pilot.pause()
            assert pane.edits is not None
            if pane.edits.preset is not states[-1]:
                states.append(pane.edits.preset)
        assert len(states) == 13
        await press(pilot, *["u"] * 12)
        assert preset_of(pane) is states[0]
        assert notices(pilot)[-1] == "Undone: duplicate “rule”."
        await press(pilot, "u")
        assert notices(pilot)[-1] == "Nothing to undo."
        assert pane.edits is not None
        assert not pane.edits.is_changed
        await press(pilot, *["U"] * 12)
        assert preset_of(pane) is states[-1]
        assert notices(pilot)[-1].startswith("Redone: delete")


async def test_notes_appear_in_their_rows_while_typing(tmp_path: Path) -> None:
    """What only the composing knows: macros, depths in the history there is, empty messages."""
    async with editing(tmp_path) as (pilot, pane):
        assert lines(pane)[line_of(pane, "Note")].split()[-4:] == ["depth", "4", "(Softly.)", "8"]
        pilot.app.query_one(Composer).focus()
        await say(pilot, "One?")
        pane.focus()
        note = line_of(pane, "Note")
        assert "depth 4" in lines(pane)[note]
        assert lines(pane)[note + 1].split()[:2] == ["user", "One?"]
        await press(pilot, "enter", *" {{nope}}", "escape")
        assert "▲ {{nope}}" in lines(pane)[line_of(pane, "rule")]
        await press(pilot, "enter", *["backspace"] * 9, "escape")
        assert "▲" not in lines(pane)[line_of(pane, "rule")]
        await press(pilot, "enter", *["backspace"] * 9, "escape")
        assert "● is empty and is not sent" in lines(pane)[line_of(pane, "rule")]


async def test_the_presets_own_form(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "enter", *" {{tone}}", "escape")
        assert "{{tone}}" in body(pane)
        await press(pilot, "s")
        await asked(pilot)
        form = pilot.app.screen
        assert isinstance(form, FieldsForm)
        form.query_one("#name", Input).value = "mine2"
        form.query_one("#system_placement", ChoiceSelect).value = "in_place"
        variables, fault = form.query_one("#variables", TextArea), form.query_one("#fault", Static)
        for typed, said in (("a = x\na = y", "occurs twice"), ("cold", "is not NAME = VALUE")):
            variables.text = typed
            await press(pilot, "ctrl+s")
            await until(pilot, lambda said=said: said in str(fault.render()))
        variables.text = "tone = dry"
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        await settle(pilot)
        preset = preset_of(pane)
        assert (preset.name, preset.system_placement) == ("mine2", "in_place")
        assert dict(preset.variables) == {"tone": "dry"}
        assert "Be brief. dry" in body(pane)
        await press(pilot, "ctrl+s")
        path = tmp_path / "presets" / "mine.json"
        await until(pilot, lambda: "mine2" in path.read_text())
        file = json.loads(path.read_text())
        assert file["name"] == "mine2"
        assert file["systemPlacement"] == "in_place"
        assert file["variables"] == {"tone": "dry"}
        assert file["x-kept"] == 1
        assert pane.edits is not None
        while pane.edits.past:
            await press(pilot, "u")
        preset = preset_of(pane)
        assert (preset.name, preset.system_placement) == ("mine", "hoist")
        assert not preset.variables


async def test_a_lore_entry_is_written_in_the_lorebook_of_the_session(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await pilot.app.run_action("plugins.lorebooks")
        await on(pilot, ChoiceDialog)
        await press(pilot, "enter")  # New lorebook, the only line
        await on(pilot, TextPrompt)
        await press(pilot, *"mine", "enter")
        await on(pilot, ChoiceDialog)
        await press(pilot, "enter")  # New entry, the only line
        form = await on(pilot, FieldsForm)
        form.query_one("#content", TextArea).text = "Owls hoot."
        form.query_one("#keys", TextArea).text = "owl"
        await press(pilot, "ctrl+s")
        await on(pilot, ChoiceDialog)
        entry = json.loads((tmp_path / "lorebooks" / "mine.json").read_text())["entries"][0]
        assert (entry["content"], entry["keys"]) == ("Owls hoot.", ["owl"])
        assert pane.app.workspace.state.lorebook_names == ("mine",)  # type: ignore[attr-defined]


async def test_the_palette_adds_to_the_preset(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        app = pilot.app
        await opened(pilot)
        assert isinstance(app, TuiChat)
        assert app.workspace is not None
        await app.workspace.presets.choose("mine")
        await press(pilot, "ctrl+p", *"add reminder", "enter")
        await asked(pilot)
        await press(pilot, *"rem", "enter", *"Now.")
        pane = app.query_one(PresetPane)
        assert pane.form.content.has_focus
        assert message(pane, "reminder").content == "Now."
        await let_go(pilot)


async def test_typing_is_one_undo_step_and_live(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "enter")
        for key in " Hm.":
            await press(pilot, "space" if key == " " else "full_stop" if key == "." else key)
        assert "Be brief. Hm." in body(pane)
        assert message(pane, "rule").content == "Be brief. Hm."
        assert pane.edits is not None
        assert len(pane.edits.past) == 1
        await press(pilot, "escape", "u")
        assert message(pane, "rule").content == "Be brief."


async def test_no_text_is_lost_however_fast_one_goes_on(tmp_path: Path) -> None:
    messages = [
        *({"id": name, "role": "user", "content": ""} for name in ("a", "b")),
        {"id": "history", "type": "chat_history"},
    ]
    async with editing(tmp_path, messages) as (pilot, pane):
        await pilot.press("enter", *"One", "ctrl+down", *"Two", "ctrl+up", *"!", "escape")
        await settle(pilot)
        assert [message(pane, name).content for name in ("a", "b")] == ["One!", "Two"]
        assert pane.rows.has_focus
        await press(pilot, *"uuu")
        assert preset_of(pane) == pane.edits.saved  # type: ignore[union-attr]
        await press(pilot, *"UUU")
        assert [message(pane, name).content for name in ("a", "b")] == ["One!", "Two"]


async def test_save_keeps_the_file_whole_and_says_where(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "d", "ctrl+s")
        file = json.loads((tmp_path / "presets" / "mine.json").read_text())
        assert file["x-kept"] == 1
        assert [m["id"] for m in file["presetMessages"]] == ["world", "lore", "history", "note"]
        assert pane.edits is not None
        assert not pane.edits.is_changed
        await press(pilot, "u")
        assert pane.edits.is_changed
        assert ids(pane)[0] == "rule"


async def test_rows_and_request_highlight_each_other(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        inspector = pane.app.query_one(Inspector)

        def lit() -> str:
            under = inspector.views.payload.under
            return under.origin.id if under is not None else ""

        await until(pilot, lambda: lit() == "rule")
        # Where one goes on typing, the draft is followed again.
        await press(pilot, "escape", "H")
        assert pane.app.query_one(Composer).has_focus
        assert inspector.views.payload.under is not None
        assert inspector.views.payload.under.origin.kind is OriginKind.DRAFT
        assert inspector.views.payload.highlights.origin is None
        await press(pilot, "f3")
        assert lit() == "rule"
        await press(pilot, "end", "w")
        assert inspector.views.payload.has_focus
        assert lit() == "note"
        await press(pilot, "w")
        assert pane.rows.has_focus
        assert preset_of(pane).messages[pane.index].id == "note"
        # What is written in the form is shown where it went.
        await press(pilot, "Y", "enter", *"Hush. ")
        await until(pilot, lambda: lit() == "note-2" and "Hush. " in body(pane))
        await press(pilot, "escape", "delete")
        # What is not sent has its place where the reason is.
        await press(pilot, "home", "down", "space", "w")
        assert inspector.view_shown == "context"
        await until(
            pilot, lambda: any("world" in row for row in rows_shown(inspector.views.current))
        )
        [gone] = [row for row in rows_shown(inspector.views.current) if "world" in row]
        assert gone.endswith("disabled")
        await press(pilot, "w")
        assert pane.rows.has_focus
        assert preset_of(pane).messages[pane.index].id == "world"
        await press(pilot, "u")
        assert pane.reveal(Origin(OriginKind.MACRO, "x", within=Origin(OriginKind.PRESET, "note")))
        assert preset_of(pane).messages[pane.index].id == "note"
        assert not pane.reveal(Origin(OriginKind.DRAFT))
        assert not pane.reveal(Origin(OriginKind.PRESET, "nobody"))


async def test_edits_stay_while_other_presets_are_shown(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "d")
        workspace = pane.app.workspace  # type: ignore[attr-defined]
        await workspace.presets.choose("plain")
        await settle(pilot)
        assert "terminal" in ids(pane)
        await workspace.presets.choose("mine")
        await settle(pilot)
        assert ids(pane)[0] == "world"


async def test_quitting_asks_about_unsaved_presets(tmp_path: Path) -> None:
    app = app_with(tmp_path)
    file = tmp_path / "presets" / "mine.json"
    async with app.run_test(size=SIZE) as pilot:
        await edited(pilot)
        before = file.read_text()
        await press(pilot, "d", "ctrl+q")
        await press(pilot, "escape")
        assert app.is_running
        for key in ("ctrl+q", "down", "enter"):  # in one piece: what is typed ahead answers nothing
            app.post_message(events.Key(key, None))
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await settle(pilot)
        assert len(app.screen_stack) == 2
        assert file.read_text() == before
        await press(pilot, "enter")  # stay
        assert app.is_running
        await press(pilot, "ctrl+q")
        assert not app.screen.query(Input)  # what is typed ahead filters no choices away
        await press(pilot, *"tui-chat", "down", "enter")
    assert json.loads(file.read_text())["presetMessages"][0]["id"] == "world"


EMPTY: list[dict[str, object]] = [
    {"id": "main", "content": "Be kind."},
    {"id": "lore", "name": "Lore", "content": "{{worldInfoBefore}}", "requires": "worldInfoBefore"},
    {"id": "card", "name": "Card", "content": "{{description}}", "requires": "description"},
    {"id": "examples", "type": "example_dialogues"},
    {"id": "who", "type": "user_profile"},
    {"id": "history", "type": "chat_history"},
]


async def test_rows_say_what_is_empty(tmp_path: Path) -> None:
    async with editing(tmp_path, EMPTY) as (_, pane):
        shown = {words: lines(pane)[line_of(pane, words)] for words in ("Lore", "Card", "who")}
        assert "“worldInfoBefore” has no value" in shown["Lore"]
        assert "“description” has no value" in shown["Card"]
        assert "no profile" in shown["who"]
        assert "no example dialogues" in lines(pane)[line_of(pane, "examples")]


async def test_rows_are_edited_by_keys_and_mouse(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        # The list mirrors the context.
        shown = [" ".join(line.split()) for line in lines(pane) if line]
        assert shown[0].startswith("System ")
        assert shown[1].startswith("role Assistant its system prompt")
        assert shown[2].startswith("▌✓ sys rule Be brief.")
        assert shown[3].startswith("Before the chat ")
        assert shown[4].startswith("✓ anchor world")
        assert shown[5].startswith("✓ user lore after world It rains.")
        assert shown[6].startswith("Chat history no messages yet")
        assert "depth 4" in lines(pane)[line_of(pane, "Note")]
        # What it costs is what the request says it costs.
        app = pane.app
        composed = app.workspace.requests.compose("")  # type: ignore[attr-defined]
        turns = composed.envelope.turns
        cost = dict(zip((t.origin.id for t in turns), composed.envelope.tokens, strict=True))
        assert shown[5].endswith(str(cost["lore"]))

        # Space disables and the request follows at once.
        assert "Be brief." in body(pane)
        await press(pilot, "space")
        assert "Be brief." not in body(pane)
        assert "– sys    rule ●" in lines(pane)[2]
        assert told(pane).startswith("– Off; when it is on: goes with the system messages")
        await press(pilot, "u")
        assert "Be brief." in body(pane)
        assert "✓ sys    rule  " in lines(pane)[2]
        await begin_again(pilot, pane)

        for keys, found in STEPS:
            for key in keys:
                await press(pilot, key)
            assert ids(pane) == found, keys
            pilot.app.workspace.presets.revert()  # type: ignore[attr-defined]
            await press(pilot, "home")
        await begin_again(pilot, pane)

        # A key that moves nothing says so, and deleting says how it is undone.
        await press(pilot, "K")
        assert notices(pilot)[-1] == "It cannot go further up."
        await press(pilot, "end", *["J"] * 12)
        assert notices(pilot)[-1] == "It cannot go further down."
        await press(pilot, "d")
        assert notices(pilot)[-1] == "Deleted “Note”. u undoes it."
        await begin_again(pilot, pane)

        # The filter matches words.
        await press(pilot, "slash", *"RAIN")
        assert [line for line in lines(pane) if line and "lore" not in line] == []
        await press(pilot, "enter", "space")
        assert not message(pane, "lore").enabled
        await press(pilot, "slash", "escape")
        assert "rule" in lines(pane)[2]
        await press(pilot, "slash", *"RAIN", "enter", "escape")
        assert pane.rows.has_focus, "first what is hidden comes back"
        assert "rule" in lines(pane)[2]
        await begin_again(pilot, pane)

        # A click on the mark switches, two clicks on a row open its form.
        await pilot.click(PresetList, offset=(1, line_of(pane, "lore")))
        await settle(pilot)
        assert not message(pane, "lore").enabled
        assert "It rains." not in body(pane)
        await pilot.click(PresetList, offset=(20, line_of(pane, "rule")))
        await settle(pilot)
        assert message(pane, "rule").enabled
        assert pane.index == 0
        await pilot.click(PresetList, offset=(20, line_of(pane, "rule")), times=2)
        await settle(pilot)
        assert pane.form.content.has_focus
        assert not pane.rows.display, "also when it was open before"


async def test_messages_are_written_in_the_form(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        # A new message appears at the cursor.
        pane.rows.light(4)
        await press(pilot, "a", *"message", "enter")
        assert pane.form.content.has_focus
        await press(pilot, *"Hear me")
        new = message(pane, "message")
        assert (new.content, new.insertion_point) == ("Hear me", -4)
        assert "Hear me" in body(pane)
        await press(pilot, "escape")
        assert pane.rows.has_focus
        await press(pilot, "u", "u")
        assert "message" not in ids(pane)
        await begin_again(pilot, pane)

        # Lone surrogates are harmless.
        await pilot.press("enter")
        pane.form.content.insert("\ud800")
        await settle(pilot)
        assert message(pane, "rule").content == "Be brief.\ufffd"
        assert "Be brief.\ufffd" in body(pane)
        await begin_again(pilot, pane)

        # Macros are completed while typing.
        await press(pilot, "enter")
        await press(pilot, *"{{da")
        assert pane.form.content.macros.display
        await press(pilot, "enter")
        assert not pane.form.content.macros.display
        assert message(pane, "rule").content == "Be brief.{{date}}"
        assert "Be brief.January 1, 2026" in body(pane)
        await press(pilot, *"{{")
        await press(pilot, "escape")
        assert pane.form.content.has_focus
        await begin_again(pilot, pane)

        # The form changes place, role, order and cache mark.
        pane.rows.light(2)
        await press(pilot, "enter")
        await choose(pilot, pane, "position", "In list order")
        assert message(pane, "lore").anchor_target is None
        await choose(pilot, pane, "position", "At a depth, from the newest")
        assert message(pane, "lore").insertion_point == -1
        pane.query_one("#form-number").focus()
        await press(pilot, "backspace", "3")
        assert message(pane, "lore").insertion_point == -3
        await press(pilot, "backspace", "0")
        lore = message(pane, "lore")
        assert (lore.insertion_point, lore.anchor_point) == (None, "after")
        await press(pilot, "backspace", "3")
        pane.query_one("#form-order").focus()
        await press(pilot, "end", "backspace", "5")
        await choose(pilot, pane, "role", "system")
        await choose(pilot, pane, "cache_control", "5 minutes")
        pane.query_one("#form-enabled").focus()
        await press(pilot, "space")
        lore = message(pane, "lore")
        assert (lore.order, lore.role, lore.enabled) == (5, "system", False)
        assert (lore.cache_control, lore.insertion_point) == ("5m", -3)
        await press(pilot, "escape")
        assert "cache 5m" in lines(pane)[line_of(pane, "lore")]
        await begin_again(pilot, pane)

        # A number that is not taken says so.
        await press(pilot, "end", "enter")
        pane.form.query_one("#form-number", Input).focus()
        place = pane.form.query_one("#form-place", Static)
        wrong = "✗ Depth must be a whole number from 0 to 9,999. It stays 4."
        for typed in ("", "-", "abc", "1.5", "12345"):
            await press(pilot, *["backspace"] * 9, "4", "backspace", *typed)
            stays = 1234 if typed == "12345" else 1 if typed == "1.5" else 4
            assert str(place.render()) == wrong.replace("4.", f"{stays}."), typed
            assert message(pane, "note").insertion_point == -stays
        await press(pilot, *["backspace"] * 9, "2")
        assert message(pane, "note").insertion_point == -2
        assert str(place.render()).startswith("→ Goes before the last 2 messages")


async def choose(pilot: Pilot[None], pane: PresetPane, field: str, label: str) -> None:
    """Choose what has this label in a list of the form, by keys."""
    select = pane.form.query_one(f"#form-{field}", ChoiceSelect)
    select.focus()
    await press(pilot, "enter")
    choices = select.query_one(SelectOverlay)
    labels = [str(choice.prompt) for choice in choices.options]
    steps = labels.index(label) - (choices.highlighted or 0)
    await press(pilot, *["down" if steps > 0 else "up"] * abs(steps), "enter")
    assert not select.expanded


async def begin_again(pilot: Pilot[None], pane: PresetPane) -> None:
    """Forget all changes, and go to the first row of the list."""
    await press(pilot, "escape")
    pilot.app.workspace.presets.revert()  # type: ignore[attr-defined]
    pane.action_close_form()
    pane.rows.focus()
    await settle(pilot)
    await press(pilot, "home")


def notices(pilot: Pilot[None]) -> list[str]:
    """The notifications, the newest last."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    return [notice.message for notice in app.notifications.log]
