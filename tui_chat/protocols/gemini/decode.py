"""Decode a Gemini generateContent request.

1. `systemInstruction` is one leading system turn, its parts the pieces.
2. Every function response is a separate turn; the rest of its content is another turn, marked as
   joined to it. Any other content is one turn.
3. A part has one data field; the other fields (`thought`, `thoughtSignature`, `videoMetadata`)
   describe it. A signature stays on its part.
4. A function response is text if it is `{"output": text}` or `{"error": text}`; any other object
   is kept as its JSON.
5. The model is in the URL and may be missing in the body; the URL also decides whether the
   reply is streamed.
6. Keys may be in snake_case; see `spelling`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal, cast

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import camel_case
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Parameters, ToolDefinition, Turn
from tui_chat.models.json_text import as_object, as_string, to_json
from tui_chat.models.message import MessageRole, Part, ToolCall
from tui_chat.models.semantics import (
    UNSET,
    HostedTool,
    Namespace,
    NativeTool,
    ReasoningBlock,
    Setting,
)
from tui_chat.models.settings import EFFORTS, ResponseFormat, WebSearch
from tui_chat.protocols.common.decoding import (
    Meanings,
    TurnBuilder,
    captured_envelope,
    captured_model,
    native_tool,
    read_settings,
    sourced,
    turns_with_results,
)
from tui_chat.protocols.common.reasoning_effort import AUTO
from tui_chat.protocols.common.request_fields import (
    Fields,
    is_count,
    load_request,
    take_if_reversible,
)
from tui_chat.protocols.common.settings import INTEGER, NUMBER, TEXTS, Scalar, read_scalars
from tui_chat.protocols.common.tools import take_domains
from tui_chat.protocols.gemini.contents import KEPT, kind_of_mime
from tui_chat.protocols.gemini.settings import JSON_MIME, TIERS, read_choice, write_choice
from tui_chat.protocols.gemini.spelling import camel_fields
from tui_chat.protocols.gemini.tools import HOSTED

_GEMINI = Protocol.GEMINI
_ROLES: dict[str, MessageRole] = {
    "user": "user",
    "model": "assistant",
    "function": "user",
    "absent": "user",
}

_SCALARS = (
    Scalar("temperature", "temperature", NUMBER),
    Scalar("top_p", "topP", NUMBER),
    Scalar("top_k", "topK", INTEGER),
    Scalar("presence_penalty", "presencePenalty", NUMBER),
    Scalar("frequency_penalty", "frequencyPenalty", NUMBER),
    Scalar("seed", "seed", INTEGER),
    Scalar("max_tokens", "maxOutputTokens", INTEGER),
    Scalar("stop", "stopSequences", TEXTS),
)
"""Keys of `generationConfig`."""
_KNOWN = frozenset(
    (
        *("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"),
        *("functionCall", "function_call", "functionResponse", "function_response"),
        *("inlineData", "inline_data", "fileData", "file_data"),
        *("toolCall", "tool_call", "toolResponse", "tool_response"),
    )
)
"""Types of content that the protocol has."""


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError if it is not of this protocol."""
    loaded, notes = load_request(body, _GEMINI, "contents")
    spelled: set[str] = set()
    request = camel_fields(loaded.remaining, "", spelled)
    turns, about_system = _system(request, spelled)
    for content in request.take_list("contents"):
        turns += _turns(content, len(turns) + 1)
    tools, groups, shape = _tools(request, spelled)
    parameters = _parameters(request, spelled)
    settings = replace(
        read_settings(GeminiSettings, request.remaining),
        system_instruction=about_system,
        tool_groups=groups,
        tools_shape=shape,
        spelled=tuple(sorted(spelled)),
    )
    return captured_envelope(
        request,
        turns,
        parameters,
        (tools, _native(groups, spelled)),
        settings,
        notes,
        known=_KNOWN,
        meanings=settings.meanings(),
    )


def _system(request: Fields, spelled: set[str]) -> tuple[list[Turn], Any]:
    """Return the turn of the instruction, and the instruction's other keys."""
    instruction = camel_inner(request, "systemInstruction", spelled)
    if instruction is None:
        return [], UNSET
    builder = TurnBuilder(_GEMINI, "system", 1)
    builder.slot = "systemInstruction"
    if not instruction.remaining.get("parts"):
        request.put_back("systemInstruction", instruction)
        return [], UNSET
    for part in instruction.take_list("parts"):
        read_part(part, builder)
    return [builder.build()], instruction.remaining or UNSET


