"""The requests in Claude Code's transcripts, which it keeps from version 2.1.330 on.

The format is internal to the program; this was read from files that it wrote.

1. `api-request-shape` holds the system prompt and the tools, `api-request-blob` a message, and
   `api-request` a request: its parameters, the hash of its shape, and its messages: the first
   `keep` ones of the request `base`, then those whose hashes are in `tail`. Answers name it by
   `requestRef`.
2. A message's hash is the SHA-256 of its JSON without blanks, keys sorted, without cache marks;
   these are in `cacheControl`, with their places. A message that is in the transcript as it was
   sent has no blob: it is found by its hash.
3. So what is rebuilt has the messages, system prompt, tools and parameters that were sent; one
   text block may have been sent as a plain string. The records leave out `MISSING`. A request of
   which a message is not found is not rebuilt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import field
from hashlib import sha256
from typing import Any, cast

from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import JsonObject, as_array, as_count, as_object, as_string
from tui_chat.models.request import (
    TRANSCRIPT,
    RecordedRequest,
    RequestRecord,
    StoredRequest,
    recorded_recipe,
)

MISSING = "URL, metadata, the billing line, stream and other headers"
_URL = "https://api.anthropic.com/v1/messages"
"""The URL of the record, which needs one; see `RequestRecord.recorded`."""
_MOST_BYTES = 16 * 1024 * 1024
"""Bytes of bodies that are rebuilt for one file, the newest ones: each repeats the conversation."""


@dataclass(slots=True)
class RequestRecords:
    """The records of requests in one file."""

    requests: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """By id, in the order of the file."""
    shapes: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    blobs: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Messages by their hash."""
    answers: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """The content of answers by the ids of their messages."""
    users: list[object] = field(default_factory=list[object])
    """The content of users' messages."""

    def take(self, data: JsonObject, kind: str) -> None:
        """Take in a record of a request."""
        match kind:
            case "api-request-shape":
                self.shapes[as_string(data.get("shapeHash"))] = as_object(data.get("shape"))
            case "api-request-blob":
                self.blobs[as_string(data.get("hash"))] = as_object(data.get("message"))
            case _:
                self.requests[as_string(data.get("id"))] = data

    def take_answer(self, message: JsonObject) -> None:
        """Take in a record of an answer, or of a part of one."""
        if self.shapes:
            content = self.answers.setdefault(as_string(message.get("id")), [])
            content += as_array(message.get("content"))

    def take_user(self, message: JsonObject) -> None:
        """Take in a record of a user's message, or of tool results."""
        if self.shapes:
            self.users.append(message.get("content"))

    def rebuilt(self, replies: Mapping[str, str]) -> tuple[StoredRequest, ...]:
        """Return the newest requests, oldest first. `replies`: message ids by the request's id."""
        if not self.requests:
            return ()
        for message in self._in_transcript():
            self.blobs.setdefault(_hash(message), message)
        requests: list[StoredRequest] = []
        size = 0
        for name, reply in reversed(tuple(replies.items())):
            record = self._record(self.requests.get(name, {}))
            if record is not None:
                requests.append(StoredRequest(reply, record))
                size += len(record.body or b"")
                if size >= _MOST_BYTES:
                    break
        return tuple(reversed(requests))

    def _in_transcript(self) -> Iterator[JsonObject]:
        for content in self.answers.values():
            yield {"role": "assistant", "content": content}
        for content in self.users:
            yield {"role": "user", "content": content}
            if isinstance(content, str):
                yield {"role": "user", "content": [{"type": "text", "text": content}]}

    def _hashes(self, request: JsonObject) -> list[str]:
        """Return the hashes of all messages of a request."""
        tails: list[tuple[int, list[str]]] = []
        seen = set[str]()
        while request:
            tail = [as_string(digest) for digest in as_array(request.get("tail"))]
            keep = as_count(request.get("keep")) or 0
            tails.append((keep, tail))
            base = as_string(request.get("base"))
            if not keep or base in seen:
                break
            seen.add(base)
            request = self.requests.get(base, {})
        hashes: list[str] = []
        for keep, tail in reversed(tails):
            if len(hashes) < keep:
                return [""]  # the request that it continues is not in the file
            hashes = [*hashes[:keep], *tail]
        return hashes

    def _record(self, request: JsonObject) -> RequestRecord | None:
        """Return a request as it is kept; None if a part of it is missing."""
        shape = self.shapes.get(as_string(request.get("shapeHash")))
        messages = [self.blobs.get(name) for name in self._hashes(request)]
        parameters = dict(as_object(request.get("params")))
        if shape is None or not messages or None in messages or "model" not in parameters:
            return None
        betas = [as_string(beta) for beta in as_array(parameters.pop("betas", None))]
        body: dict[str, Any] = {
            "model": parameters.pop("model"),
            "messages": deepcopy(messages),
            **deepcopy(shape),
            **parameters,
        }
        for mark in as_array(request.get("cacheControl")):
            _set_mark(body, as_array(as_object(mark).get("path")), as_object(mark).get("value"))
        data = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(
            "utf-8", "replace"
        )
        headers = (("anthropic-beta", ",".join(betas)),) if betas else ()
        recorded = RecordedRequest("POST", "", headers, data, missing=MISSING)
        client = f"Claude Code {as_string(request.get('version'))}".strip()
        return RequestRecord(
            "Claude Code",
            Protocol.ANTHROPIC,
            "POST",
            _URL,
            sha256(data).hexdigest(),
            recorded_recipe(TRANSCRIPT, recorded, client),
            data,
            parse_timestamp(request.get("timestamp")) or 0.0,
        )


def _hash(message: JsonObject) -> str:
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def _set_mark(body: dict[str, Any], path: list[object], value: object) -> None:
    """Set a cache mark at a place, if there is one."""
    place: object = body
    for key in path:
        if isinstance(place, list) and isinstance(key, int):
            items = cast("list[object]", place)
            place = items[key] if 0 <= key < len(items) else None
        elif isinstance(place, dict):
            place = cast("dict[object, object]", place).get(key)
    if isinstance(place, dict):
        cast("dict[str, object]", place)["cache_control"] = value
