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
    await screen.press("shift+tab")
    if "Target" in screen.text:
        await screen.press("shift+tab")


async def choose(screen: Screen, *keys: str) -> None:
    """Open the list of the field with the focus, move in it, and choose."""
    await screen.press("enter", *keys, "enter")


async def test_a_place_is_said_in_words_and_follows_every_choice(tmp_path: Path):
    after = MOVED | {"anchorPoint": "after", "anchorTarget": "spot"}
    async with open_editor(tmp_path, PLACEHOLDER, OTHER, after) as screen:
        await screen.press("f3")
        await open_form(screen)
        await screen.sees("→ Goes directly after “world_info”.", "Target")
        await choose(screen, "up")
        await screen.sees("→ Goes directly before “world_info”.")
        await choose(screen, "down", "down")
        await screen.sees("→ Goes directly before your message.", "Depth")
        await screen.press("tab", "ctrl+u", *"7")
        await screen.sees("→ Goes before the last 7 messages, your draft included.")
        await screen.press("shift+tab")
        await choose(screen, "down")
        await screen.sees("→ Goes before the first message of the chat history.")
        await choose(screen, "up")
        await screen.sees("→ Goes directly before your message.")
        await choose(screen, "up")
        await screen.sees("→ Goes directly after “world_info”.")
        await screen.press("tab")
        await choose(screen, "down")
        await screen.sees("→ Goes directly after “elsewhere”.")
        await screen.press("shift+tab")
        await choose(screen, "up", "up")
        await screen.sees("→ Goes before the chat history, after “elsewhere”.")
        await screen.press("escape")
        await screen.sees("→ Goes before the chat history, after “elsewhere”.")


async def test_the_inspector_says_the_same_of_the_place_in_the_present_request(tmp_path: Path):
    after = MOVED | {"anchorPoint": "after", "anchorTarget": "spot"}
    async with open_editor(tmp_path, PLACEHOLDER, after, size=(240, 45)) as screen:
        await screen.click_on("MOVED text")
        await screen.sees("· Goes directly after")
        await screen.press("f3")
        await open_form(screen)
        await screen.until(lambda: screen.text.count("Goes directly after") == 2, "not the same")
        await choose(screen, "up")
        await screen.until(lambda: screen.text.count("Goes directly before") == 2, "not the same")


async def test_an_anchor_that_is_off_or_gone_is_named_as_that(tmp_path: Path):
    here = MOVED | {"anchorPoint": "before", "anchorTarget": "gone"}
    off = OTHER | {"enabled": False}
    async with open_editor(tmp_path, PLACEHOLDER, off, here) as screen:
        await screen.press("f3")
        await open_form(screen)
        await screen.sees("gone (no anchor)", "▲ There is no anchor “gone”")
        await screen.press("tab")
        await choose(screen, "up")
        await screen.sees("▲ “elsewhere” is off: the message stays")
        await screen.loses("gone (no anchor)")


async def test_a_typed_name_chooses_what_is_called_so(tmp_path: Path):
    """And not what only says the word about itself, which may come first in the list."""
    async with open_editor(tmp_path) as screen:
        await screen.press("f3", "a")
        await screen.sees("four messages follow it")
        await screen.type("mess")
        await screen.press("enter")
        await screen.sees("Preset probe › message · not saved")


async def test_the_id_follows_the_name_until_it_is_in_the_file(tmp_path: Path):
    named = {"id": "kept", "name": "Old", "type": "placeholder"}
    file = tmp_path / "presets" / "probe.json"
    async with open_editor(tmp_path, named) as screen:
        await screen.press("f3")
        await screen.press("a")
        await screen.type("Placeh")
        await screen.press("enter")
        await screen.sees("› Placeholder")
        await screen.type("World info")
        await screen.sees("› World info · not saved")
        await screen.press("escape")
        await screen.click_on("Old")
        await screen.press("enter")
        await screen.sees("› Old")
        await screen.type("er")
        await screen.sees("› Older")
        await screen.press("ctrl+s")
        await screen.loses("not saved")
        written = json.loads(file.read_text(encoding="utf-8"))["presetMessages"]
        ids = {each.get("name"): each["id"] for each in written}
        assert ids == {"Older": "kept", "World info": "world-info", None: "h"}


async def test_an_anchor_is_called_by_its_name_everywhere(tmp_path: Path):
    after = MOVED | {"anchorPoint": "after", "anchorTarget": "spot"}
    before = {"id": "b", "role": "user", "content": "BEFORE", "anchorPoint": "before"}
    async with open_editor(tmp_path, PLACEHOLDER, after, before) as screen:
        await screen.press("right")
        await screen.sees("after world_info", "before history")
        await screen.press("f3")
        await screen.click_on("anchor world_info")
        await screen.sees("→ Other messages can go before or after it.")
        await screen.sees("after world_info", "before history")
        assert "__CHAT_HISTORY__" not in screen.text
        assert "spot" not in screen.text


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
        rows = [line.partition("✓")[2].split()[0] for line in screen.lines_with("depth 2")]
        assert rows == ["asst", "user", "sys"], screen.text


async def test_the_first_part_counts_the_role_s_prompt_as_the_context_does(tmp_path: Path):
    async with open_screen(tmp_path, size=(160, 45)) as screen:
        await screen.press("f3")
        await screen.sees("its system prompt", "Terminal")
        heading = next(line for line in screen.lines if " System " in line)
        assert heading.endswith(" 60"), heading
        await screen.press("f4", "right")
        await screen.sees("2 messages · 60 tokens")
