"""What a user is asked before a tool runs: the same words in the app and on the command line.

Nothing is cut. What a stranger wrote is in its exact form (`sanitize`); a line break stays one, and
the line after it is indented, so that it cannot be taken for a line of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.tool import origin_text

if TYPE_CHECKING:
    from tui_chat.models.blocks import CallBlock
    from tui_chat.models.tool import Tool


def exact_text(text: str) -> str:
    """Return a text of a stranger with everything in it that can be seen or obeyed."""
    return "\n  ".join(sanitize(line, "exact") for line in text.split("\n"))


def question_text(call: CallBlock, tool: Tool | None) -> tuple[tuple[str, bool], ...]:
    """Return what would run and with what, in pieces; True with those that matter most."""
    name, arguments = exact_text(call.name), exact_text(call.arguments.strip() or "{}")
    source = None if tool is None else tool.definition.source
    if tool is not None and source is not None:
        claims = ", ".join(map(one_line, tool.claims)) or "nothing"
        return (
            (name, True),
            (f" is {one_line(origin_text(source))}: ", False),
            (exact_text(tool.runs), True),
            (f"\nThe server claims, unverified: {claims}.", False),
            (f"\nIt gets: {arguments}", False),
        )
    if tool is None or not tool.runs:
        words = f" has no command; the model calls it with: {arguments}"
        return ((name, True), (words, False))
    folder = f"\nin the folder: {exact_text(tool.folder)}" if tool.folder else ""
    return (
        (name, True),
        (" will run: ", False),
        (exact_text(tool.runs), True),
        (f"{folder}\nwith input: {arguments}", False),
    )
