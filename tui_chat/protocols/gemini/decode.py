"""Reading a captured generateContent request.

1. `systemInstruction` is one leading system turn, its parts the pieces.
2. Every function response is a turn of its own; what else stands in its content is another turn
   that is joined to it. All else of a content is one turn.
3. The model stands in the URL and may be missing here; whether the reply is streamed does too.
4. Keys may be in snake_case; see `spelling`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Parameters, ToolDefinition, Turn
from tui_chat.models.message import MessageRole, Part, PartKind, ToolCall
from tui_chat.models.namespaces import UNSET, GeminiSettings, Semantics
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.common.request_fields import (
    Fields,
    camel,
    compact,
    load_request,
    model_of,
    settings_of,
    sourced,
    take_if_said_back,
)
from tui_chat.protocols.common.turn_builder import TurnBuilder
from tui_chat.protocols.gemini.spelling import camel_fields, camel_inner
from tui_chat.protocols.gemini.tools import read_choice, read_declaration, read_format, say_choice

_GEMINI = Protocol.GEMINI
_ROLES: dict[str, MessageRole] = {
    "user": "user",
    "model": "assistant",
    "function": "user",
    "absent": "user",
}
_NOT_ON_THE_WIRE = ("system_instruction", "tool_groups", "tools_shape", "spelled")
_CAMEL = {name: camel(name) for name in GeminiSettings.__dataclass_fields__} | dict.fromkeys(
    _NOT_ON_THE_WIRE, ""
)


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError where it is none of this protocol."""
    loaded, notes = load_request(body, _GEMINI)
    spelled: set[str] = set()
    request = camel_fields(loaded.left, "", spelled)
    if "contents" not in request.left:
        raise InputError("This is no Gemini request: it has no “contents”.")
    turns, about_system = _system(request, spelled)
    for content in request.objects("contents"):
        turns += _turns(content, len(turns) + 1)
    tools, groups, shape = _tools(request, spelled)
    parameters = _parameters(request, spelled)
    settings = replace(
        settings_of(GeminiSettings, request.left, spelled=_CAMEL),
        system_instruction=about_system,
        tool_groups=groups,
        tools_shape=shape,
        spelled=tuple(sorted(spelled)),
    )
    semantics = Semantics(
        source=_GEMINI,
        gemini=settings,
        provider_extras={_GEMINI: request.left} if request.left else {},
    )
    return ChatEnvelope(tuple(turns), parameters, tools, notes=tuple(notes), semantics=semantics)


def _system(request: Fields, spelled: set[str]) -> tuple[list[Turn], Any]:
    """Return the turn of the instruction, and what else the instruction says."""
    instruction = camel_inner(request, "systemInstruction", spelled)
    if instruction is None:
        return [], UNSET
    builder = TurnBuilder(_GEMINI, "system", 1)
    builder.slot = "systemInstruction"
    if not instruction.left.get("parts"):
        request.put_back("systemInstruction", instruction)
        return [], UNSET
    for part in instruction.objects("parts"):
        read_part(part, builder)
    return [builder.turn()], instruction.left or UNSET


def _turns(content: Fields, number: int) -> Iterator[Turn]:
    """Yield the turns of a content."""
    word = content.left.pop("role", "absent")
    role = _ROLES.get(word) if isinstance(word, str) else None
    if role is None:
        raise InputError(f"{content.at('role')} must be user or model, not {word!r}.")
    had_parts = content.left.get("parts") is not None
    parts = list(content.objects("parts")) if had_parts else []
    first = True

    def begin(role: MessageRole) -> TurnBuilder:
        nonlocal first, number
        builder = TurnBuilder(_GEMINI, role, number)
        builder.shape = "parts" if had_parts else "absent"
        builder.joined = not first
        if first:
            builder.extras = content.rest()
            builder.role_word = word if word in ("absent", "function") else ""
        first = False
        number += 1
        return builder

    builder: TurnBuilder | None = None
    for part in parts:
        if is_response(part) and role == "user":
            if builder is not None:
                yield builder.turn()
                builder = None
            response = begin("tool")
            read_response(part, response)
            yield response.turn()
        else:
            builder = builder or begin(role)
            read_part(part, builder)
    if builder is not None or first:
        yield (builder or begin(role)).turn()


def _tools(
    request: Fields, spelled: set[str]
) -> tuple[tuple[ToolDefinition, ...] | None, tuple[tuple[int, str], ...], Any]:
    """Return the tools, how they were grouped, and whether `tools` was one bare object."""
    given = request.left.get("tools")
    if given is None:
        return None, (), ""
    shape = ""
    if isinstance(given, dict):
        shape = "object"
        request.left["tools"] = [given]
    tools: list[ToolDefinition] = []
    groups: list[tuple[int, str]] = []
    for raw in request.objects("tools"):
        entry = camel_fields(raw.left, raw.place, spelled)
        count = 0
        if entry.left.get("functionDeclarations"):
            named = [
                camel_fields(each.left, each.place, spelled)
                for each in entry.objects("functionDeclarations")
            ]
            for each in named:
                tool = read_declaration(each)
                if tool is None:
                    raise InputError(f"{each.place} has no name.")
                tools.append(tool)
                count += 1
        groups.append((count, entry.rest()))
    return tuple(tools), tuple(groups), shape


