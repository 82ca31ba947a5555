"""Tests as promptfoo's tables and lines have them.

A table (CSV) has a column for each variable, and columns with a meaning of their own: `__expected`,
`__expected1`, ... are checks, `__description`, `__threshold` and `__metadata:KEY` are those of a
test. Lines (JSONL) have a test each.
https://www.promptfoo.dev/docs/configuration/test-cases/
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.models.json_text import object_or_none
from tui_chat.plugins.prompt_lab.check_files import check_of_text

_EXPECTED = re.compile(r"__expected(\d*)")
_IGNORED = re.compile(r"__metadata(?::.*)?|__prefix|__suffix|__metric")


@dataclass(frozen=True, slots=True)
class Test:
    """A test as a file has it, and where."""

    file: JsonFile
    source: str
    """The file, and the row of a table, for errors."""
    value: Mapping[str, Any]
    place: JsonPath = ()


def tests_of_lines(text: str, source: str) -> Iterator[Test]:
    """Yield the tests of a text with a JSON object on each line. Raises InputError."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        file = JsonFile(line, number)
        file.raise_errors(source)
        value = object_or_none(file.value)
        if value is None:
            raise InputError(f"{source}: line {number} must be an object.")
        yield Test(file, f"{source}: line {number}", value)


def tests_of_table(text: str, source: str) -> Iterator[Test]:
    """Yield the tests of a table. Raises InputError."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        names = [name.strip() for name in next(reader, list[str]())]
        if double := {name for name in names if name and names.count(name) > 1}:
            raise InputError(f"{source}: the column “{min(double)}” is there twice.")
        for row in reader:
            if any(cell.strip() for cell in row):
                where = f"{source}: line {reader.line_num}"
                if len(row) > len(names):
                    raise InputError(f"{where} has {len(row)} cells, and {len(names)} columns.")
                value = _test_of_row(dict(zip(names, row, strict=False)), where)
                yield Test(JsonFile(json.dumps(value)), where, value)
    except csv.Error as error:
        raise InputError(f"{source}: line {reader.line_num} is not CSV: {error}") from None


def _test_of_row(row: Mapping[str, str], where: str) -> dict[str, Any]:
    test: dict[str, Any] = {"vars": {}}
    checks: list[Mapping[str, Any]] = []
    for name, text in row.items():
        if _EXPECTED.fullmatch(name):
            if text.strip():
                check, fault = check_of_text(text)
                if check is None:
                    raise InputError(f"{where}, column “{name}”: {fault}.")
                checks.append(check)
        elif name == "__description":
            test["description"] = text
        elif name == "__threshold":
            if text.strip():
                test["threshold"] = _number(text, f"{where}, column “{name}”")
        elif name.startswith("__"):
            if not _IGNORED.fullmatch(name) or (text.strip() and "metadata" not in name):
                raise InputError(f"{where}: the column “{name}” is unknown.")
        elif name:
            test["vars"][name] = text
    if checks:
        test["assert"] = checks
    return test


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where} must be a number, not “{text}”.") from None
