"""Replies of the Chat Completions API, and of the many servers that imitate it.

1. A chunk's `delta` and a whole answer's `message` have one form and are read by one function.
   Perplexity always sends both: in a whole answer the `message` counts and the delta is empty,
   in a stream the `message` repeats the deltas so far.
2. Only choice 0 is read. Text may come as a string or as typed parts.
3. Tool calls are distinguished by `index`. If it is missing, or one index comes with a second id
   and name, the id begins a new call.
4. Reasoning has a vendor's name: `reasoning_content`, `reasoning`, or OpenRouter's
   `reasoning_details`, which repeat `reasoning` and win over it.
5. Sources come as `annotations` of the text (OpenAI, OpenRouter), or beside the choices, again
   with every chunk (Perplexity, xAI): the text refers to those by their number.
6. A chunk with another id and a role begins a second reply in the same stream; see `reply_events`.
   A server whose ids change with every chunk has none that tell: an id counts once it has come
   twice, or with the reply's end.
7. OpenRouter's pictures are in `images`, some servers' among the parts. A sound comes as one object
   or in pieces, each with its own base64; its transcript is the text. It is added at the end.
8. `logprobs` stand beside `delta` or `message`. Servers that send them for reasoning, too (vLLM),
   put its tokens into chunks of their own, which are left out; DeepSeek has a list for it.
9. The reply has ended when a `finish_reason` was seen or `[DONE]` came. Usage comes after that,
   in a chunk without choices. An empty `finish_reason` does not count.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import replace

from tui_chat.models.citations import MOST_SOURCES
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_objects,
    as_raw_string,
    as_string,
    to_json,
)
from tui_chat.models.media import detect_mime
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import MEDIA_SIZE
from tui_chat.models.stream_events import FinishReason, StreamEvent
from tui_chat.models.usage import Usage
from tui_chat.protocols.common.error_body import find_error, stream_error
from tui_chat.protocols.common.openai import add_annotation
from tui_chat.protocols.common.reply_events import ReplyReader, load_body, not_a_reply, too_large
from tui_chat.protocols.common.token_lists import read_token_arrays, read_tokens

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}

_LEGACY = -1
"""The index of a `function_call` from before there were `tool_calls`."""

_SOURCES = frozenset({"search_results", "citations"})
"""Fields beside the choices that list sources."""

_PLAIN_REASONING = ("reasoning_content", "reasoning")


class ReplyParser(ReplyReader):
    """Reads one streamed reply."""

    def __init__(self) -> None:
        super().__init__()
        self._ids: list[str] = []
        """The ids of the calls so far, by our numbers."""
        self._numbers: dict[int, int] = {}
        """Our number by the provider's index."""
        self._done = False
        self._has_deltas = False
        """True if a delta has had content yet, so that a message would only repeat it."""
        self._pictures: set[int] = set()
        """Hashes of the pictures so far: some servers repeat them in the last chunk."""
        self._sound: list[str] = []
        """The pieces of a sound, in base64."""
        self._sound_size = 0
        """Their characters."""
        self._sound_id = ""
        self._sound_facts: dict[str, object] = {}
        self._listed: dict[int, str] = {}
        """Titles of the sources beside the choices, by their index."""
        self._id = ""
        self._chunks_of_id = 0
        self._is_next = False
        """True if the next content is that of another reply."""

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one event of the stream. Raises Refused, ReplyCut."""
        if data.strip() == "[DONE]":
            self._done = True
            if not self._events.ended:
                self.raise_unread()
                self._add_sound()
                self._events.finish("stop", "")
        elif not self._done:
            return super().feed(event, data)
        return self._events.drain()

    def take_in(self, chunk: JsonObject, event: str = "", *, is_whole: bool = False) -> None:
        """Read a chunk of a stream, or an answer that came whole."""
        choices = as_objects(chunk.get("choices"))
        usage = as_object(chunk.get("usage")) or as_object(
            as_object(chunk.get("x_groq")).get("usage")
        )
        if chunk.get("id") == self._id:
            self._chunks_of_id += 1
        elif choices and not is_whole:
            self._check_id(as_string(chunk.get("id")), choices)
        if choices or usage or "choices" in chunk:
            self._events.start(as_string(chunk.get("model")), as_string(chunk.get("id")))
        for choice in choices:
            if as_count(choice.get("index")) not in (None, 0):
                continue
            fields = self._new_fields(choice, is_whole=is_whole)
            if self._is_next and fields:
                self._begin_again()
                self._events.start(as_string(chunk.get("model")), self._id)
            self._delta(fields)
            if (logprobs := as_object(choice.get("logprobs"))) and _has_text(fields):
                self._events.add_tokens(read_tokens(logprobs.get("content")))
                self._events.add_tokens(read_tokens(logprobs.get("refusal")))
                self._events.add_tokens(read_token_arrays(logprobs))
            usage = usage or as_object(choice.get("usage"))
            if error := find_error(as_object(choice.get("error"))):  # OpenRouter
                raise stream_error(error)
            if raw := as_string(choice.get("finish_reason")):
                self._add_sound()
                self._events.finish(_REASONS.get(raw.lower(), "other"), raw)
        if not _SOURCES.isdisjoint(chunk):
            self._list_sources(chunk)
        if usage:
            tier = as_string(chunk.get("service_tier"))
            self._events.set_usage(replace(_usage(usage), tier=tier))

    def _check_id(self, id: str, choices: list[JsonObject]) -> None:
        """Expect another reply if the chunk has another id and a role."""
        if not id:
            return
        has_role = any(as_object(choice.get("delta")).get("role") for choice in choices)
        if self._id and has_role and (self._chunks_of_id > 1 or self._events.ended):
            self._is_next = True
        self._id, self._chunks_of_id = id, 1

    def _begin_again(self) -> None:
        self._is_next, self._numbers = False, {}
        if self._events.begin_again():
            self._ids, self._listed = [], {}
            self._pictures.clear()
        self._sound, self._sound_size, self._sound_id, self._sound_facts = [], 0, "", {}

    def _list_sources(self, chunk: JsonObject) -> None:
        """Read the sources beside the choices; a repeated one counts, as the text numbers them."""
        for name in sorted(_SOURCES, reverse=True):  # with their titles first
            for index, entry in enumerate(as_array(chunk.get(name))[: MOST_SOURCES + 1]):
                source = as_object(entry)
                title, url = as_string(source.get("title")), as_string(source.get("url"))
                url, listed_title = url or as_string(entry), self._listed.get(index)
                if url and (listed_title is None or title not in ("", listed_title)):
                    self._listed[index] = title
                    self._events.add_source(title, url, key=("listed", index))

    def _new_fields(self, choice: JsonObject, *, is_whole: bool) -> JsonObject:
        """Return the fields that a choice adds to the reply, from `delta` or `message`."""
        delta, message = _set_fields(choice.get("delta")), _set_fields(choice.get("message"))
        if is_whole:
            return delta | message
        if delta:
            self._has_deltas = True
            return delta
        # Without deltas, messages are all there is. Beside an empty delta, a message may be a
        # repetition of deltas to come, unless the reply ends here.
        last = choice.get("delta") is None or bool(as_string(choice.get("finish_reason")))
        return message if last and not self._has_deltas else {}

    def _delta(self, delta: JsonObject) -> None:
        self._reason(delta)
        google = as_object(as_object(delta.get("extra_content")).get("google"))
        content = delta.get("content")
        signature = as_string(google.get("thought_signature"))
        if parts := as_objects(content):
            self._parts(parts)
            self._events.add_text("", signature=signature)
        else:
            self._events.add_text(as_raw_string(content), signature=signature)
        if refusal := as_raw_string(delta.get("refusal")):
            self._events.add_refusal(refusal)
        for image in as_objects(delta.get("images")):
            self._picture(image)
        if sound := as_object(delta.get("audio")):
            self._hear(sound)
        for annotation in as_objects(delta.get("annotations")):
            add_annotation(self._events, annotation, self._events.part_start)
        for call in as_objects(delta.get("tool_calls")):
            self._call(call)
        if function := as_object(delta.get("function_call")):
            self._function(_LEGACY, "", function)

    def _parts(self, parts: list[JsonObject]) -> None:
        for part in parts:
            match part.get("type"):
                case "thinking":  # Mistral: text parts inside
                    for inner in as_objects(part.get("thinking")):
                        text = as_raw_string(inner.get("text"))
                        self._events.add_reasoning(
                            self._events.block_index("thinking"), text, kind="thinking"
                        )
                case "refusal":
                    self._events.add_refusal(as_raw_string(part.get("refusal")))
                case "image_url":
                    self._picture(part)
                case _:
                    self._events.add_text(as_raw_string(part.get("text")))

    def finish(self) -> Reply:
        """Return the reply of an answer that came whole and has been taken in."""
        self._add_sound()
        return super().finish()

    def _picture(self, image: JsonObject) -> None:
        url = as_string(as_object(image.get("image_url")).get("url"))
        if url and hash(url) not in self._pictures:
            self._pictures.add(hash(url))
            self._events.add_picture(url)

    def _hear(self, sound: JsonObject) -> None:
        """Read a sound or a piece of one."""
        self._events.add_text(as_raw_string(sound.get("transcript")))
        self._sound_id = self._sound_id or as_string(sound.get("id"))
        if (expires := as_count(sound.get("expires_at"))) is not None:
            self._sound_facts["expires_at"] = expires
        if data := as_string(sound.get("data")):
            self._sound_size += len(data)
            if self._sound_size > MEDIA_SIZE:
                raise too_large("sounds of the reply", MEDIA_SIZE, "characters")
            self._sound.append(data)

    def _add_sound(self) -> None:
        """Add the sound, which is whole now."""
        pieces, self._sound = self._sound, []
        if not pieces:
            return
        try:
            content = b"".join(b64decode(piece, validate=True) for piece in pieces)
        except ValueError:
            content = b""
        self._events.add_media(
            b64encode(content).decode(),
            detect_mime(content) or "audio/pcm",
            id=self._sound_id,
            extras=self._sound_facts,
        )

    def _reason(self, delta: JsonObject) -> None:
        spoke = False
        for detail in as_objects(delta.get("reasoning_details")):
            spoke = self._detail(detail) or spoke
        for field in () if spoke else _PLAIN_REASONING:
            if text := as_raw_string(delta.get(field)):
                self._events.add_reasoning(self._events.block_index(field), text, kind=field)
                break
        for block in as_objects(delta.get("thinking_blocks")):  # litellm, beside reasoning_content
            if signature := as_string(block.get("signature")):
                index = self._events.block_index(_PLAIN_REASONING[0])
                self._events.add_reasoning(index, signature=signature)

    def _detail(self, detail: JsonObject) -> bool:
        """Read one of OpenRouter's details. Return True if it had readable text."""
        kind = as_string(detail.get("type"))
        text = as_raw_string(detail.get("text")) or as_raw_string(detail.get("summary"))
        signature = as_string(detail.get("signature"))
        encrypted = as_string(detail.get("data"))
        if text or signature or encrypted:
            self._events.add_reasoning(
                self._events.block_index((kind, as_count(detail.get("index")))),
                text,
                signature=signature,
                encrypted=encrypted,
                id=as_string(detail.get("id")),
                kind=f"{kind} {as_string(detail.get('format'))}".strip(),
            )
        return bool(text)

    def _call(self, call: JsonObject) -> None:
        google = as_object(as_object(call.get("extra_content")).get("google"))
        self._function(
            as_count(call.get("index")),
            as_string(call.get("id")),
            as_object(call.get("function")),
            as_string(google.get("thought_signature")),
        )

    def _function(
        self, index: int | None, id: str, function: JsonObject, signature: str = ""
    ) -> None:
        fields = function.get("arguments")
        arguments = "" if fields is None else fields if isinstance(fields, str) else to_json(fields)
        name = as_string(function.get("name"))
        if arguments or name or id or signature:
            number = self._number(index, id, name)
            self._events.add_tool_call(number, arguments, id=id, name=name, signature=signature)

    def _number(self, index: int | None, id: str, name: str) -> int:
        """Return the number of the call that a delta belongs to."""
        again = False
        number = len(self._ids) - 1 if index is None else self._numbers.get(index, -1)
        if number >= 0:
            known_id = self._ids[number]
            other = bool(id and id != known_id)
            if index is None:
                again = other or bool(name and not id)
            else:
                again = other and bool(name and known_id)
        if number < 0 or again:
            number = self._events.call_index(len(self._ids))
            self._ids.append(id)
        self._ids[number] = self._ids[number] or id
        if index is not None:
            self._numbers[index] = number
        return number


