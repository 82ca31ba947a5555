"""Decode an Anthropic Messages request.

1. `system` becomes leading system turns: one for a string, one for each block.
2. Every `tool_result` is a separate turn; the rest of its message is another turn, marked as
   joined to it. The blocks of any other message are the pieces of one turn.
3. A block that has no unified form (a search that ran on the provider's side, its results) is kept
   whole and sent back only to Anthropic.
4. What no field holds is kept in the extras of the message, the block, the tool or
   the request, so that it can be encoded again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, cast

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Parameters, ToolDefinition, Turn
from tui_chat.models.json_text import as_object, as_string, to_json, type_name
from tui_chat.models.message import MessageRole, Part, ToolCall
from tui_chat.models.semantics import (
    UNSET,
    HostedTool,
    HostedToolKind,
    Namespace,
    ReasoningBlock,
    Setting,
)
from tui_chat.models.settings import EFFORTS, ToolChoice, WebSearch
from tui_chat.protocols.anthropic.tools import (
    read_choice,
    read_format,
    write_choice,
    write_format,
)
from tui_chat.protocols.common.decoding import (
    Meanings,
    TurnBuilder,
    captured_envelope,
    captured_model,
    read_settings,
    read_tools,
    sourced,
    take_cache_mark,
    take_marks,
    take_role,
    turns_with_results,
)
from tui_chat.protocols.common.reading import boolean
from tui_chat.protocols.common.reasoning_effort import AUTO
from tui_chat.protocols.common.request_fields import (
    Fields,
    is_count,
    load_request,
    take_if_reversible,
)
from tui_chat.protocols.common.settings import INTEGER, NUMBER, TEXTS, Scalar, read_scalars
from tui_chat.protocols.common.tools import take_domains, take_location

_ANTHROPIC = Protocol.ANTHROPIC
_ROLES: dict[str, MessageRole] = {"user": "user", "assistant": "assistant", "system": "system"}

_KNOWN = frozenset(
    (
        *("image", "document", "search_result", "thinking", "redacted_thinking", "tool_use"),
        *("tool_result", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result"),
        *("code_execution_tool_result", "bash_code_execution_tool_result", "mcp_tool_use"),
        *("text_editor_code_execution_tool_result", "mcp_tool_result", "container_upload"),
        *("tool_search_tool_result", "tool_reference", "compaction", "fallback"),
        *("advisor_tool_result",),
    )
)
"""Types of content that the protocol has."""


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError if it is not of this protocol."""
    request, notes = load_request(body, _ANTHROPIC, "messages")
    turns = list(_system(request))
    for message in request.take_list("messages"):
        turns += _turns(message, len(turns) + 1)
    tools = read_tools(request, _ANTHROPIC, read_tool, read_hosted)
    parameters = _parameters(request)
    settings = read_settings(AnthropicSettings, request.remaining)
    meanings = settings.meanings()
    return captured_envelope(
        request, turns, parameters, tools, settings, notes, known=_KNOWN, meanings=meanings
    )


def _system(request: Fields) -> Iterator[Turn]:
    """Yield the turns of `system`. Where it is empty it stays among the extras."""
    if not request.remaining.get("system"):
        return
    content = blocks_of(request, "system")
    for number, block in enumerate(content or (), 1):
        builder = TurnBuilder(_ANTHROPIC, "system", number)
        builder.slot = "system"
        if isinstance(block, str):
            builder.shape = "string"
            builder.add_text(str(content))
            yield builder.build()
            return
        builder.shape = "parts"
        read_block(block, builder)
        yield builder.build()


def _turns(message: Fields, number: int) -> Iterator[Turn]:
    _, role = take_role(message, _ROLES)
    had_content = "content" in message.remaining
    content = blocks_of(message, "content")
    builder = TurnBuilder(_ANTHROPIC, role, number)
    builder.shape, builder.extras = "parts", message.remaining_json()
    if content is None or isinstance(content, str):
        builder.shape = "string" if content is not None else "null" if had_content else "absent"
        if content:
            builder.add_text(content)
        yield builder.build()
        return
    yield from turns_with_results(builder, content, is_result, read_result, read_block)


