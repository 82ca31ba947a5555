"""Suites: what files mean, and their faults with places."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.prompt_lab.conftest import make_case, make_variant
from tests.support.tables import each_row
from tui_chat.config import Config
from tui_chat.errors import InputError
from tui_chat.library import file_reader
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.library.json_locations import ValueSpan, locate
from tui_chat.library.library import Library
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.plugins.prompt_lab import preset_cases, suites
from tui_chat.plugins.prompt_lab.plan import ablations, changed_preset, resolve
from tui_chat.plugins.prompt_lab.suites import add_case, read_suite, suite_file
from tui_chat.plugins.prompt_lab.values import Case, ReplyCheck, Suite, VariantChoice

PRESET = {"name": "ada", "presetMessages": [{"id": "who", "content": "You are Ada."}]}


def write(folder: Path, value: Any, name: str = "talk.eval.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def cases_of(folder: Path, *tests: Any, **more: Any) -> tuple[Case, ...]:
    return read_suite(write(folder, {"tests": list(tests), **more})).cases


def test_a_suite_of_all_spellings(tmp_path: Path):
    write(tmp_path, {"preset": PRESET, "draft": "From a file"}, "cases/one.json")
    write(tmp_path, "draft,mood,__expected\nFrom a table,dry,icontains: x\n", "more.csv")
    lines = '{"vars": {"draft": "A line"}}\n\n{"vars": {"draft": "Another"}}\n'
    write(tmp_path, lines, "lines.jsonl")
    path = write(
        tmp_path,
        {
            "presets": ["ada"],
            "models": ["loopback/echo", "loopback/mirror"],
            "judge": "loopback/lorem",
            "repeat": 2,
            "defaultTest": {"assert": [{"type": "latency", "threshold": 9}], "threshold": 0.5},
            "tests": [
                {"description": "asks back", "vars": {"draft": "2+2?", "mood": 3}},
                {"name": "own", "draft": "Hi", "seed": 7, "passRate": 0.5, "threshold": 1},
                "cases/one.json",
                "file://more.csv",
                "lines.jsonl",
            ],
        },
    )
    suite = read_suite(path)
    assert (suite.name, suite.judge, suite.repeat) == ("talk", "loopback/lorem", 2)
    assert suite.source == str(path)
    assert suite.variants == (
        VariantChoice("ada", "loopback/echo"),
        VariantChoice("ada", "loopback/mirror"),
    )
    drafts = [case.inputs.draft for case in suite.cases]
    assert drafts == ["2+2?", "Hi", "From a file", "From a table", "A line", "Another"]
    first, own, from_file, row, *_ = suite.cases
    assert first.key == first.name == "asks back"
    assert first.inputs.variables == {"mood": "3"}
    assert first.checks == (ReplyCheck("latency", threshold=9),)
    assert (first.threshold, own.threshold, own.pass_rate, own.inputs.seed) == (0.5, 1, 0.5, 7)
    assert suite.presets[from_file.preset].name == "ada"
    assert row.checks[1] == ReplyCheck("icontains", "x")
    assert row.inputs.variables == {"mood": "dry"}
    assert row.name == "From a table"


def test_a_draft_of_the_defaults_is_filled(tmp_path: Path):
    [case] = cases_of(
        tmp_path,
        {"vars": {"question": "Why {{user}}?"}},
        defaultTest={"vars": {"draft": "Q: {{question}} {{unknown}}"}},
    )
    assert case.inputs.draft == "Q: Why {{user}}? {{unknown}}"


def test_parts_of_a_case_are_read_from_files(tmp_path: Path):
    write(tmp_path, [{"role": "user", "content": "Hi"}], "talk/history.json")
    [case] = cases_of(tmp_path, {"vars": {"draft": "And?", "history": "file://talk/history.json"}})
    assert [message.content for message in case.inputs.history] == ["Hi"]


def test_equal_names_stay_apart_and_keys_last(tmp_path: Path):
    one, two, three = cases_of(tmp_path, *[{"name": "a", "draft": d} for d in "xyz"])
    assert (one.key, two.key, three.key) == ("a", "a (2)", "a (3)")
    named = cases_of(tmp_path, *[{"name": name, "draft": name} for name in ("a (2)", "a", "a")])
    assert [case.key for case in named] == ["a (2)", "a", "a (3)"]
    [plain] = cases_of(tmp_path, {"draft": "Hi"})
    [asserted] = cases_of(tmp_path, {"draft": "Hi", "assert": [{"type": "is-json"}]})
    assert plain.key == asserted.key != "Hi"


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"tests": []}, "no cases found"),
    ({"tests": 5}, r"\$.tests must be a list"),
    ({"tests": [5]}, r"\$.tests\[0\] must be a test or a file, not"),
    ({"tests": ["missing.csv"]}, r"\$.tests\[0\]: .*missing.csv"),
    ({"tests": [{"draft": "x"}], "promts": []}, r"\$.promts .*is unknown"),
    ({"tests": [{"draft": "x"}], "prompts": []}, "promptfoo's; write the presets"),
    ({"tests": [{"draft": "x"}], "providers": []}, "promptfoo's; write the models"),
    ({"tests": [{"draft": "x", "asert": []}]}, r"\$.tests\[0\].asert .*did you mean “assert”"),
    ({"tests": [{"draft": "x", "assert": {}}]}, r"\$.tests\[0\].assert .*list of checks"),
    ({"tests": [{"draft": "x", "assert": [{"type": "x"}]}]}, r"tests\[0\].assert\[0\].type"),
    ({"tests": [{"draft": 5}]}, r"\$.tests\[0\].draft .*must be text"),
    ({"tests": [{"vars": {"draft": 5}}]}, r"\$.tests\[0\].vars.draft .*must be text"),
    ({"tests": [{"vars": {"mood": ["a"]}}]}, r"\$.tests\[0\].vars.mood .*must be text"),
    ({"tests": [{"vars": []}]}, r"\$.tests\[0\].vars .*must be an object"),
    ({"tests": [{"draft": "x", "passRate": 2}]}, r"\$.tests\[0\].passRate"),
    ({"tests": [{"draft": "x", "history": "no.json"}]}, r"\$.tests\[0\].history: .*no.json"),
    ({"tests": [{"draft": "x", "history": [5]}]}, r"\$.tests\[0\].history"),
    ({"tests": [{"draft": "x"}], "defaultTest": {"assert": [{"type": "x"}]}}, "defaultTest.assert"),
    ({"tests": [{"draft": "x"}], "repeat": 0}, r"\$.repeat"),
    ({"tests": [{"draft": "x"}], "variants": [{"prest": "x"}]}, r"\$.variants\[0\].prest"),
    ({"tests": [{"draft": "x", "inputs": {}}]}, "cannot stand beside “inputs”"),
    ({"tests": [{"inputs": {"draft": 5}}]}, r"\$.tests\[0\].inputs.draft"),
]


@each_row(("value", "words"), FAULTS)
def test_a_fault_names_file_and_place(value: dict[str, Any], words: str, tmp_path: Path):
    path = write(tmp_path, value)
    with pytest.raises(InputError, match=words) as raised:
        read_suite(path)
    assert str(path) in str(raised.value)


TABLES: list[tuple[str, str]] = [
    ("draft,__expected\nx,similar(0.8): y\n", "line 2, column “__expected”: has the check"),
    ("draft,__expected\nx,regex: (\n", r"line 2: \$.assert\[0\].value"),
    ("draft,draft\nx,y\n", "the column “draft” is there twice"),
    ("draft\nx,y\n", "line 2 has 2 cells, and 1 columns"),
    ("draft,__theshold\nx,1\n", "the column “__theshold” is unknown"),
    ("draft,__threshold\nx,much\n", "line 2, column “__threshold” must be a number"),
    ('draft\n"x', "is not CSV"),
    ("draft\n", "no cases found"),
]


@each_row(("text", "words"), TABLES)
def test_a_fault_of_a_table_names_line_and_column(text: str, words: str, tmp_path: Path):
    with pytest.raises(InputError, match=words):
        read_suite(write(tmp_path, text, "cases.csv"))


def test_a_table_is_read_as_it_was_written(tmp_path: Path):
    odd = [
        ['She said "no, 5"', "a,b", "icontains: “ja”"],
        ["two\nlines\r\nof it", " spaces ", "contains: ;"],
        ["日本語 🦊 e\u0301 \u200d", "ß", ""],
        ["=1+1", "-2", "equals: =1+1"],
        ["[1]", "{}", "not-contains: x"],
    ]
    file = io.StringIO()
    csv.writer(file).writerows([["draft", "mood", "__expected"], *odd, ["", "", ""]])
    for text in (file.getvalue(), "\ufeff" + file.getvalue()):
        path = tmp_path / "odd.csv"
        path.write_bytes(text.encode())
        cases = read_suite(path).cases
        assert [[c.inputs.draft, c.inputs.variables["mood"]] for c in cases] == [
            [text.replace("\r\n", "\n") for text in row[:2]] for row in odd
        ]
        assert [check.value for case in cases for check in case.checks] == [
            "“ja”",
            ";",
            "=1+1",
            "x",
        ]


def test_a_line_of_a_list_that_is_wrong_is_named(tmp_path: Path):
    good = '{"vars": {"draft": "日本"}}'
    for line, words in (
        ('{"vars": 5}', r"line 3: \$.vars .*must be an object"),
        ("[]", "line 3 must be an object"),
        ('{"vars"', "line 3, column 8"),
        ('{"vars": {"draft": "x"}, "asert": []}', r"line 3: \$.asert .*line 3"),
    ):
        with pytest.raises(InputError, match=words):
            read_suite(write(tmp_path, f"{good}\n\n{line}\n", "list.jsonl"))


def test_a_long_list_is_read_whole_and_has_an_end(tmp_path: Path):
    rows = "".join(f"question {number},equals: {number}\n" for number in range(1_000))
    cases = read_suite(write(tmp_path, f"draft,__expected\n{rows}", "long.csv")).cases
    assert len(cases) == len({case.key for case in cases}) == 1_000
    assert cases[-1].checks == (ReplyCheck("equals", "999"),)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suites, "MOST_CASES", 999)
        with pytest.raises(InputError, match="more than 999 cases"):
            read_suite(tmp_path / "long.csv")


def test_a_long_suite_is_scanned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    scans: list[int] = []

    def scan(text: str, wanted: Collection[JsonPath]) -> dict[JsonPath, ValueSpan]:
        scans.append(len(text))
        return locate(text, wanted)

    for module in (file_reader, preset_cases):
        monkeypatch.setattr(module, "locate", scan)
    history = [{"role": "user", "content": "Hi"}]
    assert (
        len(cases_of(tmp_path, *[{"draft": f"{n}", "history": history} for n in range(50)])) == 50
    )
    assert len([size for size in scans if size > 1000]) == 1
    tests = [{"draft": "x", "history": history}, {"draft": "y", "drafft": "z"}]
    with pytest.raises(InputError, match=r"\$.tests\[1\].drafft .*did you mean"):
        cases_of(tmp_path, *tests)
    scans.clear()
    lines = "".join(f'{{"draft": "{number}"}}\n' for number in range(100))
    assert len(read_suite(write(tmp_path, lines, "long.jsonl")).cases) == 100
    assert sum(scans) < len(lines)


def test_a_file_that_names_itself_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="names itself"):
        read_suite(write(tmp_path, ["loop.json"], "loop.json"))


def test_a_case_of_the_app_reads_as_it_was(tmp_path: Path):
    history = (Message.of("user", "Hi", "h1"), Message.of("assistant", "Hello", "h2", pinned=True))
    case = replace(
        make_case("Who?", ReplyCheck("icontains", "ada", True, weight=2.0), history=history),
        expected={"checks": [{"maxTokens": 900}]},
        pass_rate=0.5,
        threshold=0.25,
    )
    path = suite_file(tmp_path, "tutor")
    add_case(path, "tutor", case)
    add_case(path, "tutor", make_case("Second"))
    tests = json.loads(path.read_text())["tests"]
    assert [*tests[1]] == ["description", "assert", "inputs"]
    suite = read_suite(path)
    assert suite.variants == (VariantChoice("tutor"),)
    assert suite.cases == (case, make_case("Second"))


def preset() -> Preset:
    messages = (
        PresetMessage("who", content="You are Ada."),
        PresetMessage("style", content="Be brief.", name="Style"),
        PresetMessage("off", content="x", enabled=False),
        PresetMessage("history", type="chat_history"),
    )
    return Preset("ada", messages)


def test_messages_are_off_moved_and_changed():
    changed = changed_preset(preset(), ["who"], {"style.insertionPoint": -4, "style.role": "user"})
    who, style, *_ = changed.messages
    assert not who.enabled
    assert (style.insertion_point, style.role) == (-4, "user")


@each_row(
    ("off", "changes", "words"),
    [
        (["missing"], {}, "no message “missing”"),
        ([], {"style.colour": 1}, "no such field"),
        ([], {"style.insertionPoint": "deep"}, "must be a whole number"),
        ([], {"content": "x"}, "no message “”"),
    ],
)
def test_a_change_that_cannot_be_made(off: list[str], changes: dict[str, Any], words: str):
    with pytest.raises(InputError, match=words):
        changed_preset(preset(), off, changes)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    write(tmp_path, PRESET, "presets/ada.json")
    write(tmp_path, {**PRESET, "name": "bo"}, "presets/bo.json")
    write(tmp_path, {"name": "none", "presetMessages": []}, "samples/none.json")
    return Library(tmp_path, tmp_path / "samples")


def names(suite: Suite, library: Library, **flags: Any) -> list[str]:
    return [variant.name for variant in resolve(suite, Config(), library, **flags)]


def test_variants_are_presets_and_models(library: Library):
    pairs = [VariantChoice(p, f"loopback/{m}") for p in ("ada", "bo") for m in ("echo", "mirror")]
    suite = Suite("talk", cases=(make_case("Hi"),), variants=tuple(pairs))
    assert names(suite, library) == [
        "ada · echo",
        "ada · mirror",
        "bo · echo",
        "bo · mirror",
    ]
    assert names(suite, library, models=["loopback/lorem"]) == ["ada", "bo"]
    assert names(suite, library, presets=["bo"]) == ["bo · echo", "bo · mirror"]


def test_a_suite_finds_the_files_of_presets_around_it(tmp_path: Path, library: Library):
    test = {"draft": "Hi"}
    for file, name in (
        ("repo/tutor.json", "cases/tutor.eval.json"),
        ("repo/presets/tutor.json", "cases/tutor.eval.json"),
        ("repo/tutor.json", "tutor.eval.json"),
        ("repo/cases/tutor.json", "cases/tutor.eval.json"),
    ):
        (tmp_path / file).unlink(missing_ok=True)
        preset = write(tmp_path, PRESET, file)
        for words in ("tutor", "tutor.json"):
            path = write(tmp_path / "repo", {"tests": [test], "presets": [words]}, name)
            suite = read_suite(path)
            assert [each.preset for each in suite.variants] == [str(preset)]
            assert names(suite, library) == ["tutor"]
        preset.unlink()
    suite = read_suite(write(tmp_path, {"tests": [test], "presets": ["tutor"]}, "t.eval.json"))
    with pytest.raises(InputError) as raised:
        names(suite, library)
    assert f"{tmp_path / 't.eval.json'}: There is no preset “tutor”." in str(raised.value)
    assert f"no file in {tmp_path}, and none" in raised.value.advice
    assert "ada, bo" in raised.value.advice


def test_ablation_leaves_each_message_out():
    variant = replace(make_variant("ada"), preset=preset())
    assert [each.name for each in ablations(variant)] == ["ada without who", "ada without Style"]


def test_cases_that_bring_presets_are_sent_with_their_own(tmp_path: Path, library: Library):
    write(tmp_path, {"preset": "../presets/ada.json", "draft": "1"}, "cases/1.json")
    write(tmp_path, {"preset": "../presets/bo.json", "draft": "2"}, "cases/2.json")
    suite = read_suite(tmp_path / "cases")
    variants = resolve(suite, Config(), library)
    assert [(v.name, v.own) for v in variants] == [
        ("ada", suite.cases[0].preset),
        ("bo", suite.cases[1].preset),
    ]


@pytest.mark.parametrize("model", ["nowhere/echo", "nowhere/"])
def test_an_endpoint_that_does_not_exist(library: Library, model: str):
    with pytest.raises(InputError, match="no endpoint “nowhere”"):
        names(Suite("x", cases=(make_case("Hi"),)), library, models=[model])


def test_a_case_of_before_there_were_blocks_keeps_its_history(tmp_path: Path):
    picture = {"kind": "image", "mime": "image/png", "data": "AA=="}
    told = [
        {"role": "user", "content": "Look.", "parts": [picture]},
        {"role": "assistant", "tool_calls": [{"id": "c", "name": "f", "arguments": "{}"}]},
    ]
    [case] = cases_of(tmp_path, {"description": "old", "inputs": {"history": told}})
    inputs = case.inputs
    assert [message.content for message in inputs.history] == ["Look.", ""]
    assert inputs.history[0].parts[0].media == "image"
    assert inputs.history[1].tool_calls[0].name == "f"
