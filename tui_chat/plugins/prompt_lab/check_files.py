"""Checks of replies as files write them, and tests as promptfoo's tables and lines have them.

    {"type": "icontains", "value": "ada"}
    {"type": "not-regex", "value": "^Sure"}
    {"type": "word-count", "value": {"max": 40}}
    {"type": "latency", "threshold": 2000}

1. A check is a test, so a type, key or value that is not known is a fault at its place.
2. A table (CSV) has a column for each variable, and columns with a meaning of their own:
   `__expected`, `__expected1`, ... are checks, written as texts (`icontains: ada`,
   `latency(2000)`); `__description`, `__threshold` and `__metadata:KEY` are those of a test. Lines
   (JSONL) have a test each. https://www.promptfoo.dev/docs/configuration/test-cases/
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, KnownKeys
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.models.boundary import InvalidValue, read
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_array, describe_value, object_or_none
from tui_chat.plugins.prompt_lab.checks import CHECKS, TextList, listed
from tui_chat.plugins.prompt_lab.values import ReplyCheck

_KEYS = KnownKeys(
    ("type", "value", "threshold", "weight", "metric", "judge"), {"judge": ("provider",)}
)
_TYPES = KnownKeys(CHECKS)


def objects_in(
    file: JsonFile, values: object, where: JsonPath, noun: str
) -> Iterator[tuple[JsonPath, dict[str, Any]]]:
    """Yield the objects of a list at a place of a file, each with its place. Another value becomes
    a finding that calls it `noun`.
    """
    listed = as_array(values)
    if values is not None and values != listed:
        file.report(Level.ERROR, "bad-value", f"must be a list of {noun}s", where)
    for index, value in enumerate(listed):
        place = (*where, index)
        table = object_or_none(value)
        if table is None:
            sentence = f"must be a {noun}, not {describe_value(value)}"
            file.report(Level.ERROR, "bad-value", sentence, place)
        else:
            yield place, table


def known_fields(
    file: JsonFile, table: Mapping[str, Any], place: JsonPath, keys: KnownKeys
) -> dict[str, Any]:
    """Return the values of an object by their fields. Keys that are neither known nor comments
    become findings.
    """
    fields, extras = file.sort_keys(table, place, keys)
    known = ", ".join(key for key in keys.field_of if "_" not in key)
    for name in extras:
        if not name.startswith(("_", "$")) and name not in ("description", "comment"):
            sentence = f"is unknown; known are {known}"
            file.report(Level.ERROR, "unknown-key", sentence, (*place, name), at_key=True)
    return fields


def read_checks(file: JsonFile, values: object, where: JsonPath) -> Iterator[ReplyCheck]:
    """Yield the checks of a list at a place of a file; faults become findings."""
    for place, table in objects_in(file, values, where, "check"):
        taken = known_fields(file, table, place, _KEYS)
        taken.pop("metric", None)  # a name for reports of promptfoo's
        check = file.read(ReplyCheck, taken, place)
        if check is None:
            continue
        if fault := check_fault(check.type, check.value, check.threshold):
            step, sentence = fault
            file.report(Level.ERROR, "bad-value", sentence, (*place, *step))
            continue
        name = check.type.removeprefix("not-")
        is_list = CHECKS[name].value is TextList  # which may be written as a text with commas
        value = list(listed(check.value)) if is_list else check.value
        yield replace(check, type=name, value=value, negated=name != check.type)


def check_fault(label: str, value: Any, threshold: float | None) -> tuple[JsonPath, str] | None:
    """Return the key that is wrong of a check, and the fault as the end of a sentence; None for
    none.
    """
    name = label.removeprefix("not-")
    kind = CHECKS.get(name)
    if kind is None and (meant := _TYPES.meant_by(name)):
        return ("type",), f"is unknown; did you mean “{label.removesuffix(name)}{meant}”?"
    if kind is None:
        return ("type",), f"is unknown; known are {', '.join(CHECKS)}, and not- before each"
    if kind.threshold and threshold is None:
        return (), f"must have a threshold: “{label}”"
    if value is None:
        has_fault = kind.value is not None and kind.needs_value
        return ((), f"must have a value: “{label}”") if has_fault else None
    if kind.value is None:
        return None if value == "" else (("value",), f"is not used by “{label}”")
    try:
        read(kind.value, value)
    except InvalidValue as error:
        fault = error.faults[0]
        return ("value", *fault.path), f"{fault.sentence}, not {describe_value(fault.value)}"
    return None


_WRITTEN = re.compile(r"(?P<type>(?:not-)?[a-z]+(?:-[a-z]+)*)(?:\((?P<threshold>[^()]*)\))?")
_NUMBER = re.compile(r"\d+(?:\.\d*)?|\.\d+")
_ELSEWHERE = re.compile(
    r"(?:not-)?(?:similar|javascript|python|ruby|fn|eval|file|levenshtein|moderation|perplexity"
    r"|webhook|factuality|classifier|bleu|pi|guardrails|meteor|gleu|rouge-.*|model-graded-.*"
    r"|answer-.*|context-.*|select-best|max-score|is-.*|contains-.*|g-eval|trace-.*|.*-score"
    r"|assert-set|human|search-rubric|conversation-.*)"
)
"""Types of promptfoo's that are not here: a text that begins with one is no plain text."""


def check_of_text(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """Return the check that a cell of a table writes, as the object of a file, and a fault as the
    end of a sentence: `type(threshold): value`, or a text that the reply equals.
    """
    head, colon, value = text.partition(":")
    match = _WRITTEN.fullmatch(head.strip())
    name = match["type"] if match else ""
    if name in ("grade", "not-grade"):
        name = name.replace("grade", "llm-rubric")
    kind = CHECKS.get(name.removeprefix("not-"))
    if match and kind is not None and (colon or not kind.needs_value or kind.value is None):
        table: dict[str, Any] = {"type": name}
        if (threshold := match["threshold"]) is not None:
            if not _NUMBER.fullmatch(threshold):
                return None, f"has the threshold “{threshold}”, which is no number"
            table["threshold"] = float(threshold)
        if value.strip():
            table["value"] = value.strip()
        return table, ""
    if match and (colon or match["threshold"]) and _ELSEWHERE.fullmatch(name):
        return None, f"has the check “{name}”, which is unknown; known are {', '.join(CHECKS)}"
    return {"type": "equals", "value": text}, ""


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