def _turns(content: Fields, number: int) -> Iterator[Turn]:
    word = content.remaining.pop("role", "absent")
    role = _ROLES.get(word) if isinstance(word, str) else None
    if role is None:
        raise InputError(f"{content.path('role')} must be user or model, not {word!r}.")
    had_parts = content.remaining.get("parts") is not None
    parts = list(content.take_list("parts")) if had_parts else []
    builder = TurnBuilder(_GEMINI, role, number)
    builder.shape = "parts" if had_parts else "absent"
    builder.extras = content.remaining_json()
    builder.role_word = word if word in ("absent", "function") else ""
    yield from turns_with_results(builder, parts, is_response, read_response, read_part)


def _tools(
    request: Fields, spelled: set[str]
) -> tuple[tuple[ToolDefinition, ...] | None, tuple[tuple[int, str], ...], Any]:
    """Return the tools, how they were grouped, and whether `tools` was one bare object."""
    listed = request.remaining.get("tools")
    if listed is None:
        return None, (), ""
    shape = ""
    if isinstance(listed, dict):
        shape = "object"
        request.remaining["tools"] = [listed]
    tools: list[ToolDefinition] = []
    groups: list[tuple[int, str]] = []
    for raw in request.take_list("tools"):
        entry = camel_fields(raw.remaining, raw.place, spelled)
        count = 0
        if entry.remaining.get("functionDeclarations"):
            for declaration in entry.take_list("functionDeclarations"):
                place = declaration.place
                tool = read_tool(camel_fields(declaration.remaining, place, spelled))
                if tool is None:
                    raise InputError(f"{place} has no name.")
                tools.append(tool)
                count += 1
        groups.append((count, entry.remaining_json()))
    return tuple(tools), tuple(groups), shape


def _native(groups: Iterable[tuple[int, str]], spelled: set[str]) -> tuple[NativeTool, ...]:
    """Return Google's own tools, each with its index among all tools."""
    native: list[NativeTool] = []
    position = 0
    for count, extras in groups:
        position += count
        own: dict[str, Any] = json.loads(extras) if extras else {}
        for key, value in own.items():
            whole = camel_fields({key: value}, "", set(spelled)).remaining
            native.append(native_tool(_GEMINI, position, key, whole, read_hosted))
            position += 1
    return tuple(native)


def _parameters(request: Fields, spelled: set[str]) -> Parameters:
    config = camel_inner(request, "generationConfig", spelled) or Fields({}, "generationConfig")
    form_keys = ("responseMimeType", "responseSchema", "responseJsonSchema")
    form_name = ", ".join(key for key in form_keys if key in config.remaining)
    form = read_format(config)
    parameters = Parameters(
        model=captured_model(str(request.remaining.get("model") or "").removeprefix("models/")),
        stream=False,
        response_format=sourced(form_name, form),
        tool_choice=sourced("functionCallingConfig", _choice(request, spelled)),
        **read_scalars(config, _SCALARS),
    )
    request.put_back("generationConfig", config)
    return parameters


def _choice(request: Fields, spelled: set[str]) -> Any:
    config = camel_inner(request, "toolConfig", spelled)
    if config is None:
        return None
    calling = camel_inner(config, "functionCallingConfig", spelled)
    if calling is None:
        request.put_back("toolConfig", config)
        return None
    holder = Fields({"functionCallingConfig": calling.remaining}, "")
    choice = take_if_reversible(holder, "functionCallingConfig", read_choice, write_choice)
    config.remaining |= holder.remaining
    request.put_back("toolConfig", config)
    return choice


def is_response(part: Fields) -> bool:
    """Return True if a part is a function response."""
    return any(
        isinstance(part.remaining.get(k), dict) for k in ("functionResponse", "function_response")
    )


