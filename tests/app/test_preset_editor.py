"""The preset editor beside the inspector, on the real screen."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.screen import Screen, open_screen

OFFLINE = 'model = "mirror"\n'


@asynccontextmanager
async def open_editor(
    folder: Path, *messages: dict[str, Any], size: tuple[int, int] = (160, 45)
) -> AsyncGenerator[Screen]:
    """The app with a preset of these messages and the history, in its editor."""
    path = folder / "presets" / "probe.json"
    path.parent.mkdir(parents=True)
    whole = {"name": "probe", "presetMessages": [*messages, {"id": "h", "type": "chat_history"}]}
    path.write_text(json.dumps(whole), encoding="utf-8")
    async with open_screen(folder, config=OFFLINE, size=size) as screen:
        await screen.type("/preset probe")
        await screen.press("enter")
        await screen.press("f4")
        await screen.sees("Payload")
        yield screen


PLACEHOLDER = {"id": "spot", "name": "world_info", "type": "placeholder"}
OTHER = {"id": "other", "name": "elsewhere", "type": "placeholder"}
MOVED = {"id": "moved", "role": "user", "content": "MOVED text"}


async def open_form(screen: Screen) -> None:
    """Open the form of the message and go to its place."""
    await screen.click_on(" moved ")
    await screen.press("enter")
    await screen.sees("Position")
    await screen.press("tab", "tab", "tab")


async def test_the_inspector_states_the_rule_of_the_present_request(tmp_path: Path):
    after = MOVED | {"anchorPoint": "after", "anchorTarget": "spot"}
    rules = ("anchored after “world_info”.", "anchored before “world_info”.")
    async with open_editor(tmp_path, PLACEHOLDER, after) as screen:
        await screen.press("i")
        await screen.click_on("MOVED text")
        await screen.sees(rules[0])
        await screen.press("f3")
        await open_form(screen)
        for rule in (rules[1], rules[0], rules[1]):  # in the editor and in the inspector
            await screen.press("left" if rule is rules[1] else "right")
            await screen.until(lambda each=rule: screen.text.count(each) == 2, rule)
        await screen.press("left", "left", "left")  # over the beginning to the list, or stop there
        await screen.until(lambda: "It is anchored" not in screen.text, "The old rule stayed")
        await screen.press("escape", "escape")
        assert "It is anchored" not in screen.text


async def test_moving_through_places_keeps_what_each_had(tmp_path: Path):
    here = MOVED | {"anchorPoint": "before", "anchorTarget": "spot"}
    async with open_editor(tmp_path, OTHER, PLACEHOLDER, here) as screen:
        await screen.press("f3")
        await open_form(screen)
        places = ("from the start", "at a depth", "in the list")
        for place in places:
            await screen.press("left")
            await screen.sees(f"‹ {place} ›")
        await screen.press("right", "tab", "ctrl+u", *"7")
        await screen.sees("Depth 7")
        await screen.press("shift+tab", "right", "right")
        await screen.sees("‹ before … ›", "‹ world_info ›")
        await screen.press("right")
        await screen.sees("‹ after … ›", "‹ world_info ›")
        await screen.press("left", "left", "left")
        await screen.sees("‹ at a depth ›", "Depth 7")


async def test_the_places_go_around_and_back_to_where_they_began(tmp_path: Path):
    """A target that the user chose stays, also after the form had to choose another one."""
    here = MOVED | {"anchorPoint": "before", "anchorTarget": "__CHAT_HISTORY__"}
    async with open_editor(tmp_path, OTHER, PLACEHOLDER, here) as screen:
        await screen.press("f3")
        await open_form(screen)
        await screen.press("right")
        await screen.sees("‹ after … ›", "‹ elsewhere ›")
        await screen.press("left")
        await screen.sees("‹ before … ›", "‹ Chat history ›")
        await screen.press("tab", "left")
        await screen.sees("‹ world_info ›")
        await screen.press("left")
        await screen.sees("‹ elsewhere ›")
        await screen.press("shift+tab")
        for direction in ("right", "left"):
            for _ in range(5):
                await screen.press(direction)
                await screen.rests()
            await screen.sees("‹ before … ›", "‹ elsewhere ›")


async def test_a_typed_name_chooses_what_is_called_so(tmp_path: Path):
    """And not what only says the word about itself, which may come first in the list."""
    async with open_editor(tmp_path) as screen:
        await screen.press("f3", "a")
        await screen.sees("four messages follow it")
        await screen.type("mess")
        await screen.press("enter")
        await screen.sees("Id        message")


async def test_an_unknown_target_stays_among_the_choices(tmp_path: Path):
    here = MOVED | {"anchorPoint": "before", "anchorTarget": "gone"}
    async with open_editor(tmp_path, PLACEHOLDER, here) as screen:
        await screen.press("f3")
        await open_form(screen)
        await screen.press("tab", "right")
        await screen.loses("gone (no anchor) ›")
        await screen.press("left")
        await screen.sees("‹ gone (no anchor) ›")


async def test_the_id_follows_the_name_until_it_is_chosen(tmp_path: Path):
    named = {"id": "kept", "name": "Old", "type": "placeholder"}
    async with open_editor(tmp_path, named) as screen:
        await screen.press("f3")
        await screen.press("a")
        await screen.type("Placeh")
        await screen.press("enter")
        await screen.sees("Id        placeholder")
        await screen.type("World info")
        await screen.sees("Id        world-info")
        await screen.press("escape")
        await screen.click_on("Old")
        await screen.press("enter")
        await screen.sees("─ Old ─")
        await screen.type("er")
        await screen.sees("─ Older ─", "Id        kept")


async def test_an_anchor_is_called_by_its_name_everywhere(tmp_path: Path):
    after = MOVED | {"anchorPoint": "after", "anchorTarget": "spot"}
    before = {"id": "b", "role": "user", "content": "BEFORE", "anchorPoint": "before"}
    async with open_editor(tmp_path, PLACEHOLDER, after, before) as screen:
        await screen.press("c")
        await screen.sees("after world_info", "before history")
        await screen.press("f3")
        await screen.click_on("◆ world_info")
        await screen.sees("before or after “world_info”")
        await screen.click_on("Chat history")
        await screen.sees("before or after the history")
        assert "__CHAT_HISTORY__" not in screen.text
        assert "spot" not in screen.text


async def test_anchors_are_no_messages(tmp_path: Path):
    async with open_editor(tmp_path, PLACEHOLDER, MOVED) as screen:
        await screen.press("f3")
        await screen.sees("probe · 1 message,")
        [heading] = screen.lines_with("Before the chat")
        assert "1 message " in heading, heading
        await screen.press("f4", "c")
        await screen.sees("1 message · 7 tokens")


async def test_a_command_that_is_being_typed_is_no_message(tmp_path: Path):
    async with open_editor(tmp_path) as screen:
        await screen.press("escape")
        await screen.type("draft")
        await screen.sees('"content": "draft"')
        await screen.press("ctrl+u", "slash")
        await screen.loses('"content": "draft"')
        await screen.rests()
        assert '"role": "user"' not in screen.text, screen.text
        await screen.press("backspace", "slash", "slash")
        await screen.sees('"content": "/"')


async def test_the_list_has_the_order_of_the_request_at_one_depth(tmp_path: Path):
    said = [
        {"id": role, "name": role.upper(), "role": role, "content": "x", "insertionPoint": -2}
        for role in ("system", "assistant", "user")
    ]
    path = tmp_path / "presets" / "joined.json"
    path.parent.mkdir(parents=True)
    whole = {"presetMessages": [{"id": "h", "type": "chat_history"}, *said]}
    rules = {"name": "joined", "systemPlacement": "in_place", "policies": {"depths": "joined"}}
    path.write_text(json.dumps(whole | rules), encoding="utf-8")
    async with open_screen(tmp_path, config=OFFLINE) as screen:
        await screen.type("/preset joined")
        await screen.press("enter", "f3")
        await screen.sees("SYSTEM", "depth 2")
        rows = [line.partition("[x]")[2].split()[0] for line in screen.lines_with("depth 2")]
        assert rows == ["assistant", "user", "system"], screen.text


async def test_the_first_part_counts_the_role_s_prompt_as_the_context_does(tmp_path: Path):
    async with open_screen(tmp_path, size=(160, 45)) as screen:
        await screen.press("f3")
        await screen.sees("its prompt", "Terminal")
        [heading] = screen.lines_with("▾ System")
        assert "2 messages     60" in heading, heading
        await screen.press("f4", "c")
        await screen.sees("2 messages · 60 tokens")