def _set_fields(value: object) -> dict[str, object]:
    """Return the fields of a delta or message that have a value, without the role."""
    return {
        k: v for k, v in as_object(value).items() if k != "role" and v not in (None, "", [], {})
    }


def _has_text(fields: JsonObject) -> bool:
    """True if what was added is not reasoning alone."""
    return "content" in fields or not any(name in fields for name in _PLAIN_REASONING)


def _usage(fields: JsonObject) -> Usage:
    details = as_object(fields.get("prompt_tokens_details"))
    cached = as_count(details.get("cached_tokens"))
    if cached is None:
        cached = as_count(fields.get("prompt_cache_hit_tokens"))  # DeepSeek
    prompt, output = (
        as_count(fields.get("prompt_tokens")),
        as_count(fields.get("completion_tokens")),
    )
    reasoning = as_count(as_object(fields.get("completion_tokens_details")).get("reasoning_tokens"))
    total = as_count(fields.get("total_tokens"))
    # xAI counts reasoning beside the completion; its total gives it away.
    if reasoning and total and total == (prompt or 0) + (output or 0) + reasoning:
        output = (output or 0) + reasoning
    return Usage(
        input=prompt,
        output=output,
        cached=cached,
        cache_write=as_count(details.get("cache_write_tokens")),
        reasoning=reasoning,
    )


def read_reply(body: bytes) -> Reply:
    """Read a reply that came whole. Raises Refused, ReplyCut."""
    answer = as_object(load_body(body))
    if not as_array(answer.get("choices")):
        raise not_a_reply(answer)
    parser = ReplyParser()
    parser.take_in(answer, is_whole=True)
    return parser.finish()
