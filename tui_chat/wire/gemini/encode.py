"""Saying an envelope as Gemini generateContent wants it.

1. `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`; the model is in the URL. v1beta
   is where the `-latest` aliases and the proxies are.
2. All system turns, joined by a blank line, are the one `systemInstruction`; a later one is
   moved there with a note.
3. Content is `user` or `model`; consecutive equal roles and empty texts are accepted.
4. Tool calls are `functionCall` parts whose args are an object; the results of a turn stand
   together in the user content that follows, named after their function.
5. A thought signature goes back on the part it came with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from urllib.parse import quote as url_quote

from tui_chat.model.endpoint import Endpoint, Protocol
from tui_chat.model.envelope import ChatEnvelope, Level, Note, ToolDefinition, Turn
from tui_chat.model.memo import Memo
from tui_chat.model.payload import Arr, Obj, Str, Tree, tree_of
from tui_chat.wire.encoding import (
    Items,
    arguments_object,
    bad_arguments,
    foreign_reasoning,
    own_reasoning,
    quote,
    setting,
    word,
)
from tui_chat.wire.protocol import Encoded
from tui_chat.wire.roles import (
    adapt_roles,
    adapted_role,
    extract_system_instruction,
    split_leading_system,
)


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    parameters = envelope.parameters
    facts = endpoint.facts_of(parameters.model.value)
    notes: list[Note] = []
    contents, system = _contents(envelope.turns, notes)

    body: Items = []
    instruction = extract_system_instruction(adapt_roles(system, Protocol.GEMINI))
    if instruction.plain:
        part = Obj((("text", Str(instruction)),))
        body.append(("systemInstruction", Obj((("parts", Arr((part,))),))))
    body.append(("contents", Arr(tuple(contents))))
    if envelope.tools is not None:
        declarations = Arr(tuple(map(_tool, envelope.tools)))
        body.append(("tools", Arr((Obj((("functionDeclarations", declarations),)),))))
    config: Items = []
    if parameters.temperature is not None:
        if facts.sampling is False:
            sentence = f"{parameters.model.value} takes no temperature, so none is sent."
            origin = parameters.temperature.origin
            notes.append(Note(Level.INFO, "sampling-left-out", sentence, origin))
        else:
            config.append(("temperature", setting(parameters.temperature)))
    if parameters.max_tokens is not None:
        config.append(("maxOutputTokens", setting(parameters.max_tokens)))
    if config:
        body.append(("generationConfig", Obj(tuple(config))))
    if not contents:
        notes.append(Note(Level.ERROR, "nothing-to-send", "There is no message to send yet."))
    return Encoded(
        _path(parameters.model.value, parameters.stream),
        Obj(tuple(body)),
        key_header=("x-goog-api-key", ""),
        notes=tuple(notes),
    )


def _path(model: str, stream: bool) -> str:
    name = url_quote(model.removeprefix("models/"), safe=":")
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/v1beta/models/{name}:{verb}"


def _contents(turns: Sequence[Turn], notes: list[Note]) -> tuple[list[Obj], list[Turn]]:
    """Return the contents, and all system turns."""
    leading, rest = split_leading_system(turns)
    system = list(leading)
    contents: list[Obj] = []
    names: dict[str, str] = {}
    for is_tool, run in groupby(rest, lambda turn: turn.role == "tool"):
        if is_tool:
            contents.append(_results(tuple(run), names))
            continue
        for turn in run:
            if turn.role == "system":
                sentence = (
                    "A system message after the first turns is moved to the system instruction: "
                    "Gemini takes none among the contents."
                )
                notes.append(Note(Level.WARNING, "system-moved", sentence, turn.origin))
                system.append(turn)
                continue
            contents.append(_content(turn))
            if turn.tool_calls or turn.semantics.reasoning:
                names.update((call.id, call.name) for call in turn.tool_calls)
                notes += _turn_notes(turn)
    return contents, system


def _encode_turn(turn: Turn) -> Obj:
    parts = list(_parts(turn))
    role = adapted_role(turn.role, Protocol.GEMINI)
    return Obj((("role", word(role)), ("parts", Arr(tuple(parts), turn.origin))), turn.origin)


_content: Memo[Turn, Obj] = Memo(_encode_turn)


def _parts(turn: Turn) -> Iterator[Obj]:
    signatures = [b.signature for b in own_reasoning(turn, Protocol.GEMINI) if b.signature]
    refusal = turn.semantics.refusal
    if turn.text.plain or not turn.tool_calls:
        text = Str(turn.text) if turn.text.plain or not refusal else quote(refusal, turn.origin)
        items: Items = [("text", text)]
        if signatures and not turn.tool_calls:
            items.append(("thoughtSignature", quote(signatures[0], turn.origin)))
        yield Obj(tuple(items), turn.origin)
    for index, call in enumerate(turn.tool_calls):
        arguments, _ = arguments_object(call, turn.origin)
        fields: Items = []
        if call.id:
            fields.append(("id", quote(call.id, turn.origin)))
        fields += [("name", quote(call.name, turn.origin)), ("args", arguments)]
        items = [("functionCall", Obj(tuple(fields), turn.origin))]
        if signatures and index == 0:
            items.append(("thoughtSignature", quote(signatures[0], turn.origin)))
        yield Obj(tuple(items), turn.origin)


def _results(turns: tuple[Turn, ...], names: dict[str, str]) -> Obj:
    parts: list[Obj] = []
    for turn in turns:
        fields: Items = []
        if turn.tool_call_id:
            fields.append(("id", quote(turn.tool_call_id, turn.origin)))
        name = names.get(turn.tool_call_id) or turn.name or turn.tool_call_id
        fields.append(("name", quote(name, turn.origin)))
        response: Tree = Obj((("output", Str(turn.text)),), turn.origin)
        fields.append(("response", response))
        parts.append(Obj((("functionResponse", Obj(tuple(fields), turn.origin)),), turn.origin))
    return Obj((("role", word("user")), ("parts", Arr(tuple(parts)))), turns[0].origin)


def _tool(tool: ToolDefinition) -> Tree:
    return tree_of(
        {
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": tool.parameters,
        }
    )


def _turn_notes(turn: Turn) -> Iterator[Note]:
    yield from foreign_reasoning(turn, bool(own_reasoning(turn, Protocol.GEMINI)))
    for call in turn.tool_calls:
        if not arguments_object(call, turn.origin)[1]:
            yield bad_arguments(turn, call)
