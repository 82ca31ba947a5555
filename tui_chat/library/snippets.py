"""Snippets: texts with blanks that are inserted into the composer.

A snippet is a file `snippets/NAME.md`:

    ---
    description: Review a change
    ---
    Review this {{?language::Python}} code in a {{?tone::friendly|strict}} tone. {{?question}}

1. `{{?name}}` is a blank, `{{?name::text}}` one that has a text already, and `{{?name::a|b}}` a
   choice. Blanks of one name are one blank in several places; the first says how it begins.
2. Macros between the blanks are expanded when the snippet is inserted.
3. The description is optional, and other keys between the lines `---` are ignored.
"""

from __future__ import annotations

import re

from tui_chat.context import Inputs
from tui_chat.context.macros.expander import Expander
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind, clean

MAX_CHARACTERS = 50_000
MAX_BLANKS = 100
DESCRIPTION_LENGTH = 100
"""Characters of a description that are shown."""

_BLANK = re.compile(r"\{\{\?([^{}\n]{0,2000})\}\}")
_NAME = re.compile(r"\w[\w -]{0,39}")
_KEY = re.compile(r"([A-Za-z_][\w-]*):\s*(.*)")


@dataclass(frozen=True, slots=True)
class Blank:
    """A place in a snippet that the user fills."""

    name: str
    choices: tuple[str, ...] = ()
    """Its values: one text to begin with, several to choose from, none for an empty blank."""

    @property
    def text(self) -> str:
        """The text in its place until it is filled."""
        return self.choices[0] if self.choices else f"{{{{?{self.name}}}}}"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text with blanks."""

    pieces: tuple[str | Blank, ...]
    description: str = ""


def read_snippet(text: str, place: str) -> Snippet:
    """Return the snippet in a text; `place` names the file in errors. Raises InputError."""
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"{place} is longer than {MAX_CHARACTERS:,} characters")
    description, body, line = _front_matter(clean(text), place)
    pieces: list[str | Blank] = []
    blanks: dict[str, Blank] = {}
    offset = 0
    for number, match in enumerate(_BLANK.finditer(body), 1):
        here = f"{place}: line {line + body.count(chr(10), 0, match.start())}"
        if number > MAX_BLANKS:
            raise InputError(f"{here}: there are more than {MAX_BLANKS} blanks")
        name, separator, words = match[1].partition("::")
        name = name.strip()
        if not _NAME.fullmatch(name):
            fault = f"the blank “{one_line(match[0], 60)}” has no valid name"
            raise InputError(f"{here}: {fault}", advice="Letters, digits, spaces, _ and -.")
        choices = tuple(filter(None, (choice.strip() for choice in words.split("|"))))
        blank = blanks.setdefault(name, Blank(name, choices if separator else ()))
        pieces += [body[offset : match.start()], blank]
        offset = match.end()
    rest = body[offset:].rstrip("\n")
    if "{{?" in rest or any("{{?" in piece for piece in pieces if isinstance(piece, str)):
        start = body.index("{{?", _unclosed(body))
        here = f"{place}: line {line + body.count(chr(10), 0, start)}"
        raise InputError(f"{here}: a blank is not closed, or is inside a macro or another blank")
    pieces.append(rest)
    if not "".join(piece if isinstance(piece, str) else piece.text for piece in pieces).strip():
        raise InputError(f"{place} is empty")
    return Snippet(tuple(piece for piece in pieces if piece != ""), description)


def _unclosed(body: str) -> int:
    """Return from where `{{?` is no blank."""
    offset = 0
    while (start := body.find("{{?", offset)) >= 0:
        match = _BLANK.match(body, start)
        if match is None:
            return start
        offset = match.end()
    return 0


def _front_matter(text: str, place: str) -> tuple[str, str, int]:
    """Return the description, the rest of the text, and the number of its first line."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return "", text, 1
    description = ""
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == "---":
            return description, "\n".join(lines[number:]), number + 1
        match = _KEY.fullmatch(line.strip())
        if match is None and line.strip() and not line.startswith((" ", "\t", "#", "-")):
            raise InputError(f"{place}: line {number} must be `key: value`, or `---` to end them")
        if match is not None and match[1] == "description":
            description = one_line(match[2].strip("\"'"), DESCRIPTION_LENGTH)
    raise InputError(f"{place}: line 1: `---` is not closed by a second line `---`")


def expanded(snippet: Snippet, inputs: Inputs) -> tuple[str | Blank, ...]:
    """Return the pieces of a snippet with the macros between its blanks expanded."""
    expander = Expander(inputs)
    origin = Origin(OriginKind.DRAFT, "snippet")
    return tuple(
        expander.expand_text(piece, origin) if isinstance(piece, str) else piece
        for piece in snippet.pieces
    )
