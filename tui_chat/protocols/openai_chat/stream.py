"""Replies of the Chat Completions API, and of the many servers that imitate it.

1. A chunk's `delta` and a whole answer's `message` have one form and are read by one function.
   Perplexity always sends both: in a whole answer the `message` counts and the delta is empty,
   in a stream the `message` repeats the deltas so far.
2. Only choice 0 is read. Text may come as a string or as typed parts.
3. Tool calls are distinguished by `index`. If it is missing, or one index comes with a second id
   and name after whole arguments, another call begins. Arguments that are whole already, or a
   placeholder, are replaced by what follows. A name may come in pieces, or last. Keys that we do
   not know stay with their call.
4. Reasoning has a vendor's name: `reasoning_content`, `reasoning`, `reasoning_text`. OpenRouter's
   `reasoning_details` and litellm's `thinking_blocks` repeat a plain one and win over it.
5. Sources come as `annotations` of the text (OpenAI, OpenRouter), or beside the choices, again
   with every chunk (Perplexity, xAI): the text refers to those by their number.
6. OpenRouter's pictures are in `images`, some servers' among the parts. A sound comes as one object
   or in pieces, each with its own base64; its transcript is the text. It is added at the end.
7. `logprobs` stand beside `delta` or `message`. Servers that send them for reasoning, too (vLLM),
   put its tokens into chunks of their own, which are left out; DeepSeek has a list for it.
8. The reply has ended when a `finish_reason` was seen or `[DONE]` came. Usage comes after that,
   in a chunk without choices. An empty `finish_reason` does not count.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Hashable, Sequence
from dataclasses import field, replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_objects,
    as_raw_string,
    as_string,
    decode_lenient,
    to_json,
)
from tui_chat.models.media import detect_mime
from tui_chat.models.message import MOST_SOURCES
from tui_chat.models.reply import MEDIA_SIZE, Reply, StreamEvent
from tui_chat.models.reply_end import finish_reason
from tui_chat.protocols.common.error_body import find_error, stream_error
from tui_chat.protocols.common.openai import add_annotation, read_tokens, read_usage
from tui_chat.protocols.common.reply_events import ReplyReader, load_body, not_a_reply, too_large
from tui_chat.protocols.openai_chat.messages import PLAIN_FIELDS

_LEGACY = -1
"""The index of a `function_call` from before there were `tool_calls`."""


class ReplyParser(ReplyReader):
    """Reads one streamed reply."""

    protocol = Protocol.OPENAI_CHAT

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[_CallSoFar] = []
        """By our numbers."""
        self._by_id: dict[str, int] = {}
        self._thinking: int | None = None
        """The block of plain reasoning that may grow."""
        self._details: dict[Hashable, int] = {}
        """Numbers of OpenRouter's details, by what tells them apart."""
        self._signed = 0
        """Blocks of it that are signed, and so at their end."""
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
        self._listed: dict[int, str] = {}
        """Titles of the sources beside the choices, by their index."""

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one event of the stream. Raises Refused, ReplyCut."""
        if data.strip().upper() in _DONE:
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
        groq = as_object(chunk.get("x_groq"))
        if error := find_error(groq) if groq.get("error") else None:
            raise stream_error(error)
        usage = as_object(chunk.get("usage")) or as_object(groq.get("usage"))
        if choices or usage or "choices" in chunk:
            self._events.start(as_string(chunk.get("model")), as_string(chunk.get("id")))
        for choice in choices:
            if as_count(choice.get("index")) not in (None, 0):
                continue
            fields = self._new_fields(choice, is_whole=is_whole)
            self._reason(fields, is_whole=is_whole)
            self._delta(fields, is_whole=is_whole)
            is_reasoning = "content" not in fields and any(name in fields for name in PLAIN_FIELDS)
            if (logprobs := as_object(choice.get("logprobs"))) and not is_reasoning:
                self._events.add_tokens(read_tokens(logprobs.get("content")))
                self._events.add_tokens(read_tokens(logprobs.get("refusal")))
            usage = usage or as_object(choice.get("usage"))
            if error := find_error(as_object(choice.get("error"))):  # OpenRouter
                raise stream_error(error)
            if raw := as_string(choice.get("finish_reason")):
                self._add_sound()
                self._events.finish(finish_reason(raw), raw)
        # Sources beside the choices, those with titles first; the text numbers repeated ones too.
        for name in ("search_results", "citations"):
            for index, entry in enumerate(as_array(chunk.get(name))[: MOST_SOURCES + 1]):
                source = as_object(entry)
                title, url = as_string(source.get("title")), as_string(source.get("url"))
                url, listed_title = url or as_string(entry), self._listed.get(index)
                if url and (listed_title is None or title not in ("", listed_title)):
                    self._listed[index] = title
                    self._events.add_source(title, url, key=("listed", index))
        if usage:
            tier = as_string(chunk.get("service_tier"))
            self._events.set_usage(replace(read_usage(usage), tier=tier))

    def _new_fields(self, choice: JsonObject, *, is_whole: bool) -> JsonObject:
        """Return the fields that a choice adds to the reply, from `delta` or `message`."""
        delta, message = (as_object(choice.get(name)) for name in ("delta", "message"))
        delta = {k: v for k, v in delta.items() if k != "role" and v not in _NOTHING}
        message = {k: v for k, v in message.items() if k != "role" and v not in _NOTHING}
        if is_whole:
            return delta | message
        if delta:
            self._has_deltas = True
            return delta
        # Without deltas, messages are all there is. Beside an empty delta, a message may be a
        # repetition of deltas to come, unless the reply ends here.
        last = choice.get("delta") is None or bool(as_string(choice.get("finish_reason")))
        return message if last and not self._has_deltas else {}

    def _delta(self, delta: JsonObject, *, is_whole: bool) -> None:
        google = as_object(as_object(delta.get("extra_content")).get("google"))
        content: object = delta.get("content")
        signature = as_string(google.get("thought_signature"))
        signed = {"extra_content": {"google": {"thought_signature": signature}}}
        keys, form = (signed, "content") if signature else (None, "")
        parts = [as_object(content)] if "type" in as_object(content) else as_objects(content)
        if texts := [text for text in as_array(content) if isinstance(text, str)]:
            content, parts = "".join(texts), []
        for part in parts:
            self._part(part)
        text = as_raw_string(content)
        self._events.add_text(text, keys, form, is_whole=bool(keys))
        if refusal := as_raw_string(delta.get("refusal")):
            self._events.add_refusal(refusal)
        for image in as_objects(delta.get("images")):
            self._picture(image)
        if sound := as_object(delta.get("audio")):
            self._events.add_text(as_raw_string(sound.get("transcript")))
            self._sound.append(as_string(sound.get("data")))
            self._sound_size += len(self._sound[-1])
            if self._sound_size > MEDIA_SIZE:
                raise too_large("sounds of the reply", MEDIA_SIZE, "characters")
        for annotation in as_objects(delta.get("annotations")):
            add_annotation(self._events, annotation)
        calls = delta.get("tool_calls")
        entries = as_objects(calls) or [call for call in (as_object(calls),) if call]
        for call in entries:
            self._call(call, is_apart=is_whole or (len(entries) > 1 and "index" not in call))
        if function := as_object(delta.get("function_call")):
            self._function(_LEGACY, "", function)

    def _part(self, part: JsonObject) -> None:
        match part.get("type"):
            case "thinking":  # Mistral: text parts inside; or a string, as in Anthropic's
                is_text = isinstance(part.get("thinking"), str)
                form, inner = "part with text" if is_text else "part", part.get("thinking")
                for piece in [{"text": inner}] if is_text else as_objects(inner):
                    self._events.add_reasoning(
                        self._events.block_index(form),
                        as_raw_string(piece.get("text")),
                        signature=as_string(part.get("signature")) if is_text else "",
                        form=form,
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

    def _add_sound(self) -> None:
        """Add the sound, which is whole now."""
        pieces, self._sound = list(filter(None, self._sound)), []
        if not pieces:
            return
        try:
            content = b"".join(b64decode(piece, validate=True) for piece in pieces)
        except ValueError:
            content = b""
        self._events.add_media(b64encode(content).decode(), detect_mime(content) or "audio/pcm")

    def _reason(self, delta: JsonObject, *, is_whole: bool) -> None:
        spoke = False
        for position, detail in enumerate(as_objects(delta.get("reasoning_details"))):
            spoke = self._detail(detail, position if is_whole else None) or spoke
        for block in as_objects(delta.get("thinking_blocks")):  # litellm: Anthropic's
            spoke = self._thinking_block(block) or spoke
        for name in () if spoke else PLAIN_FIELDS:
            if text := as_raw_string(delta.get(name)):
                self._thinking = self._events.block_index((name, self._signed))
                self._events.add_reasoning(self._thinking, text, form=name)
                break

    def _thinking_block(self, block: JsonObject) -> bool:
        """Read one of litellm's blocks or a piece of one. Return True if it had text."""
        text, signature = as_raw_string(block.get("thinking")), as_string(block.get("signature"))
        form, keys = "thinking", {"signature": signature}
        if data := as_string(block.get("data")):
            form, keys = "redacted_thinking", {"data": data}
            self._thinking, self._signed = None, self._signed + 1
        if text or signature or data:
            if self._thinking is None:
                self._thinking = self._events.block_index(("thinking", self._signed))
            self._events.add_reasoning(self._thinking, text, form=form, keys=keys)
        if signature or data:
            self._thinking, self._signed = None, self._signed + 1
        return bool(text)

    def _detail(self, detail: JsonObject, position: int | None) -> bool:
        """Read one of OpenRouter's details. Return True if it had readable text."""
        kind, index = as_string(detail.get("type")), as_count(detail.get("index"))
        text = as_raw_string(detail.get("text")) or as_raw_string(detail.get("summary"))
        signature = as_string(detail.get("signature"))
        texts = {name: as_string(detail.get(name)) for name in ("data", "id", "format")}
        if text or signature or texts["data"]:
            place = (kind, index if position is None else position, hash(texts["data"]))
            number = self._details.setdefault(place, len(self._details))
            keys = {name: text for name, text in texts.items() if text}
            keys |= {"index": number if index is None else index}
            block = self._events.block_index(place)
            self._events.add_reasoning(block, text, signature=signature, form=kind, keys=keys)
        return bool(text)

    def _call(self, call: JsonObject, *, is_apart: bool) -> None:
        """Read a piece of a call; one of a list that has no indices is a call by itself."""
        index, id = as_count(call.get("index")), as_string(call.get("id"))
        function, custom = as_object(call.get("function")), as_object(call.get("custom"))
        extras = {k: v for k, v in call.items() if k not in _CALL_KEYS and v not in _NOTHING}
        if not function and not _FUNCTION_KEYS.isdisjoint(extras):
            function = {key: extras.pop(key) for key in _FUNCTION_KEYS & extras.keys()}
        if is_apart and as_string(function.get("name")):
            self._numbers, index = {}, -2 - len(self._calls)
        if custom:
            name, more = as_string(custom.get("name")), as_raw_string(custom.get("input"))
            number = self._number(index, id, name, more)
            self._events.add_tool_call(number, more, id=id, name=name, form="custom", keys=extras)
            self._calls[number].add(more)
            return
        if inner := {k: v for k, v in function.items() if k not in _FUNCTION_KEYS and v}:
            extras["function"] = inner
        self._function(index, id, function, extras)

    def _function(
        self, index: int | None, id: str, function: JsonObject, keys: JsonObject | None = None
    ) -> None:
        fields, name = function.get("arguments"), as_string(function.get("name"))
        arguments = "" if fields is None else fields if isinstance(fields, str) else to_json(fields)
        if not (arguments or name or id or keys):
            return
        number = self._number(index, id, name, arguments)
        call, resets = self._calls[number], False
        is_placeholder = arguments.strip() in _PLACEHOLDERS
        if call.is_whole or call.is_placeholder:
            # After whole arguments more can only say them again, and better than a placeholder.
            arguments = "" if is_placeholder or not arguments.strip() else arguments
            resets = bool(arguments)
        elif is_placeholder and not call.size:
            arguments = "{}"
        call.add(arguments, resets=resets)
        self._events.add_tool_call(
            number, arguments, id=call.id, name=call.name, keys=keys, resets=resets
        )

    def _number(self, index: int | None, id: str, name: str, arguments: str) -> int:
        """Return the number of the call that a delta belongs to."""
        by_id = self._by_id.get(id, -1)
        if index is None:
            number = by_id if by_id >= 0 else len(self._calls) - 1
        else:
            number = self._numbers.get(index, -1)
            if number < 0 <= by_id and not name and self._calls[by_id].is_partial:
                number = by_id  # the index counts the pieces
        if number < 0 or self._calls[number].ends_before(index, id, name, arguments):
            number = self._events.call_index(len(self._calls))
            self._calls.append(_CallSoFar())
        call = self._calls[number]
        call.id = call.id or id
        if not (call.size and call.name):  # a name may come in pieces, or again
            call.name = name if name.startswith(call.name) else call.name + name
        if call.id:
            self._by_id.setdefault(call.id, number)
        if index is not None:
            self._numbers[index] = number
        return number


