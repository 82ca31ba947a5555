"""`tui-chat preset check`: what there is to say about preset files, for people and for CI."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_chat.cli.output import Styled, write_json, write_line
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, read_text
from tui_chat.library import Finding
from tui_chat.library.preset_check import check_preset
from tui_chat.models.envelope import Level

_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.INFO: "blue"}


def run_check(files: Sequence[Path], as_json: bool) -> None:
    """Print what there is to say about each file, and exit with 1 where there are errors."""
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
    if any(finding.level is Level.ERROR for _, finding in found):
        sys.exit(1)


def _presets(files: Sequence[Path]) -> list[Path]:
    """Return the files to check: of a folder, the presets directly in it."""
    return [
        path
        for given in files
        for path in (sorted(given.glob("*.json")) if given.is_dir() else [given])
    ]


def _checked(path: Path) -> Iterator[Finding]:
    try:
        text = read_text(path, max_bytes=MAX_BYTES)
    except InputError as error:
        sentence = str(error).removeprefix(f"{path}: ")
        yield Finding(Level.ERROR, "unreadable", sentence)
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
    validate = f"{files} file{'' if files == 1 else 's'} checked"
    write_line(f"{validate}: {', '.join(counts) or 'nothing to say'}.", err=True)
