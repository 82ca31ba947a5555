"""Replies of generateContent and streamGenerateContent.

1. Every event of a stream is a whole GenerateContentResponse; its texts are deltas, its function
   calls are whole, and its usage counts from the beginning, so the last one is valid.
2. A `thoughtSignature` belongs to its own part only, and may come with an empty text.
   Adjacent thoughts are one block until one of them is signed.
3. On Vertex a function call may come in partial arguments, by JSON path.
4. A picture or sound is a whole part. A part without a unified form (code that the model ran) is
   kept whole.
5. `candidatesTokenCount` excludes thoughts; both are output.
6. Grounding and citations come with the last responses as a rule; of them the sources are read.
7. `logprobsResult` has the tokens of its response in one list and their alternatives in another;
   an impossible alternative has a number like -1e30.
8. The reply has ended when a `finishReason` was seen, or when the prompt was blocked and there
   will be no candidate. It is STOP for function calls too.

Arguments of a function call that arrive by JSON path.

Vertex streams `{"jsonPath": "$.recipe.items[0].name", "stringValue": "Pasta"}`; later
pieces with the same path continue a string. A path that cannot be followed becomes a key, so that
no value is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import (
    JsonObject,
    as_count,
    as_object,
    as_objects,
    as_raw_string,
    as_string,
    to_json,
)
from tui_chat.models.message import MOST_SOURCES
from tui_chat.models.reply import REPLY_SIZE, Reply
from tui_chat.models.reply_end import finish_reason
from tui_chat.models.token_probabilities import TokenProbability, received_token
from tui_chat.models.usage import Usage
from tui_chat.protocols.common.reply_events import ReplyReader, load_body, not_a_reply, too_large

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,4})\]|\[(?:"([^"]*)"|'([^']*)')\]""")
_MOST_STEPS = 64
_MOST_SKIPPED = 16
"""Places of an array that a path may leave empty. A path of 400 bytes could ask for 64 arrays of
10,000 places each."""

_UNSPECIFIED = ("", "FINISH_REASON_UNSPECIFIED")
_ASIDE = frozenset({"thought", "thoughtSignature", "videoMetadata", "partMetadata"})
"""Fields that describe a part and are not its content."""


class _PartialArguments:
    """The arguments of one call so far, joined on demand."""

    def __init__(self, begun: object = None) -> None:
        self._begun = as_object(begun)
        self._values: dict[str, list[object]] = {}
        """What came, by path, in order of arrival; texts are pieces of one."""
        self._size = 0

    def add(self, piece: JsonObject) -> None:
        """Add one of `partialArgs`. Raises TooLarge if there are too many."""
        path, text = (as_raw_string(piece.get(key)) for key in ("jsonPath", "stringValue"))
        self._size += len(path) + len(text)
        if self._size > REPLY_SIZE:
            raise too_large("arguments of a tool call", REPLY_SIZE, "characters")
        kinds = ("stringValue", "numberValue", "boolValue", "nullValue")
        if kind := next((kind for kind in kinds if kind in piece), ""):
            value = text if kind == "stringValue" else piece[kind]
            self._values.setdefault(path, []).append(None if kind == "nullValue" else value)

    def whole(self) -> dict[str, object]:
        """Return the arguments."""
        arguments = dict(self._begun)
        for path, values in self._values.items():
            texts = [value for value in values if isinstance(value, str)]
            value = "".join(texts) if len(texts) == len(values) else values[-1]
            steps = _steps(path)
            if not steps or not _put(arguments, steps, value):
                arguments[path] = value
        return arguments


def _steps(path: str) -> list[str | int]:
    """Return the keys and indices of a path; none if it cannot be followed."""
    steps: list[str | int] = []
    path, position = path[1:] if path.startswith("$") else f".{path}", 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None or len(steps) == _MOST_STEPS:
            return []
        plain, index, double, single = step.groups()
        steps.append(int(index) if index is not None else plain or double or single or "")
        position = step.end()
    return steps


