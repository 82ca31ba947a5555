"""Findings about a preset, with their lines."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from tests.support.file_strategies import any_presets, json_values
from tests.support.preset_findings import HISTORY, told
from tests.support.tables import each_row
from tui_chat.library.preset_check import check_preset
from tui_chat.library.presets import dump_preset
from tui_chat.models.preset import Preset


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
