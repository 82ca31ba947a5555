"""What each protocol is sent of a request, and what is read of a reply; see `golden`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.protocols.golden import REPLIES, REQUESTS, converted, received
from tests.support.golden import case_files, expected_file, read

FILES = [
    pytest.param(path, result, id=f"{path.parent.name}-{path.stem}")
    for folder, result in ((REQUESTS, converted), (REPLIES, received))
    for path in case_files(folder)
]


@pytest.mark.parametrize(("path", "result"), FILES)
def test_golden_cases(path: Path, result: Callable[[dict[str, Any]], Any]) -> None:
    expected, wrong = read(expected_file(path)), dict[str, Any]()
    for name, case in read(path).items():
        found = json.loads(json.dumps(result(case)))
        if found != expected.get(name):
            wrong[name] = {"found": found, "expected": expected.get(name)}
    assert not wrong, json.dumps(wrong, ensure_ascii=False, indent=1)
    assert expected.keys() == read(path).keys()
