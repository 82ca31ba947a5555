"""Rules of SillyTavern, each in a small case; what is expected was read off SillyTavern 1.19.

    python -m tests.plugins.sillytavern.test_rules

writes what is expected anew, after a change that is meant.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.golden import cases, update
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Muted
from tui_chat.plugins.sillytavern.cases import build_case, read_case

RULES = Path(__file__).parent / "rules"
ORDER = ("main", "worldInfoBefore", "charDescription", "scenario", "chatHistory", "jailbreak")
WORLD = {"world_info_budget": 100, "world_info_match_whole_words": True}


def contents(
    order: Sequence[str] = ORDER,
    prompts: Sequence[dict[str, Any]] = (),
    settings: dict[str, Any] | None = None,
    world: dict[str, Any] | None = None,
    entries: Sequence[dict[str, Any]] = (),
    preset: dict[str, Any] | None = None,
    card: dict[str, Any] | None = None,
    **fields: Any,
) -> list[str]:
    """Return the texts of the messages of a case."""
    rows = [{"identifier": identity, "enabled": True} for identity in order]
    case: dict[str, Any] = {
        "preset": {
            "prompts": [{"identifier": "main", "content": "Main."}, *prompts],
            "prompt_order": [{"character_id": 100001, "order": rows}],
            "new_chat_prompt": "",
            **(preset or {}),
        },
        "card": {"name": "Rook", "description": "A rook.", **(card or {})},
        "settings": {"world_info": {**WORLD, **(world or {})}, **(settings or {})},
        "lorebooks": {
            "active_global": ["Book"],
            "files": {"Book": {"entries": {str(n): entry(n, e) for n, e in enumerate(entries)}}},
        },
        "user_input": "Hello.",
        **fields,
    }
    messages, _ = build_case(json.dumps(case), "case")
    return [message["content"] for message in messages]


def entry(number: int, fields: dict[str, Any]) -> dict[str, Any]:
    return {"uid": number, "key": ["hello"], "position": 0, "order": 100, **fields}


def said(name: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "is_user": name == "User", "mes": text, **fields}


@each_row(
    ("case", "expected"),
    [(case, expected) for _, case, expected in cases(RULES)],
    ids=[name for name, *_ in cases(RULES)],
)
def test_a_rule(case: dict[str, Any], expected: list[str]) -> None:
    assert contents(**case) == expected


def test_no_more_than_a_thousand_messages_are_searched():
    anvil = {"content": "Found.", "key": ["anvil"], "scanDepth": 5_000}
    later = [said("Rook", "Caw.")] * 998
    for before in (1, 2):
        chat = [said("Rook", "An anvil."), *later, *[said("Rook", "Caw.")] * (before - 1)]
        assert ("Found." in contents(entries=(anvil,), chat=chat)) is (before == 1)


<<<<<<< HEAD
=======
def test_content_of_white_space_is_sent():
    assert lore({"content": " "}) == " "


def test_scripts_change_what_is_searched():
    script = {"findRegex": "/hello/gi", "replaceString": "magpie", "placement": [1]}
    settings = {"regex_scripts": [{**script, "promptOnly": True}]}
    found = contents(entries=({"key": ["magpie"], "content": "x"},), settings=settings)
    assert found[1] == "x"


def test_a_swipe_takes_the_last_message_that_is_sent_not_a_hidden_one():
    chat = [said("User", "Hi."), said("Rook", "Caw."), said("Rook", "Aside.", is_system=True)]
    found = contents(("main", "chatHistory"), chat=chat, generation_type="swipe")
    assert found == ["Main.", "Hi.", "A rook."]


def test_macros_that_a_script_inserts_into_lore_are_expanded():
    script = {"findRegex": "/x/", "replaceString": "{{char}}", "placement": [5]}
    settings = {"regex_scripts": [{**script, "promptOnly": True}]}
    assert lore({"content": "x"}, settings=settings) == "Rook"


# --- macros --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{{setvar::m::  a b  }}[{{getvar::m}}]", "[a b]"),
        ("{{ setvar :: m :: 7 }}[{{getvar::m}}]", "[7]"),
        ("{{if 1}}\n  a\n    b\n{{/if}}", "a\n  b"),
        ("{{#if 1}}\n a\n{{/if}}", "\n a\n"),
        ("\\{{user}}", "\\User"),
        ("\\{\\{user\\}\\}", "{{user}}"),
        ("{{reverse::a::b}}", "{{reverse::a::b}}"),
        ("{{hasExtension::regex}}, {{hasExtension::other}}", "true, false"),
        ("{{maxPrompt}}", "3795"),
        ("[{{mesExamples}}]", "[<START>\nRook: Caw.\n]"),
    ],
)
def test_macros(written: str, expected: str):
    prompts = ({"identifier": "jailbreak", "content": f"| {written}"},)
    found = contents(prompts=prompts, card={"mes_example": "{{char}}: Caw."})
    assert found[-1] == f"| {expected}"


def test_newer_messages_are_expanded_before_older_ones() -> None:
    chat = [
        said("Rook", "Hello."),
        said("User", "[{{getvar::mood}}]"),
        said("Rook", "{{setvar::mood::calm}}Yes."),
    ]
    assert contents(("chatHistory",), chat=chat)[1:3] == ["[calm]", "Yes."]


def test_fields_of_the_card_set_variables_before_the_preset_reads_them() -> None:
    prompts = ({"identifier": "nsfw", "content": "[{{getvar::mood}}]"},)
    card = {"creator_notes": "{{setvar::mood::calm}}"}
    assert "[calm]" in contents(("nsfw", "chatHistory"), prompts, card=card)


IN_CHAT = {
    "identifier": "deep",
    "role": "system",
    "injection_position": 1,
    "injection_depth": 1,
    "system_prompt": False,
}


def test_the_prompt_of_the_card_is_sent_where_a_trigger_filters_main() -> None:
    main = {"identifier": "main", "content": "Main.", "injection_trigger": ["quiet"]}
    card = {"system_prompt": "Card. {{original}}"}
    found = contents(("main", "chatHistory"), preset={"prompts": [main]}, card=card)
    assert found[0] == "Card. "


def test_a_prompt_of_the_card_that_expands_to_nothing_replaces_nothing() -> None:
    card = {"system_prompt": "{{setvar::a::1}}"}
    assert contents(("main", "chatHistory"), card=card)[0] == "Main."


def test_narrators_are_the_character_for_macros() -> None:
    chat = [said("Rook", "Yes."), said("Rook", "Later.", extra={"type": "narrator"})]
    prompts = ({"identifier": "nsfw", "content": "<{{lastCharMessage}}>"},)
    assert "<Later.>" in contents(("nsfw", "chatHistory"), prompts, chat=chat)


def test_a_persona_with_a_place_of_its_own_is_not_sent_at_its_marker() -> None:
    marker = {**IN_CHAT, "identifier": "personaDescription"}
    persona = {"name": "Ada", "description": "Calm.", "position": 9}
    found = contents(("personaDescription", "chatHistory"), (marker,), persona=persona)
    assert "Calm." not in found


def test_what_is_sent_if_nothing_is_typed_has_no_white_space_around_it() -> None:
    found = contents(("chatHistory",), preset={"send_if_empty": " Go on. "}, user_input="")
    assert found[0] == "Go on."


def test_a_typed_macro_that_expands_to_nothing_counts_as_a_message() -> None:
    prompts = ({**IN_CHAT, "content": "Deep."},)
    chat = [said("Rook", "Yes.")]
    found = contents(("deep", "chatHistory"), prompts, chat=chat, user_input="{{noop}}")
    assert found[:2] == ["Yes.", "Deep."]


def script(find: str, by: str, **fields: Any) -> dict[str, Any]:
    return {
        "scriptName": find,
        "findRegex": find,
        "replaceString": by,
        "placement": [1, 2],
        "promptOnly": True,
        **fields,
    }


def scripted(*scripts: dict[str, Any], **fields: Any) -> list[str]:
    """Return what is sent with these scripts in a preset."""
    preset = {"extensions": {"regex_scripts": scripts}}
    chat = [said("Rook", "one"), said("User", "two"), said("Rook", "three")]
    found = contents(("chatHistory",), preset=preset, chat=chat, user_input="four", **fields)
    return found[:4]


def test_scripts_of_settings_preset_and_card_are_run_in_this_order() -> None:
    card = {"extensions": {"regex_scripts": [script("/c/g", "d")]}}
    settings = {"regex_scripts": [script("/o/g", "b")]}
    found = scripted(script("/b/g", "c"), card=card, settings=settings)
    assert found == ["dne", "twd", "three", "fdur"]
    disallowed = {**settings, "character_allowed_regex": False, "preset_allowed_regex": False}
    found = scripted(script("/b/g", "c"), card=card, settings=disallowed)
    assert found == ["bne", "twb", "three", "fbur"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"minDepth": 1, "maxDepth": 2}, ["one", "twx", "three", "four"]),
        ({"maxDepth": ""}, ["one", "two", "three", "fxur"]),
        ({"maxDepth": -1, "minDepth": "nonsense"}, ["xne", "twx", "three", "fxur"]),
        ({"placement": [2, True]}, ["xne", "two", "three", "four"]),
        ({"disabled": 1}, ["one", "two", "three", "four"]),
        ({"promptOnly": False, "markdownOnly": True}, ["one", "two", "three", "four"]),
        ({"promptOnly": False, "maxDepth": 9, "minDepth": 9}, ["one", "two", "three", "fxur"]),
    ],
)
def test_scripts_say_where_they_are_run(fields: dict[str, Any], expected: list[str]) -> None:
    assert scripted(script("/o/g", "x", **fields)) == expected


def test_the_last_message_of_a_continuation_has_no_depth_for_scripts() -> None:
    preset = {"extensions": {"regex_scripts": [script("/o/g", "x", minDepth=0)]}}
    chat = [said("User", "two"), said("Rook", "one")]
    order = ("chatHistory",)
    found = contents(order, preset=preset, chat=chat, generation_type="continue")
    assert found[0] == "twx"
    assert "one" in found


def test_an_empty_marker_of_another_role_parts_squashed_messages() -> None:
    marker = {"identifier": "scenario", "role": "assistant"}
    order = ("main", "scenario", "charDescription", "chatHistory")
    preset = {"squash_system_messages": True}
    found = contents(order, (marker,), preset=preset, card={"scenario": ""})
    assert found[:2] == ["Main.", "A rook."]
    assert contents(order, preset=preset, card={"scenario": ""})[0] == "Main.\nA rook."


>>>>>>> e2315243 (Give macros one meaning, one engine and one declaration each)
@pytest.mark.parametrize("name", ["User", "Rook"])
def test_a_muted_message_is_sent_as_a_hidden_one(name: str):
    """What our key takes out of a request, `/hide` does there."""
    endpoint = Endpoint("e", Protocol.OPENAI_CHAT, "https://e", models=("m",))
    rows = [{"identifier": each, "enabled": True} for each in ("main", "chatHistory")]
    prompts = [{"identifier": "main", "content": "{{lastMessageId}} {{lastMessage}}"}]

    def case(is_hidden: bool) -> Inputs:
        chat = [
            said("User", "Salt."),
            said("Rook", "Caw."),
            said(name, "Hidden.", is_system=is_hidden),
            said("Rook", "Marsh."),
        ]
        preset = {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": rows}]}
        found = {"preset": preset, "card": {"name": "Rook"}, "chat": chat, "user_input": "Hello."}
        return read_case(json.dumps(found), "case", endpoint).inputs

    shown = case(False)
    history = tuple(
        replace(message, muted=Muted(whole=message.content == "Hidden."))
        for message in shown.history
    )
    muted = compose(replace(shown, history=history))
    assert muted.payload.body == compose(case(True)).payload.body
    assert muted.payload.body != compose(shown).payload.body
    assert [left_out.preview for left_out in muted.envelope.muted] == ["Hidden."]


if __name__ == "__main__":
    update(RULES, lambda case: contents(**case))
