"""`tui-chat presets test`: cases pass, fail with a difference, and are updated."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

import click

from tui_chat.cli.output import Styled, counted, write_line
from tui_chat.cli.preset_cases import (
    Case,
    ExpectedTurn,
    find_cases,
    load_case,
    origin_words,
    placement_words,
)
from tui_chat.compose import compose
from tui_chat.context import build
from tui_chat.errors import InputError
from tui_chat.files import read_text, write_text
from tui_chat.library.json_locations import locate
from tui_chat.models.envelope import Turn
from tui_chat.models.json_values import plain
from tui_chat.tokens import counter_for
from tui_chat.turn_file import TurnFile, is_turn, read_turn

_PASSED = Styled("passed", "green")
_UPDATED = Styled("updated", "yellow")
_FAILED = Styled("FAILED", "red")


@click.command("test")
@click.argument(
    "folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(True, path_type=Path)
)
@click.option(
    "--update", is_flag=True, help="Show what changed, and write it as the new expectation."
)
def run_tests(folders: tuple[Path, ...], update: bool) -> None:
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
      "model": "gpt-4o",  "limit": 4096,  "reserve": 512,
      "expected": [
        {"role": "system", "content": "You are Ada."},
        {"role": "user", "content": "Hi", "origin": "history:1"},
        ...
      ]
    }

    Only "preset" and "expected" are needed. "limit" and "reserve" are tokens. An expected turn
    has "role" and "content"; "origin" ("preset", or "preset:reminder") and "placement"
    ("depth", or "depth 3") are compared if present. See docs/presets.md.

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
            advice="A case is a JSON file with “preset” and “expected”; see preset test --help.",
        )
    failed = updated = 0
    for path in paths:
        match _run(path, update):
            case "failed":
                failed += 1
            case "updated":
                updated += 1
            case _:
                pass
    passed = len(paths) - failed - updated
    words = [f"{passed} passed", *([f"{updated} updated"] if updated else [])]
    words += [f"{failed} failed"] if failed else []
    write_line(f"{counted(len(paths), 'case')}: {', '.join(words)}.")
    if failed:
        sys.exit(1)


def _run(path: Path, update: bool) -> str:
    try:
        if (turn := _turn(path)) is not None:
            return _run_turn(path, turn)
        case = load_case(path)
    except InputError as error:
        write_line(_FAILED, f" {error}")
        return "failed"
    turns = build(case.inputs, counter_for).turns
    if case.expected is not None and _all_match(case.expected, turns):
        write_line(_PASSED, f" {_case_title(case)}")
        return "passed"
    if update:
        write_line(_UPDATED, f" {_case_title(case)}")
    else:
        missing = " (no “expected” yet; --update writes it)"
        write_line(_FAILED, f" {_case_title(case)}{missing if case.expected is None else ''}")
    for line in difference(case.expected or (), turns):
        write_line("    ", _colored(line))
    if not update:
        return "failed"
    write_text(_updated(case, turns), path, "shared")
    return "updated"


def _turn(path: Path) -> TurnFile | None:
    """Read an exported turn; None if the file is something else."""
    text = read_text(path)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None  # load_case reports the fault with its place
    return read_turn(text, str(path)) if is_turn(value) else None


def _run_turn(path: Path, turn: TurnFile) -> str:
    """Compose a turn's request again, and compare it with the one that was sent."""
    composed = compose(turn.inputs)
    if composed.payload.sha256 == turn.request.sha256:
        write_line(_PASSED, f" {path}")
        return "passed"
    write_line(_FAILED, f" {path} (sent by tui-chat {turn.app})")
    before, after = (
        json.dumps(json.loads(body), indent=2, ensure_ascii=False).split("\n")
        for body in (turn.request.body, composed.payload.body)
    )
    for line in unified_diff(before, after, "sent", "would be sent", lineterm="", n=2):
        write_line("    ", _colored(line))
    return "failed"


def _case_title(case: Case) -> str:
    return f"{case.path}: {case.name}" if case.name else str(case.path)


def _all_match(expected: Sequence[ExpectedTurn], turns: Sequence[Turn]) -> bool:
    return len(expected) == len(turns) and all(
        one.matches(turn) for one, turn in zip(expected, turns, strict=True)
    )


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
        origin=origin_words(turn) if any(t.origin for t in expected) else None,
        placement=placement_words(turn) if any(t.placement for t in expected) else None,
    )


def _colored(line: str) -> Styled:
    return Styled(line, {"+": "green", "-": "red"}.get(line[:1]))


def _updated(case: Case, turns: Sequence[Turn]) -> str:
    """Return a case's text with these turns as the expected ones, and otherwise unchanged."""
    expected = [plain(_as_expected(turn, case.expected or ())) for turn in turns]
    text = case.text
    spots = locate(text, {(), ("expected",)}).spots
    indent = re.search(r"\n([ \t]+)\S", text)
    step = indent[1] if indent else "  "
    body = json.dumps(expected, indent=step, ensure_ascii=False).replace("\n", f"\n{step}")
    if spot := spots.get(("expected",)):
        return text[: spot.start] + body + text[spot.end :]
    end = len(text[: spots[()].end - 1].rstrip())
    return f'{text[:end]},\n{step}"expected": {body}\n{text[spots[()].end - 1 :]}'
