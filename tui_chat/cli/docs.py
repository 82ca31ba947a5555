"""The documentation on the terminal: `tui-chat docs`."""

from __future__ import annotations

import difflib

from tui_chat.cli.output import table, write_line, write_markdown, write_text
from tui_chat.errors import InputError
from tui_chat.paths import bundled


def page_names() -> list[str]:
    """Return the names of the pages for users."""
    return sorted(path.stem for path in bundled("docs").glob("*.md"))


def list_pages() -> None:
    """Print the name and the title of each page."""
    rows = [(name, _text(name).partition("\n")[0].removeprefix("# ")) for name in page_names()]
    write_text(table(rows))
    write_line("\n`tui-chat docs PAGE` prints a page.", err=True)


def print_page(name: str) -> None:
    """Print a page. Raises InputError if there is none of this name."""
    names = page_names()
    wanted = name.casefold().removesuffix(".md")
    if wanted not in names:
        similar = difflib.get_close_matches(wanted, names, 3, 0.5)
        advice = f"Did you mean {', '.join(similar)}?" if similar else "`tui-chat docs` lists them."
        raise InputError(f"There is no page “{name}”.", advice=advice)
    write_markdown([_text(wanted)])


def _text(name: str) -> str:
    return (bundled("docs") / f"{name}.md").read_text(encoding="utf-8")
