"""`tui-chat preset`: check preset files, import other programs', and run test cases."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

from tui_chat.cli.app import open_library
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.library_output import preset_path
from tui_chat.cli.output import Styled, write_json, write_line, write_request
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
from tui_chat.files import read_text, write_bytes, write_text
from tui_chat.library.file_reader import Finding, read_file_text
from tui_chat.library.foreign_files import first_preset_files, import_preset_file
from tui_chat.library.json_locations import locate
from tui_chat.library.preset_check import check_preset
from tui_chat.library.presets import dump_preset, load_preset
from tui_chat.models.envelope import Level, Turn
from tui_chat.models.json_values import plain
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.tokens import counter_for
from tui_chat.turn_file import TurnFile, is_turn, read_turn

_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.INFO: "blue"}


def run_check(files: Sequence[Path], as_json: bool) -> None:
    """Print the findings about each file, and exit with 1 if there are errors."""
    found = [(path, finding) for path in _presets(files) for finding in _checked(path)]
    if as_json:
        body = [
            {
                "path": str(path),
                "line": finding.line,
                "column": finding.column,
                "level": finding.level.value,
                "code": finding.code,
                "sentence": finding.sentence,
                "place": finding.path,
            }
            for path, finding in found
        ]
        write_json(body)
    else:
        for path, finding in found:
            level = Styled(finding.level.value, _COLOURS[finding.level])
            place = f"{finding.path}: " if finding.code == "bad-value" else ""
            sentence = (place + finding.sentence).replace("\n", "\\n")
            write_line(f"{path}:{finding.line}: ", level, f" {finding.code} {sentence}")
        _summarize(Counter(finding.level for _, finding in found), len(_presets(files)))
    if any(finding.code == _UNREADABLE for _, finding in found):
        sys.exit(2)
    if any(finding.level is Level.ERROR for _, finding in found):
        sys.exit(1)


_UNREADABLE = "unreadable"


def _presets(files: Sequence[Path]) -> list[Path]:
    """Return the files to check; for a folder, the JSON files directly in it."""
    return [
        path
        for given in files
        for path in (sorted(given.glob("*.json")) if given.is_dir() else [given])
    ]


def _checked(path: Path) -> Iterator[Finding]:
    try:
        text = read_file_text(path)
    except InputError as error:
        sentence = f"{error} {error.advice}".removeprefix(str(path)).strip(": ")
        yield Finding(Level.ERROR, _UNREADABLE, sentence)
        return
    yield from check_preset(text, path.stem)


def _summarize(levels: Counter[Level], files: int) -> None:
    counts = [
        f"{levels[level]} {word}{'' if levels[level] == 1 else 's'}"
        for level, word in (
            (Level.ERROR, "error"),
            (Level.WARNING, "warning"),
            (Level.INFO, "hint"),
        )
        if levels[level]
    ]
    checked = f"{files} file{'' if files == 1 else 's'} checked"
    write_line(f"{checked}: {', '.join(counts) or 'no findings'}.", err=True)


def run_import(common: CommonOptions, files: Sequence[Path], name: str) -> None:
    """Import each file as a preset, and print its path and notes.

    Raises InputError naming the file and the fault; the files before it are imported.
    """
    if name and len(files) > 1:
        raise InputError("--name needs a single file.", advice="Omit --name.")
    own = open_library(common.config())
    for file in files:
        found = import_preset_file(file, name)
        preset_name = own.add_preset(found.preset)
        write_line(str(own.preset_file(preset_name)))
        for note in found.notes:
            write_line(f"{note.level}: {one_line(note.sentence)}", err=True)


def run_export(common: CommonOptions, name: str, output: Path | None, *, is_ours: bool) -> None:
    """Write a preset as another program's or as ours, and print the notes. Raises InputError."""
    preset = load_preset(preset_path(common, name))
    if is_ours:
        text = sanitize(dump_preset(preset), "json")
    else:
        exported = first_preset_files().write(preset)
        text = exported.text
        for note in exported.notes:
            write_line(one_line(note), err=True)
    if output is None:
        write_request(text.rstrip("\n"))
    else:
        write_bytes(text.encode(), output, "shared", overwrite=False)


_PASSED = Styled("passed", "green")
_UPDATED = Styled("updated", "yellow")
_FAILED = Styled("FAILED", "red")


def run_test(folders: Sequence[Path], update: bool) -> None:
    """Run all cases; exit with 1 if one fails. Raises InputError if there is none."""
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
    write_line(f"{len(paths)} case{'' if len(paths) == 1 else 's'}: {', '.join(words)}.")
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
        write_line("    ", _coloured(line))
    if not update:
        return "failed"
    write_text(_updated(case, turns), path, "shared")
    return "updated"


def _turn(path: Path) -> TurnFile | None:
    """Read an exported turn; None if the file is something else."""
    text = read_text(path)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None  # load_case reports the fault with its place
    return read_turn(text, str(path)) if is_turn(found) else None


def _run_turn(path: Path, turn: TurnFile) -> str:
    """Compose a turn's request again, and compare it with the one that was sent."""
    composed = compose(turn.inputs)
    if composed.payload.sha256 == turn.request.sha256:
        write_line(_PASSED, f" {path}")
        return "passed"
    write_line(_FAILED, f" {path} (sent by tui-chat {turn.app})")
    before, after = (
        json.dumps(json.loads(each), indent=2, ensure_ascii=False).split("\n")
        for each in (turn.request.body, composed.payload.body)
    )
    for line in unified_diff(before, after, "sent", "would be sent", lineterm="", n=2):
        write_line("    ", _coloured(line))
    return "failed"


def _case_title(case: Case) -> str:
    return f"{case.path}: {case.name}" if case.name else str(case.path)


def _all_match(expected: Sequence[ExpectedTurn], turns: Sequence[Turn]) -> bool:
    return len(expected) == len(turns) and all(
        wanted.matches(turn) for wanted, turn in zip(expected, turns, strict=True)
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
    for wanted in expected:
        if wanted.matches(turn):
            return wanted
    return ExpectedTurn(
        role=turn.role,
        content=turn.text.plain,
        origin=origin_words(turn) if any(t.origin for t in expected) else None,
        placement=placement_words(turn) if any(t.placement for t in expected) else None,
    )


def _coloured(line: str) -> Styled:
    return Styled(line, {"+": "green", "-": "red"}.get(line[:1]))


def _updated(case: Case, turns: Sequence[Turn]) -> str:
    """Return a case's text with these turns as the expected ones, and otherwise unchanged."""
    expected = [plain(_as_expected(turn, case.expected or ())) for turn in turns]
    text = case.text
    found = locate(text, {(), ("expected",)}).spots
    indent = re.search(r"\n([ \t]+)\S", text)
    step = indent[1] if indent else "  "
    body = json.dumps(expected, indent=step, ensure_ascii=False).replace("\n", f"\n{step}")
    if spot := found.get(("expected",)):
        return text[: spot.start] + body + text[spot.end :]
    end = len(text[: found[()].end - 1].rstrip())
    return f'{text[:end]},\n{step}"expected": {body}\n{text[found[()].end - 1 :]}'
