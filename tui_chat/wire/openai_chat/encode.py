"""Saying an envelope as OpenAI Chat Completions wants it.

1. `POST /chat/completions`; roles as they are, `developer` where the model wants it; system
   messages may stand anywhere, consecutive equal roles are allowed.
2. An assistant turn with tool calls may have `content: null`.
3. `stream_options.include_usage` asks for the usage that a stream otherwise lacks.
"""

from __future__ import annotations

from functools import lru_cache

from tui_chat.model.endpoint import Endpoint, Protocol
from tui_chat.model.envelope import ChatEnvelope, Level, Note, ToolDefinition, Turn
from tui_chat.model.memo import Memo
from tui_chat.model.message import ToolCall
from tui_chat.model.payload import Arr, Lit, Obj, Str, Tree, tree_of
from tui_chat.model.text import GLUE, Origin
from tui_chat.wire.encoding import Items, flag, foreign_reasoning, our_default, quote, setting, word
from tui_chat.wire.protocol import Encoded
from tui_chat.wire.roles import adapted_role

_STREAM = our_default("stream", "the reply is shown as it arrives")


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    parameters = envelope.parameters
    facts = endpoint.facts_of(parameters.model.value)
    message = _messages(facts.developer_role)
    body: Items = [
        ("model", setting(parameters.model)),
        ("messages", Arr(tuple(map(message, envelope.turns)))),
    ]
    notes: list[Note] = []
    if envelope.tools is not None:
        body.append(("tools", Arr(tuple(map(_tool, envelope.tools)))))
    if parameters.temperature is not None:
        if facts.sampling is False:
            sentence = f"{parameters.model.value} takes no temperature, so none is sent."
            origin = parameters.temperature.origin
            notes.append(Note(Level.INFO, "sampling-left-out", sentence, origin))
        else:
            body.append(("temperature", setting(parameters.temperature)))
    if parameters.max_tokens is not None:
        body.append((endpoint.max_tokens_key, setting(parameters.max_tokens)))
    if parameters.stream:
        body.append(("stream", flag(True, _STREAM)))
        body.append(("stream_options", Obj((("include_usage", flag(True, _STREAM)),), _STREAM)))
    for turn in envelope.turns:
        if turn.semantics.reasoning:
            notes += foreign_reasoning(turn, replayable=False)
    if not envelope.turns:
        notes.append(Note(Level.ERROR, "nothing-to-send", "There is no message to send yet."))
    return Encoded("/chat/completions", Obj(tuple(body)), notes=tuple(notes))


@lru_cache(maxsize=2)
def _messages(developer: bool) -> Memo[Turn, Obj]:
    """Return the encoder of single turns, which remembers what it encoded."""

    def message(turn: Turn) -> Obj:
        role = adapted_role(turn.role, Protocol.OPENAI_CHAT, developer=developer)
        items: Items = [("role", word(role))]
        content: Tree = Str(turn.text)
        if turn.tool_calls and not turn.text.plain:
            content = Lit(None, GLUE)
        items.append(("content", content))
        if turn.semantics.refusal and not turn.text.plain:
            items[-1] = ("content", Lit(None, GLUE))
            items.append(("refusal", quote(turn.semantics.refusal, turn.origin)))
        if turn.name and turn.role != "tool":
            items.append(("name", quote(turn.name, turn.origin)))
        if turn.tool_calls:
            calls = tuple(_call(call, turn.origin) for call in turn.tool_calls)
            items.append(("tool_calls", Arr(calls, turn.origin)))
        if turn.role == "tool":
            items.append(("tool_call_id", quote(turn.tool_call_id, turn.origin)))
        return Obj(tuple(items), turn.origin)

    return Memo(message)


def _call(call: ToolCall, origin: Origin) -> Obj:
    function = Obj(
        (("name", quote(call.name, origin)), ("arguments", quote(call.arguments, origin))), origin
    )
    return Obj(
        (("id", quote(call.id, origin)), ("type", word("function")), ("function", function)), origin
    )


def _tool(tool: ToolDefinition) -> Obj:
    function = tree_of(
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    )
    return Obj((("type", word("function")), ("function", function)))
