"""Captured requests: find a request in pasted text, detect its protocol, take it apart.

1. The text may be a body, or contain one: a curl command, an HTTP request, a line of a log. The
   outermost JSON object that is a request counts.
2. The protocol is detected by keys that only one protocol has, else by the model's name.
3. The conversation becomes the messages of a session. The system prompt becomes a preset that
   stands in front of the history, so that both together make the same conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from tui_chat.compose import Composed, encode
from tui_chat.context import Inputs, SessionSettings, count_envelope
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.json_text import json_fault
from tui_chat.models.message import Message
from tui_chat.models.payload import Arr, JsonValue, Obj, Str, Tree, plain, render, tree_of
from tui_chat.models.preset import CacheLifetime, Preset, PresetMessage
from tui_chat.models.request_edit import merged
from tui_chat.models.settings import SettingError, read_setting
from tui_chat.models.text import Origin, OriginKind, clean
from tui_chat.models.tool import definitions_in
from tui_chat.protocols.common.openai_tools import announced_tools, without_announcements
from tui_chat.protocols.common.tools import tool_tree
from tui_chat.protocols.common.trees import URL_MODEL
from tui_chat.protocols.registry import detect_request, protocol_of
from tui_chat.tokens import counter_for

_KEPT = (
    *("temperature", "max_tokens", "top_p", "top_k", "stop", "seed"),
    *("presence_penalty", "frequency_penalty", "parallel_tool_calls"),
)
"""Parameters that a session can hold and that are one key of a body each."""
MAX_ATTEMPTS = 200
"""Maximum number of opening braces tried in a text that is not JSON as a whole."""
SHELL_QUOTE = "'\\''"
"""A single quote inside single quotes, as a shell writes it."""


@dataclass(frozen=True, slots=True)
class CapturedRequest:
    """A captured request, read."""

    body: bytes
    """As found; compact JSON if it was inside another text."""
    protocol: Protocol
    envelope: ChatEnvelope

    @property
    def settings(self) -> SessionSettings:
        """Its model and the parameters that a session can hold, as a session's settings."""
        model = self.envelope.parameters.values.model
        return SessionSettings(model=model, **dict(self._kept().values()))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation without its system prompt, each message with an id."""
        _, talk = _split_system(without_announcements(self.envelope.turns))
        return tuple(
            Message(turn.role, turn.blocks, f"captured-{n}", turn.name, extras=turn.extras)
            for n, turn in enumerate(talk, 1)
        )

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of its tools, also of those that are announced within the conversation."""
        functions = [tool.name for tool in self.envelope.functions]
        native = [tool.value for tool in self.envelope.native_tools]
        return (*functions, *_names_in([*native, *self._announced]))

    @property
    def _announced(self) -> list[dict[str, Any]]:
        return [item for turn in self.envelope.turns for item in announced_tools(turn)]

    @property
    def not_kept(self) -> tuple[str, ...]:
        """The tools and body keys that a session and a preset cannot hold."""
        kept = protocol_of(self.protocol).session_keys | self._kept().keys()
        left: list[str] = []
        for key, value in self._flat_body().items():
            names = _names_in(value) if key == "tools" else []
            if key not in kept and value not in (None, []):
                left.append(f"tools ({', '.join(names)})" if names else key)
        for item in self._announced:
            left.append(f"{item.get('type')} ({', '.join(_names_in(item))})")
        return tuple(left)

    def _flat_body(self) -> dict[str, Any]:
        """Return the body, with the keys of its groups of settings beside the others."""
        body = cast("dict[str, Any]", json.loads(self.body))
        for key in protocol_of(self.protocol).setting_groups & body.keys():
            inner = body.pop(key)
            body |= cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        return body

    def _kept(self) -> dict[str, tuple[str, Any]]:
        """Return the settings that a session holds, by their keys in the body: name and value."""
        body, kept = self._flat_body(), dict[str, tuple[str, Any]]()
        parameters = self.envelope.parameters
        for name in _KEPT:
            value = getattr(parameters.values, name)
            key = parameters.origin(name).id.rpartition(".")[2]
            if value is not None and key in body:
                with suppress(SettingError):
                    kept[key] = name, read_setting(name, value)
        return kept

    def composed(self, endpoint: Endpoint, model: str = "") -> Composed:
        """Return it as a request to an endpoint of its protocol, each character with its origin.

        `model` is the one that its URL names, if its body names none. The payload is the captured
        body; what encoding it again would write otherwise has the origin of the body as a whole.
        """
        envelope = self.envelope
        if model and not envelope.parameters.values.model:
            named = envelope.parameters.with_value("model", model, URL_MODEL)
            envelope = replace(envelope, parameters=named)
        name = envelope.parameters.values.model
        limit = endpoint.facts_of(name).context_limit
        composed = encode(count_envelope(envelope, counter_for(name), limit), endpoint)
        return _with_tree(composed, _like(composed.encoded.tree, json.loads(self.body)))

    def inputs(self, endpoint: Endpoint, model: str, now: datetime) -> Inputs:
        """Return what composes the same conversation, with its tools, for any endpoint."""
        return Inputs(
            endpoint=endpoint,
            preset=self.preset("captured"),
            history=self.messages,
            settings=replace(self.settings, model=model),
            now=now,
            tools=self.envelope.functions or None,
        )

    def preset(self, name: str) -> Preset:
        """Return a preset with its system prompt in front of the history."""
        system, _ = _split_system(without_announcements(self.envelope.turns))
        return Preset(
            name,
            (
                *(_system_message(n, turn) for n, turn in enumerate(system, 1)),
                PresetMessage("chat_history", "user", type="chat_history"),
            ),
        )


