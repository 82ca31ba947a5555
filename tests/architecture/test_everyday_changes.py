"""The table “files to change for an everyday change” of docs/architecture.md is true: the files in
which the example of a change is written are those that its row names.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tui_chat

PACKAGE = Path(tui_chat.__file__).parent
PAGE = PACKAGE.parent / "docs" / "architecture.md"
EXAMPLES = {
    "a column in `sessions list`": (
        r"\btotal_tokens\b",
        ("models/session.py", "store/session_list.py", "ui/", "cli/"),
    ),
    "a verb on a message": (r"\baction_pin\b|conversation\.pin\b|branches\.pin\b|def pin\b", ()),
    "an inspector view": (r"\bBudgetView\b", ()),
    "a macro": (r'"weekday"|\b_weekday\b', ()),
    "an action in palette and `/`": (r'\baction_usage\b|"main\.usage"|_of\("usage"', ()),
    "a protocol": (r"\bOLLAMA\b", ()),
    "an importer": (r"LibreChat", ()),
    "a config key": (r"\btitle_model\b", ("config/",)),
    "the retry policy": (r"\bclass RetryPause\b", ()),
    "a notification's duration": (r"\bCHARACTERS_PER_SECOND\b", ()),
    "a theme color": (r'"warning"', ("ui/themes.py",)),
}
"""What is written in the files of a change, and where to look, if not everywhere."""


def rows() -> dict[str, set[str]]:
    """Return the files that each row names."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| change | example | files |") :].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
    return {row[0].strip(): set(re.findall(r"`([\w/]+)`", row[2])) for row in cells}


def files_with(pattern: str, folders: tuple[str, ...]) -> set[str]:
    names: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        is_searched = not folders or name.startswith(folders)
        if is_searched and re.search(pattern, path.read_text(encoding="utf-8")):
            names.add(name.removesuffix(".py"))
    return names


def test_every_change_has_an_example():
    assert rows().keys() == EXAMPLES.keys()


@pytest.mark.parametrize("change", EXAMPLES)
def test_the_files_of_a_change(change: str):
    named = rows()[change]
    plugins = {name.split("/")[1] for name in named if name.startswith("plugins/")}
    if any(not (PACKAGE / "plugins" / plugin).is_dir() for plugin in plugins):
        pytest.skip("the plugin is not here")
    assert files_with(*EXAMPLES[change]) == named
