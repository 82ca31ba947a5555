"""The characters that the screen draws by itself are in common monospaced fonts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tui_chat

PACKAGE = Path(tui_chat.__file__).parent
DRAWN = {
    "←↑→↓": "names of keys",
    "↵⇥": "line breaks and tabs in tokens",
    "·•…–—×−≈≥⋯": "separators, lists, cuts, dates, figures and nothing checked",
    "“”’": "quotes around names",
    "─━│┃┆┊┌└├╌": "rules, trees and bars",
    "█▉▊▋▌▍▎▏▁▂▃▄▅▆▇░▒": "bars and shares",
    "▲▾▸▶■▣◆◇◦▪●○◐◑◒◓": "folds, levels of notes, marks, states",
    "☐☑✓✕✖✗": "check boxes, success, removal, faults",
    "‹›↺⚓⁅⁆": "versions, branches, inherited values, cache marks, citations",
}
"""Each is in DejaVu Sans Mono, regular and bold, which is what is common to Linux terminals; those
of other systems have more."""
FOREIGN = {
    "\ufeff\N{NO-BREAK SPACE}\N{OBJECT REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}": (
        "signs of a file, which are read or replaced"
    ),
    "␛␍": "stand for a control character in another's text, which has no glyph at all",
}
WITHOUT_SCREEN = (
    "models/sanitize.py",  # ranges of characters that are shown in another way
    "store/search/words.py",  # ranges of scripts
    "context/lorebooks/patterns/",  # what regular expressions match
    "ui/areas/chat/text_lines.py",  # ranges of scripts, where lines break
    "ui/areas/inspector/row_wrapping.py",  # ranges of characters by their width
    "protocols/",
    "library/editing/edits.py",  # rules and marks that people begin headings of presets with
    "plugins/transcripts/chatgpt.py",  # ChatGPT's own marks of citations
    "plugins/sillytavern/context/scripts.py",
    "models/text.py",
    "models/json_text.py",
    "plugins/formulas/formula_text.py",  # characters of formulas, which another's text asks for
    "workspace/titles.py",  # quotes around a title that are taken off
)
"""Modules whose characters are compared with text and not drawn."""


def literals(path: Path) -> Iterator[str]:
    """Yield the strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documentation:
            yield node.value if isinstance(node.value, str) else ""


def drawn_characters() -> dict[str, set[str]]:
    """Return the characters outside of ASCII in the program's strings, with their modules."""
    characters: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(WITHOUT_SCREEN):
            for text in literals(path):
                for character in text:
                    if not character.isascii() and not is_of_a_range(character):
                        characters.setdefault(character, set()).add(name)
    return characters


def is_of_a_range(character: str) -> bool:
    """Return True for the ends of ranges of scripts, and for what is never drawn."""
    return not character.isprintable() or character.isalpha() or ord(character) >= 0x2E7F


def test_the_screen_draws_only_characters_of_common_fonts():
    known = set("".join((*DRAWN, *FOREIGN)))
    drawn = drawn_characters()
    assert {c: drawn[c] for c in drawn if c not in known} == {}
    assert set("".join(DRAWN)) <= drawn.keys(), "the list has only what is drawn"


@pytest.mark.parametrize("style", ["", "-Bold"])
def test_they_are_in_dejavu_sans_mono(style: str):
    fonts = Path("/usr/share/fonts/truetype/dejavu")
    path = fonts / f"DejaVuSansMono{style}.ttf"
    if not path.exists():
        pytest.skip("the font is not installed")
    truetype = pytest.importorskip("PIL.ImageFont").truetype(str(path), 24)
    missing = truetype.getmask("\uffff").getbbox(), bytes(truetype.getmask("\uffff"))
    boxes = {
        character
        for character in "".join(DRAWN)
        if (truetype.getmask(character).getbbox(), bytes(truetype.getmask(character))) == missing
    }
    assert boxes == set()
