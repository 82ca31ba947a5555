"""Imported SillyTavern presets, and that they make the same requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tui_chat.config import BUILT_IN_ENDPOINTS
from tui_chat.context import Inputs, SessionSettings, build_context
from tui_chat.errors import InputError
from tui_chat.library.presets import dump_preset, parse_preset
from tui_chat.library.sillytavern_presets import ImportedPreset, parse_sillytavern_preset
from tui_chat.models.envelope import Turn
from tui_chat.models.message import Message
from tui_chat.models.preset import CHAT_HISTORY, Preset
from tui_chat.models.profile import Profile
from tui_chat.models.role import Role
from tui_chat.tokens import counter_for


def prompt(identifier: str, content: str = "", **more: object) -> dict[str, object]:
    """A prompt of one's own, as SillyTavern writes it."""
    return {
        "identifier": identifier,
        "name": identifier.title(),
        "role": "system",
        "content": content,
        "system_prompt": False,
        **more,
    }


def deep(identifier: str, depth: object, role: object = "system", order: object = 100, **more: Any):
    place = {"injection_position": 1, "injection_depth": depth, "injection_order": order}
    return prompt(identifier, f"{identifier}.", role=role, **place, **more)


def convert(prompts: list[dict[str, object]], order: list[str], **more: object) -> ImportedPreset:
    """The import of a preset whose order is this; what begins with `-` is off in it."""
    rows = [{"identifier": each.lstrip("-"), "enabled": each[0] != "-"} for each in order]
    lists = [{"character_id": 100000, "order": []}, {"character_id": 100001, "order": rows}]
    text = json.dumps({"prompts": prompts, "prompt_order": lists, **more})
    return parse_sillytavern_preset(text, "x.json", "x")


NOT_ASKED = [
    *("-worldInfoBefore", "-worldInfoAfter", "-charDescription"),
    *("-charPersonality", "-scenario", "-personaDescription"),
]


def rows(found: ImportedPreset) -> list[tuple[str, bool]]:
    messages = found.preset.messages
    return [(m.id, m.enabled) for m in messages if f"-{m.id}" not in NOT_ASKED]


def sentences(found: ImportedPreset) -> str:
    return "\n".join(notes.sentence for notes in found.notes)


def test_the_order_list_gives_order_and_enabled_prompts() -> None:
    prompts = [prompt("main", "Go."), prompt("b", "B"), prompt("a", "A"), prompt("lost", "L")]
    order = ["a", "main", "-b", "chatHistory", "a", "ghost", *NOT_ASKED]
    found = convert(prompts, order, new_chat_prompt="[New]", temperature=0.7)
    assert rows(found) == [
        *(("a", True), ("main", True), ("b", False)),
        *(("newChat", True), ("chatHistory", True)),
    ]
    assert found.preset.system_placement == "in_place"
    assert "“a” is twice" in sentences(found)
    assert "Not imported, because the order list does not have them: “Lost”." in sentences(found)
    assert "temperature 0.7" in sentences(found)


def test_the_new_chat_line_gets_an_unused_id() -> None:
    own = ["newChat", "newChat-2"]
    found = convert(
        [prompt(each, "X") for each in own], [*own, "chatHistory"], new_chat_prompt="[New]"
    )
    ids = [message.id for message in found.preset.messages]
    assert len(ids) == len(set(ids))


def test_without_an_order_list_the_default_order_is_used() -> None:
    text = json.dumps({"prompts": [prompt("main", "Go."), prompt("mine", "never")]})
    found = parse_sillytavern_preset(text, "x.json", "x")
    ids = [message.id for message in found.preset.messages]
    assert ids[:3] == ["main", "worldInfoBefore", "personaDescription"]
    assert "mine" not in ids


def test_prompts_in_the_chat_are_sorted_by_depth_order_and_role() -> None:
    prompts = [
        deep("late", 1, order="150"),
        deep("sys", 1),
        deep("usr", 1, "user"),
        deep("ast", 1, "assistant"),
        deep("low", 3),
        deep("end", 0, "user"),
    ]
    found = convert(prompts, ["chatHistory", *(str(p["identifier"]) for p in prompts), *NOT_ASKED])
    chat = [message for message in found.preset.messages if message.content.endswith(".")]
    assert [m.id for m in chat] == ["low", "ast", "usr", "sys", "late", "end"]
    assert [m.insertion_point for m in chat] == [-3, -1, -1, -1, -1, None]
    assert [m.order for m in chat] == [0, 0, 0, 0, 50, 0]
    assert (chat[-1].anchor_point, chat[-1].anchor_target) == ("after", CHAT_HISTORY)


