"""Checks of replies: what each decides, how files write them, and their faults with places."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.support.tables import each_row
from tui_chat.library.file_reader import JsonFile
from tui_chat.models.blocks import CallBlock
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.usage import Usage
from tui_chat.plugins.prompt_lab.check_files import check_of_text, read_checks
from tui_chat.plugins.prompt_lab.checks import CHECKS, total, verdict_of
from tui_chat.plugins.prompt_lab.values import Cell, CellReply, ReplyCheck, Verdict


def read(*values: Any) -> tuple[ReplyCheck, ...]:
    file = JsonFile(json.dumps(list(values)))
    checks = tuple(read_checks(file, file.value, ()))
    file.raise_errors("file.json")
    return checks


def cell(text: str = "", **facts: Any) -> Cell:
    return Cell(0, "case", "variant", 1, "sha", 10, reply=CellReply(text, **facts))


CASES: list[tuple[str, Any, str, bool]] = [
    ("equals", "Paris", "Paris", True),
    ("equals", "Paris", "Paris ", False),
    ("equals", 5, "5", True),
    ("equals", True, "true", True),
    ("equals", [1, {"a": 2}], '[1, {"a": 2}]', True),
    ("equals", {"a": 1}, "no JSON", False),
    ("contains", "b", "abc", True),
    ("contains", "B", "abc", False),
    ("icontains", "B", "abc", True),
    ("not-contains", "x", "abc", True),
    ("contains", 5, "5 apples", True),
    ("not-contains", 1.0, "1 apple", False),
    ("contains-any", [True, "x"], "a true story", True),
    ("starts-with", 5, "5 apples", True),
    ("icontains", "STRASSE", "Straße", False),
    ("icontains", "οδος", "ΟΔΟΣ", True),
    ("contains-any", "x, b; c", "a, b; c", True),
    ("contains-any", ["x", "c"], "abc", True),
    ("contains-any", "x, c", "abc", True),
    ("contains-any", ["x"], "abc", False),
    ("contains-all", ["a", "c"], "abc", True),
    ("contains-all", ["a", "x"], "abc", False),
    ("icontains-any", ["X", "C"], "abc", True),
    ("icontains-all", "A, B", "abc", True),
    ("not-icontains-all", "A, X", "abc", True),
    ("starts-with", "ab", "abc", True),
    ("starts-with", "bc", "abc", False),
    ("regex", r"\d+", "a1", True),
    ("regex", "^b", "a\nb", False),
    ("regex", r"(bb|bc)$", "abb", True),
    ("not-regex", "z", "abc", True),
    ("regex", "(a+)+$", "a" * 50_000 + "!", False),
    ("regex", r"^\w$", "é", False),
    ("word-count", 2, "two words", True),
    ("word-count", "2", "two words", True),
    ("word-count", "3-5", "two words", False),
    ("word-count", {"max": 1}, "two words", False),
    ("word-count", {"min": 1, "max": 2}, " two\nwords ", True),
    ("is-json", None, "[1]", True),
    ("is-json", None, "x", False),
    ("is-json", {"type": "object"}, "[1]", False),
    ("is-json", '{"type": "array"}', "[1]", True),
    ("contains-json", None, 'so: {"a": 1}.', True),
    ("contains-json", {"required": ["b"], "type": "object"}, 'a {"a": 1} b {"b": 2}', True),
    ("contains-json", {"required": ["c"], "type": "object"}, 'a {"a": 1} b {"b": 2}', False),
    ("contains-json", None, "{ not } [so", False),
    ("is-refusal", None, "I'm sorry, but I can't do that.", True),
    ("is-refusal", None, "I cannot assist with that.", True),
    ("is-refusal", None, "As an AI language model, I do not.", True),
    ("is-refusal", None, "Sure: here it is.", False),
    ("not-is-refusal", None, "I cannot wait to tell you!", False),
    ("finish-reason", "stop", "x", True),
    ("not-finish-reason", "length", "x", True),
]


@each_row(("name", "value", "text", "passes"), CASES)
def test_what_a_check_decides(name: str, value: Any, text: str, passes: bool):
    [check] = read({"type": name, **({} if value is None else {"value": value})})
    verdict = verdict_of(check, cell(text, finish="stop", reason="stop"))
    assert verdict.passed is passes, verdict.reason
    assert verdict.type == name
    assert verdict.score == float(passes)
    assert verdict.reason


def test_a_call_of_a_tool_is_no_refusal_but_nothing_is_one():
    [check] = read({"type": "not-is-refusal"})
    calling = cell("")
    calling = replace(calling, reply=replace(calling.reply, calls=(CallBlock("1", "look", "{}"),)))
    assert verdict_of(check, calling).passed
    assert not verdict_of(check, cell("")).passed


def test_a_threshold_in_a_cell_that_is_no_number_is_a_fault():
    wrong = []
    for text, expected in (
        ("latency(1.2.3)", "which is no number"),
        ("latency(.)", "which is no number"),
        ("latency()", "which is no number"),
        ("latency(x): y", "which is no number"),
        ("latency(1.5)", ""),
        ("latency(.5)", ""),
        ("hello (you)", ""),
        ("hello(1.2.3)", ""),
    ):
        _, fault = check_of_text(text)
        if (expected not in fault) or bool(fault) != bool(expected):
            wrong.append((text, fault))
    assert not wrong, wrong


NUMBERS: list[tuple[dict[str, Any], bool]] = [
    ({"type": "latency", "threshold": 2000}, True),
    ({"type": "latency", "threshold": 1000}, False),
    ({"type": "not-latency", "threshold": 1000}, True),
    ({"type": "first-token", "threshold": 200}, True),
    ({"type": "cost", "threshold": 0.001}, True),
    ({"type": "cost", "threshold": 0.0001}, False),
    ({"type": "tokens", "value": "output", "threshold": 7}, True),
    ({"type": "tokens", "value": "input", "threshold": 7}, False),
    ({"type": "cache-hit", "threshold": 0.5}, True),
    ({"type": "cache-hit", "threshold": 0.9}, False),
]


@each_row(("value", "passes"), NUMBERS)
def test_checks_of_figures(value: dict[str, Any], passes: bool):
    [check] = read(value)
    usage = Usage(20, 7, cached=10)
    measured = cell("x", seconds=1.5, first=0.2, cost=Decimal("0.0005"), usage=usage)
    assert verdict_of(check, measured).passed is passes


@each_row("name", ["cost", "first-token", "cache-hit", "not-cost"])
def test_what_is_unknown_is_not_decided(name: str):
    [check] = read({"type": name, "threshold": 1})
    verdict = verdict_of(check, cell("x"))
    assert verdict.failed
    assert not verdict.passed


CALL_CHECKS = (
    "is-valid-function-call",
    "is-valid-openai-function-call",
    "is-valid-openai-tools-call",
)
LOOK = ToolDefinition(
    "look", "", {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
)


@each_row(
    ("name", "arguments", "passes", "words"),
    [
        ("look", '{"at": "Paris"}', True, "valid: look"),
        ("look", "{}", False, "'at' is a required property"),
        ("look", '{"at": 1}', False, "is not of type 'string'"),
        ("look", '{"at"', False, "are not JSON"),
        ("Look", '{"at": "Paris"}', False, "declares no tool “Look”"),
    ],
)
def test_calls_of_tools(name: str, arguments: str, passes: bool, words: str):
    for kind in CALL_CHECKS:
        [check, negated] = read({"type": kind}, {"type": f"not-{kind}"})
        called = cell("", calls=(CallBlock("1", name, arguments),))
        verdict = verdict_of(check, called, (LOOK,))
        assert verdict.passed is passes
        assert words in verdict.reason
        assert verdict_of(negated, called, (LOOK,)).passed is not passes
        assert not verdict_of(check, cell("look(Paris)"), (LOOK,)).passed


def test_a_schema_of_another_form_leaves_calls_undecided():
    [check] = read({"type": "is-valid-function-call"})
    called = cell("", calls=(CallBlock("1", "look", "{}"),))
    assert verdict_of(check, called, (replace(LOOK, dialect="gemini"),)).failed


def test_notes_of_the_request():
    warned = replace(cell("x"), notes=(("warning", "It is moved."),))
    strict, lax = read(
        {"type": "no-notes", "value": "warning"}, {"type": "no-notes", "value": "error"}
    )
    assert not verdict_of(strict, warned).passed
    assert verdict_of(lax, warned).passed


FAULTS: list[tuple[Any, str]] = [
    ({"type": "similar", "value": "x"}, r"\$\[0\].type .*is unknown; known are equals"),
    ({"type": "contians", "value": "x"}, r"\$\[0\].type .*is unknown; did you mean “contains”\?"),
    ({"type": "not-contians", "value": "x"}, "is unknown; did you mean “not-contains”"),
    ({"type": "containsAny", "value": "x"}, "is unknown; did you mean “contains-any”"),
    ({"type": "contains"}, "must have a value"),
    ({"type": "contains", "value": {"a": 5}}, r"\$\[0\].value .*must be a number, or text, not"),
    ({"type": "latency"}, "must have a threshold"),
    ({"type": "regex", "value": "("}, "must be a regular expression"),
    ({"type": "regex", "value": "(?<=a)b"}, "it looks around a place"),
    ({"type": "regex", "value": r"(a)\1"}, "it has a back-reference"),
    ({"type": "is-json", "value": "{"}, "must be a JSON Schema"),
    ({"type": "word-count", "value": {"most": 3}}, "is unknown"),
    ({"type": "tokens", "value": "all", "threshold": 1}, "must be one of input"),
    ({"type": "equals", "value": "x", "vlaue": "y"}, r"\$\[0\].vlaue .*is unknown"),
    ({"type": "equals", "value": "x", "weight": -1}, "must be a number from 0"),
    ("contains: x", "must be a check"),
    ({"value": "x"}, "“type” is missing"),
]


@each_row(("value", "words"), FAULTS)
def test_a_fault_names_its_place(value: Any, words: str):
    with pytest.raises(Exception, match=words):
        read(value)


TEXTS: list[tuple[str, dict[str, Any]]] = [
    ("icontains: paris", {"type": "icontains", "value": "paris"}),
    ("not-contains: London", {"type": "not-contains", "value": "London"}),
    ("contains-any: a,b", {"type": "contains-any", "value": "a,b"}),
    ("latency(2000)", {"type": "latency", "threshold": 2000}),
    ("is-json", {"type": "is-json"}),
    ("llm-rubric(0.8): is kind", {"type": "llm-rubric", "threshold": 0.8, "value": "is kind"}),
    ("grade: is kind", {"type": "llm-rubric", "value": "is kind"}),
    ("Paris", {"type": "equals", "value": "Paris"}),
    ("Note: this is a text", {"type": "equals", "value": "Note: this is a text"}),
    ("contains", {"type": "equals", "value": "contains"}),
]


@each_row(("text", "check"), TEXTS)
def test_a_cell_of_a_table_is_a_check(text: str, check: dict[str, Any]):
    assert check_of_text(text) == (check, "")


@each_row("text", ["similar(0.8): x", "javascript: true", "rouge-n(0.5): x"])
def test_a_check_of_promptfoo_that_is_not_here_is_no_text(text: str):
    check, fault = check_of_text(text)
    assert check is None
    assert "is unknown" in fault


def test_the_score_is_the_weighted_mean():
    verdicts = [Verdict("a", True, "", 1.0, 3.0), Verdict("b", False, "", 0.0, 1.0)]
    assert total(verdicts, None) == (False, 0.75)
    assert total(verdicts, 0.75) == (True, 0.75)
    assert total([*verdicts, Verdict("c", False, "", 0.0, 0.0)], 0.75) == (True, 0.75)
    assert total([], None) == (True, 1.0)


def test_every_kind_is_in_a_table_of_this_file():
    names = {name.removeprefix("not-") for name, *_ in CASES}
    names |= {value["type"].removeprefix("not-") for value, _ in NUMBERS}
    names |= {*CALL_CHECKS}
    assert CHECKS.keys() - names == {"no-notes", "llm-rubric"}
