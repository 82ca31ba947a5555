"""Read a reply: from bytes, or one event of a stream, to JSON objects, then to our events.

`load_body` and `load_event` parse JSON and raise what the provider reports as an error.
`ReplyEvents` collects what one event of a stream contains, in the same way for all protocols: text
is made valid UTF-8, blocks and calls are numbered in order of arrival, and a reply that stopped for
tool calls gets that finish reason.

A stream may hold several replies, of a gateway that runs tools itself: one with another id, after
the end of the one before, continues that in a new paragraph.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import ClassVar, TypeAlias

from tui_chat.errors import ProviderError, ReplyCut, TooLarge
from tui_chat.models.blocks import Extras, MediaBlock, MediaKind, OpaqueBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_objects,
    as_string,
    decode_lenient,
    to_json,
)
from tui_chat.models.media import detect_mime_of_base64, kind_of, known_mime, standard_base64
from tui_chat.models.message import (
    MOST_SOURCES,
    TITLE_LENGTH,
    Source,
    found_source,
    web_address,
)
from tui_chat.models.reply import (
    Finished,
    FinishReason,
    MediaPart,
    OtherBlock,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    SourceFound,
    Started,
    StreamEvent,
    TextDelta,
    TokensReported,
    ToolCallDelta,
    UsageReport,
    advance,
)
from tui_chat.models.sanitize import one_line as readable_line
from tui_chat.models.text import clean
from tui_chat.models.token_probabilities import TokenProbability
from tui_chat.models.usage import NO_USAGE, Usage
from tui_chat.protocols.common.error_body import (
    ErrorBody,
    error_in_text,
    find_error,
    one_line,
    stream_error,
)

_DATA_URL = re.compile(r"data:([\w.+/;= -]{0,200}?);base64,", re.ASCII | re.IGNORECASE)

_Channel: TypeAlias = str | tuple[str, int]
"""The place that a delta belongs to: text, refusal, or one block or call."""


class ReplyEvents:
    """The events of one reply; `drain` returns those since the last time.

    A character beyond the BMP may be cut between two deltas by a gateway that counts in UTF-16.
    Its first half is held back until the second half, other text or the end comes.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._out: list[StreamEvent] = []
        self._held: dict[_Channel, str] = {}
        self._calls: dict[Hashable, int] = {}
        self._blocks: dict[Hashable, int] = {}
        self._extras: dict[_Channel, Extras] = {}
        """Those of blocks and calls so far."""
        self._model = self._id = self._last_id = ""
        self._is_next = False
        """True if the next text is that of another reply."""
        self._usage = NO_USAGE
        self.began = False
        """True if any part of the reply has arrived."""
        self.ended = False
        """True if the provider has sent a finish reason."""
        self._has_other = self._refused = False
        self._last_text: str = ""
        self._sources: dict[int, Source] = {}
        self._source_numbers: dict[Hashable, int] = {}
        """Numbers by address and, where the provider numbers them, by its own number."""
        self._consulted: dict[str, Source] = {}

    def drain(self) -> list[StreamEvent]:
        """Return the events since the last time."""
        out, self._out = self._out, []
        return out

    def start(self, model: str, id: str) -> None:
        """Add the start of the reply, or its model or id if they are known only now."""
        self._is_next = self._is_next or (self.ended and bool(id) and id != self._last_id)
        self._last_id = id or self._last_id
        if self.began and (not model or self._model) and (not id or self._id):
            return
        self.began = True
        self._model = self._model or model
        self._id = self._id or id
        self._out.append(Started(self._model, self._id))

    @property
    def has_text(self) -> bool:
        """True if text or a refusal has come."""
        return bool(self._last_text) or self._refused

    @property
    def has_content(self) -> bool:
        """True if anything of the reply has come."""
        return self.has_text or self._has_other

    def begin_next(self) -> None:
        """Begin another reply in the same stream, which continues this one. Raises ReplyCut if this
        one has not ended: providers do not go on from where another attempt stopped.
        """
        if self.has_content and not self.ended:
            raise ReplyCut(
                "The provider began the reply again before it had ended.",
                advice="What came before it is kept; send again for a whole reply.",
            )

    def rename(self, id: str) -> None:
        """Change the id of the reply to that of the last of several, which can be continued."""
        if id and id != self._id and self.began:
            self._id = id
            self._out.append(Started(self._model, id))

    def add_text(
        self, text: str, keys: JsonObject | None = None, form: str = "", *, is_whole: bool = False
    ) -> None:
        """Add text. One with keys for its extras begins, and `is_whole` if nothing follows."""
        text = self._join_surrogates("text", text)
        if text and self._is_next:
            if self._last_text:
                text = ("\n" if self._last_text.endswith("\n") else "\n\n") + text
            self._is_next = self.ended = False
        if text or keys:
            self._last_text = text or self._last_text
            extras = Extras(self._protocol, form, _stored(keys)) if form or keys else None
            self._out.append(TextDelta(text, extras, is_whole))

    def add_refusal(self, text: str) -> None:
        """Add text of a refusal."""
        if text := self._join_surrogates("refusal", text):
            self._refused = True
            self._out.append(RefusalDelta(text))

    def block_index(self, key: Hashable) -> int:
        """Return the number of a reasoning block, a new one where the key is new."""
        self._has_other = True
        return self._blocks.setdefault(key, len(self._blocks))

    def add_reasoning(
        self,
        index: int,
        text: str = "",
        *,
        signature: str = "",
        form: str = "",
        keys: JsonObject | None = None,
    ) -> None:
        """Add to the reasoning block `index`, and to its extras."""
        channel = ("reasoning", index)
        text, extras = self._join_surrogates(channel, text), self._grown(channel, form, keys)
        self._out.append(ReasoningDelta(index, text, signature, extras))

    def _grown(self, channel: _Channel, form: str, keys: JsonObject | None) -> Extras | None:
        """Return the extras of a block or call with more keys; None if nothing is new. What is
        empty replaces nothing.
        """
        if not (form or keys):
            return None
        before = self._extras.get(channel) or Extras(self._protocol)
        new = {key: value or before.keys.get(key, value) for key, value in _stored(keys).items()}
        extras = Extras(self._protocol, form or before.form, {**before.keys, **new})
        if extras == before:
            return None
        self._extras[channel] = extras
        return extras

    def call_index(self, key: Hashable) -> int:
        """Return the number of a tool call, a new one where the key is new."""
        self._has_other = True
        return self._calls.setdefault(key, len(self._calls))

    def add_tool_call(
        self,
        index: int,
        arguments: str = "",
        *,
        id: str = "",
        name: str = "",
        form: str = "",
        keys: JsonObject | None = None,
        resets: bool = False,
    ) -> None:
        """Add to the tool call `index` and its extras; with `resets`, its arguments begin again."""
        channel = ("call", index)
        arguments = self._join_surrogates(channel, arguments)
        extras = self._grown(channel, form, keys)
        self._out.append(ToolCallDelta(index, id, name, arguments, extras, resets))

    def add_other(self, name: str, value: object, form: str = "") -> None:
        """Add a whole block that only the provider understands."""
        self._has_other = True
        text = to_json(value)
        extras = Extras(self._protocol, form) if form else None
        block = OpaqueBlock(self._protocol, name, json.loads(text), extras)
        self._out.append(OtherBlock(block, len(text)))

    def add_media(
        self,
        data: str,
        mime: str = "",
        *,
        kind: MediaKind | None = None,
        name: str = "",
        form: str = "",
        keys: JsonObject | None = None,
    ) -> None:
        """Add a whole picture, sound or file as base64, which is checked: what is not base64 is
        added as damaged. Of an unknown type, the first bytes tell it, else it is of `kind`.
        """
        whole = standard_base64(data) if len(data) % 4 == 0 else ""
        mime = known_mime(mime) or (detect_mime_of_base64(whole) if whole else "")
        kind = kind_of(mime) if mime or kind is None else kind
        name = readable_line(name, TITLE_LENGTH)
        extras = Extras(self._protocol, form, _stored(keys)) if form or keys else None
        part = MediaBlock(kind, mime, data=whole, name=name, extras=extras)
        self._has_other = True
        self._out.append(MediaPart(part))

    def add_picture(self, url: str) -> None:
        """Add a picture whose address is a data URL, or a link, which is kept as such."""
        match = _DATA_URL.match(url)
        if match is None and (address := web_address(url)):
            self._has_other = True
            self._out.append(MediaPart(MediaBlock("image", url=address)))
            return
        head, data = (match[1], url[match.end() :]) if match else ("", "")
        self.add_media(data, head, kind="image")

    def add_source(
        self, title: str = "", url: str = "", file: str = "", *, key: Hashable = None
    ) -> None:
        """Add a source, or what is new of a known one.

        `key` identifies it where the provider numbers its sources; else its address or file does.
        """
        source = found_source(title, url, file)
        key = key or _source_key(source)
        index = self._source_numbers.get(key, len(self._sources))
        if index >= MOST_SOURCES:
            return
        self._source_numbers[key] = index
        if source.url:
            self._source_numbers.setdefault(source.url, index)
        before = self._sources.setdefault(index, Source())
        if source != before:
            self._sources[index] = source
            self._out.append(SourceFound(index, source))

    def add_consulted(self, title: str = "", url: str = "", file: str = "") -> None:
        """Add a source that the provider read. Those that are never cited come last."""
        if len(self._consulted) < MOST_SOURCES:
            source = found_source(title, url, file)
            self._consulted.setdefault(_source_key(source), source)

    def add_tokens(self, tokens: Iterable[TokenProbability]) -> None:
        """Add the probabilities of tokens of the text."""
        if reported := tuple(tokens):
            self._out.append(TokensReported(reported))

    def set_usage(self, usage: Usage) -> None:
        """Set the usage so far; some providers repeat it with every chunk."""
        if usage != self._usage or usage.cost != self._usage.cost:
            self._usage = usage
            self._out.append(UsageReport(usage))

    def finish(self, reason: FinishReason, raw: str, detail: str = "") -> None:
        """End the reply. Some providers always say `stop`; the content decides what that means."""
        self.flush()
        for key, source in self._consulted.items():
            if key not in self._source_numbers:
                self.add_source(source.title, source.url, source.file)
        self._consulted = {}
        if reason == "stop" and self._calls:
            reason = "tool_calls"
        elif reason == "stop" and self._refused and not self._last_text:
            reason = "refusal"
        self.began = self.ended = True
        self._out.append(Finished(reason, raw, detail))

    def flush(self) -> None:
        """Add the halves of characters whose other half never came."""
        held, self._held = self._held, {}
        for channel, half in held.items():
            text = clean(half)
            match channel:
                case ("reasoning", index):
                    self._out.append(ReasoningDelta(index, text))
                case (_, index):
                    self._out.append(ToolCallDelta(index, arguments=text))
                case "refusal":
                    self._out.append(RefusalDelta(text))
                case _:
                    self._out.append(TextDelta(text))

    def _join_surrogates(self, channel: _Channel, text: str) -> str:
        if text and (self._held or not text.isascii()):
            text = self._held.pop(channel, "") + text
            if "\ud800" <= text[-1] <= "\udbff":
                self._held[channel] = text[-1]
                text = text[:-1]
            text = clean(text)
        return text


