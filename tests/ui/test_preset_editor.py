"""The preset editor by keys: the list, the steps, the form; the request follows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ui.app_under_test import say, settle
from tests.ui.preset_stage import (
    app_with,
    body,
    edited,
    ids,
    let_go,
    line_of,
    lines,
    message,
    preset_of,
)
from tui_chat.model.text import Origin, OriginKind
from tui_chat.ui.inspector import Inspector

SIZE = (160, 45)


async def test_the_list_looks_like_the_context_it_makes(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        shown = [" ".join(line.split()) for line in lines(pane) if line]
        assert shown[0].startswith("role “Assistant”")
        assert shown[1].startswith("[x] sys rule Be brief.")
        assert shown[2].startswith("[x] ◆ world")
        assert shown[3].startswith("[x] usr lore It rains.")
        assert "after world" in shown[3]
        assert "Chat history" in shown[4]
        assert "depth -4" in shown[line_of(pane, "Note")]
        # What it costs is what the request says it costs.
        app = pane.app
        composed = app.desk.composed("")  # type: ignore[attr-defined]
        turns = composed.envelope.turns
        cost = dict(zip((t.origin.id for t in turns), composed.envelope.tokens, strict=True))
        assert shown[3].endswith(str(cost["lore"]))


async def test_space_disables_and_the_request_follows_at_once(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        assert "Be brief." in body(pane)
        await pilot.press("space")
        await settle(pilot)
        assert "Be brief." not in body(pane)
        assert lines(pane)[1].startswith("●[ ] sys rule")
        await pilot.press("u")
        await settle(pilot)
        assert "Be brief." in body(pane)
        assert lines(pane)[1].startswith(" [x] sys rule")


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        (["d"], ["rule", "rule-2", "world", "lore", "history", "note"]),
        (["x"], ["world", "lore", "history", "note"]),
        (["end", "delete"], ["rule", "world", "lore", "history"]),
        (["x", "u"], ["rule", "world", "lore", "history", "note"]),
        (["x", "x", "ctrl+z", "ctrl+z", "ctrl+y"], ["world", "lore", "history", "note"]),
        (["down", "J"], ["rule", "lore", "history", "world", "note"]),
        (["down", "alt+down", "alt+up"], ["rule", "lore", "world", "history", "note"]),
    ],
    ids=lambda value: "".join(value) if isinstance(value[0], str) and len(value[0]) < 9 else "",
)
async def test_steps_by_keys(tmp_path: Path, keys: list[str], found: list[str]) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        assert ids(pane) == found


async def test_depths_and_roles_by_keys(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("end")
        await settle(pilot)
        pane.rows.light(4)
        await pilot.press("greater_than_sign", "greater_than_sign", "less_than_sign", "r")
        await settle(pilot)
        note = message(pane, "note")
        assert (note.insertion_point, note.role) == (-3, "assistant")


async def test_a_new_message_stands_where_the_cursor_was(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        pane.rows.light(4)
        await pilot.press("a")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert pane.form.content.has_focus
        await pilot.press(*"Hear me")
        await settle(pilot)
        new = message(pane, "message")
        assert (new.content, new.insertion_point) == ("Hear me", -4)
        assert "Hear me" in body(pane)
        await pilot.press("escape")
        await settle(pilot)
        assert pane.rows.has_focus
        await pilot.press("u", "u")
        await settle(pilot)
        assert "message" not in ids(pane)


async def test_an_anchor_can_be_added(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("a", *"placeholder", "enter")
        await settle(pilot)
        assert message(pane, "placeholder").type == "placeholder"
        await pilot.press("tab", *"-2")
        await settle(pilot)
        assert "placeholder-2" in ids(pane)


async def test_what_is_typed_is_one_step_and_live(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("enter")
        await settle(pilot)
        for key in " Hm.":
            await pilot.press("space" if key == " " else "full_stop" if key == "." else key)
        await settle(pilot)
        assert "Be brief. Hm." in body(pane)
        assert message(pane, "rule").content == "Be brief. Hm."
        assert pane.edits is not None
        assert len(pane.edits.past) == 1
        await pilot.press("escape", "u")
        await settle(pilot)
        assert message(pane, "rule").content == "Be brief."


async def test_half_characters_do_no_harm(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("enter")
        pane.form.content.insert("\ud800")
        await settle(pilot)
        assert message(pane, "rule").content == "Be brief.\ufffd"
        assert "Be brief.\ufffd" in body(pane)


async def test_macros_are_offered_while_one_types(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press(*"{{da")
        await settle(pilot)
        assert pane.form.content.macros.display
        await pilot.press("enter")
        await settle(pilot)
        assert not pane.form.content.macros.display
        assert message(pane, "rule").content == "Be brief.{{date}}"
        assert "Be brief.2026-01-01" in body(pane)
        await pilot.press(*"{{")
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert pane.form.content.has_focus


async def test_the_form_changes_place_role_and_order(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        pane.rows.light(2)
        await pilot.press("enter")
        await settle(pilot)
        pane.query_one("#form-kind").focus()
        await pilot.press("right")
        await settle(pilot)
        assert message(pane, "lore").insertion_point == -1
        pane.query_one("#form-depth").focus()
        await pilot.press("backspace", "3")
        await settle(pilot)
        assert message(pane, "lore").insertion_point == -3
        await pilot.press("backspace", "backspace", "x")
        await settle(pilot)
        assert message(pane, "lore").insertion_point == -3
        assert pane.query_one("#form-depth").has_class("-invalid")
        pane.query_one("#form-order").focus()
        await pilot.press("end", "5")
        pane.query_one("#form-role").focus()
        await pilot.press("left")
        pane.query_one("#form-enabled").focus()
        await pilot.press("right")
        await settle(pilot)
        lore = message(pane, "lore")
        assert (lore.order, lore.role, lore.enabled) == (5, "system", False)


async def test_the_filter_shows_what_contains_a_word(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("slash", *"RAIN")
        await settle(pilot)
        assert [line for line in lines(pane) if line and "lore" not in line] == []
        await pilot.press("enter", "space")
        await settle(pilot)
        assert not message(pane, "lore").enabled
        await pilot.press("slash", "escape")
        await settle(pilot)
        assert "rule" in lines(pane)[1]


async def test_save_keeps_the_file_whole_and_says_where(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("x", "ctrl+s")
        await settle(pilot)
        file = json.loads((tmp_path / "presets" / "mine.json").read_text())
        assert file["x-kept"] == 1
        assert [m["id"] for m in file["presetMessages"]] == ["world", "lore", "history", "note"]
        assert pane.edits is not None
        assert not pane.edits.is_changed
        await pilot.press("u")
        await settle(pilot)
        assert pane.edits.is_changed
        assert ids(pane)[0] == "rule"


async def test_the_note_goes_from_depth_four_to_depth_one_and_back(tmp_path: Path) -> None:
    """The walk of an author, by keys alone."""
    async with app_with(tmp_path, model="lorem:max:20").run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("f3")
        for text in ("One?", "Two?", "Three?"):
            await say(pilot, text)
        await pilot.press("f3", "slash", *"note", "enter", "slash", "escape")
        await settle(pilot)
        before = body(pane)
        assert before.index("(Softly.)") < before.index("Three?")
        for _ in range(3):
            await pilot.press("alt+down")
        await settle(pilot)
        assert message(pane, "note").insertion_point == -1
        after = body(pane)
        assert after.index("(Softly.)") > after.index("Three?")
        for _ in range(3):
            await pilot.press("u")
        await settle(pilot)
        assert body(pane) == before


async def test_rows_and_request_light_each_other(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        assert pane.reveal(Origin(OriginKind.MACRO, "x", within=Origin(OriginKind.PRESET, "note")))
        assert preset_of(pane).messages[pane.index].id == "note"
        assert not pane.reveal(Origin(OriginKind.DRAFT))
        assert not pane.reveal(Origin(OriginKind.PRESET, "nobody"))


async def test_edits_stay_while_other_presets_are_shown(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("x")
        await settle(pilot)
        desk = pane.app.desk  # type: ignore[attr-defined]
        await desk.choose_preset("plain")
        await settle(pilot)
        assert "terminal" in ids(pane)
        await desk.choose_preset("mine")
        await settle(pilot)
        assert ids(pane)[0] == "world"


async def test_quitting_asks_about_what_is_not_saved(tmp_path: Path) -> None:
    app = app_with(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await edited(pilot)
        await pilot.press("x", "ctrl+q")
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert app.is_running
        await pilot.press("ctrl+q")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
    file = json.loads((tmp_path / "presets" / "mine.json").read_text())
    assert file["presetMessages"][0]["id"] == "world"


async def test_cache_marks_are_placed_by_a_key_here_and_in_the_inspector(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        await pilot.press("g", "c", "c")
        await settle(pilot)
        assert message(pane, "rule").cache_control == "1h"
        assert "⛁ 1h" in lines(pane)[line_of(pane, "rule")]
        await pilot.press("u", "u")
        await settle(pilot)
        assert message(pane, "rule").cache_control is None
        inspector = pane.app.query_one(Inspector)
        for origin, marked in (
            (Origin(OriginKind.MACRO, "x", within=Origin(OriginKind.PRESET, "note")), "note"),
            (Origin(OriginKind.HISTORY, "nobody"), "history"),
        ):
            inspector.post_message(Inspector.OriginPointed(origin))
            inspector.action_mark()
            await settle(pilot)
            assert message(pane, marked).cache_control == "5m"
            assert "⛁ 5m" in "\n".join(lines(pane))
        inspector.post_message(Inspector.OriginPointed(Origin(OriginKind.DRAFT)))
        inspector.action_mark()
        await settle(pilot)
        assert [m.id for m in preset_of(pane).messages if m.cache_control] == ["history", "note"]
        await let_go(pilot)
