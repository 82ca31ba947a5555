"""Imported SillyTavern presets, and that they make the same requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.tables import each_row
from tui_chat.config import BUILT_IN_ENDPOINTS
from tui_chat.context import Inputs, build
from tui_chat.errors import InputError
from tui_chat.library.presets import dump_preset, parse_preset
from tui_chat.models.preset import CHAT_HISTORY
from tui_chat.models.role import Role
from tui_chat.plugins.sillytavern.policies import policies_of
from tui_chat.plugins.sillytavern.presets import ImportedPreset, parse_sillytavern_preset
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
    assert "Not sent, since the order list does not have them: “Lost”." in sentences(found)
    assert found.preset.settings.temperature == 0.7


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


def test_prompts_in_the_chat_get_their_depth_and_order() -> None:
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
    assert [m.id for m in chat] == ["late", "sys", "usr", "ast", "low", "end"], "as in the list"
    assert [m.insertion_point for m in chat] == [-1, -1, -1, -1, -3, None]
    assert [m.order for m in chat] == [50, 0, 0, 0, 0, 0]
    assert (chat[-1].anchor_point, chat[-1].anchor_target) == ("after", CHAT_HISTORY)


NEVER = [
    (prompt("p", "P", system_prompt=True), "does not send custom prompts"),
    ({**prompt("p", "P"), "system_prompt": None}, "does not send custom prompts"),
    (deep("p", 2, None), "in the chat without a role"),
    (deep("p", "2"), "an invalid depth"),
    (deep("p", -1), "an invalid depth"),
]


@each_row(("odd", "why"), NEVER)
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


@each_row("place", [{}, {"injection_position": 1, "injection_depth": 2}])
@each_row("formats", [{}, FORMATS])
@each_row("empty", ["", " \n", "{{noop}}"])
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
        return [turn.text.plain for turn in build(inputs, counter_for).turns]

    assert sent() == ["D"]
    assert sent(description=empty, personality=empty, scenario=empty) == ["D"]
    full = sent(personality="{{user}}'s friend", scenario="a {{weekday}}", description=empty)
    both = (
        ["[Mira is User's friend.]", "Scene: a Thursday"]
        if formats
        else [*("User's friend", "a Thursday")]
    )
    assert sorted(full) == sorted(["D", *(["\n".join(both)] if place else both)])


def test_world_info_has_its_format() -> None:
    messages = convert([], ["chatHistory"], **FORMATS).preset.messages
    found = {message.id: message for message in messages}
    assert found["worldInfoAfter"].content == "<lore>{{worldInfoAfter}}</lore>"
    assert found["worldInfoBefore"].requires == "worldInfoBefore"


@each_row("text", ["{", "[]", '{"presetMessages": []}'])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"x\.json"):
        parse_sillytavern_preset(text, "x.json", "x")


def test_a_sillytavern_file_among_our_presets_has_advice() -> None:
    with pytest.raises(InputError, match="tui-chat presets import"):
        parse_preset('{"prompts": [], "prompt_order": []}', "x.json", "x")


ODD = [{"prompts": [1, {}, {"identifier": 3}], "prompt_order": [None, {"character_id": 100001}]}]


@pytest.mark.parametrize("found", ODD)
def test_odd_types_are_accepted(found: dict[str, Any]) -> None:
    assert parse_sillytavern_preset(json.dumps(found), "x.json", "x").preset.messages


def test_every_key_is_used_or_named() -> None:
    keys = {
        "assistant_prefill": "Well, ",
        "use_sysprompt": False,
        "custom_prompt_post_processing": "strict_tools",
        "names_in_completion": True,
        "chat_completion_source": "claude",
        "claude_model": "claude-x",
        "custom_url": "http://x",
        "group_nudge_prompt": "[You]",
        "n": 2,
        "stream_openai": False,
        "function_calling": True,
        "unheard_of": 1,
        "reasoning_effort": "min",
        "temperature": "hot",
        "extensions": {
            "regex_scripts": [
                {"scriptName": "tidy", "findRegex": "a", "promptOnly": True},
                {"scriptName": "bold", "findRegex": "a", "markdownOnly": True},
            ],
            "other": {"a": 1},
        },
    }
    found = convert([], ["chatHistory"], **keys)
    policies = policies_of(found.preset)
    assert (policies.assistant_prefill, policies.system_as_user) == ("Well,", True)
    assert (policies.post_processing, policies.names) == ("strict", "name")
    assert found.preset.settings.effort == "minimal"
    named = sentences(found)
    for words in (
        *("claude-x (claude)", "“custom_url”", "“group_nudge_prompt”", "n 2", "“stream_openai”"),
        *("“function_calling”", "“unheard_of”", "“temperature” is not used", "“other”"),
        *("scripts change what is sent: “tidy”.", "only change what is shown: “bold”."),
    ):
        assert words in named
