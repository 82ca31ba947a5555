"""Origins of what a request has beside its texts, and notes of all encoders."""

from __future__ import annotations

from tui_chat.models.envelope import Level, Note
from tui_chat.models.text import GLUE, Origin, OriginKind

FILLER = "."
"""The smallest text that every provider accepts where it demands one and nobody wrote any."""


def field_origin(origin: Origin, what: str) -> Origin:
    """Return the origin of a field of a message that is not its text: an id, the arguments of a
    call, the bytes of a picture. It leads to the message by its id and by `within`.
    """
    return Origin(origin.kind, origin.id, what, within=origin)


def default_origin(name: str, why: str) -> Origin:
    """Return the origin of a setting that we send although it is not set."""
    return Origin(OriginKind.SETTING, name, f"{name}: {why}")


def captured_origin(name: str) -> Origin:
    """Return the origin of a setting that is passed on from a captured request."""
    return Origin(OriginKind.SETTING, name, f"{name}, from the captured request")


URL_MODEL = Origin(OriginKind.SETTING, "model", "model, from the URL")
"""The origin of a model that the URL of a captured request names."""


def is_captured(origin: Origin) -> bool:
    """Return True for the origin of a setting that a captured request has, or its URL."""
    return origin in (captured_origin(origin.id), URL_MODEL)


def tool_origin(name: str) -> Origin:
    """Return the origin of a tool's definition."""
    return Origin(OriginKind.TOOL, name)


NOTHING_TO_SEND = Note(Level.ERROR, "nothing-to-send", "There is no message to send yet.")


def filler_note(why: str) -> Note:
    """Return the note on a message that is added."""
    sentence = f"The user message “{FILLER}” is added: {why}."
    return Note(Level.WARNING, "filler-added", sentence, GLUE)
