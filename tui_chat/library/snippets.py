"""Snippets: texts with blanks that are inserted into the composer.

A snippet is a file `snippets/NAME.md`:

    ---
    description: Review a change
    ---
    Review this {{?language::Python}} code in a {{?tone::friendly|strict}} tone. {{?question}}

1. `{{?name}}` is a blank, `{{?name::text}}` one that has a text already, and `{{?name::a|b}}` a
   choice. Blanks of one name are one blank in several places; the first says how it begins.
   Anything else in braces is text.
2. Macros between the blanks are expanded when the snippet is inserted.
3. The description is optional, and other keys between the lines `---` are ignored.
"""

from __future__ import annotations

import re
from itertools import islice

from tui_chat.context import Inputs
from tui_chat.context.macros.expansion import Expander
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind, clean

MAX_CHARACTERS = 50_000
MAX_BLANKS = 100
DESCRIPTION_LENGTH = 100
"""Characters of a description that are shown."""

_BLANK = re.compile(r"\{\{\? *(\w[\w -]{0,39})(?:::([^{}\n]{0,2000}))?\}\}")
_FRONT = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_DESCRIPTION = re.compile(r"^[ \t]*description:[ \t]*(.*)$", re.MULTILINE)


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
    description, body = _front_matter(clean(text))
    pieces: list[str | Blank] = []
    blanks: dict[str, Blank] = {}
    offset = 0
    for match in islice(_BLANK.finditer(body), MAX_BLANKS):
        name, words = match[1].strip(), match[2] or ""
        choices = tuple(filter(None, (choice.strip() for choice in words.split("|"))))
        pieces += [body[offset : match.start()], blanks.setdefault(name, Blank(name, choices))]
        offset = match.end()
    pieces.append(body[offset:].rstrip("\n"))
    if not body.strip():
        raise InputError(f"{place} is empty")
    return Snippet(tuple(piece for piece in pieces if piece != ""), description)


def _front_matter(text: str) -> tuple[str, str]:
    """Return the description, and the rest of the text."""
    if (front := _FRONT.match(text)) is None:
        return "", text
    found = _DESCRIPTION.search(front[1])
    words = one_line(found[1].strip().strip("\"'"), DESCRIPTION_LENGTH) if found else ""
    return words, text[front.end() :]


def expanded(snippet: Snippet, inputs: Inputs) -> tuple[str | Blank, ...]:
    """Return the pieces of a snippet with the macros between its blanks expanded."""
    expander = Expander(inputs)
    origin = Origin(OriginKind.DRAFT, "snippet")
    return tuple(
        expander.expand_text(piece, origin) if isinstance(piece, str) else piece
        for piece in snippet.pieces
    )