def read_part(part: Fields, builder: TurnBuilder) -> None:
    """Read one part into a turn."""
    whole = dict(part.remaining)
    spelled: set[str] = set()
    fields = camel_fields(part.remaining, part.place, spelled)
    signature = fields.take_text("thoughtSignature")
    text = fields.remaining.get("text")
    if isinstance(text, str):
        del fields.remaining["text"]
        if fields.take_equal("thought", True):
            block = ReasoningBlock(_GEMINI, text, signature)
            builder.add_reasoning(block, **_marks(fields, spelled))
        else:
            builder.add_text(text, signature=signature, **_marks(fields, spelled))
    elif (
        builder.role == "assistant"
        and (call := camel_inner(fields, "functionCall", spelled)) is not None
    ):
        arguments = call.remaining.get("args")
        if isinstance(arguments, dict):
            del call.remaining["args"]
        arguments_json = to_json(cast("object", arguments)) if isinstance(arguments, dict) else ""
        identity, name = call.take_text("id"), call.take_text("name")
        fields.put_back("functionCall", call)
        builder.add_call(
            ToolCall(identity, name, arguments_json), signature=signature, **_marks(fields, spelled)
        )
    elif (media := read_media(fields, spelled)) is not None:
        builder.add_part(media, signature=signature, **_marks(fields, spelled))
    else:
        builder.add_other(next((key for key in whole if key not in _ASIDE), "part"), whole)


_ASIDE = ("thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata")


def read_media(fields: Fields, spelled: set[str]) -> Part | None:
    """Return the bytes or the file of a part, its keys taken; None if it has neither."""
    if (inner := camel_inner(fields, "inlineData", spelled)) is not None:
        mime = inner.take_text("mimeType")
        part = Part(
            kind_of_mime(mime),
            mime,
            data=inner.take_text("data"),
            name=inner.take_text("displayName"),
        )
        fields.put_back("inlineData", inner)
        return part if part.data and part.mime else None
    if (inner := camel_inner(fields, "fileData", spelled)) is not None:
        mime = inner.take_text("mimeType")
        uri = inner.take_text("fileUri")
        owner = _GEMINI if KEPT.match(uri) else None
        name = inner.take_text("displayName")
        part = Part(kind_of_mime(mime), mime, url=uri, protocol=owner, name=name)
        fields.put_back("fileData", inner)
        return part if part.url else None
    return None


def read_response(part: Fields, builder: TurnBuilder) -> None:
    """Read a `functionResponse` into a turn of its own."""
    spelled: set[str] = set()
    fields = camel_fields(part.remaining, part.place, spelled)
    answer = camel_inner(fields, "functionResponse", spelled)
    if answer is None:  # an empty object
        builder.add_other("functionResponse", part.remaining)
        return
    builder.tool_call_id, builder.name = answer.take_text("id"), answer.take_text("name")
    response = answer.remaining.get("response")
    name = ""
    text: str | None = None
    if isinstance(response, dict):
        del answer.remaining["response"]
        response_fields = cast("dict[str, Any]", response)
        key = next(iter(response_fields), "")
        if (
            len(response_fields) == 1
            and key in ("output", "error")
            and isinstance(response_fields[key], str)
        ):
            text = response_fields[key]
            builder.failed = True if key == "error" else None
        else:
            name, text = "object", to_json(response_fields)
    media = _media_parts(answer, spelled)
    fields.put_back("functionResponse", answer)
    builder.add_result(name=name, **_marks(fields, spelled))
    builder.shape = "absent" if text is None else "parts"
    if text:
        builder.add_text(text)
    for media_part, marks in media:
        builder.add_part(media_part, **marks)


def _media_parts(answer: Fields, spelled: set[str]) -> list[tuple[Part, dict[str, Any]]]:
    """Return the parts of a response that are bytes or files; nothing if one is neither."""
    parts = answer.remaining.get("parts")
    if not isinstance(parts, list) or not parts:
        return []
    media_and_marks: list[tuple[Part, dict[str, Any]]] = []
    for part in cast("list[object]", parts):
        if not isinstance(part, dict):
            return []
        own: set[str] = set()
        fields = camel_fields(cast("dict[str, Any]", part), "", own)
        media = read_media(fields, own)
        if media is None:
            return []
        media_and_marks.append((media, _marks(fields, own)))
    del answer.remaining["parts"]
    return media_and_marks


def _marks(fields: Fields, spelled: set[str]) -> dict[str, Any]:
    return {"extras": fields.remaining_json(), "spelled": tuple(sorted(spelled))}


# --- keys, settings and tools in the flat model ------------------------------------------


def camel_inner(fields: Fields, key: str, spelled: set[str]) -> Fields | None:
    """Take an inner object apart in the same way."""
    inner = fields.take_fields(key)
    return camel_fields(inner.remaining, inner.place, spelled) if inner else None