def _parameters(request: Fields) -> Parameters:
    stream = request.take_equal("stream", True)
    choice = take_if_reversible(request, "tool_choice", _read_choice, _write_choice)
    config, form = request.take_fields("output_config"), None
    if config is not None:
        form = take_if_reversible(config, "format", read_format, write_format)
        request.put_back("output_config", config)
    return Parameters(
        model=captured_model(request.take_text("model")),
        stream=stream,
        response_format=sourced("output_config.format", form),
        tool_choice=sourced("tool_choice", choice[0] if choice else None),
        parallel_tool_calls=sourced(
            "tool_choice.disable_parallel_tool_use", choice[1] if choice else None
        ),
        **read_scalars(request, _SCALARS),
    )


def _read_choice(value: Any) -> tuple[ToolChoice, bool | None] | None:
    """Return what `tool_choice` means, and whether calls may be parallel."""
    choice, single = read_choice(value), boolean(as_object(value).get("disable_parallel_tool_use"))
    return None if choice is None else (choice, None if single is None else not single)


def _write_choice(meaning: tuple[ToolChoice, bool | None]) -> dict[str, Any]:
    choice, parallel = meaning
    fields = write_choice(choice)
    if parallel is not None and choice.mode != "none":
        fields["disable_parallel_tool_use"] = not parallel
    return fields


def blocks_of(holder: Fields, key: str) -> list[Fields] | str | None:
    """Take a content: a text, a list of blocks, or None where there is none or null."""
    content = holder.remaining.get(key)
    if content is None or isinstance(content, str):
        holder.remaining.pop(key, None)
        return content
    if isinstance(content, list):
        return list(holder.take_list(key))
    raise InputError(
        f"{holder.path(key)} must be a text or a list of blocks, not {type_name(content)}."
    )


def read_block(block: Fields, builder: TurnBuilder) -> None:
    """Read one block into a turn."""
    whole = dict(block.remaining)
    kind = block.take_text("type")
    match kind:
        case "text" if isinstance(text := block.remaining.pop("text", None), str):
            builder.add_text(text, **take_marks(block))
        case "thinking" if isinstance(text := block.remaining.pop("thinking", None), str):
            signature = block.take_text("signature")
            builder.add_reasoning(ReasoningBlock(_ANTHROPIC, text, signature), **take_marks(block))
        case "redacted_thinking" if data := block.take_text("data"):
            builder.add_reasoning(ReasoningBlock(_ANTHROPIC, encrypted=data), **take_marks(block))
        case "tool_use" if builder.role == "assistant" and isinstance(
            block.remaining.get("input"), dict
        ):
            arguments = to_json(block.remaining.pop("input"))
            call = ToolCall(block.take_text("id"), block.take_text("name"), arguments)
            builder.add_call(call, **take_marks(block))
        case "image" | "document" if (part := _media(kind, block)) is not None:
            builder.add_part(part, **take_marks(block))
        case _:
            builder.add_other(kind, whole)


def read_result(block: Fields, builder: TurnBuilder) -> None:
    """Read a `tool_result` block into a turn of its own."""
    block.take_equal("type", "tool_result")
    builder.tool_call_id = block.take_text("tool_use_id")
    builder.failed = block.take_boolean("is_error")
    had_content = "content" in block.remaining
    content = blocks_of(block, "content")
    builder.add_result(cache=take_cache_mark(block), extras=block.remaining_json())
    if content is None:
        builder.shape = "null" if had_content else "absent"
    elif isinstance(content, str):
        builder.shape = "string"
        if content:
            builder.add_text(content)
    else:
        builder.shape = "parts"
        for inner in content:
            read_block(inner, builder)


def _media(kind: str, block: Fields) -> Part | None:
    """Return a picture or document, its keys taken; None if its source is unknown."""
    source = block.take_fields("source")
    if source is None:
        return None
    name = block.take_text("title") if kind == "document" else ""
    of: Any = "image" if kind == "image" else "file"
    form = source.take_text("type")
    match form:
        case "base64":
            part = Part(
                of, source.take_text("media_type"), data=source.take_text("data"), name=name
            )
            content = part.data
        case "url":
            part = Part(of, url=source.take_text("url"), name=name)
            content = part.url
        case "file":
            part = Part(of, file_id=source.take_text("file_id"), protocol=_ANTHROPIC, name=name)
            content = part.file_id
        case "text" if source.remaining.get("media_type") == "text/plain":
            del source.remaining["media_type"]
            part = Part(of, "text/plain", text=source.take_text("data"), name=name)
            content = part.text
        case _:
            return None
    block.put_back("source", source)
    return part if content else None


def is_result(block: Fields) -> bool:
    """Return True if a block is a tool result."""
    return block.remaining.get("type") == "tool_result" and isinstance(
        cast("object", block.remaining.get("tool_use_id")), str
    )