def _put(root: dict[str, object], steps: list[str | int], value: object) -> bool:
    """Set the value at the end of the path; False if another value is in the way."""
    here = cast("object", root)
    empty: object
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        empty = [] if isinstance(following, int) else {}
        if isinstance(step, str) and isinstance(here, dict):
            table = cast("dict[str, object]", here)
            if following is None:
                table[step] = value
            here = table.setdefault(step, empty)
        elif isinstance(step, int) and isinstance(here, list):
            row = cast("list[object]", here)
            if step - len(row) > _MOST_SKIPPED:
                return False
            row.extend([None] * (step + 1 - len(row)))
            if following is None:
                row[step] = value
            elif row[step] is None:
                row[step] = empty
            here = row[step]
        else:
            return False
    return True


class ReplyParser(ReplyReader):
    """Reads one streamed reply."""

    protocol = Protocol.GEMINI

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0
        self._thoughts = 0
        self._thinking = False
        self._partial: _PartialArguments | None = None
        self._counts: dict[str, int] = {}

    def take_in(self, chunk: JsonObject, event: str = "") -> None:
        """Read one response, of a stream or whole."""
        response = _response(chunk)
        candidates = as_objects(response.get("candidates"))
        feedback = as_object(response.get("promptFeedback"))
        if candidates or feedback or "usageMetadata" in response:
            self._events.start(
                as_string(response.get("modelVersion")), as_string(response.get("responseId"))
            )
        for candidate in candidates:
            if as_count(candidate.get("index")) in (None, 0):
                self._candidate(candidate)
        if (blocked := as_string(feedback.get("blockReason"))) and not candidates:
            detail = as_string(feedback.get("blockReasonMessage"))
            self._events.finish("content_filter", blocked, detail)
        self._usage(as_object(response.get("usageMetadata")))

    def finish(self) -> Reply:
        """Return the reply of an answer that came whole and has been taken in."""
        if not self._events.ended:
            self._settle()
        return super().finish()

    def _candidate(self, candidate: JsonObject) -> None:
        for part in as_objects(as_object(candidate.get("content")).get("parts")):
            self._part(part)
        if "logprobsResult" in candidate:
            self._events.add_tokens(_tokens(as_object(candidate.get("logprobsResult"))))
        if not _REFERENCES.isdisjoint(candidate):
            self._read_references(candidate)
        raw = as_string(candidate.get("finishReason"))
        if raw not in _UNSPECIFIED:
            self._settle()
            detail = as_string(candidate.get("finishMessage"))
            self._events.finish(finish_reason(raw), raw, detail)

    def _read_references(self, candidate: JsonObject) -> None:
        grounding = as_object(candidate.get("groundingMetadata"))
        for chunk in as_objects(grounding.get("groundingChunks"))[:MOST_SOURCES]:
            source = as_object(next((chunk[kind] for kind in _GROUNDS if kind in chunk), None))
            file = as_string(source.get("documentName")) or as_string(source.get("fileSearchStore"))
            title, uri = as_string(source.get("title")), as_string(source.get("uri"))
            self._events.add_source(title, uri, file, key=None if uri else (title, file))
        cited = as_object(candidate.get("citationMetadata"))
        listed = as_objects(cited.get("citationSources")) or as_objects(cited.get("citations"))
        for source in listed[:MOST_SOURCES]:
            uri, title = as_string(source.get("uri")), as_string(source.get("title"))
            if uri or title:
                self._events.add_source(title, uri)
        fetched = as_object(candidate.get("urlContextMetadata"))
        for page in as_objects(fetched.get("urlMetadata"))[:MOST_SOURCES]:
            status = as_string(page.get("urlRetrievalStatus"))
            if status in ("", "URL_RETRIEVAL_STATUS_SUCCESS"):
                self._events.add_consulted("", as_string(page.get("retrievedUrl")))

    def _part(self, part: JsonObject) -> None:
        signature = as_string(part.get("thoughtSignature"))
        keys = {"thoughtSignature": signature} if signature else {}
        if part.get("thought") is True and "text" in part:
            self._thoughts += not self._thinking
            self._thinking = not keys
            number = self._events.block_index(self._thoughts)
            self._events.add_reasoning(number, as_raw_string(part.get("text")), keys=keys)
            return
        content, text = next((name for name in part if name not in _ASIDE), "text"), ""
        if content == "text":
            text = as_raw_string(part.get("text"))
            self._events.add_text(text, keys, is_whole=bool(keys))
        elif "functionCall" in part:
            self._call(as_object(part.get("functionCall")), keys)
        elif isinstance(as_object(part.get("inlineData")).get("data"), str):
            inline = as_object(part.get("inlineData"))
            others = {
                key: part[key] for key in part if key not in ("inlineData", "thoughtSignature")
            }
            if inner := {key: inline[key] for key in inline if key not in _INLINE_KEYS}:
                others["inlineData"] = inner
            data, mime, name = (as_string(inline.get(key)) for key in _INLINE_KEYS)
            self._events.add_media(data, mime, name=name, keys={**others, **keys})
        else:
            self._events.add_other(content, part)
        self._thinking = self._thinking and content == "text" and not text

    def _call(self, call: JsonObject, signed: JsonObject) -> None:
        name = as_string(call.get("name"))
        if name or not self._calls:
            self._settle()
            self._calls += 1
        number, id = self._events.call_index(self._calls), as_string(call.get("id"))
        more = call.get("willContinue") is True
        if more or "partialArgs" in call or self._partial is not None:
            if self._partial is None:
                self._partial = _PartialArguments(call.get("args"))
            for piece in as_objects(call.get("partialArgs")):
                self._partial.add(piece)
            self._events.add_tool_call(number, id=id, name=name, keys=signed)
            if not more:
                self._settle()
            return
        arguments = to_json(call.get("args") or {})
        self._events.add_tool_call(number, arguments, id=id, name=name, keys=signed)

    def _settle(self) -> None:
        """Add the arguments of a call that came in pieces."""
        if self._partial is not None:
            arguments, self._partial = self._partial.whole(), None
            self._events.add_tool_call(self._events.call_index(self._calls), to_json(arguments))

    def _usage(self, fields: JsonObject) -> None:
        for name in _COUNTED:
            number = as_count(fields.get(name))
            is_empty = number == fields.get("promptTokenCount") == 0  # some servers end with zeros
            if number is not None and not (is_empty and name in self._counts):
                self._counts[name] = number
        counts = self._counts
        output = [counts[n] for n in ("candidatesTokenCount", "thoughtsTokenCount") if n in counts]
        self._events.set_usage(
            Usage(
                input=counts.get("promptTokenCount"),
                output=sum(output) if output else None,
                cached=counts.get("cachedContentTokenCount"),
                reasoning=counts.get("thoughtsTokenCount"),
            )
        )