@dataclass(frozen=True, slots=True)
class GeminiSettings(Namespace):
    """The settings that only Gemini has."""

    protocol: ClassVar = Protocol.GEMINI
    form_only: ClassVar = frozenset({"system_instruction", "tool_groups", "tools_shape", "spelled"})
    informational: ClassVar = frozenset({"labels", "service_tier", "store"})
    earlier_turns: ClassVar = frozenset({"cached_content"})
    keys: ClassVar = {
        name: camel_case(name)
        for name in (
            *("cached_content", "continuation_token", "generation_config", "safety_settings"),
            *("service_tier", "tool_config"),
        )
    }
    groups: ClassVar = frozenset({"generation_config", "tool_config"})

    cached_content: Setting = UNSET
    continuation_token: Setting = UNSET
    generation_config: Setting = UNSET
    """The part of `generationConfig` that no unified field holds."""
    labels: Setting = UNSET
    model: Setting = UNSET
    """The body's own `model`, as it was written; the one that counts is in the URL."""
    safety_settings: Setting = UNSET
    service_tier: Setting = UNSET
    store: Setting = UNSET
    tool_config: Setting = UNSET
    """The part that the unified tool choice does not give back word for word."""
    system_instruction: Setting = UNSET
    """Not in the body: the instruction's keys other than its parts (`role`)."""
    tool_groups: tuple[tuple[int, str], ...] = ()
    """Not in the body: how `tools` was written: for each entry, how many function declarations
    it holds, and its other keys (`googleSearch`, ...) as compact JSON."""
    tools_shape: Literal["", "object"] = ""
    """Not in the body: whether `tools` was one bare object."""
    spelled: tuple[str, ...] = ()
    """Not in the body: the keys above the contents that were written in snake_case."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        meanings = Meanings(GeminiSettings)
        config = as_object(self.generation_config)
        thinking = Fields(as_object(config.get("thinkingConfig")), "")
        level = as_string(thinking.remaining.get("thinkingLevel")).lower()
        budget = thinking.remaining.get("thinkingBudget")
        shown = thinking.remaining.get("includeThoughts")
        base = "generation_config"
        if level in EFFORTS:
            meanings.add("effort", level, f"{base}.thinkingConfig.thinkingLevel")
        if is_count(budget):
            meanings.add("reasoning_budget", budget, f"{base}.thinkingConfig.thinkingBudget")
        elif budget == -1:
            meanings.add("effort", AUTO, f"{base}.thinkingConfig.thinkingBudget")
        if isinstance(shown, bool):
            summary = "auto" if shown else "none"
            meanings.add("reasoning_summary", summary, f"{base}.thinkingConfig.includeThoughts")
        if is_count(count := config.get("candidateCount")):
            meanings.add("replies", count, f"{base}.candidateCount")
        is_on, number = config.get("responseLogprobs"), config.get("logprobs")
        meanings.add_logprobs(is_on, number, f"{base}.responseLogprobs", f"{base}.logprobs")
        if (tier := as_string(self.service_tier).lower()) in TIERS:
            meanings.add("service_tier", TIERS[tier], "service_tier")
        if isinstance(self.store, bool):
            meanings.add("store", self.store, "store")
        return meanings


def read_tool(entry: Fields) -> ToolDefinition | None:
    """Return a function's declaration; None if it has no name."""
    name = entry.take_text("name")
    if not name:
        return None
    description = entry.take_text("description")
    schema, own = entry.take_object("parametersJsonSchema"), None
    if schema is None:
        own = entry.take_object("parameters")
    return ToolDefinition(
        name,
        description,
        schema or own or {},
        dialect="gemini" if own else "json",
        extras=entry.remaining_json(),
    )


def read_hosted(tool: Fields) -> HostedTool | None:
    """Return the meaning of one of Google's own tools; None if other protocols have none."""
    for key, kind in HOSTED.items():
        if isinstance(tool.remaining.get(key), dict):
            inner = Fields(tool.remaining.pop(key), key)
            search = WebSearch()
            if kind == "web_search":
                search = WebSearch(blocked_domains=take_domains(inner, "excludeDomains"))
            tool.put_back(key, inner)
            return HostedTool(kind, search)
    return None


def read_format(config: Fields) -> ResponseFormat | None:
    """Take the reply's form out of `generationConfig`; None if it is unknown."""
    if config.remaining.get("responseMimeType") != JSON_MIME:
        return None
    del config.remaining["responseMimeType"]
    if schema := config.take_object("responseJsonSchema"):
        return ResponseFormat("schema", schema)
    if schema := config.take_object("responseSchema"):
        return ResponseFormat("schema", schema, "gemini")
    return ResponseFormat("json")
