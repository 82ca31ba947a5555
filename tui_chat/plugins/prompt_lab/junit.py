"""JUnit's XML, which CI services read as the results of tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from tui_chat.lazy_dataclass import dataclass

_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot have."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test."""

    __test__ = False

    name: str
    problem: Literal["", "failure", "error", "skipped"] = ""
    """`failure`: the test failed. `error`: it could not be run. `skipped`: nothing was tested."""
    sentence: str = ""
    """What is wrong, on one line."""
    details: str = ""
    seconds: float = 0.0


def junit_xml(suites: Mapping[str, Iterable[TestResult]]) -> str:
    """Return the results of the tests of each suite as a JUnit file."""
    body = "".join(_suite(name, list(results)) for name, results in suites.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{body}</testsuites>\n'


def _suite(name: str, results: list[TestResult]) -> str:
    counts = {
        "tests": len(results),
        "failures": sum(result.problem == "failure" for result in results),
        "errors": sum(result.problem == "error" for result in results),
        "skipped": sum(result.problem == "skipped" for result in results),
        "time": f"{sum(result.seconds for result in results):.3f}",
    }
    attributes = "".join(f' {key}="{value}"' for key, value in counts.items())
    cases = "".join(_case(name, result) for result in results)
    return f"<testsuite name={_quoted(name)}{attributes}>\n{cases}</testsuite>\n"


def _case(suite: str, result: TestResult) -> str:
    head = f"<testcase classname={_quoted(suite)} name={_quoted(result.name)}"
    head += f' time="{result.seconds:.3f}"'
    if not result.problem:
        return f"{head}/>\n"
    fault = f"<{result.problem} message={_quoted(result.sentence)}>{escape(_clean(result.details))}"
    return f"{head}>\n{fault}</{result.problem}>\n</testcase>\n"


def _quoted(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