def _tokens(result: JsonObject) -> Iterator[TokenProbability]:
    """Yield the tokens of `logprobsResult`.

    https://ai.google.dev/api/generate-content#LogprobsResult
    """
    likely = as_objects(result.get("topCandidates"))
    for number, chosen in enumerate(as_objects(result.get("chosenCandidates"))):
        others = likely[number].get("candidates") if number < len(likely) else None
        alternatives = (
            (other.get("token"), other.get("logProbability")) for other in as_objects(others)
        )
        token = received_token(chosen.get("token"), chosen.get("logProbability"), alternatives)
        if token is not None:
            yield token


_INLINE_KEYS = ("data", "mimeType", "displayName")
_REFERENCES = frozenset({"groundingMetadata", "citationMetadata", "urlContextMetadata"})
"""Fields of a candidate that tell what it rests on."""
_GROUNDS = ("web", "retrievedContext", "maps", "image")
"""Kinds of grounding chunks."""


_COUNTED = (
    "promptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "cachedContentTokenCount",
)


def _response(value: JsonObject) -> JsonObject:
    """Return a response without the envelope that Code Assist puts around it."""
    return as_object(value.get("response")) or value


def read_reply(body: bytes) -> Reply:
    """Read an answer that came whole; a stream without `alt=sse` is a list of responses."""
    answer = load_body(body)
    responses = [_response(each) for each in as_objects(answer) or [as_object(answer)]]
    if not any("candidates" in r or "promptFeedback" in r for r in responses):
        raise not_a_reply(answer)
    parser = ReplyParser()
    for response in responses:
        parser.take_in(response)
    return parser.finish()
