"""A request body in the order in which a model reads it.

1. Providers cache the prompt's beginning, and the prompt is not the body: tools come first, then
   the system prompt, then the conversation, whatever the order of the body's keys (Anthropic
   and OpenAI say so in their pages on prompt caching).
2. Text is counted with the model's counter, and a tool by its JSON; an image costs
   `tokens.PART_TOKENS`. Ids and signatures are not counted.
3. The framing of a segment counts at its end, so that it is common only if the whole segment is.
   Corrections apply segment by segment, as the budget applies them turn by turn.
4. A segment is counted once, so a keystroke costs the message that it changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from tui_chat.compose import Composed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.memo import Memo
from tui_chat.models.payload import Arr, Obj, Str, Tree, body_of
from tui_chat.models.text import GLUE
from tui_chat.tokens import PART_TOKENS, TURN_OVERHEAD, Counter

_ORDER = (
    *("tools", "response_format", "text"),
    *("system", "instructions", "systemInstruction", "system_instruction"),
    *("messages", "input", "contents"),
)
"""The body's keys in the order in which models read them, whatever the protocol."""
_UNREAD = frozenset(
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


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """The segments of a prompt: a tool, the system prompt, a message each."""

    segments: tuple[Tree, ...]
    ends: tuple[int, ...]
    """Tokens up to and including each segment."""
    marks: tuple[tuple[int, int], ...]
    """Of each `cache_control`, up to which Anthropic caches the prompt: the tokens up to and with
    the marked block, and the number of that block in the whole prompt, from 0."""
    tools: int
    """The number of segments at the beginning that are tools."""
    counter: Counter

    @property
    def total(self) -> int:
        """Tokens of the whole prompt."""
        return self.ends[-1] if self.ends else 0

    def before(self, segment: int) -> int:
        """Return the tokens before a segment."""
        return self.ends[segment - 1] if segment else 0


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without values of its own, as a model reads it."""

    name: str
    """Its key in the object."""
    node: Tree

    @property
    def key(self) -> tuple[str, bytes]:
        """What equal leaves have in common: the name and the JSON."""
        return self.name, body_of(self.node)

    @property
    def words(self) -> str:
        """The words of the leaf, which may be common in part; empty if it has none."""
        is_read = isinstance(self.node, Str) and self.name not in _UNREAD
        return self.node.text.plain if is_read and isinstance(self.node, Str) else ""

    def tokens(self, counter: Counter) -> int:
        """Return the tokens of the leaf, without framing."""
        node = self.node
        if not self.words or not isinstance(node, Str):
            return 0
        if all(span.origin is GLUE for span in node.text.spans):
            return 0
        if self.name in _BYTES and " " not in self.words[:200]:
            return PART_TOKENS["image"]
        return counter.text(node.text)


def leaves(node: Tree, name: str = "") -> Iterator[Leaf]:
    """Yield the leaves of a segment in the order in which they are read, without cache marks. A
    text block is its text: a block of its own may only exist to carry a mark.
    """
    match node:
        case Obj() if node.items:
            values = [(key, value) for key, value in node.items if key != _MARK]
            if [key for key, _ in values] == ["type", "text"]:
                values = [(name, values[1][1])]
            for key, value in values:
                yield from leaves(value, key)
        case Arr() if node.items:
            for item in node.items:
                yield from leaves(item, name)
        case _:
            yield Leaf(name, node)


@Memo
def prompt_of(composed: Composed, counter: Counter) -> Prompt:
    """Return a request's prompt; that of the last one sent is asked for with each key."""
    body = composed.encoded.tree
    tool_list = body.get("tools")
    tools = len(tool_list.items) if isinstance(tool_list, Arr) else 0
    segments = _segments(body)
    ends: list[int] = []
    marks: list[tuple[int, int]] = []
    tokens = blocks = 0
    for number, segment in enumerate(segments):
        counted = _counted if isinstance(segment, Obj) else _count
        size, count, marked = counted(segment, counter.uncorrected, number < tools)
        marks += [(tokens + counter.scaled(upto), blocks + block) for upto, block in marked]
        tokens += counter.scaled(size)
        blocks += count
        ends.append(tokens)
    return Prompt(segments, tuple(ends), tuple(marks), tools, counter)


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


def _count(
    segment: Tree, counter: Counter, is_tool: bool
) -> tuple[int, int, Sequence[tuple[int, int]]]:
    """Return the tokens and the blocks of a segment, and for each of its cache marks the tokens up
    to it with the number of its block.
    """
    tokens = TURN_OVERHEAD
    marks: list[tuple[int, int]] = []
    blocks = _blocks(segment)
    for number, block in enumerate(blocks):
        if is_tool:  # keys of a schema are words of the prompt
            tokens += _count_json(counter, _unmarked(block))
        else:
            tokens += sum(leaf.tokens(counter) for leaf in leaves(block))
        if isinstance(block, Obj) and block.get(_MARK) is not None:
            marks.append((tokens - TURN_OVERHEAD, number))
    return tokens, len(blocks), marks


_counted = Memo(_count)


def _blocks(segment: Tree) -> Sequence[Tree]:
    """Return the blocks of a message whose content is a list of them, else the segment."""
    if isinstance(segment, Obj) and segment.get(_MARK) is None:
        content = segment.get("content") or segment.get("parts")
        if isinstance(content, Arr):
            return content.items
    return (segment,)


def _unmarked(tool: Tree) -> bytes:
    """Return the JSON of a tool without its cache mark."""
    if isinstance(tool, Obj) and tool.get(_MARK) is not None:
        tool = Obj(tuple((key, value) for key, value in tool.items if key != _MARK))
    return body_of(tool)


@lru_cache(maxsize=1024)  # a tree of the same tools is made with every request
def _count_json(counter: Counter, json: bytes) -> int:
    return counter.count(json.decode())
