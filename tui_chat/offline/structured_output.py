"""Structured output: what a request wants the answer to look like, and an answer that does."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from tui_chat.offline.models.toolsmith import sample_arguments
from tui_chat.offline.reply_pieces import Disconnect, Failure, Piece, Stall, TextPiece

_PLACES = (
    ("response_format", "json_schema", "schema"),
    ("text", "format", "schema"),
    ("output_config", "format", "schema"),
    ("output_format", "schema"),
    ("generationConfig", "responseJsonSchema"),
    ("generationConfig", "responseSchema"),
    ("generation_config", "response_schema"),
    ("format",),
)
"""Where requests of the protocols have the JSON schema of the answer."""
_JSON_MODES = (
    (("response_format", "type"), "json_object"),
    (("text", "format", "type"), "json_object"),
    (("generationConfig", "responseMimeType"), "application/json"),
    (("format",), "json"),
)
"""Where they ask for any JSON object."""
_ANY_OBJECT: Mapping[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}}


def wanted_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema that the answer has to fit; None if it may be any text."""
    for place in _PLACES:
        found = _at(body, place)
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
    if any(_at(body, place) == word for place, word in _JSON_MODES):
        return _ANY_OBJECT
    return None


def _at(body: Any, place: tuple[str, ...]) -> Any:
    for key in place:
        body = cast("dict[str, Any]", body).get(key) if isinstance(body, dict) else None
    return body


def obeying(pieces: Iterable[Piece], schema: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield a reply whose text is JSON that fits a schema: the model's own text if it is an object,
    else a sample. A reply without text stays as it is.
    """
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, TextPiece):
            texts.append(piece.text)
            continue
        if isinstance(piece, Disconnect | Stall | Failure) and texts:
            yield from map(TextPiece, texts)
            texts = []
        yield piece
    if texts:
        yield TextPiece(_fitting("".join(texts), schema))


def _fitting(text: str, schema: Mapping[str, Any]) -> str:
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    sample = sample_arguments(schema)
    if schema is _ANY_OBJECT:
        sample = {"answer": text}
    return json.dumps(sample, ensure_ascii=False)