_DONE = frozenset({"[DONE]", "DONE"})
_CALL_KEYS = frozenset({"index", "id", "type", "function", "custom"})
_FUNCTION_KEYS = frozenset({"name", "arguments"})
_NOTHING: tuple[object, ...] = (None, "", [], {})
_PLACEHOLDERS = frozenset({"{}", "[]", "null", '""'})
"""What some servers send for arguments that are still to come, or for none."""
_READ_AGAIN = 32_768
"""Characters of arguments that are parsed to see if they are whole."""


@dataclass(slots=True)
class _CallSoFar:
    """What is known of a call that arrives in pieces."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    """Its arguments, up to `_READ_AGAIN`."""
    size: int = 0

    def add(self, arguments: str, *, resets: bool = False) -> None:
        """Add a piece of the arguments."""
        if resets:
            self.pieces, self.size = [], 0
        self.size += len(arguments)
        if arguments and self.size <= _READ_AGAIN:
            self.pieces.append(arguments)

    @property
    def is_placeholder(self) -> bool:
        """True if the arguments are empty as yet."""
        return self.size == 2 and self.pieces == ["{}"]

    @property
    def is_whole(self) -> bool:
        """True if the arguments are an object to its end."""
        ends = self.size <= _READ_AGAIN and bool(self.pieces) and self.pieces[-1].endswith("}")
        return ends and not self.is_placeholder and _is_object("".join(self.pieces))

    @property
    def is_partial(self) -> bool:
        """True if the arguments are an object that has not ended."""
        begins = bool(self.pieces) and self.pieces[0].lstrip()[:1] == "{"
        return begins and not (self.is_placeholder or self.is_whole)

    def ends_before(self, index: int | None, id: str, name: str, arguments: str) -> bool:
        """Return True if a delta at this call's place is the beginning of another one."""
        if not name and (index is not None or not id or id == self.id):
            return False
        other_id = bool(id and self.id and id != self.id)
        other_name = bool(name and self.name and name != self.name)
        if index is None and (other_id or other_name):
            return True
        if other_id:
            return not self.is_partial
        is_other = _is_object(arguments) and arguments != "".join(self.pieces)
        if id and id == self.id:
            return index is None and self.is_whole and is_other
        is_over = bool(self.size and self.name) and not (self.is_placeholder or self.is_partial)
        return is_over and (is_other or other_name or not _is_object(arguments))


def _is_object(text: str) -> bool:
    try:
        return isinstance(decode_lenient(text), dict)
    except ValueError:
        return False


def read_reply(body: bytes) -> Reply:
    """Read a reply that came whole. Raises Refused, ReplyCut."""
    answer = as_object(load_body(body))
    if not as_array(answer.get("choices")):
        raise not_a_reply(answer)
    parser = ReplyParser()
    parser.take_in(answer, is_whole=True)
    return parser.finish()
