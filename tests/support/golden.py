"""Golden cases: JSON files with what goes in, and beside each a file with what must come out.

`NAME.json` holds cases by name; `NAME.expected.json` the result of each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WIDTH = 100
_SURROGATE = re.compile("[\ud800-\udfff]")

Result = Callable[[dict[str, Any]], Any]
"""Makes of a case what is compared with the expected result."""


def case_files(folder: Path) -> list[Path]:
    """Return the files with cases of a folder."""
    return [path for path in sorted(folder.glob("*.json")) if ".expected" not in path.name]


def expected_file(path: Path) -> Path:
    return path.with_suffix(".expected.json")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def cases(folder: Path) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield name, case and expected result of each case of a folder."""
    for path in case_files(folder):
        expected = read(expected_file(path))
        given = read(path)
        assert list(given) == list(expected), f"{path.name}: other cases than are expected"
        for name, case in given.items():
            yield f"{path.stem}: {name}", case, expected[name]


def update(folder: Path, result: Result) -> None:
    """Write the expected results anew. The difference is for a person to judge."""
    for path in case_files(folder):
        given = read(path)
        path.write_text(dumped(given), encoding="utf-8")
        results = {name: result(case) for name, case in given.items()}
        expected_file(path).write_text(dumped(results), encoding="utf-8")


def differences(found: Any, expected: Any, place: str = "") -> Iterator[str]:
    """Yield the places in which a result is another than expected, with both values."""
    if found == expected:
        return
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in {**expected, **found}:
            yield from differences(found.get(key), expected.get(key), f"{place}/{key}")
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for index, pair in enumerate(zip(found, expected, strict=True)):
            yield from differences(*pair, f"{place}/{index}")
    else:
        yield f"{place}: {json.dumps(found)}, expected {json.dumps(expected)}"


def dumped(value: Any) -> str:
    """Return JSON in lines of at most WIDTH characters where its strings allow it."""
    return f"{_dumped(value, 0)}\n"


def _dumped(value: Any, indent: int, before: int = 0) -> str:
    text = json.dumps(value, ensure_ascii=False)
    text = _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    if not isinstance(value, dict | list) or not value:
        return text
    if indent and len(text) + indent + before < WIDTH:
        return text
    inner = indent + 1
    if isinstance(value, dict):
        rows = [f"{json.dumps(k)}: {_dumped(v, inner, len(k) + 5)}" for k, v in value.items()]
        opening, closing = "{}"
    else:
        rows = [_dumped(each, inner, 1) for each in value]
        opening, closing = "[]"
    lines: list[str] = []
    for row in rows:
        if (
            indent
            and lines
            and "\n" not in row + lines[-1]
            and len(lines[-1] + row) < WIDTH - inner
        ):
            lines[-1] += f" {row},"
        else:
            lines.append(f"{row},")
    lines[-1] = lines[-1].removesuffix(",")
    space = f"\n{' ' * inner}"
    return (
        f"{opening}{'' if indent else space}{space.join(lines)}{'' if indent else chr(10)}{closing}"
    )
