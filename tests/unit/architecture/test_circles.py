"""No circle between the files of a package, so that each can be read after those that it names.

Every import counts: at the top, within a function, and for annotations alone (`TYPE_CHECKING`),
since a reader follows them all in the same way. The contracts hold that packages import one way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tui_chat
from tests.support.tables import each_row

PACKAGE = Path(tui_chat.__file__).parent


def package_names() -> list[str]:
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


@cache
def module_paths() -> Mapping[str, Path]:
    paths = {".".join(path.with_suffix("").parts): path for path in relative_paths()}
    return {name.removesuffix(".__init__"): PACKAGE.parent / path for name, path in paths.items()}


def relative_paths() -> Iterator[Path]:
    return (path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*.py"))


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                full = f"{node.module}.{name.name}"
                yield full if full in module_paths() else node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def arrows(package: str) -> dict[str, set[str]]:
    """Return what each file of a package imports of the others in it."""
    prefix = f"tui_chat.{package}."
    files = {name: path for name, path in module_paths().items() if name.startswith(prefix)}
    return {
        name.removeprefix(prefix): {
            other.removeprefix(prefix)
            for other in imported_modules(path)
            if other in files and other != name
        }
        for name, path in files.items()
    }


@each_row("package", package_names())
def test_no_circle_between_the_files_of_a_package(package: str):
    try:
        TopologicalSorter(arrows(package)).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