def _parameters(request: Fields, spelled: set[str]) -> Parameters:
    config = camel_inner(request, "generationConfig", spelled) or Fields({}, "generationConfig")
    stop = config.strings("stopSequences")
    form = read_format(config)
    asked = Parameters(
        model=model_of(str(request.left.get("model") or "").removeprefix("models/")),
        temperature=sourced("temperature", config.number("temperature")),
        max_tokens=sourced("maxOutputTokens", config.integer("maxOutputTokens")),
        stream=False,
        top_p=sourced("topP", config.number("topP")),
        top_k=sourced("topK", config.integer("topK")),
        stop=sourced("stopSequences", stop or None),
        seed=sourced("seed", config.integer("seed")),
        presence_penalty=sourced("presencePenalty", config.number("presencePenalty")),
        frequency_penalty=sourced("frequencyPenalty", config.number("frequencyPenalty")),
        response_format=sourced("responseSchema", form),
        tool_choice=sourced("functionCallingConfig", _choice(request, spelled)),
    )
    request.put_back("generationConfig", config)
    return asked


def _choice(request: Fields, spelled: set[str]) -> Any:
    config = camel_inner(request, "toolConfig", spelled)
    if config is None:
        return None
    calling = camel_inner(config, "functionCallingConfig", spelled)
    if calling is None:
        request.put_back("toolConfig", config)
        return None
    holder = Fields({"functionCallingConfig": calling.left}, "")
    choice = take_if_said_back(holder, "functionCallingConfig", read_choice, say_choice)
    config.left |= holder.left
    request.put_back("toolConfig", config)
    return choice


def kind_of_mime(mime: str) -> PartKind:
    """Return what kind of part a type makes."""
    match mime.partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case _:
            return "file"


def is_response(part: Fields) -> bool:
    """Whether a part answers a call of ours."""
    return any(
        isinstance(part.left.get(k), dict) for k in ("functionResponse", "function_response")
    )


def read_part(part: Fields, builder: TurnBuilder) -> None:
    """Take one part into a turn."""
    whole = dict(part.left)
    spelled: set[str] = set()
    fields = camel_fields(part.left, part.place, spelled)
    signature = fields.text("thoughtSignature")
    text = fields.left.get("text")
    if isinstance(text, str):
        del fields.left["text"]
        if fields.exactly("thought", True):
            block = ReasoningBlock(_GEMINI, text, signature)
            builder.think(block, **_marks(fields, spelled))
        else:
            builder.text(text, signature=signature, **_marks(fields, spelled))
    elif (
        builder.role == "assistant"
        and (call := camel_inner(fields, "functionCall", spelled)) is not None
    ):
        arguments = call.left.get("args")
        if isinstance(arguments, dict):
            del call.left["args"]
        said = compact(cast("object", arguments)) if isinstance(arguments, dict) else ""
        identity, name = call.text("id"), call.text("name")
        fields.put_back("functionCall", call)
        builder.call(ToolCall(identity, name, said), signature=signature, **_marks(fields, spelled))
    elif (media := read_media(fields, spelled)) is not None and not signature:
        builder.part(media, **_marks(fields, spelled))
    else:
        builder.other(next((key for key in whole if key not in _ASIDE), "part"), whole)


_KEPT = re.compile(r"gs://|https://generativelanguage\.googleapis\.com/")
"""Files that Google keeps, which nobody else can fetch."""

_ASIDE = ("thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata")


def read_media(fields: Fields, spelled: set[str]) -> Part | None:
    """Return the bytes or the file of a part, its keys taken; None where it has neither."""
    if (inner := camel_inner(fields, "inlineData", spelled)) is not None:
        mime = inner.text("mimeType")
        part = Part(
            kind_of_mime(mime), mime, data=inner.text("data"), name=inner.text("displayName")
        )
        fields.put_back("inlineData", inner)
        return part if part.data and part.mime else None
    if (inner := camel_inner(fields, "fileData", spelled)) is not None:
        mime = inner.text("mimeType")
        uri = inner.text("fileUri")
        owner = _GEMINI if _KEPT.match(uri) else None
        name = inner.text("displayName")
        part = Part(kind_of_mime(mime), mime, url=uri, protocol=owner, name=name)
        fields.put_back("fileData", inner)
        return part if part.url else None
    return None


def read_response(part: Fields, builder: TurnBuilder) -> None:
    """Take a `functionResponse` as a turn of its own."""
    spelled: set[str] = set()
    fields = camel_fields(part.left, part.place, spelled)
    answer = camel_inner(fields, "functionResponse", spelled)
    if answer is None:  # an empty object
        builder.other("functionResponse", part.left)
        return
    builder.tool_call_id, builder.name = answer.text("id"), answer.text("name")
    response = answer.left.get("response")
    name = ""
    text: str | None = None
    if isinstance(response, dict):
        del answer.left["response"]
        said = cast("dict[str, Any]", response)
        key = next(iter(said), "")
        if len(said) == 1 and key in ("output", "error") and isinstance(said[key], str):
            text = said[key]
            builder.failed = True if key == "error" else None
        else:
            name, text = "object", compact(said)
    media = _media_parts(answer, spelled)
    fields.put_back("functionResponse", answer)
    builder.result(name=name, **_marks(fields, spelled))
    if text:
        builder.text(text)
    elif text is None:
        builder.shape = "absent"
    for each, marks in media:
        builder.part(each, **marks)


def _media_parts(answer: Fields, spelled: set[str]) -> list[tuple[Part, dict[str, Any]]]:
    """Return the parts of a response that are bytes or files; nothing where one is neither."""
    given = answer.left.get("parts")
    if not isinstance(given, list) or not given:
        return []
    found: list[tuple[Part, dict[str, Any]]] = []
    for each in cast("list[object]", given):
        if not isinstance(each, dict):
            return []
        own: set[str] = set()
        fields = camel_fields(cast("dict[str, Any]", each), "", own)
        media = read_media(fields, own)
        if media is None:
            return []
        found.append((media, _marks(fields, own)))
    del answer.left["parts"]
    return found


def _marks(fields: Fields, spelled: set[str]) -> dict[str, Any]:
    return {"extras": fields.rest(), "spelled": tuple(sorted(spelled))}
