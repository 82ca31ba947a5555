"""Preset files: parsed, refused with a place, saved in their own style, and checked."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.file_strategies import any_presets, json_values
from tests.support.preset_findings import HISTORY, told
from tests.support.strategies import EVERY_SETTING
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.files import write_text
from tui_chat.library.preset_check import check_preset
from tui_chat.library.presets import (
    FileStyle,
    dump_preset,
    load_preset,
    parse_preset,
    read_preset,
    style_of,
)
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.settings import Settings

CAMEL = """{
    "name": "mine",
    "author": {"name": "Ada", "mail": null},
    "presetMessages": [
        {"id": "a", "role": "user", "content": "x", "insertionPoint": -2, "x-colour": [1, 2.5]},
        {"id": "h", "type": "chat_history"}
    ],
    "systemPlacement": "in_place",
    "variables": {"my_tone": "dry"}
}"""


def save_preset(preset: Preset, path: Path) -> None:
    write_text(dump_preset(preset, style_of(path if path.is_file() else None)), path)


def parsed(value: Any) -> Preset:
    return parse_preset(json.dumps(value), "p.json", "stem")


@each_row("is_list", [False, True])
@each_row("spelling", ["camel", "snake"])
@given(any_presets)
def test_a_dumped_preset_is_read_back(spelling: Any, is_list: bool, preset: Preset):
    text = dump_preset(preset, FileStyle(spelling, is_list=is_list))
    if not text.startswith("["):
        assert parse_preset(text, "p", "other") == preset
    else:
        assert parse_preset(text, "p", preset.name) == preset


def test_both_spellings_mean_the_same():
    snake = CAMEL
    for to_camel_case, other in [
        ("presetMessages", "preset_messages"),
        ("insertionPoint", "insertion_point"),
        ("systemPlacement", "system_placement"),
    ]:
        snake = snake.replace(to_camel_case, other)
    assert parse_preset(snake, "p", "p") == parse_preset(CAMEL, "p", "p")


def test_a_list_is_a_preset_named_after_its_file(tmp_path: Path):
    path = tmp_path / "short.json"
    path.write_text('\ufeff[{"content": "a"}, {"type": "chat_history"}]', encoding="utf-8")
    assert load_preset(path) == Preset(
        "short",
        (
            PresetMessage("message-1", "system", "a"),
            PresetMessage("chat_history", "user", "", "chat_history"),
        ),
    )


def test_generated_ids_do_not_collide_with_given_ones():
    preset = parsed([{"content": "a"}, {"id": "message-1", "content": "b"}, {"content": "c"}])
    assert [message.id for message in preset.messages] == ["message-2", "message-1", "message-3"]


def test_null_means_absent():
    message = parsed(
        [{"id": "a", "role": None, "order": None, "enabled": None, "anchorPoint": None}]
    )
    assert message.messages == (PresetMessage("a"),)


def test_unknown_keys_survive_load_and_save(tmp_path: Path):
    path = tmp_path / "p.json"
    path.write_text(CAMEL)
    save_preset(load_preset(path), path)
    body = json.loads(path.read_text())
    assert body["author"] == {"name": "Ada", "mail": None}
    assert body["presetMessages"][0]["x-colour"] == [1, 2.5]


@each_row(
    ("text", "style"),
    [
        (CAMEL, FileStyle("camel", "    ")),
        ('{"messages": []}', FileStyle(list_key="messages")),
        ('[\n\t{"insertion_point": 1}\n]', FileStyle("snake", "\t", is_list=True)),
        ('{"preset_messages": [{"anchorTarget": "a"}]}', FileStyle()),
        ("{broken", FileStyle()),
    ],
)
def test_the_style_of_a_file_is_detected(text: str, style: FileStyle):
    assert FileStyle.of(text) == style


@each_row(
    "text",
    [
        '{\n  "name": "p",\n  "preset_messages": [\n    {\n      "id": "a",\n'
        '      "role": "user",\n      "content": "x",\n      "anchor_target": "w"\n    }\n  ]\n}\n',
        '[\n\t{\n\t\t"id": "a",\n\t\t"role": "system",\n\t\t"content": "x"\n\t}\n]\n',
    ],
)
def test_a_save_keeps_the_style(text: str, tmp_path: Path):
    path = tmp_path / "p.json"
    path.write_text(text)
    save_preset(load_preset(path), path)
    assert path.read_text() == text


def test_a_list_becomes_an_object_if_necessary(tmp_path: Path):
    path = tmp_path / "p.json"
    path.write_text("[]")
    save_preset(Preset("p", system_placement="in_place"), path)
    assert load_preset(path) == Preset("p", system_placement="in_place")


@each_row(
    ("text", "place", "words"),
    [
        ("5", "$ (line 1, column 1)", "must be a list of preset messages, or an object, not 5"),
        ("{}", "$ (line 1, column 1)", "“presetMessages” is missing"),
        (
            '{"messages": {}}',
            "$.messages (line 1, column 14)",
            "must be a list of objects, not an object",
        ),
        ("[\n 3\n]", "$[0] (line 2, column 2)", "must be an object, not 3"),
        ('[\n {"role":\n "boss"}]', "$[0].role (line 3, column 2)", "not “boss”"),
        (
            '[{"insertion_point": "deep"}]',
            "$[0].insertion_point (line 1, column 22)",
            "whole number",
        ),
        ('[{"insertionPoint": true}]', "$[0].insertionPoint", "a whole number, not true"),
        ('[{"order": 1.5}]', "$[0].order", "a whole number, not 1.5"),
        ('[{"enabled": "never"}]', "$[0].enabled", "true or false, not “never”"),
        ('[{"content": ["a"]}]', "$[0].content", "text, not a list"),
        ('[{"type": "history"}]', "$[0].type", "message, chat_history, user_profile, placeholder"),
        ('[{"anchorPoint": "beside"}]', "$[0].anchorPoint", "before, after"),
        ('{"messages": [], "systemPlacement": "up"}', "$.systemPlacement", "hoist, in_place"),
        ('{"messages": [], "variables": {"a_b": 1}}', "$.variables.a_b", "text, not 1"),
        ('{"messages": [], "name": 1}', "$.name", "text, not 1"),
        ('[{"role": 1, "order": "a"}]', "$[0].role", "(and 1 more)"),
    ],
)
def test_an_error_has_file_path_line_and_sentence(text: str, place: str, words: str):
    with pytest.raises(InputError) as caught:
        parse_preset(text, "p.json", "p")
    said = str(caught.value)
    assert said.startswith(f"p.json: {place}")
    assert words in said


@given(st.text(max_size=60))
def test_any_text_is_a_preset_or_has_errors(text: str):
    found = read_preset(text, "p")
    assert (found.preset is None) == bool(found.file.errors())


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(
                st.sampled_from(["presetMessages", "id", "type", "role", "content", "variables"]),
                inner,
            ),
        ),
    )
)
def test_any_json_is_a_preset_or_has_errors(value: Any):
    found = read_preset(json.dumps(value), "p")
    assert (found.preset is None) == bool(found.file.errors())


def test_the_number_of_findings_is_limited():
    found = read_preset(json.dumps([{"role": "x"}] * 1000), "p")
    assert found.preset is None
    assert len(found.file.findings()) == 100


def test_files_that_cannot_be_read_are_input_errors(tmp_path: Path):
    (tmp_path / "latin.json").write_bytes(b'[\n"\xe9"]')
    big = tmp_path / "big.json"
    with big.open("wb") as file:
        file.truncate(17 * 2**20)
    for path, words in [
        (tmp_path / "none.json", "cannot be read"),
        (tmp_path, "cannot be read"),
        (Path("a\0b"), "cannot be read"),
        (tmp_path / "latin.json", "line 2 is not UTF-8"),
        (big, "larger than 16 MiB"),
    ]:
        with pytest.raises(InputError, match=words):
            load_preset(path)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links are POSIX's")
def test_saving_keeps_links_and_permissions_and_leaves_no_temporary_file(tmp_path: Path):
    real = tmp_path / "real.json"
    real.write_text("[]")
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    save_preset(Preset("real", (PresetMessage("a", content="b"),)), link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert load_preset(real).messages[0].content == "b"
    assert sorted(os.listdir(tmp_path)) == ["link.json", "real.json"]


def test_a_save_that_fails_changes_nothing(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be written"):
        save_preset(Preset("p"), tmp_path / "nowhere" / "p.json")
    (tmp_path / "p.json").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        save_preset(Preset("p"), tmp_path / "p.json")
    assert os.listdir(tmp_path) == ["p.json"]


def test_settings_of_a_preset_survive_load_and_save(tmp_path: Path):
    path = tmp_path / "p.json"
    save_preset(Preset("p", settings=EVERY_SETTING), path)
    assert "maxTokens" in json.loads(path.read_text())["parameters"]
    assert load_preset(path).settings == EVERY_SETTING


def test_unknown_settings_of_a_preset_are_kept(tmp_path: Path):
    path = tmp_path / "p.json"
    found = {"name": "p", "parameters": {"top_p": 0.5, "tempature": 1}, "preset_messages": []}
    path.write_text(json.dumps(found))
    read = read_preset(path.read_text(), "p")
    assert [each.sentence for each in read.file.findings()] == [
        "“tempature” is unknown; did you mean “temperature”?"
    ]
    assert read.preset is not None
    assert read.preset.settings == Settings(top_p=0.5)
    save_preset(read.preset, path)
    assert json.loads(path.read_text()) == found


@each_row(
    ("parameters", "fault"),
    [
        ({"topP": 3}, "p.json: $.parameters.topP (line 1, column 25): top_p must be a number"),
        ([1], "p.json: $.parameters (line 1, column 16) must be an object of settings"),
        (
            {"webSearch": {"maxUses": 0}},
            "p.json: $.parameters.webSearch.maxUses (line 1, column 42): web_search.maxUses",
        ),
    ],
)
def test_a_fault_in_settings_has_its_place(parameters: object, fault: str):
    with pytest.raises(InputError) as told:
        parsed({"parameters": parameters, "messages": []})
    assert str(told.value).startswith(fault)


# --- Findings about a preset, with their lines --------------------------------------------


def said(content: str = "x", **where: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **where}


WORLD = {"id": "world", "type": "placeholder"}


@each_row(
    ("messages", "expected"),
    [
        ([said(), HISTORY], []),
        ([said()], [("warning", "no-history-anchor", 1)]),
        ([HISTORY, said(anchorTarget="nowhere")], [("warning", "unknown-anchor", 3)]),
        ([WORLD, WORLD, said(anchorTarget="world"), HISTORY], [("warning", "doubled-anchor", 3)]),
        ([HISTORY, HISTORY], [("warning", "doubled-anchor", 3)]),
        ([WORLD, HISTORY], [("info", "idle-anchor", 2)]),
        ([HISTORY, said(role="system", insertionPoint=-1)], [("info", "position-ignored", 3)]),
        ([HISTORY, said(insertionPoint=1, anchorPoint="after")], [("info", "position-ignored", 3)]),
        ([HISTORY, said("")], [("info", "empty-content", 3)]),
        ([HISTORY, said("  ")], [("warning", "blank-content", 3)]),
        ([{**HISTORY, "content": "x"}], [("warning", "anchor-content", 2)]),
        ([HISTORY, said("{{newline}}")], [("warning", "blank-content", 3)]),
        ([HISTORY, {**said("x"), "requires": "nobody"}], [("info", "empty-value", 3)]),
        ([HISTORY, said("{{usr}}")], [("warning", "unknown-macro", 3)]),
        ([HISTORY, said(role="tool")], [("warning", "tool-role", 3)]),
        ([HISTORY, said(id="a"), said(id="a")],
         [("warning", "doubled-id", 3), ("warning", "doubled-id", 4)]),
        ([HISTORY, said(anchorTaget="x")], [("warning", "misspelled-key", 3)]),
        ([HISTORY, said(**{"insertion-point": 1})], [("warning", "misspelled-key", 3)]),
        ([HISTORY, said(injection_depth=1)], [("info", "unknown-key", 3)]),
        ([HISTORY, said(**{"x-mine": 1, "_a": 1, "comment": "c"})], []),
        ([HISTORY, said(insertionPoint=1, insertion_point=2)], [("warning", "doubled-key", 3)]),
        ([HISTORY, said(role="boss")], [("error", "bad-value", 3)]),
        ([HISTORY, said(enabled=False, anchorTarget="nowhere")], []),
    ],
)  # fmt: skip
def test_each_finding_has_its_line(messages: list[Any], expected: list[Any]):
    assert told(*messages) == expected


def test_a_misspelled_key_has_a_suggestion():
    text = '{\n "presetMesages": [],\n "presetMessages": [{"type": "chat_history"}]}'
    (finding,) = check_preset(text, "p")
    assert finding.sentence == "“presetMesages” is unknown; did you mean “presetMessages”?"
    assert (finding.line, finding.column, finding.path) == (2, 2, "$.presetMesages")
    snake = '[{"type": "chat_history", "anchor_taget": "x"}]'
    assert "“anchor_target”" in check_preset(snake, "p")[0].sentence


def test_lone_surrogates_are_reported():
    (finding,) = check_preset('[{"type": "chat_history"}, {"content": "\\ud800"}]', "p")
    assert finding.code == "half-character"


def test_text_that_is_not_json_is_one_error():
    (finding,) = check_preset('[\n{"a": tru}]', "p")
    assert (finding.level.value, finding.code, finding.line) == ("error", "not-json", 2)


def test_a_lorebook_is_checked_as_a_lorebook():
    text = json.dumps(
        {
            "entries": [
                {"keys": ["a"], "content": "b", "anchorTarget": "elsewhere"},
                {"keys": ["a"], "contnet": "b"},
            ]
        }
    )
    assert [(f.code, f.path) for f in check_preset(text, "p")] == [
        ("misspelled-key", "$.entries[1].contnet"),
    ]


@given(any_presets)
def test_every_enabled_message_is_sent_or_has_a_finding(preset: Preset):
    findings = check_preset(dump_preset(preset), "p")
    assert not [f for f in findings if f.code == "never-sent"]
    assert all(f.level.value != "error" for f in findings)


@given(json_values)
def test_any_json_can_be_checked(value: Any):
    for finding in check_preset(json.dumps(value, indent=1), "p"):
        assert finding.line >= 1
        assert finding.column >= 1
