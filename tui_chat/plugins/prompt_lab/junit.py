"""JUnit's XML, which CI services read as the results of tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tui_chat.lazy_dataclass import dataclass

_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot have."""


Problem = Literal["", "failure", "error", "skipped"]
"""`failure`: the test failed. `error`: it could not be run. `skipped`: nothing was tested."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test."""

    __test__ = False

    name: str
    problem: Problem = ""
    sentence: str = ""
    """What is wrong, on one line."""
    details: str = ""
    seconds: float = 0.0


def junit_xml(suites: Mapping[str, Iterable[TestResult]]) -> str:
    """Return the results of the tests of each suite as a JUnit file."""
    root = Element("testsuites")
    for name, results in suites.items():
        listed = list(results)
        problems = Counter(result.problem for result in listed)
        suite = SubElement(
            root,
            "testsuite",
            name=name,
            tests=str(len(listed)),
            failures=str(problems["failure"]),
            errors=str(problems["error"]),
            skipped=str(problems["skipped"]),
            time=f"{sum(result.seconds for result in listed):.3f}",
        )
        for result in listed:
            time = f"{result.seconds:.3f}"
            case = SubElement(suite, "testcase", classname=name, name=result.name, time=time)
            if result.problem:
                SubElement(case, result.problem, message=result.sentence).text = result.details
    indent(root, "")
    body = _UNWRITABLE.sub("\ufffd", tostring(root, "unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'
