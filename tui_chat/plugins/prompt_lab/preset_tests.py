"""`tui-chat presets test`: cases pass, fail with a difference, and are updated."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

import click

from tui_chat.cli.options import FILE
from tui_chat.cli.output import Styled, counted, write_line
from tui_chat.compose import compose
from tui_chat.errors import InputError
from tui_chat.files import write_text
from tui_chat.models.boundary import plain
from tui_chat.models.envelope import Turn
from tui_chat.plugins.prompt_lab.preset_cases import (
    ExpectedTurn,
    find_cases,
    load_case,
    origin_words,
    placement_words,
)
from tui_chat.plugins.prompt_lab.report import TestResult, junit_xml

_WORDS = {
    "passed": Styled("passed", "green"),
    "updated": Styled("updated", "yellow"),
    "failed": Styled("FAILED", "red"),
}


@click.command("test")
@click.argument(
    "folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(True, path_type=Path)
)
@click.option(
    "--update", is_flag=True, help="Show what changed, and write it as the new expectation."
)
@click.option("--junit", type=FILE, help="Write the results to a JUnit file too.")
def run_tests(folders: tuple[Path, ...], update: bool, junit: Path | None) -> None:
    """Run test cases of presets.

    Folders are searched with their subfolders. Exits with 1 if a case fails.

    A case is a JSON file with "preset" and "expected"; other files are ignored. Presets, histories,
    roles, profiles and lorebooks are part of the case, or are paths relative to it.

    \b
    {
      "preset": "../concise.json",
      "history": [{"role": "user", "content": "Hi"},
                  {"role": "assistant", "content": "Hello."}],
      "draft": "Who are you?",
      "role": {"name": "Ada", "system_prompt": "You are {{char}}."},
      "profile": {"name": "Kim", "content": "Kim likes short answers."},
      "lorebooks": ["../lorebooks/town.json"],
      "variables": {"tone": "dry"},
      "at": "2025-06-30T18:05",  "seed": 7,
      "model": "gpt-4o",  "protocol": "openai_chat",  "limit": 4096,  "reserve": 512,
      "expected": [
        {"role": "system", "content": "You are Ada."},
        {"role": "user", "content": "Hi", "origin": "history:1"},
        ...
      ],
      "checks": [{"id": "reminder", "at": "depth -1"}, {"maxTokens": 900}]
    }

    Only "preset" and one of "expected" and "checks" are needed. "limit" and "reserve" are tokens.
    An expected turn has "role" and "content"; "origin" ("preset", or "preset:reminder") and
    "placement" ("depth", or "depth 3") are compared if present. "expected" is the whole request,
    "checks" are about parts of it. See docs/presets.md.

    \b
    Example:
      tui-chat presets test cases/ --update
    """
    paths = [
        path for folder in folders for path in (find_cases(folder) if folder.is_dir() else [folder])
    ]
    if not paths:
        raise InputError(
            f"{', '.join(map(str, folders))}: no cases found.",
            advice="A case is a JSON file with “preset” and “expected”; see presets test --help.",
        )
    tests: list[TestResult] = []
    counts = Counter[str]()
    for path in paths:
        result, remark, test = _run(path, update)
        counts[result] += 1
        tests.append(test)
        title = test.sentence if test.problem == "error" else f"{test.name}{remark}"
        write_line(_WORDS[result], f" {title}")
        for line in test.details.split("\n") if test.details else ():
            color = {"+": "green", "-": "red", "$": "red"}.get(line[:1])
            write_line("    ", Styled(line, color))
    words = [f"{counts['passed']} passed"]
    words += [f"{counts[kind]} {kind}" for kind in ("updated", "failed") if counts[kind]]
    write_line(f"{counted(len(tests), 'case')}: {', '.join(words)}.")
    if junit is not None:
        write_text(junit_xml({"presets": tests}), junit)
    if counts["failed"]:
        sys.exit(1)


def _run(path: Path, update: bool) -> tuple[str, str, TestResult]:
    """Run a case. Return its result, a key of `_WORDS`; what follows its name; and the test, whose
    details are the places and faults of checks, and a unified diff from the expected request.
    """
    try:
        case = load_case(path)
    except InputError as error:
        return "failed", "", TestResult(str(path), "error", str(error))
    name = f"{path}: {case.name}" if case.name else str(path)
    composed = compose(case.inputs)
    turns = composed.envelope.turns
    checked = ((place, check.fault(composed)) for place, check in case.checks)
    lines = [f"{place}: {fault}" for place, fault in checked if fault]
    result, sentence, remark = "failed" if lines else "passed", next(iter(lines), ""), ""
    if bool(case.checks) if case.expected is None else case.expects(turns):
        problem = "failure" if lines else ""
        return result, "", TestResult(name, problem, sentence, "\n".join(lines))
    lines += difference(case.expected or (), turns)
    if update:
        expected = [plain(_as_expected(turn, case.expected or ())) for turn in turns]
        value = {**json.loads(case.text), "expected": expected}
        write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", path, "shared")
        result = "failed" if sentence else "updated"
    else:
        result = "failed"
        remark = " (no “expected” yet; --update writes it)" if case.expected is None else ""
        sentence = sentence or f"The request is not the expected one.{remark}"
    problem = "failure" if result == "failed" else ""
    return result, remark, TestResult(name, problem, sentence, "\n".join(lines))


def difference(expected: Sequence[ExpectedTurn], turns: Sequence[Turn]) -> Iterator[str]:
    """Yield a unified diff from the expected turns to those that would be sent."""
    before = [line for turn in expected for line in _lines(turn)]
    after = [line for turn in turns for line in _lines(_as_expected(turn, expected))]
    lines = unified_diff(before, after, "expected", "would be sent", lineterm="", n=4)
    yield from (line for line in lines if not line.startswith("@@"))


def _lines(turn: ExpectedTurn) -> Iterator[str]:
    where = " · ".join(words for words in (turn.origin, turn.placement) if words)
    yield f"{turn.role}{'  (' + where + ')' if where else ''}"
    for line in turn.content.split("\n"):
        yield f"    {line}"


def _as_expected(turn: Turn, expected: Sequence[ExpectedTurn]) -> ExpectedTurn:
    """Return the expected turn that this turn matches, else a new one with the fields that
    expected turns use.
    """
    for expected_turn in expected:
        if expected_turn.matches(turn):
            return expected_turn
    return ExpectedTurn(
        role=turn.role,
        content=turn.text.plain,
        origin=origin_words(turn.origin) if any(t.origin for t in expected) else None,
        placement=placement_words(turn.placement) if any(t.placement for t in expected) else None,
    )
