"""The envelope: what the model will see, independent of any protocol. Its turns are messages of the
built context: blocks, with an origin for every character of their texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Block, Extras, Json, MediaBlock, TextBlock
from tui_chat.models.boundary import Accepts, Check, Forms, Hidden
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import HasBlocks, MessageRole, is_words, text_blocks, text_place
from tui_chat.models.preset import CacheLifetime
from tui_chat.models.settings import DEFAULT_SEARCH, Settings, WebSearch
from tui_chat.models.text import GLUE, Origin, Text


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of a turn, and the rule that put it there."""

    kind: Literal["system", "skeleton", "before", "after", "depth", "history", "draft"]
    anchor: str = ""
    """The anchor's id, for `before`, `after` and the content of an anchor."""
    depth: int | None = None
    """The insertion point that was used, after clamping, for `depth`."""
    rule: str = ""
    """The rule, as a sentence."""
    asked: int | None = None
    """The insertion point in the preset: below 0 it counts from the newest message.
    None for the end of the conversation, which no insertion point names."""
    anchor_name: str = ""
    """The anchor's name; its id if it has none."""


IN_HISTORY = Placement("history", rule="It is part of the conversation.")
"""The place of a message of the conversation."""


@dataclass(frozen=True, slots=True)
class CacheMark:
    """A place up to which a provider is asked to cache the prompt."""

    lifetime: CacheLifetime
    origin: Origin
    """The origin that placed it."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Turn(HasBlocks):
    """One message of the built context. Compared by identity: what is derived from a turn is
    remembered for as long as the turn lives.
    """

    role: MessageRole
    blocks: tuple[Block, ...]
    origin: Origin
    """The origin of the turn as a whole."""
    placement: Placement = IN_HISTORY
    name: str = ""
    """The name of its author. That of a tool is in the result block."""
    extras: Extras | None = None
    """Keys of the message itself; None if it was not captured."""
    cache_mark: CacheMark | None = None
    """At its end, placed by a preset. Those of a captured request are in the blocks."""
    spans: Mapping[int, Text] = field(default_factory=dict[int, Text])
    """The texts of text blocks, by index, that are not a verbatim piece of the turn's origin: with
    macros in them. The plain text of each is that of its block."""
    pieces: tuple[Turn, ...] = ()
    """The messages that are sent as this one; empty if it is one message."""

    @property
    def text(self) -> Text:
        """The text: all text blocks together, without refusals."""
        blocks = self.blocks
        if len(blocks) == 1 and is_words(blocks[0]):
            return self.text_at(0)
        texts = [self.text_at(index) for index, block in enumerate(blocks) if is_words(block)]
        return Text.join("", texts)

    def text_at(self, index: int) -> Text:
        """Return the text of a text block with its origins."""
        known = self.spans.get(index)
        if known is not None:
            return known
        block = self.blocks[index]
        assert isinstance(block, TextBlock)
        start = sum(
            len(b.text) for b in self.blocks[:index] if type(b) is TextBlock and is_words(b)
        )
        return Text.of(block.text, self.origin, start)

    def captured_from(self, protocol: object) -> bool:
        """Return True if it was captured from a request of this protocol."""
        return self.extras is not None and self.extras.protocol is protocol


def text_turn(
    role: MessageRole,
    text: Text,
    origin: Origin,
    placement: Placement = IN_HISTORY,
    cache_mark: CacheMark | None = None,
) -> Turn:
    """Return a turn that is one text."""
    blocks = text_blocks(text.plain)
    spans = {0: text} if blocks else dict[int, Text]()
    return Turn(role, blocks, origin, placement, cache_mark=cache_mark, spans=spans)


def with_text(turn: Turn, text: Text) -> Turn:
    """Return a turn with another text in place of its own. If it has several texts, the first one
    takes all.
    """
    places = [index for index, block in enumerate(turn.blocks) if is_words(block)]
    if not places:
        place = text_place(turn.blocks)
        before, after = turn.blocks[:place], turn.blocks[place:]
        blocks = (*before, TextBlock(text.plain), *after)
        return replace(turn, blocks=blocks, spans={place: text})
    whole = kept_blocks(turn, [i for i in range(len(turn.blocks)) if i not in places[1:]])
    first = whole.blocks[places[0]]
    assert isinstance(first, TextBlock)
    # Ids and signatures belong to the old text.
    is_kept = turn.extras is not None or text.plain == first.text
    extras = first.extras if is_kept else None
    block = replace(first, text=text.plain, extras=extras)
    return with_block(whole, places[0], block, text)


def kept_blocks(turn: Turn, indices: Collection[int]) -> Turn:
    """Return a turn with some of its blocks, in their order; the turn itself if it has no other."""
    if len(indices) == len(turn.blocks):
        return turn
    places = sorted(indices)
    spans = {
        new: turn.text_at(old)
        for new, old in enumerate(places)
        if type(turn.blocks[old]) is TextBlock
    }
    return replace(turn, blocks=tuple(turn.blocks[place] for place in places), spans=spans)


def with_block(turn: Turn, index: int, block: Block, text: Text | None = None) -> Turn:
    """Return a turn with another block at a place; `text`: that of the block, with its origins."""
    blocks = (*turn.blocks[:index], block, *turn.blocks[index + 1 :])
    spans = turn.spans if text is None else {**turn.spans, index: text}
    return replace(turn, blocks=blocks, spans=spans)


def with_each_block(turn: Turn, change: Callable[[Block], Block]) -> Turn:
    """Return a turn with each block changed, none of them being a text."""
    for index, block in enumerate(turn.blocks):
        if (changed := change(block)) is not block:
            turn = with_block(turn, index, changed)
    return turn


class Level(StrEnum):
    """The severity of a note."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Note:
    """A diagnostic: something was changed, dropped or is doubtful, and why."""

    level: Level
    code: str
    """Stable and greppable: `unknown-anchor`, `over-budget`, ..."""
    sentence: str
    """The message for the user."""
    origin: Origin | None = None
    """The origin that it concerns."""
    place: str = ""
    """Its place in the payload as a JSON pointer; empty if it has none."""
    unsent: MediaBlock | None = None
    """The picture or file that is not sent, on a note that says so."""