def _stored(keys: JsonObject | None) -> JsonObject:
    """Return keys as they can be stored: no halves of characters, and null for infinity."""
    return json.loads(to_json(keys)) if keys else {}


def _source_key(source: Source) -> str:
    return source.url or source.file or source.title


class ReplyReader(ABC):
    """The part that the parsers of all protocols share. One reader reads one reply."""

    protocol: ClassVar[Protocol]

    def __init__(self) -> None:
        self._events = ReplyEvents(self.protocol)
        self._failure: ProviderError | None = None
        """What ended the reply, if events of ours came before it in the same data."""
        self._unread: JsonObject | None = None
        """The last object that was no part of a reply and has the words of an error."""

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one event of the stream. Raises Refused, ReplyCut."""
        if self._failure is not None:
            raise self._failure
        try:
            for chunk in load_event(event, data, whole=self._events.ended):
                if is_foreign(chunk):
                    self._unread = chunk
                else:
                    self.take_in(chunk, event)
        except ProviderError as error:
            if not (events := self._events.drain()):
                raise
            self._failure = error
            return events
        return self._events.drain()

    def close(self) -> Sequence[StreamEvent]:
        """Check that the reply ended with its stream. Raises Refused, ReplyCut if it did not."""
        if self._failure is not None:
            raise self._failure
        if not self._events.ended:
            self.raise_unread()
            began = self._events.began or self._events.has_content
            place = "in the middle of the reply" if began else "before the reply began"
            advice = "What came is kept; send again for a whole reply." if began else "Send again."
            raise ReplyCut(f"The connection ended {place}.", advice=advice)
        return ()

    def raise_unread(self) -> None:
        """Raise the error that an object of the stream described without being marked as one."""
        if self._unread is not None:
            raise stream_error(find_error(self._unread) or ErrorBody())

    @abstractmethod
    def take_in(self, chunk: JsonObject, event: str = "") -> None:
        """Read one object of a stream; `event` is the name of its event, if it has one."""

    def finish(self) -> Reply:
        """Return the reply of an answer that came whole and has been taken in."""
        if not self._events.ended:
            self._events.finish("stop", "")
        reply = Reply()
        for event in self._events.drain():
            reply = advance(reply, event)
        return reply


def load_body(body: bytes) -> object:
    """Parse a whole answer. Raises ReplyCut if it is not JSON, Refused if it is an error."""
    text = body.decode("utf-8-sig", "replace")
    try:
        value = decode_lenient(text)
    except ValueError:
        _, is_page, page = error_in_text(text).message.partition("it answered with ")
        excerpt, sentence = one_line(text, 120), "The answer is empty."
        if is_page:
            sentence = f"The answer is not JSON, but {one_line(page, 120)}."
        elif excerpt:
            sentence = f"The answer is not JSON: “{excerpt}”."
        raise ReplyCut(sentence, advice=_CHECK_URL) from None
    for answer in (as_object(value), *map(as_object, as_array(value))):
        _raise_for_error(answer)
    return value


_CHECK_URL = "Check that the base URL is that of the API and the protocol fits it."


def load_event(event: str, data: str, *, whole: bool) -> list[JsonObject]:
    """Return the objects in one event of a stream: one, as a rule, or none.

    `whole` is true if the reply has already ended: then what is not JSON is ignored. Raises
    Refused where the provider reports an error, ReplyCut where the data is not JSON: text may
    be missing then, and the reader must know.
    """
    data = data.strip()
    if not data or data == "[DONE]":
        return []
    try:
        values = [decode_lenient(data)]
    except ValueError:  # a server may not have separated its events
        lines = [line for line in data.split("\n") if line.strip() not in ("", "[DONE]")]
        values = list[object]()
        with suppress(ValueError):
            values = [decode_lenient(line) for line in lines]
    if not values:
        if event == "error":
            raise stream_error(error_in_text(data))
        if whole or not {event.lower(), data.lower()}.isdisjoint(_SIGNS_OF_LIFE):
            return []
        raise ReplyCut(
            f"The provider sent a piece of the reply that cannot be read: “{one_line(data, 120)}”.",
            advice="What came before it is kept; send again for a whole reply.",
        )
    values = [{"message": value} if isinstance(value, str) else value for value in values]
    chunks = [chunk for v in values for chunk in as_objects(v) or [as_object(v)]]
    for chunk in chunks:
        if event == "error":
            raise stream_error(find_error(chunk) or error_in_text(data))
        _raise_for_error(chunk)
    return chunks


_SIGNS_OF_LIFE = frozenset({"ping", "keepalive", "keep-alive", "keep_alive", "heartbeat"})
"""Events, by name or text, that a gateway sends so that the connection stays open."""
_ERROR_WORDS = ("detail", "errors", "error_message", "error_msg", "fault")
_ERROR_SIGNS = ("code", "status_code", "error_code", "type")
_SUCCESS = ("none", "", "0", "200", "ok", "success")
_REPLY_KEYS = frozenset(
    {"choices", "candidates", "content", "delta", "done", "message_stop", "model", "output"}
    | {"promptFeedback", "response", "sequence_number", "usage", "usageMetadata"}
)
"""Keys of a part of a reply in any protocol, beside which a message is not an error's."""