def read_captured(text: str, protocol: Protocol | None = None) -> CapturedRequest:
    """Read a request body, or a text that contains one; `protocol` if it is known.

    Raises InputError if there is none, or if it is not a request of that protocol.
    """
    body, value = text.strip().lstrip("\ufeff").encode("utf-8", "replace"), None
    with suppress(ValueError, RecursionError):
        value = json.loads(body)
    if not isinstance(value, dict):
        body, value = next(_inside(text), (b"", None))
    if value is None:
        raise InputError(
            f"No request was found{_fault(text)}.",
            advice="Give a JSON object or a text that contains one, such as a curl command.",
        )
    request = cast("dict[str, Any]", value)
    detected = protocol or detect_request(request)
    if detected is None:
        raise InputError(
            "This JSON is not a request of any protocol.",
            advice="A request has “messages”, “input” or “contents”. Conversations of a program "
            "are read by `tui-chat import FILE`.",
        )
    return CapturedRequest(body, detected, protocol_of(detected).decode(body))


def with_edits(came: Composed, sent: Composed) -> Composed:
    """Return the request that was sent in place of another one, with the origin “edited by hand”
    where they differ and the origins of the former elsewhere.
    """
    before, value = came.encoded.tree, cast("dict[str, Any]", json.loads(sent.payload.body))
    items = ((clean(key), merged(before.get(key), v, f"/{key}")) for key, v in value.items())
    return _with_tree(sent, Obj(tuple(items), before.origin))


def _with_tree(composed: Composed, tree: Tree) -> Composed:
    """Return a request with another body."""
    assert isinstance(tree, Obj)
    encoded = replace(composed.encoded, tree=tree)
    return replace(composed, encoded=encoded, payload=render(tree))


def _like(node: Tree | None, value: JsonValue, key: str = "") -> Tree:
    """Return a JSON value, with the origins of a tree where that has the same."""
    if isinstance(node, Obj) and isinstance(value, dict):
        items = ((clean(name), _like(node.get(name), part, name)) for name, part in value.items())
        return Obj(tuple(items), node.origin)
    if isinstance(node, Arr) and isinstance(value, list) and len(node.items) == len(value):
        return Arr(tuple(map(_like, node.items, value)), node.origin)
    if node is None or plain(node) != value:
        return tool_tree(value) if key == "tools" else tree_of(value, _CAPTURED)
    return node if isinstance(node, Str) else tree_of(value, node.origin)


_CAPTURED = Origin(OriginKind.SETTING, "body", "captured body")


def _names_in(tools: Any) -> list[str]:
    """Return the names of the tools in `tools`, or in one entry of it."""
    entry = cast("dict[str, Any]", tools) if isinstance(tools, dict) else {"tools": tools}
    return [name for name, _ in definitions_in(entry)]


def _fault(text: str) -> str:
    """Return the syntax error of a text that looks like JSON; empty for any other text."""
    start = text.lstrip("\ufeff \t\r\n")
    try:
        if start.startswith(("{", "[", '"')):
            json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        fault = json_fault(text.lstrip("\ufeff"), error)
        return f": {fault.place}: {fault.sentence}"
    return ""


def _inside(text: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield the requests that a text contains and their JSON, the outermost first."""
    decoder = json.JSONDecoder()
    for unquoted in (text, text.replace(SHELL_QUOTE, "'")):
        start = -1
        for _ in range(MAX_ATTEMPTS):
            start = unquoted.find("{", start + 1)
            if start < 0:
                break
            try:
                value, end = decoder.raw_decode(unquoted, start)
            except (ValueError, RecursionError):
                continue
            request = cast("dict[str, Any]", value)
            if isinstance(value, dict) and detect_request(request) is not None:
                yield unquoted[start:end].encode("utf-8", "replace"), request


def _split_system(turns: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """Return the system turns that begin the conversation, and the rest of it."""
    first = next((n for n, turn in enumerate(turns) if turn.role != "system"), len(turns))
    return turns[:first], turns[first:]


def _system_message(number: int, turn: Turn) -> PresetMessage:
    """Return a system turn as a message of a preset, with the cache mark at its end."""
    cache = getattr(turn.blocks[-1], "cache", "") if turn.blocks else ""
    mark: CacheLifetime = "1h" if cache == "1h" else "5m"
    return PresetMessage(
        f"system-{number}",
        "system",
        turn.text.plain,
        name=f"System {number}",
        cache_control=mark if cache else None,
    )