@dataclass(frozen=True, slots=True)
class RequestSettings(Settings):
    """The settings of one request; None where unset."""

    model: str = ""
    stream: bool = False
    replies: int | None = None
    """The number of replies."""
    store: bool | None = None
    """True if the provider keeps the reply."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The settings of a request, and who set each."""

    values: RequestSettings = RequestSettings()
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    """The origin of each setting, by its name."""

    def origin(self, name: str) -> Origin:
        """Return the origin of a setting."""
        return self.origins.get(name, GLUE)

    def with_values(self, **values: Any) -> Parameters:
        """Return the parameters with other values; the origins stay."""
        return Parameters(replace(self.values, **values), self.origins)

    def with_value(self, name: str, value: Any, origin: Origin) -> Parameters:
        """Return the parameters with a value that another origin set."""
        values = replace(self.values, **{name: value})
        return Parameters(values, {**self.origins, name: origin})


def _from_text(schema: object) -> object:
    """Read a schema that is JSON text."""
    if not isinstance(schema, str):
        return schema
    try:
        return json.loads(schema)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None


def _newer(extras: object) -> object:
    """Read extras; those that older programs stored as text said no protocol."""
    return None if isinstance(extras, str) else extras


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type", "object") != "object":
        raise ValueError("must be a JSON Schema of type object")
    try:
        json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError("has a value that JSON cannot represent, such as a date") from None
    return schema


@dataclass(frozen=True, slots=True)
class ToolOrigin:
    """The server that defines a tool."""

    server: str
    """Its name in the configuration."""
    name: str
    """The tool's name there, which may not be the one for the model."""
    version: str = ""
    """The name and version that the server states."""
    digest: str = ""
    """The SHA-256 of the definition there: name, description and schemas."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ToolDefinition:
    """A tool the model may call."""

    name: Annotated[str, Hidden()]
    description: str
    """The explanation of the tool for the model."""
    parameters: Annotated[
        dict[str, Any],
        Forms(_from_text),
        Accepts("a JSON Schema of type object"),
        Check(_schema),
    ]
    """The JSON Schema of the arguments, of type object. In files as a table or as JSON text."""
    strict: Annotated[bool | None, Hidden()] = None
    """True if arguments must follow the schema exactly; None if unspecified."""
    dialect: Annotated[Literal["json", "gemini"], Hidden()] = "json"
    """`gemini`: the schema is in Gemini's form, with types in capitals."""
    extras: Annotated[Extras | None, Forms(_newer), Hidden()] = None
    """What only the protocol of a captured request knows of it."""
    source: Annotated[ToolOrigin | None, Hidden()] = None
    """None for one of the configuration or of a captured request."""


HostedToolKind = Literal["web_search", "web_fetch", "code_execution"]


@dataclass(frozen=True, slots=True)
class HostedTool:
    """A tool that the provider runs and that several protocols have."""

    kind: HostedToolKind
    search: WebSearch = DEFAULT_SEARCH
    """For `web_search`."""


