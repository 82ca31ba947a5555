"""Presets of SillyTavern: import, export, and exactly what was changed in between."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.sillytavern.test_presets import NOT_ASKED, deep, prompt
from tests.support.tables import each_row
from tui_chat.library.editing.edits import (
    add_message,
    change_message,
    duplicate_message,
    move_message,
    remove_message,
)
from tui_chat.library.presets import dump_preset, load_preset, parse_preset
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.settings import Settings
from tui_chat.paths import bundled
from tui_chat.plugins.sillytavern.policies import policies_of, policy_values
from tui_chat.plugins.sillytavern.preset_export import export_preset
from tui_chat.plugins.sillytavern.presets import (
    import_preset,
    parse_sillytavern_preset,
    with_texts,
)

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "sillytavern" / "dev"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(0, 2) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
IDS = st.sampled_from(
    (
        "main",
        "jailbreak",
        "nsfw",
        "worldInfoBefore",
        "charDescription",
        "chatHistory",
        "a",
        "b",
        "c",
    )
)
TEXTS = st.sampled_from(("", " ", "Go.", "<user> and {{char}}", "{{persona}}"))
PROMPTS = st.fixed_dictionaries(
    {"identifier": IDS},
    optional={
        "name": TEXTS,
        "role": st.sampled_from(("system", "user", "assistant", "odd", None)),
        "content": TEXTS | st.none(),
        "system_prompt": st.booleans(),
        "marker": st.booleans(),
        "injection_position": st.sampled_from((0, 1, "1")),
        "injection_depth": st.sampled_from((0, 1, 4, -1, "2")),
        "injection_order": st.sampled_from((50, 100, "150")),
        "injection_trigger": st.sampled_from(([], ["normal"], ["swipe", "odd"])),
        "forbid_overrides": st.booleans(),
        "their own": JSON,
    },
)
ROWS = st.fixed_dictionaries({"identifier": IDS, "enabled": st.booleans()}, optional={"x": JSON})
ORDERS = st.lists(
    st.fixed_dictionaries(
        {
            "character_id": st.sampled_from((100000, 100001)),
            "order": st.lists(ROWS | JSON, max_size=9),
        }
    ),
    max_size=2,
)
WHOLES = st.fixed_dictionaries(
    {"prompts": st.lists(PROMPTS | JSON, max_size=7)},
    optional={
        "prompt_order": ORDERS,
        "temperature": JSON,
        "top_p": JSON,
        "openai_max_context": JSON,
        "openai_max_tokens": JSON,
        "reasoning_effort": JSON | st.sampled_from(("auto", "min", "max")),
        "names_behavior": JSON,
        "use_sysprompt": JSON,
        "wi_format": JSON | TEXTS,
        "scenario_format": TEXTS,
        "new_chat_prompt": JSON | TEXTS,
        "send_if_empty": JSON | TEXTS,
        "assistant_prefill": JSON | TEXTS,
        "squash_system_messages": JSON,
        "openai_model": JSON,
        "unknown": JSON,
    },
)


def reread(preset: Preset) -> Preset:
    """The preset as it is in its file."""
    return parse_preset(dump_preset(preset), "x.json", preset.name)


@pytest.mark.slow
@given(WHOLES)
@settings(max_examples=150)
def test_an_export_without_edits_is_equal_to_the_file(whole: dict[str, Any]) -> None:
    preset = reread(import_preset(json.loads(json.dumps(whole)), "x").preset)
    exported = export_preset(preset)
    assert exported.json == whole
    assert exported.notes == ()


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="there is no corpus")
def test_presets_of_the_corpus_are_exported_equal() -> None:
    for path in sorted(CORPUS.glob("*.json")):
        whole = json.loads(path.read_text())["preset"]
        preset = reread(import_preset(whole, "x").preset)
        assert export_preset(preset).json == whole, path.name


def usual() -> dict[str, Any]:
    """A preset with ids in the order main, a, [disabled b], chatHistory, d."""
    prompts = [prompt("main", "Go."), prompt("a", "A"), prompt("b", "B"), deep("d", 2)]
    prompts.append(prompt("off the list", "never"))
    order = ["main", "a", "-b", "chatHistory", "d", *NOT_ASKED, "ghost"]
    rows = [{"identifier": each.lstrip("-"), "enabled": each[0] != "-"} for each in order]
    lists = [{"character_id": 100000, "order": []}, {"character_id": 100001, "order": rows}]
    return {
        "prompts": prompts,
        "prompt_order": lists,
        "new_chat_prompt": "[New]",
        "temperature": 0.9,
        "top_p": 1,
        "openai_max_context": 8000,
        "mine": [1],
    }


def index_of(preset: Preset, identity: str) -> int:
    return next(n for n, message in enumerate(preset.messages) if message.id == identity)


def edited(identity: str, **fields: Any) -> dict[str, Any]:
    """The export after an edit of one message."""
    preset = import_preset(usual(), "x").preset
    after = change_message(preset, index_of(preset, identity), **fields)
    exported = export_preset(reread(after))
    assert exported.notes == ()
    return exported.json


def rows_of(whole: dict[str, Any]) -> list[dict[str, Any]]:
    return whole["prompt_order"][1]["order"]


def test_a_toggled_prompt_is_toggled_in_the_order_list_alone() -> None:
    expected = usual()
    rows_of(expected)[1]["enabled"] = False
    assert edited("a", enabled=False) == expected
    expected = usual()
    rows_of(expected)[2]["enabled"] = True
    assert edited("b", enabled=True) == expected


PROMPT_EDITS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("a", {"content": "Else"}, {"content": "Else"}),
    ("a", {"name": "Style"}, {"name": "Style"}),
    ("a", {"role": "user"}, {"role": "user"}),
    ("a", {"triggers": ("swipe",)}, {"injection_trigger": ["swipe"]}),
    (
        "a",
        {"insertion_point": -3},
        {"injection_position": 1, "injection_depth": 3, "injection_order": 100},
    ),
    ("d", {"insertion_point": -1}, {"injection_position": 1, "injection_depth": 1}),
    ("d", {"order": 5}, {"injection_order": 105}),
    ("main", {"card_field": ""}, {"forbid_overrides": True}),
]


@each_row(("identity", "fields", "keys"), PROMPT_EDITS)
def test_a_changed_field_changes_its_prompt_alone(
    identity: str, fields: dict[str, Any], keys: dict[str, Any]
) -> None:
    expected = usual()
    next(each for each in expected["prompts"] if each["identifier"] == identity).update(keys)
    assert edited(identity, **fields) == expected


def test_the_line_of_a_new_chat_and_formats_are_keys_of_the_preset() -> None:
    assert edited("newChat", content="[Go]") == {**usual(), "new_chat_prompt": "[Go]"}
    assert edited("newChat", enabled=False) == {**usual(), "new_chat_prompt": ""}
    preset = import_preset(usual(), "x").preset
    for word in ("worldInfoBefore", "worldInfoAfter"):
        content = f"<w>{{{{{word}}}}}</w>"
        preset = change_message(preset, index_of(preset, word), content=content)
    assert export_preset(preset).json == {**usual(), "wi_format": "<w>{0}</w>"}
    assert export_preset(preset).notes == ()


def test_a_move_changes_the_order_list_alone() -> None:
    preset = import_preset(usual(), "x").preset
    after = move_message(preset, index_of(preset, "a"), 0)
    expected = usual()
    rows = rows_of(expected)
    rows.insert(0, rows.pop(1))
    assert export_preset(reread(after)).json == expected


def test_a_deleted_prompt_leaves_prompts_and_order_and_a_marker_is_disabled() -> None:
    preset = import_preset(usual(), "x").preset
    after = remove_message(preset, index_of(preset, "a"))
    expected = usual()
    del rows_of(expected)[1]
    del expected["prompts"][1]
    assert export_preset(reread(after)).json == expected
    whole = usual()
    rows_of(whole)[:] = [row for row in rows_of(whole) if row["identifier"] != "scenario"]
    preset = import_preset(whole, "x").preset
    after = remove_message(preset, index_of(preset, "scenario"))
    assert rows_of(export_preset(after).json)[-1] == {"identifier": "scenario", "enabled": False}


def test_a_new_prompt_is_added_to_prompts_and_order() -> None:
    preset = import_preset(usual(), "x").preset
    after = duplicate_message(preset, index_of(preset, "a"))
    after = add_message(after, PresetMessage("off the list", content="X"), 0)
    found = export_preset(reread(after)).json
    added = found["prompts"][-2:]
    assert {each["identifier"] for each in added} == {"a-2", "off the list-2"}
    ids = [row["identifier"] for row in rows_of(found)]
    assert ids[:4] == ["off the list-2", "main", "a", "a-2"]
    again = import_preset(found, "x").preset
    assert [m.content for m in again.messages if m.enabled] == [
        m.content for m in after.messages if m.enabled
    ]


def test_settings_and_policies_are_keys_of_the_preset() -> None:
    preset = import_preset(usual(), "x").preset
    assert preset.settings == Settings(temperature=0.9, context_limit=8000)
    changed = replace(
        preset,
        settings=Settings(temperature=0.5, top_p=0.8, effort="minimal"),
        policies=policy_values(
            replace(policies_of(preset), names="content", system_as_user=True, squash_system=True)
        ),
    )
    found = export_preset(reread(changed))
    expected = usual()
    del expected["openai_max_context"]
    assert found.json == expected | {
        "temperature": 0.5,
        "top_p": 0.8,
        "reasoning_effort": "min",
        "names_behavior": 2,
        "use_sysprompt": False,
        "squash_system_messages": True,
    }


def test_what_sillytavern_cannot_express_is_named() -> None:
    preset = import_preset(usual(), "x").preset
    at = index_of(preset, "a")
    after = change_message(preset, at, insertion_point=2, requires="tone", cache_control="5m")
    after = add_message(after, PresetMessage("spot", type="placeholder"))
    after = replace(
        after,
        settings=Settings(stop=("END",)),
        policies=policy_values(replace(policies_of(preset), depths="separate")),
    )
    after = replace(after, variables={**after.variables, "tone": "dry"})
    notes = "\n".join(export_preset(after).notes)
    assert "Not written of “A”: its cache mark, the variable that it requires, a depth" in notes
    assert "“spot” is not written" in notes
    assert "depths" in notes
    assert "stop" in notes
    assert "Not written, since it keeps variables in chats: tone." in notes


@each_row("name", ["roleplay", "character", "few-shot", "code-reviewer"])
def test_presets_of_our_own_are_sent_in_the_same_order(name: str) -> None:
    ours = load_preset(bundled("sample_presets") / f"{name}.json")
    found = export_preset(ours)
    again = parse_sillytavern_preset(json.dumps(found.json), "x", name).preset
    texts = [m.content for m in again.messages if m.enabled and m.type == "message"]
    expected = {m.content for m in ours.messages if m.enabled and m.type == "message"}
    assert set(texts) == expected
    assert [m.id for m in again.messages].count("chatHistory") == 1


def test_secrets_are_not_kept() -> None:
    imported = import_preset({**usual(), "proxy_password": "hush", "reverse_proxy": "x"}, "x")
    assert "hush" not in dump_preset(imported.preset)
    sentences = [note.sentence for note in imported.notes]
    assert "“proxy_password” may hold a secret: it is not kept." in sentences
    later = import_preset(with_texts(imported.preset), "x").notes
    assert [note.sentence for note in later] == sentences, "a later report says the same"
    assert "proxy_password" not in json.loads(export_preset(imported.preset).text)
