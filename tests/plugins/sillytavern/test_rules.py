"""Rules of SillyTavern, each in a small case; what is expected was read off SillyTavern 1.19."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Muted
from tui_chat.plugins.sillytavern.cases import build_case, read_case

ORDER = ("main", "worldInfoBefore", "charDescription", "scenario", "chatHistory", "jailbreak")
WORLD = {"world_info_budget": 100, "world_info_match_whole_words": True}


def contents(
    order: tuple[str, ...] = ORDER,
    prompts: tuple[dict[str, Any], ...] = (),
    settings: dict[str, Any] | None = None,
    world: dict[str, Any] | None = None,
    entries: tuple[dict[str, Any], ...] = (),
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


def lore(*entries: dict[str, Any], world: dict[str, Any] | None = None, **fields: Any) -> str:
    """Return the text of the lore before the character; empty if there is none."""
    fields.setdefault("card", {"description": ""})
    found = contents(("worldInfoBefore", "chatHistory"), entries=entries, world=world, **fields)
    return found[0] if len(found) > 1 + len(fields.get("chat", ())) else ""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("normal", ["Main.", "Hello.", "A rook."]),
        ("continue", ["Main.", "A rook."]),
    ],
)
def test_a_marker_that_its_trigger_filters_goes_last(kind: str, expected: list[str]):
    marker = {"identifier": "charDescription", "injection_trigger": ["continue"]}
    found = contents(
        ("main", "charDescription", "chatHistory", *("worldInfoBefore", "scenario")),
        (marker,),
        generation_type=kind,
    )
    assert [text for text in found if not text.startswith("[")] == expected


def test_a_prompt_without_content_does_not_get_the_default_text():
    assert contents(prompts=({"identifier": "jailbreak"},)) == ["Main.", "A rook.", "Hello."]


def test_the_texts_of_a_depth_are_stripped_one_by_one():
    found = contents(
        persona={"name": "User", "description": "A miller.", "position": 2},
        authors_note={"prompt": "", "position": 1, "depth": 0},
        card={
            "extensions": {"depth_prompt": {"prompt": "Deep.", "depth": 0}},
        },
    )
    assert found[-1] == "A miller.\nDeep."


def test_send_if_empty_follows_a_conversation_that_ends_with_the_assistant():
    found = contents(
        ("main", "chatHistory"),
        preset={"send_if_empty": "Go on."},
        generation_type="quiet",
        generate_options={"quiet_prompt": "Sum up."},
        chat=[said("User", "Hi."), said("Rook", "Caw.")],
    )
    assert found == ["Main.", "Hi.", "Caw.", "Go on.", "A rook.", "Sum up."]


def test_an_empty_message_is_sent_with_the_name_of_its_speaker():
    found = contents(("main", "chatHistory"), preset={"names_behavior": 2}, chat=[said("Rook", "")])
    assert found == ["Main.", "Rook: ", "User: Hello.", "A rook."]


def test_hidden_messages_of_the_user_count_for_the_interval_of_the_note():
    note = {"prompt": "Note.", "position": 1, "depth": 0, "interval": 2}
    hidden = said("User", "Hidden.", is_system=True)
    assert contents(authors_note=note, chat=[hidden])[-1] == "Note."
    assert "Note." not in contents(authors_note=note)


# --- lore ----------------------------------------------------------------------------------


def test_the_first_level_of_delayed_entries_opens_with_the_first_recursion():
    delayed = {"content": "Delayed.", "delayUntilRecursion": 1, "order": 200}
    assert lore(delayed) == ""
    recursive = {"world_info_recursive": True}
    assert lore(delayed, {"content": "First."}, world=recursive) == "First.\nDelayed."


def test_a_second_level_opens_when_the_search_would_end():
    late = {"content": "Late.", "delayUntilRecursion": 2}
    assert lore({"content": "x", "delayUntilRecursion": 1, "key": ["no"]}, late) == "Late."


def test_the_macros_of_content_are_expanded_before_it_is_searched():
    named = {"content": "About {{char}}."}
    found = {"content": "Found.", "key": ["rook"], "order": 200}
    assert lore(named, found, world={"world_info_recursive": True}) == "About Rook.\nFound."


def test_the_macros_of_a_source_and_of_the_greeting_are_expanded():
    by_card = {"key": ["miller"], "content": "Card.", "matchCharacterDescription": True}
    card = {"description": "Knows {{user}}."}
    persona = {"name": "Miller"}
    assert contents(("worldInfoBefore",), entries=(by_card,), card=card, persona=persona)[0] == (
        "Card."
    )
    greeting = {"key": ["miller"], "content": "Greeting."}
    assert lore(greeting, chat=[said("Rook", "Dear {{user}}.")], persona=persona) == "Greeting."


def test_the_depth_prompt_is_searched_if_the_note_is():
    card = {"extensions": {"depth_prompt": {"prompt": "An anvil.", "depth": 0}}}
    anvil = {"key": ["anvil"], "content": "Found."}
    assert "Found." not in contents(entries=(anvil,), card=card)
    note = {"prompt": "", "allow_wi_scan": True}
    assert "Found." in contents(entries=(anvil,), card=card, authors_note=note)


@each_row(
    ("key", "occurs"),
    [
        ("/crow.*gold/s", False),
        ("/gold.*crow/s", True),
        ("/gold$/", False),
        ("/crow$/", True),
        ("/gold$/m", True),
        ("/^User: hello/i", False),
        ("/\\x01User: hello/i", True),
    ],
)
def test_patterns_may_match_across_messages_of_which_the_newest_is_first(key: str, occurs: bool):
    chat = [said("User", "A crow"), said("Rook", "gold")]
    found = lore({"key": [key], "content": "x"}, world={"world_info_depth": 3}, chat=chat)
    assert found == ("x" if occurs else "")


def test_fewer_activations_than_wanted_widen_a_depth_of_0():
    world = {"world_info_depth": 0, "world_info_min_activations": 1}
    assert lore({"content": "x"}, world=world) == "x"


def test_a_group_with_an_active_entry_of_two_groups_admits_others():
    world = {"world_info_recursive": True}
    both = {"content": "Both.", "group": "a,b", "preventRecursion": True}
    starts = {"content": "magpie"}
    other = {"content": "Other.", "group": "a", "key": ["magpie"], "order": 200}
    assert lore(both, starts, other, world=world) == "magpie\nBoth.\nOther."
    alone = {**both, "group": "a"}
    assert lore(alone, starts, other, world=world) == "magpie\nBoth."


def test_a_decorator_that_only_begins_like_a_known_one_has_no_effect():
    assert lore({"content": "@@dont_activated\nText."}) == "Text."


def test_entries_without_content_leave_no_line():
    assert lore({"content": ""}, {"content": "Text."}) == "Text."


def test_levels_of_disabled_entries_open_too():
    first = {"content": "x", "delayUntilRecursion": 1, "disable": True}
    late = {"content": "Late.", "delayUntilRecursion": 2, "order": 200}
    starts = {"content": "Start.", "key": ["hello"], "preventRecursion": True}
    once = {"content": "Once.", "key": ["late"], "excludeRecursion": True, "order": 300}
    assert lore(first, late, starts, once, world={"world_info_recursive": True}) == "Start.\nLate."
    assert lore(late, starts) == "Start."


@each_row(
    ("logic", "secondary", "active"),
    [(0, [""], False), (0, [" "], True), (1, [""], True), (2, [""], True), (2, [" "], False),
     (3, ["", "hello"], False), (3, [" ", "hello"], True), (0, [], True)],
)  # fmt: skip
def test_a_secondary_key_without_text_is_in_no_text_and_white_space_in_every_text(
    logic: int, secondary: list[str], active: bool
):
    entry = {"content": "x", "keysecondary": secondary, "selectiveLogic": logic, "selective": True}
    assert lore(entry) == ("x" if active else "")


def test_a_blank_key_needs_no_scan_depth():
    assert lore({"content": "x", "key": [" "], "scanDepth": 0}) == "x"
    assert lore({"content": "x", "key": ["hello"], "scanDepth": 0}) == ""


def test_scoring_counts_no_keys_with_macros_and_nothing_for_entries_without_keys():
    world = {"world_info_use_group_scoring": True}
    one = {"content": "One.", "group": "g", "key": ["hello"]}
    macro = {"content": "Macro.", "group": "g", "key": ["hello", "{{user}}"], "groupWeight": 0}
    two = {"content": "Two.", "group": "g", "key": ["hello", "user"]}
    assert lore(one, two, world=world) == "Two."
    assert lore(one, macro, world=world) == "One."
    fixed = {"key": [], "constant": True, "keysecondary": ["hello"], "selective": True}
    assert lore(one, {**fixed, "content": "Fixed.", "group": "g"}, world=world) == "One."


def test_a_probability_counts_only_where_it_is_used():
    assert lore({"content": "x", "probability": 0}) == "x"
    assert lore({"content": "x", "probability": 0, "useProbability": True}) == ""


@each_row(
    ("key", "active"),
    [("{{char}}", True), ("{{getvar::place}}", False), ("/{{user}}: HELLO/i", True),
     ("{{lower::HELLO}}{{trim}}", False), ("{{if x}}hello{{/if}}", True), ("{{space}}", True)],
)  # fmt: skip
def test_macros_in_keys_are_expanded(key: str, active: bool):
    entry = {"content": "x", "key": [key]}
    assert lore(entry, chat=[said("Rook", "Caw.")]) == ("x" if active else "")
    fixed = {"content": "x", "keysecondary": [key], "selective": True}
    assert lore(fixed, chat=[said("Rook", "Caw.")]) == ("x" if active else "")


def test_a_variable_that_content_sets_is_in_the_keys_of_the_next_round():
    sets = {"content": "{{setvar::place::hello}}Set.", "constant": True}
    reads = {
        "content": "Read.",
        "key": ["{{getvar::place}}"],
        "order": 200,
        "excludeRecursion": False,
    }
    assert lore(sets, reads, world={"world_info_recursive": True}) == "Set.\nRead."


def test_no_more_than_a_thousand_messages_are_searched():
    anvil = {"content": "Found.", "key": ["anvil"], "scanDepth": 5_000}
    later = [said("Rook", "Caw.")] * 998
    for before in (1, 2):
        chat = [said("Rook", "An anvil."), *later, *[said("Rook", "Caw.")] * (before - 1)]
        assert ("Found." in contents(entries=(anvil,), chat=chat)) is (before == 1)


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


@each_row(
    ("written", "expected"),
    [
        ("{{setvar::m::  a b  }}[{{getvar::m}}]", "[a b]"),
        ("{{ setvar :: m :: 7 }}[{{getvar::m}}]", "[7]"),
        ("{{.m = ab}}{{.m -= 1}}{{.m}}", "ab-1"),
        ("{{if 1}}\n  a\n    b\n{{/if}}", "a\n  b"),
        ("{{#if 1}}\n a\n{{/if}}", "\n a\n"),
        ("{{if .m == 1}}a{{/if}}", "a"),
        ("{{if .m}}a{{else}}b{{/if}}", "b"),
        ("a{{else}}b", "ab"),
        ("\\{{user}}", "\\User"),
        ("\\{\\{user\\}\\}", "{{user}}"),
        ("{{reverse::a::b}}", "{{reverse::a::b}}"),
        ("{{worldInfoBefore}}", "{{worldInfoBefore}}"),
        ("{{hasExtension::regex}}, {{hasExtension::other}}", "true, false"),
        ("{{chatStart}}", "***"),
        ("{{maxPromptTokens}}", "3795"),
        ("<CHARIFNOTGROUP>", "Rook"),
        ("[{{mesExamples}}]", "[<START>\nRook: Caw.\n]"),
    ],
)
def test_macros(written: str, expected: str):
    prompts = ({"identifier": "jailbreak", "content": f"| {written}"},)
    found = contents(prompts=prompts, card={"mes_example": "{{char}}: Caw."})
    assert found[-1] == f"| {expected}"


@each_row(
    "written",
    [
        "{{ user }}",
        "{{space::2}}",
        "{{newline::2}}",
        "{{hasvar::m}}",
        "{{getvar:m}}",
        "{{greeting}}",
    ],
)
def test_the_old_macro_engine_does_not_know_new_macros_and_forms(written: str):
    prompts = ({"identifier": "jailbreak", "content": f"| {written}"},)
    assert contents(prompts=prompts, settings={"macro_engine": "legacy"})[-1] == f"| {written}"


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


def test_fields_and_what_goes_into_the_chat_are_expanded_twice() -> None:
    prompts = (
        {"identifier": "nsfw", "content": r"\{\{user\}\}"},
        {**IN_CHAT, "content": r"\{\{user\}\}"},
    )
    found = contents(
        ("nsfw", "charDescription", "deep", "chatHistory"),
        prompts,
        card={"description": r"\{\{user\}\}"},
    )
    assert found[:3] == ["{{user}}", "User", "User"]


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


@each_row(
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


def test_what_the_card_replaces_is_not_expanded_again() -> None:
    main = {"identifier": "main", "content": r"\{\{user\}\}"}
    card = {"system_prompt": r"\{\{char\}\} {{original}} \{\{char\}\}"}
    found = contents(("main", "chatHistory"), preset={"prompts": [main]}, card=card)
    assert found[0] == "Rook {{user}} Rook"


def test_an_empty_marker_of_another_role_parts_squashed_messages() -> None:
    marker = {"identifier": "scenario", "role": "assistant"}
    order = ("main", "scenario", "charDescription", "chatHistory")
    preset = {"squash_system_messages": True}
    found = contents(order, (marker,), preset=preset, card={"scenario": ""})
    assert found[:2] == ["Main.", "A rook."]
    assert contents(order, preset=preset, card={"scenario": ""})[0] == "Main.\nA rook."


def test_the_old_engine_takes_names_only_without_white_space() -> None:
    main = {"identifier": "main", "content": "{{time }}{{noop }}[{{noop}}] {{reverse ab}} {{///}}"}
    settings = {"macro_engine": "legacy"}
    found = contents(("main", "chatHistory"), preset={"prompts": [main]}, settings=settings)
    assert found[0] == "{{time }}{{noop }}[] {{reverse ab}} "


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
