"""A request body in the order in which a model reads it.

1. Providers cache the prompt's beginning, and the prompt is not the body: tools come first, then
   the system prompt, then the conversation, whatever the order of the body's keys (Anthropic
   and OpenAI say so in their pages on prompt caching).
2. Text is counted with the model's counter, and a tool by its JSON; an image costs
   `tokens.PART_TOKENS`. Ids and signatures are not counted.
3. The framing of a segment counts at its end, so that it is common only if the whole segment is.
   Corrections apply segment by segment, as the budget applies them turn by turn.
4. Segments that are the same objects as in the previous prompt keep their figures, so a keystroke
   costs the message that it changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tui_chat.compose import Composed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree, body_of
from tui_chat.models.text import GLUE
from tui_chat.tokens import PART_TOKENS, TURN_OVERHEAD, Counter

_ORDER = (
    *("tools", "response_format", "text"),
    *("system", "instructions", "systemInstruction", "system_instruction"),
    *("messages", "input", "contents"),
)
"""The body's keys in the order in which models read them, whatever the protocol."""
UNREAD = frozenset(
    (
        *("id", "call_id", "tool_call_id", "tool_use_id", "item_id", "status", "ttl"),
        *("signature", "thoughtSignature", "thought_signature", "encrypted_content"),
    )
)
"""Keys whose strings are not words of the prompt."""
_BYTES = frozenset(("data", "file_data", "image_url", "url", "fileUri", "file_uri", "file_url"))
"""Keys whose strings are images, audio or files."""
_MARK = "cache_control"
"""Not read by the model."""


@dataclass(frozen=True, slots=True)
class CacheBreakpoint:
    """A `cache_control`, up to which Anthropic caches the prompt."""

    tokens: int
    """Tokens of the prompt up to and including the marked block."""
    block: int
    """The number of the marked block in the whole prompt, from 0."""
    segment: int
    """The number of the segment that it is in."""


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """The segments of a prompt: a tool, the system prompt, a message each."""

    segments: tuple[Tree, ...]
    ends: tuple[int, ...]
    """Tokens up to and including each segment."""
    marks: tuple[CacheBreakpoint, ...]
    blocks: tuple[int, ...]
    """Blocks up to and including each segment."""
    tools: int
    """The number of segments at the beginning that are tools."""
    counter: Counter

    @property
    def total(self) -> int:
        """Tokens of the whole prompt."""
        return self.ends[-1] if self.ends else 0

    def before(self, segment: int) -> int:
        """Tokens before a segment."""
        return self.ends[segment - 1] if segment else 0


def prompt_of(composed: Composed, counter: Counter, before: Prompt | None = None) -> Prompt:
    """Return a request's prompt; figures of an earlier one, `before`, are reused."""
    segments = _segments(composed.encoded.tree)
    listed = composed.encoded.tree.get("tools")
    tools = len(listed.items) if isinstance(listed, Arr) else 0
    kept = 0
    ends: list[int] = []
    blocks: list[int] = []
    marks: list[CacheBreakpoint] = []
    if before is not None and before.counter is counter:
        kept = common_prefix(before.segments, segments)
        ends, blocks = list(before.ends[:kept]), list(before.blocks[:kept])
        marks = [mark for mark in before.marks if mark.segment < kept]
    before_it, block = (ends[-1] if ends else 0), (blocks[-1] if blocks else 0)
    plain = counter.uncorrected
    for number in range(kept, len(segments)):
        tokens = 0
        for piece in _blocks(segments[number]):
            tokens += _tool_cost(plain, piece) if number < tools else cost("", piece, plain)
            if isinstance(piece, Obj) and piece.get(_MARK) is not None:
                marks.append(CacheBreakpoint(before_it + counter.scaled(tokens), block, number))
            block += 1
        before_it += counter.scaled(tokens + TURN_OVERHEAD)
        ends.append(before_it)
        blocks.append(block)
    return Prompt(segments, tuple(ends), tuple(marks), tuple(blocks), tools, counter)


def _segments(body: Obj) -> tuple[Tree, ...]:
    values = dict(body.items)
    segments: list[Tree] = []
    for key in _ORDER:
        value = values.get(key)
        if isinstance(value, Arr):
            segments += value.items
        elif value is not None:
            segments.append(value)
    return tuple(segments)


def _blocks(segment: Tree) -> Sequence[Tree]:
    """Return the blocks of a message whose content is a list of them, else the segment."""
    if isinstance(segment, Obj) and segment.get(_MARK) is None:
        content = segment.get("content") or segment.get("parts")
        if isinstance(content, Arr):
            return content.items
    return (segment,)


def _tool_cost(counter: Counter, tool: Tree) -> int:
    """Return the tokens of a tool: of its JSON, since keys of a schema are words of the prompt."""
    if isinstance(tool, Obj) and tool.get(_MARK) is not None:
        tool = Obj(tuple((key, value) for key, value in tool.items if key != _MARK))
    return _count_json(counter, body_of(tool))


@lru_cache(maxsize=1024)  # a tree of the same tools is made with every request
def _count_json(counter: Counter, json: bytes) -> int:
    return counter.count(json.decode())


def cost(key: str, node: Tree, counter: Counter) -> int:
    """Return the tokens of the value under a key, without framing."""
    match node:
        case Str():
            return 0 if key in UNREAD else _words(key, node, counter)
        case Lit():
            return 0
        case Arr():
            return sum(cost(key, item, counter) for item in node.items)
        case Obj():
            return sum(cost(name, value, counter) for name, value in node.items if name != _MARK)


def _words(key: str, node: Str, counter: Counter) -> int:
    if all(span.origin is GLUE for span in node.text.spans):
        return 0
    if key in _BYTES and " " not in node.text.plain[:200]:
        return PART_TOKENS["image"]
    return counter.text(node.text)