NEVER = [
    (prompt("p", "P", system_prompt=True), "does not send custom prompts"),
    ({**prompt("p", "P"), "system_prompt": None}, "does not send custom prompts"),
    (deep("p", 2, None), "in the chat without a role"),
    (deep("p", "2"), "an invalid depth"),
    (deep("p", -1), "an invalid depth"),
    (prompt("p", "P", injection_trigger=["continue"]), "only with continue"),
]


@pytest.mark.parametrize(("odd", "why"), NEVER)
def test_prompts_that_sillytavern_never_sends_are_disabled_with_a_note(
    odd: dict[str, Any], why: str
) -> None:
    found = convert([odd], ["p", "chatHistory", *NOT_ASKED])
    assert ("p", False) in rows(found)
    assert why in sentences(found)


def test_character_fields_become_variables_and_the_persona_an_anchor() -> None:
    order = ["personaDescription", "charDescription", "charPersonality", "chatHistory"]
    found = convert([], order, personality_format="[<char> is {{personality}}]")
    by = {message.id: message for message in found.preset.messages}
    assert by["personaDescription"].type == "user_profile"
    assert by["charPersonality"].content == "[{{char}} is {{personality}}]"
    assert dict(found.preset.variables) == {"description": "", "personality": "", "scenario": ""}
    assert by["scenario"] is found.preset.messages[-1], "what the order leaves out is put last"


FORMATS = {
    "personality_format": "[<char> is {{personality}}.]",
    "scenario_format": "Scene: {{scenario}}",
    "wi_format": "<lore>{0}</lore>",
}


@pytest.mark.parametrize("place", [{}, {"injection_position": 1, "injection_depth": 2}])
@pytest.mark.parametrize("formats", [{}, FORMATS])
@pytest.mark.parametrize("empty", ["", " \n", "{{noop}}"])
def test_empty_character_fields_are_not_sent(
    place: dict[str, Any], formats: dict[str, str], empty: str
) -> None:
    markers = ["charDescription", "charPersonality", "scenario"]
    found = convert(
        [{"identifier": marker, "marker": True, **place} for marker in markers],
        [*markers, "worldInfoBefore", "worldInfoAfter", "personaDescription", "chatHistory"],
        **formats,
    ).preset
    found = parse_preset(dump_preset(found), "again", "x")

    def sent(**values: str) -> list[str]:
        endpoint = next(one for one in BUILT_IN_ENDPOINTS if one.name == "loopback")
        inputs = Inputs(endpoint, found, draft="D", role=Role("r", "Mira"), variables=values)
        return [turn.text.plain for turn in build_context(inputs, counter_for).turns]

    assert sent() == ["D"]
    assert sent(description=empty, personality=empty, scenario=empty) == ["D"]
    full = sent(personality="{{user}}'s friend", scenario="a {{weekday}}", description=empty)
    assert sorted(full) == sorted(
        ["D", "[Mira is User's friend.]", "Scene: a Thursday"]
        if formats
        else ["D", "User's friend", "a Thursday"]
    )


def test_an_unsupported_format_is_noted() -> None:
    assert "“wi_format”" in sentences(convert([], ["chatHistory"], **FORMATS))
    assert "wi_format" not in sentences(convert([], ["chatHistory"], wi_format="{0}"))


@pytest.mark.parametrize("text", ["{", "[]", '{"presetMessages": []}'])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"x\.json"):
        parse_sillytavern_preset(text, "x.json", "x")


def test_a_sillytavern_file_among_our_presets_has_advice() -> None:
    with pytest.raises(InputError, match="tui-chat preset import"):
        parse_preset('{"prompts": [], "prompt_order": []}', "x.json", "x")


ODD = [{"prompts": [1, {}, {"identifier": 3}], "prompt_order": [None, {"character_id": 100001}]}]


