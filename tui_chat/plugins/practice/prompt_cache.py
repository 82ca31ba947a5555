"""A prompt cache as the providers have one, so that `usage` says what a real one would say.

1. A prompt is read in the order tools, system, conversation. Without an explicit mark nothing of a
   prompt under 1,024 tokens is cached.
2. OpenAI and Gemini cache the beginning of every prompt, in steps of 128 tokens:
   https://platform.openai.com/docs/guides/prompt-caching
3. Anthropic caches up to the blocks with `cache_control`, for five minutes or an hour since their
   last use, and looks for a cached beginning at most 20 blocks before a mark:
   https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
4. Tokens are the offline provider's estimate, by characters.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import as_object, object_or_none, to_json
from tui_chat.offline.prompt import Prompt
from tui_chat.plugins.practice.writers import CacheUse

_MINIMUM = 1024
"""Tokens of the shortest prompt, or beginning of one, that is cached."""
_STEP = 128
_LOOK_BACK = 20
"""Blocks before a mark at which a cached beginning is looked for."""
_KEPT_PROMPTS = 64
_KEPT_CHARACTERS = 32_000_000
_KEPT_MARKS = 4096
_AUTOMATIC_SECONDS = 600.0
"""Seconds for which OpenAI keeps an unused beginning, about."""
_ORDER = (
    *("tools", "response_format", "text", "output_config", "output_format"),
    *("system", "instructions", "systemInstruction", "system_instruction"),
    *("messages", "input", "contents"),
)
_MARK = "cache_control"


@dataclass(frozen=True, slots=True)
class _PromptBlock:
    text: str
    """The text that the model reads."""
    characters: int
    """Characters that count as tokens."""
    seconds: float | None
    """For how long the beginning up to it is to be cached; None without a mark."""


class PromptCache:
    """Remembers the prompts of all requests to one provider. `now` gives seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._prompts: OrderedDict[tuple[str, str], float] = OrderedDict()
        """Model and text of prompts, and when they were used last."""
        self._marked: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Hashes of marked beginnings, when they end, and for how long they are kept."""

    def use(self, protocol: Protocol, prompt: Prompt) -> CacheUse:
        """Return what of a prompt is cached, and remember it."""
        if protocol is Protocol.OLLAMA:
            return CacheUse()
        if protocol is Protocol.ANTHROPIC:
            return self._marked_use(prompt)
        return self._automatic_use(prompt)

    def _automatic_use(self, prompt: Prompt) -> CacheUse:
        text = "".join(block.text for block in _blocks(prompt))
        total, now = prompt.tokens, self._now()
        common = max(
            (
                _common(earlier, text)
                for (model, earlier), used in self._prompts.items()
                if model == prompt.model and now - used <= _AUTOMATIC_SECONDS
            ),
            default=0,
        )
        if total >= _MINIMUM:
            self._prompts[prompt.model, text] = now
            self._prompts.move_to_end((prompt.model, text))
        while len(self._prompts) > 1 and (
            len(self._prompts) > _KEPT_PROMPTS
            or sum(len(earlier) for _, earlier in self._prompts) > _KEPT_CHARACTERS
        ):
            self._prompts.popitem(last=False)
        cached = total * common // max(1, len(text)) // _STEP * _STEP
        return CacheUse(read=cached) if cached >= _MINIMUM else CacheUse()

    def _marked_use(self, prompt: Prompt) -> CacheUse:
        blocks = list(_blocks(prompt))
        if all(block.seconds is None for block in blocks):
            return CacheUse()
        total, now = prompt.tokens, self._now()
        digest, hashes, ends = sha256(prompt.model.encode()), list[str](), list[int]()
        characters = 0
        for block in blocks:
            digest.update(block.text.encode("utf-8", "replace"))
            characters += block.characters
            hashes.append(digest.hexdigest())
            ends.append(min(total, -(-characters // 4)))
        marks = [n for n, block in enumerate(blocks) if block.seconds is not None]
        marks = [n for n in marks if ends[n] >= _MINIMUM]
        read = 0
        for mark in reversed(marks):
            for number in range(mark, max(-1, mark - _LOOK_BACK - 1), -1):
                expires, seconds = self._marked.get(hashes[number], (0.0, 0.0))
                if expires >= now:
                    read = ends[number]
                    self._marked[hashes[number]] = now + seconds, seconds
                    break
            if read:
                break
        written = {300.0: 0, 3600.0: 0}
        before = read
        for mark in marks:
            seconds = blocks[mark].seconds or 300.0
            if ends[mark] > before:
                written[seconds] += ends[mark] - before
                before = ends[mark]
            self._marked[hashes[mark]] = now + seconds, seconds
            self._marked.move_to_end(hashes[mark])
        while len(self._marked) > _KEPT_MARKS:
            self._marked.popitem(last=False)
        return CacheUse(read, written[300.0], written[3600.0])


def _blocks(prompt: Prompt) -> Iterator[_PromptBlock]:
    """Yield the blocks of a prompt in the order in which a model reads them."""
    blocks: list[_PromptBlock] = []
    for key in _ORDER:
        value = prompt.body.get(key)
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        for item in items if value is not None else ():
            blocks += _item_blocks(key, item)
    yield from blocks[:-1]
    for last in blocks[-1:]:  # a mark of the whole request is one of its last block
        seconds = last.seconds or _seconds(prompt.body.get(_MARK))
        yield _PromptBlock(last.text, last.characters, seconds)


def _item_blocks(key: str, item: Any) -> Iterator[_PromptBlock]:
    message = as_object(item)
    content = message.get("content")
    if not isinstance(content, list):
        text = f"{key} {_without_marks(item)}"
        yield _PromptBlock(text, _characters(item), _seconds(message.get(_MARK)))
        return
    rest = {name: value for name, value in message.items() if name not in ("content", _MARK)}
    head = f"{key} {to_json(rest)} "
    for block in cast("list[Any]", content):
        seconds = _seconds(as_object(block).get(_MARK))
        yield _PromptBlock(head + _without_marks(block), _characters(block), seconds)
        head = ""


_NOT_COUNTED = frozenset(("type", "role", "id", "tool_use_id", "signature", _MARK))


def _characters(value: Any) -> int:
    """Return the characters of a part of a body that `Prompt.characters` counts, about."""
    if fields := as_object(value):
        if "source" in fields:  # a picture or a document
            return 1_000
        if "input_schema" in fields:
            words = (str(fields.get(name) or "") for name in ("name", "description"))
            return sum(map(len, words)) + len(str(fields["input_schema"]))
        return sum(_characters(value) for key, value in fields.items() if key not in _NOT_COUNTED)
    if isinstance(value, list):
        return sum(map(_characters, cast("list[Any]", value)))
    return len(value) if isinstance(value, str) else 0


def _without_marks(value: Any) -> str:
    fields = object_or_none(value)
    if fields is None:
        return to_json(value)
    return to_json({key: field for key, field in fields.items() if key != _MARK})


def _seconds(mark: Any) -> float | None:
    fields = object_or_none(mark)
    return None if fields is None else 3600.0 if fields.get("ttl") == "1h" else 300.0


def _common(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