def _raise_for_error(chunk: JsonObject) -> None:
    error, kind = chunk.get("error"), chunk.get("type")
    is_error = error or "error" in (kind, chunk.get("object"))  # `object`: vLLM
    is_error = is_error or as_count(as_object(chunk.get("base_resp")).get("status_code"))  # MiniMax
    if not is_error and is_foreign(chunk):
        has_sign = any(str(chunk.get(key)).lower() not in _SUCCESS for key in _ERROR_SIGNS)
        is_error = has_sign or any(chunk.get(key) for key in _ERROR_WORDS)
    if is_error:
        raise stream_error(find_error(chunk) or ErrorBody())


def is_foreign(chunk: JsonObject) -> bool:
    """Return True for an object that is no part of a reply and has the words of an error."""
    if not _REPLY_KEYS.isdisjoint(chunk):
        return False
    kind = as_string(chunk.get("type"))
    if kind and not kind.lower().endswith(("error", "exception")):
        return False
    error = find_error(chunk)
    return error is not None and bool(error.message)


def not_a_reply(answer: object) -> ReplyCut:
    """Return the error for JSON that is not a reply of the protocol."""
    error = find_error(answer)
    detail = f": {error.message}" if error and error.message else "."
    return ReplyCut(f"The answer is JSON, but not a reply{detail}", advice=_CHECK_URL)


def too_large(what: str, most: int, unit: str) -> TooLarge:
    """Return the error for something that a parser keeps until it is whole, and that has no end."""
    return TooLarge(
        f"The {what} have more than {most:,} {unit}; what came before that is kept.",
        advice="Send again for a whole reply.",
    )