@pytest.mark.parametrize("found", ODD)
def test_odd_types_are_accepted(found: dict[str, Any]) -> None:
    assert parse_sillytavern_preset(json.dumps(found), "x.json", "x").preset.messages


CASES = Path(__file__).parents[3] / "shared" / "corpus" / "sillytavern" / "dev"
NOT_COMPARED = {
    *("truncation", "regex", "metadata", "inject", "bias", "chat-file", "narrator", "names"),
    *("send-if-empty", "character-book", "squash", "real-card"),
}
"""What is not of the preset, or not taken over, and told so."""
OTHER_MACROS = ("109", "110", "111", "112", "115", "117", "186", "237", "239")
"""Cases with macros that we do not have, which stay, or with macros in what was said."""
MACRO = re.compile(r"\{\{(user|char)\}\}", re.IGNORECASE)


def compared() -> Iterator[dict[str, Any]]:
    """The captured requests whose inputs are all known to us."""
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text("utf-8"))
        data = card(case)
        note = (data.get("extensions") or {}).get("depth_prompt") or {}
        settings, persona = case["settings"], case.get("persona") or {}
        books, order = case.get("lorebooks") or {}, json.dumps(case["preset"]["prompt_order"])
        others = (
            case["name"].startswith(OTHER_MACROS),
            case["generation_type"] != "normal",
            NOT_COMPARED & set(case["features"]),
            (case.get("authors_note") or {}).get("prompt"),
            books.get("active_global") or books.get("files"),
            persona.get("position"),
            data.get("system_prompt") or data.get("post_history_instructions"),
            note.get("prompt"),
            settings["squash_system_messages"] or settings["names_behavior"] > 0,
            settings["custom_prompt_post_processing"] or settings["collapse_newlines"],
            "chatHistory" not in order.split("100001")[-1],
        )
        if not any(others):
            yield case


def card(case: dict[str, Any]) -> dict[str, Any]:
    found = case.get("imported_card") or case["card"] or {}
    return found.get("data", found)


def asked(case: dict[str, Any], found: Preset) -> tuple[Turn, ...]:
    """What our road makes of a case's inputs."""
    data, persona = card(case), case["persona"]
    names = {"user": persona["name"], "char": data["name"]}

    def said(text: str) -> str:
        return MACRO.sub(lambda macro: names[macro[1].lower()], text.replace("\r", ""))

    values = {key: (data.get(key) or "").strip().replace("\r", "") for key in found.variables}
    history = tuple(
        Message("user" if each["is_user"] else "assistant", said(each["mes"]), f"m{number}")
        for number, each in enumerate(case["chat"])
        if not each.get("is_system")
    )
    inputs = Inputs(
        next(one for one in BUILT_IN_ENDPOINTS if one.name == "loopback"),
        replace(found, variables=values),
        history,
        said(case["user_input"]),
        role=Role("r", data["name"], ""),
        profile=Profile(persona["name"], (persona.get("description") or "").strip()),
        settings=SessionSettings(model="gpt-4o"),
    )
    return build_context(inputs, counter_for).turns


def test_captured_presets_make_the_same_request_as_in_sillytavern() -> None:
    if not CASES.is_dir():
        pytest.skip("the corpus is not here")
    count = 0
    for case in compared():
        found = parse_sillytavern_preset(json.dumps(case["preset"]), case["name"], "x").preset
        found = parse_preset(dump_preset(found), "again", "x")  # as it is kept
        orders = {message.id: message.order for message in found.messages}

        def together(turn: Turn, orders: dict[str, int] = orders) -> object:
            """What SillyTavern sends as one: told by the import."""
            place = turn.placement
            if place.kind not in ("depth", "after"):
                return turn
            return place.kind, place.asked, turn.role, orders.get(turn.origin.id)

        turns = [list(group) for _, group in groupby(asked(case, found), together)]
        ours = [(g[0].role, "\n".join(turn.text.plain for turn in g)) for g in turns]
        line = case["settings"]["new_example_chat_prompt"].replace("{{char}}", card(case)["name"])
        theirs = [
            (message["role"], message["content"])
            for message in case["messages"]
            if not str(message.get("name", "")).startswith("example_")
            and message["content"] != line
        ]
        assert ours == theirs, case["name"]
        count += 1
    assert count >= 35
