"""A request for a reply, in terms of no particular protocol, and what reading one has in common.

The models answer a `PromptRequest` and never depend on the protocol it came from, except to say so.
Reading is lenient: whatever has another type than expected counts as absent. Only what leaves
nothing to answer is refused.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.offline.reply import Problem, Refusal


@dataclass(frozen=True, slots=True)
class PromptText:
    """Ordinary text."""

    text: str


@dataclass(frozen=True, slots=True)
class PromptReasoning:
    """Reasoning of an earlier reply, sent back."""

    text: str
    """The readable part; empty if only a signature or ciphertext was sent."""


@dataclass(frozen=True, slots=True)
class PromptToolCall:
    """A tool call of an earlier reply, sent back."""

    id: str
    """The id that the result refers to; empty if a provider matches by name and order."""
    name: str
    arguments: str
    """JSON as text."""


@dataclass(frozen=True, slots=True)
class PromptToolResult:
    """The result of a tool call."""

    id: str
    name: str
    """Empty if the provider's form of a result has no name."""
    text: str


@dataclass(frozen=True, slots=True)
class PromptOther:
    """Content other than text: `image`, `audio`, `file` or the provider's own type."""

    kind: str


PromptPart: TypeAlias = (
    PromptText | PromptReasoning | PromptToolCall | PromptToolResult | PromptOther
)


@dataclass(frozen=True, slots=True)
class PromptTurn:
    """One message as the provider received it."""

    role: str
    """The role in the request (`developer`, `model`, `tool` ...)."""

    parts: tuple[PromptPart, ...]

    @property
    def text(self) -> str:
        """The text parts, each on a line of its own."""
        return "\n".join(part.text for part in self.parts if isinstance(part, PromptText))

    @property
    def results(self) -> tuple[PromptToolResult, ...]:
        """The tool results among the parts."""
        return tuple(part for part in self.parts if isinstance(part, PromptToolResult))


@dataclass(frozen=True, slots=True)
class PromptTool:
    """A function that the model may call."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of the arguments, in the provider's spelling; empty if none was given."""


ToolMode: TypeAlias = Literal["auto", "none", "required"]


@dataclass(frozen=True, slots=True)
class PromptToolChoice:
    """The request's rule for calling tools."""

    mode: ToolMode = "auto"
    name: str | None = None
    """The one tool to call, if the request names it."""


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Tokens of a prompt that its provider's cache served, or took."""

    read: int = 0
    written: int = 0
    """Kept for five minutes."""
    written_1h: int = 0
    """Kept for an hour."""


NO_CACHE_USE = CacheUse()


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A complete request for a reply."""

    protocol: str
    """The protocol's name, as its provider calls it."""
    model: str
    system: tuple[str, ...]
    """Blocks outside the turns (`system`, `instructions`, `systemInstruction`)."""

    turns: tuple[PromptTurn, ...]
    tools: tuple[PromptTool, ...]
    choice: PromptToolChoice
    body: Mapping[str, Any]
    """The request's JSON object, for fields that a provider repeats in its reply."""

    settings: tuple[tuple[str, str], ...]
    """All other fields: name in the request and compact JSON, in the order sent."""

    stream: bool
    limit: int | None
    """Maximum tokens of the reply; None for no limit."""

    stops: tuple[str, ...]
    """Texts that end the reply before they are sent."""

    size: int
    """Length of the body in bytes."""

    cache: CacheUse = NO_CACHE_USE

    @property
    def characters(self) -> int:
        """The characters of the prompt: system, turns and tools."""
        return (
            sum(map(len, self.system))
            + sum(_length(part) for turn in self.turns for part in turn.parts)
            + sum(
                len(tool.name) + len(tool.description) + len(str(tool.schema))
                for tool in self.tools
            )
        )


def _length(part: PromptPart) -> int:
    match part:
        case PromptText(text) | PromptReasoning(text):
            return len(text)
        case PromptToolCall(_, name, arguments):
            return len(name) + len(arguments)
        case PromptToolResult(_, name, text):
            return len(name) + len(text)
        case PromptOther():
            return 1_000  # a picture costs a provider on the order of 250 tokens


_MAX_DEPTH = 200
"""Levels of nesting that are read. Real prompts and schemas stay under 50."""

_MEDIA = {
    "image_url": "image",
    "input_image": "image",
    "input_audio": "audio",
    "input_file": "file",
    "document": "file",
}


def parse_body(body: bytes) -> dict[str, Any]:
    """Return a request's JSON object. Raises Refusal."""
    try:
        value: Any = json.loads(body.decode())
        # Neither infinite numbers nor lone surrogates could be sent back.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        reason = str(error)[:120]
        raise Refusal(Problem("invalid", f"The request's body is not JSON: {reason}")) from None
    if not isinstance(value, dict):
        raise Refusal(Problem("invalid", "The request's body is no JSON object."))
    if _depth_exceeds(fields := fields_of(value), _MAX_DEPTH):
        raise Refusal(Problem("invalid", "The request's body is nested too deeply."))
    return fields


def fields_of(value: Any) -> dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def rows_of(value: Any) -> list[Any]:
    """Return a JSON array; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return a JSON string; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def limit_of(value: Any, least: int = 1) -> int | None:
    """Return a maximum of tokens; None for no limit."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and abs(value) < 1e15 and value >= least else None


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the texts of a string or an array, without empty ones."""
    values = [value] if isinstance(value, str) else rows_of(value)
    return tuple(text for text in map(text_of, values) if text)


def compact(value: object) -> str:
    """Return JSON on one line without spaces, non-ASCII characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def other_fields(
    fields: Mapping[str, Any], read: tuple[str, ...], prefix: str = ""
) -> tuple[tuple[str, str], ...]:
    """Return name and compact JSON of every field that is not among the known ones."""
    return tuple(
        (prefix + name, compact(value)) for name, value in fields.items() if name not in read
    )


def read_content(value: Any) -> list[PromptPart]:
    """Return the parts of a string, or of an array as OpenAI and Anthropic have them."""
    if isinstance(value, str):
        return [PromptText(value)]
    return [read_part(fields_of(part)) for part in rows_of(value)]


def read_part(part: Mapping[str, Any]) -> PromptPart:
    """Return a text, or the kind of another part."""
    kind = text_of(part.get("type"))
    text = part.get("refusal" if kind == "refusal" else "text")
    return PromptText(text) if isinstance(text, str) else PromptOther(_MEDIA.get(kind, kind[:64]))


def joined_texts(parts: list[PromptPart]) -> str:
    """Return the parts of a tool's result as one text."""
    return "\n".join(
        part.text if isinstance(part, PromptText) else f"[{part.kind}]"
        for part in parts
        if isinstance(part, (PromptText, PromptOther))
    )


def read_tool(function: Mapping[str, Any], schema: str) -> PromptTool:
    """Return a function; `schema` is the key of its arguments' JSON schema."""
    name, description = text_of(function.get("name")), text_of(function.get("description"))
    return PromptTool(name, description, fields_of(function.get(schema)))


def _depth_exceeds(value: object, levels: int) -> bool:
    level = [value]
    for _ in range(levels):
        level = [
            child
            for parent in level
            for child in (*fields_of(parent).values(), *rows_of(parent))
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True