@dataclass(frozen=True, slots=True)
class NativeTool:
    """A tool that the provider runs itself, or that is not a plain function."""

    protocol: Protocol
    """The only protocol that supports it."""
    name: str
    """The provider's word for it: `web_search_20250305`, `code_interpreter`."""
    value: Json
    """The definition as it came, for pass-through only."""
    hosted: HostedTool | None = None
    """Its meaning for other protocols, if it has one."""
    extras: Extras | None = None
    """What `hosted` does not express of it."""


RequestTool: TypeAlias = ToolDefinition | NativeTool
"""A tool of a request."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A history message that is not sent: it did not fit into the budget, or is muted."""

    origin: Origin
    role: MessageRole
    preview: str
    """Its first characters."""
    tokens: int
    """Its tokens."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The use of the context limit. All figures in tokens."""

    limit: int | None
    """The model's context limit; None if unknown, and then nothing is dropped."""
    reserve: int
    """Kept free for the reply."""
    fixed: int
    """System, preset, profile and lore turns, tool definitions, and the draft: what is typed, or
    the stored user message that takes its place."""
    history: int
    """The history that was kept, without a message that takes the draft's place."""
    dropped: int
    """The history that was dropped."""
    counter: str
    """The counter: `o200k`, `cl100k`, `estimate`."""
    exact: bool
    """True if the counter has the model's own vocabulary, or a reply reported the total."""
    ratio: float = 1.0
    """The correction of estimates, from the usage that replies reported."""
    how: str = ""
    """The counter and its accuracy, in words."""
    tools: tuple[tuple[str, int], ...] = ()
    """The name and tokens of each tool definition, which `fixed` includes."""
    edits: int = 0
    """What edits by hand add to the turns, or take away."""
    muted: int = 0
    """The muted messages and parts, which are not sent. Reasoning is not counted."""

    @property
    def total(self) -> int:
        """The tokens of all turns, with the edits by hand."""
        return self.fixed + self.history + self.edits

    @property
    def uncorrected(self) -> int:
        """The tokens of all turns before the correction, with which a reply's usage is compared."""
        return round(self.total / self.ratio)

    @property
    def free(self) -> int | None:
        """The tokens left after turns and reserve; negative if over the limit; None without one."""
        return None if self.limit is None else self.limit - self.reserve - self.total


EARLIER_TURNS: Mapping[Protocol, tuple[str, ...]] = {
    Protocol.OPENAI_RESPONSES: ("previous_response_id", "conversation", "prompt"),
    Protocol.GEMINI: ("cachedContent",),
}
"""Keys of requests that continue a conversation which the provider keeps."""


@dataclass(frozen=True, slots=True, eq=False)
class ChatEnvelope:
    """The whole request without a protocol: what is built, and encoded and decoded by each."""

    turns: tuple[Turn, ...]
    parameters: Parameters
    tools: tuple[RequestTool, ...] | None = None
    """None: no tools were named. Empty: an empty list was, which is not the same."""
    dropped: tuple[Dropped, ...] = ()
    """The history that did not fit into the budget."""
    muted: tuple[Dropped, ...] = ()
    """The messages that are muted, and those that go with them: a call and its result."""
    notes: tuple[Note, ...] = ()
    budget: Budget | None = None
    tokens: tuple[int, ...] = field(default=())
    """Tokens of each turn."""
    cache_marks: int = 0
    """Number of turns with a `cache_mark`."""
    set_variables: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, "tuple[str, ...]"]
    )
    """The variables that preset messages without any other content set, by the message's id."""
    without_value: frozenset[str] = frozenset()
    """The ids of preset messages that are not sent since what they require has no value."""
    source: Protocol | None = None
    """The protocol that it was captured from; None for a composed request."""
    rest: Extras | None = None
    """What only that protocol knows of the request."""

    @property
    def is_continuation(self) -> bool:
        """True if the provider keeps earlier turns, which the request does not have."""
        rest = self.rest
        return rest is not None and any(
            rest.keys.get(key) for key in EARLIER_TURNS.get(rest.protocol, ())
        )

    @property
    def functions(self) -> tuple[ToolDefinition, ...]:
        """The tools that are functions."""
        return tuple(tool for tool in self.tools or () if isinstance(tool, ToolDefinition))

    @property
    def native_tools(self) -> tuple[NativeTool, ...]:
        """The tools that only the protocol of a captured request has in their form."""
        return tuple(tool for tool in self.tools or () if isinstance(tool, NativeTool))
