"""From bytes, or one event of a stream, to JSON objects; errors on the way are raised."""

from __future__ import annotations

from tui_chat.errors import ReplyCut, TooLarge
from tui_chat.protocols.complaint import Complaint, find_complaint, one_line
from tui_chat.protocols.lenient import JsonObject, items, load, mapping
from tui_chat.protocols.refusals import broke_off


def read_body(body: bytes) -> object:
    """Parse an answer that came whole. Raises ReplyCut where it is not JSON, and Refused where
    it is an error in spite of its status.
    """
    text = body.decode("utf-8-sig", "replace")
    try:
        value = load(text)
    except ValueError:
        raise ReplyCut(
            f"The answer is not JSON: “{excerpt}”."
            if (excerpt := one_line(text, 120))
            else "The answer is empty.",
            advice="Check that the base URL is that of the API and the protocol fits it.",
        ) from None
    for answer in (mapping(value), *map(mapping, items(value)[:1])):
        _check(answer)
    return value


def chunks_of(event: str, data: str, *, whole: bool) -> list[JsonObject]:
    """Return the objects in one event of a stream: one, as a rule, or none.

    `whole` says that the reply has already ended, so that rubbish can be passed over. Raises
    Refused where the provider reports an error, ReplyCut where the data is not JSON: text may
    be missing then, and the reader must know.
    """
    data = data.strip()
    if not data or data == "[DONE]":
        return []
    try:
        value = load(data)
    except ValueError:
        if event == "error":
            raise broke_off(Complaint(one_line(data))) from None
        if whole:
            return []
        raise ReplyCut(
            f"The provider sent a piece of the reply that cannot be read: “{one_line(data, 120)}”.",
            advice="What came before it is kept; send again for a whole reply.",
        ) from None
    found = [mapping(each) for each in items(value) or [value]]
    for chunk in found:
        if event == "error":
            raise broke_off(find_complaint(chunk) or Complaint(one_line(data)))
        _check(chunk)
    return found


def _check(chunk: JsonObject) -> None:
    error = chunk.get("error")
    if error or "error" in (chunk.get("type"), chunk.get("object")):  # `object`: vLLM
        raise broke_off(find_complaint(chunk) or Complaint())


def no_reply(answer: object) -> ReplyCut:
    """Return the error for JSON that is not a reply of the protocol."""
    said = find_complaint(answer)
    words = f": {said.words}" if said and said.words else "."
    return ReplyCut(
        f"The answer is JSON, but no reply{words}",
        advice="Check that the base URL is that of the API and the protocol fits it.",
    )


def too_much(what: str, most: int, unit: str) -> TooLarge:
    """Return the error for something that a parser keeps until it is whole, and that has no end."""
    return TooLarge(
        f"The {what} have more than {most:,} {unit}; what came before that is kept.",
        advice="Send again for a whole reply.",
    )


def cut(*, began: bool) -> ReplyCut:
    """Return the error for a stream that ended before the reply did."""
    return ReplyCut(
        "The connection ended in the middle of the reply."
        if began
        else "The connection ended before the reply began.",
        advice="What came is kept; send again for a whole reply." if began else "Send again.",
    )
