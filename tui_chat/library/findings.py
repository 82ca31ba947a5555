"""What there is to say about a file: each finding knows its line."""

from __future__ import annotations

from dataclasses import dataclass

from tui_chat.errors import InputError
from tui_chat.models.envelope import Level


@dataclass(frozen=True, slots=True)
class Finding:
    """A note about a place in a file."""

    level: Level
    code: str
    """Stable and greppable: `misspelled-key`, `unknown-anchor`, ..."""
    sentence: str
    """For a person."""
    path: str = "$"
    """The place as a JSON path: `$.presetMessages[0].role`."""
    line: int = 1
    """From 1."""
    column: int = 1
    """From 1, in characters."""


def as_error(findings: tuple[Finding, ...], source: str) -> InputError | None:
    """Return the first error among findings as an exception that tells file and place."""
    errors = [finding for finding in findings if finding.level is Level.ERROR]
    if not errors:
        return None
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    place = f"line {first.line}, column {first.column}"
    if first.code == "not-json":
        return InputError(f"{source}: {place}: {first.sentence}")
    return InputError(f"{source}: {first.path} ({place}): {first.sentence}{more}")