# --- settings and tools ------------------------------------------------------------------

_SCALARS = (
    Scalar("max_tokens", "max_tokens", INTEGER),
    Scalar("temperature", "temperature", NUMBER),
    Scalar("top_p", "top_p", NUMBER),
    Scalar("top_k", "top_k", INTEGER),
    Scalar("stop", "stop_sequences", TEXTS),
)


@dataclass(frozen=True, slots=True)
class AnthropicSettings(Namespace):
    """The settings that only Anthropic has."""

    protocol: ClassVar = Protocol.ANTHROPIC
    informational: ClassVar = frozenset(
        ("betas", "cache_control", "inference_geo", "metadata", "service_tier", "speed")
    )
    groups: ClassVar = frozenset({"metadata", "output_config", "thinking"})

    cache_control: Setting = UNSET
    """Top-level: marks the last block that can be cached."""
    container: Setting = UNSET
    context_management: Setting = UNSET
    inference_geo: Setting = UNSET
    mcp_servers: Setting = UNSET
    metadata: Setting = UNSET
    output_config: Setting = UNSET
    """Effort and output format."""
    output_format: Setting = UNSET
    """Older beta form of the output format."""
    service_tier: Setting = UNSET
    speed: Setting = UNSET
    stream: Setting = UNSET
    """Only if it was false."""
    thinking: Setting = UNSET
    tool_choice: Setting = UNSET
    """Only a form that the unified fields do not give back word for word."""
    betas: Setting = UNSET
    """Some clients put the beta header into the body."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        meanings = Meanings()
        thinking, config = as_object(self.thinking), as_object(self.output_config)
        kind, budget = thinking.get("type"), thinking.get("budget_tokens")
        if is_count(budget) and kind == "enabled":
            meanings.add("reasoning_budget", budget, "thinking.budget_tokens", "thinking.type")
        elif kind == "adaptive":
            meanings.add("effort", AUTO, "thinking.type")
        if kind == "disabled":
            meanings.add("effort", "none", "thinking.type")
        elif (effort := config.get("effort")) in EFFORTS:
            name = "thinking.type, output_config.effort" if kind == "adaptive" else ""
            meanings.add("effort", effort, "output_config.effort", name=name)
        if summary := _SUMMARIES.get(as_string(thinking.get("display"))):
            meanings.add("reasoning_summary", summary, "thinking.display")
        if user := as_string(as_object(self.metadata).get("user_id")):
            meanings.add("user_id", user, "metadata.user_id")
        if tier := _TIERS.get(as_string(self.service_tier)):
            meanings.add("service_tier", tier, "service_tier")
        return meanings


_SUMMARIES: Mapping[str, str] = {"summarized": "auto", "omitted": "none"}
_TIERS: Mapping[str, str] = {"auto": "auto", "standard_only": "default"}
"""Anthropic's service tiers in OpenAI's words."""


def read_tool(entry: Fields) -> ToolDefinition | None:
    """Return a client tool's definition; None for tools that Anthropic runs."""
    if entry.remaining.get("type") not in (None, "custom"):
        return None
    name, schema = entry.take_text("name"), entry.take_object("input_schema")
    if not name or schema is None:
        return None
    description, strict = entry.take_text("description"), entry.take_boolean("strict")
    return ToolDefinition(name, description, schema, strict, extras=entry.remaining_json())


_SEARCH = re.compile(r"web_search_\d{8}")
_OTHERS: tuple[tuple[re.Pattern[str], HostedToolKind], ...] = (
    (re.compile(r"web_fetch_\d{8}"), "web_fetch"),
    (re.compile(r"code_execution_\d{8}"), "code_execution"),
)


def read_hosted(tool: Fields) -> HostedTool | None:
    """Return the meaning of a tool that Anthropic runs; None if other protocols have none."""
    kind = str(tool.remaining.get("type"))
    if _SEARCH.fullmatch(kind):
        del tool.remaining["type"]
        tool.take_text("name")
        search = WebSearch(
            location=take_location(tool),
            allowed_domains=take_domains(tool, "allowed_domains"),
            blocked_domains=take_domains(tool, "blocked_domains"),
            max_uses=tool.take_integer("max_uses"),
        )
        return HostedTool("web_search", search)
    for pattern, meaning in _OTHERS:
        if pattern.fullmatch(kind):
            del tool.remaining["type"]
            tool.take_text("name")
            return HostedTool(meaning)
    return None
