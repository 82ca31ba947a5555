"""Turn files: a request, all its inputs and its reply in one file.

    {"tuiChatTurn": 2, "app": "0.1.0", "inputs": {...}, "request": {...}, "reply": {...}}

1. `inputs` are the fields of `context.Inputs` without those at their default. From them alone any
   machine composes the request again, offline.
2. `request` has the exact body as text and its SHA-256, to compare a recomposed body with.
3. It contains no key, key reference or proxy.
4. A file may come from anyone: every field is checked before it is used.
"""

from __future__ import annotations

import json
from dataclasses import field, fields, replace
from hashlib import sha256
from typing import Any, TypeAlias, cast

from tui_chat import __version__
from tui_chat.compose import Composed
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError, located
from tui_chat.interop.own_json import inputs_with_blocks, message_with_blocks
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import InvalidValue, pack, read_own
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import MAX_DEPTH, JsonError, as_object, decode_json
from tui_chat.models.message import Message, text_blocks
from tui_chat.models.preset import Preset
from tui_chat.models.request_edit import edit_fault
from tui_chat.models.session import Entry, EntryStatus
from tui_chat.models.settings import with_nested_settings
from tui_chat.models.usage import NO_USAGE, Usage

KEY = "tuiChatTurn"
"""The key that identifies such a file; its value is the version of the format."""
FORMAT = 2
"""In format 1 a message was one flat object."""

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """The request as it was sent."""

    protocol: Protocol
    method: str
    url: str
    sha256: str
    """The SHA-256 of the body."""
    body: str
    """The exact body."""


@dataclass(frozen=True, slots=True)
class TurnReply:
    """The reply."""

    message: Message
    status: str
    model: str = ""
    endpoint: str = ""
    error: str = ""
    finish: str = ""
    usage: Usage = NO_USAGE
    seconds: float | None = None

    @classmethod
    def of(cls, entry: Entry) -> TurnReply:
        """Return the reply in a stored entry."""
        return cls(**{each.name: getattr(entry, each.name) for each in fields(cls)})

    @property
    def entry(self) -> Entry:
        """The reply as a stored one; one that had not ended has failed."""
        values: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        values["status"] = _STATUSES.get(self.status, "failed")
        return Entry(**values)


_STATUSES: dict[str, EntryStatus] = {
    "complete": "complete",
    "stopped": "stopped",
    "interrupted": "interrupted",
}


@dataclass(frozen=True, slots=True)
class TurnFile:
    """The contents of the file."""

    app: str
    inputs: Inputs
    request: TurnRequest
    reply: TurnReply | None = None
    note: str = field(default="")
    """A remark for readers."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, including the reply."""
        inputs = self.inputs
        sent = Message("user", (*text_blocks(inputs.draft), *inputs.draft_parts), "sent")
        came = () if self.reply is None else (self.reply.message,)
        return (*inputs.history, *((sent,) if sent.content or sent.parts else ()), *came)

    @property
    def settings(self) -> SessionSettings:
        """The session's settings."""
        return self.inputs.settings

    @property
    def not_kept(self) -> tuple[str, ...]:
        """Inputs of the request that a session and a preset made from it do not have."""
        inputs = self.inputs
        tools = ", ".join(tool.name for tool in inputs.tools or ())
        parts = (
            (f"role ({inputs.role.name})" if inputs.role is not None else "", inputs.role),
            ("profile", inputs.profile),
            ("lorebooks", inputs.lorebooks),
            ("variables", inputs.variables),
            (f"tools ({tools})", tools),
        )
        return tuple(words for words, part in parts if part)

    def preset(self, name: str) -> Preset:
        """Return its preset with another name."""
        return replace(self.inputs.preset, name=name)


def dump_turn(composed: Composed, body: bytes, reply: TurnReply | None) -> str:
    """Return a turn as JSON text; `composed` must have its inputs."""
    assert composed.inputs is not None
    turn = TurnFile(
        app=__version__,
        inputs=replace(composed.inputs, endpoint=composed.inputs.endpoint.without_secrets()),
        request=TurnRequest(
            composed.protocol,
            composed.method,
            composed.shown_url,
            sha256(body).hexdigest(),
            body.decode("utf-8", "surrogateescape"),
        ),
        reply=reply,
    )
    whole = {KEY: FORMAT, **json.loads(pack(turn))}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def is_turn(found: object) -> bool:
    """True if parsed JSON is a turn file of any version."""
    return isinstance(found, dict) and KEY in found


def holds_turn(text: str) -> bool:
    """True if a text is a turn file of any version."""
    try:
        return f'"{KEY}"' in text and is_turn(json.loads(text))
    except (ValueError, RecursionError):
        return False


def read_turn(text: str, source: str) -> TurnFile:
    """Parse a turn from JSON text; `source` is what errors call it. Raises InputError."""
    try:
        found = cast("Json", decode_json(text, 2 * MAX_DEPTH))
    except JsonError as fault:
        raise InputError(f"{source}: {fault.place}: {fault.sentence}") from fault
    if not is_turn(found):
        raise InputError(f"{source} is not an exported turn: the key “{KEY}” is missing")
    if found.pop(KEY) not in (1, FORMAT):
        raise InputError(
            f"{source} was written by another version of tui-chat",
            advice=f"This version reads turns of format {FORMAT}.",
        )
    try:
        turn = read_own(TurnFile, _as_of_now(found))
    except InvalidValue as error:
        fault = error.faults[0]
        place = ".".join(("$", *map(str, fault.path)))
        raise InputError(f"{source}: {located(place, fault.sentence)}") from None
    if (edit := edit_fault(turn.inputs.edits)) is not None:
        raise InputError(f"{source}: {located(f'$.inputs.edits{edit[0]}', edit[1])}")
    try:
        json.loads(turn.request.body)
    except (ValueError, RecursionError):
        raise InputError(f"{source}: $.request.body is not JSON") from None
    if sha256(turn.request.body.encode("utf-8", "surrogateescape")).hexdigest() != (
        turn.request.sha256
    ):
        raise InputError(f"{source}: $.request.sha256: does not match the body")
    return turn


def _as_of_now(found: Json) -> Json:
    """Return a turn with messages as blocks and with the settings of a role in their own object.
    Raises InvalidValue.
    """
    inputs, reply = as_object(found.get("inputs")), as_object(found.get("reply"))
    if inputs:
        inputs = inputs_with_blocks(inputs)
        role = {"role": with_nested_settings(inputs["role"])} if "role" in inputs else {}
        found = {**found, "inputs": {**inputs, **role}}
    if "message" in reply:
        found = {**found, "reply": {**reply, "message": message_with_blocks(reply["message"])}}
    return found
