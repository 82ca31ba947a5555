"""A prompt cache as the providers have one, so that `usage` says what a real one would say.

1. A prompt is read in the order tools, system, conversation, and remembered as beginnings. Nothing
   under 1,024 tokens is cached.
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
from typing import Any, NamedTuple

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import as_array, as_object, object_or_none, to_json
from tui_chat.offline.prompt import Prompt
from tui_chat.plugins.practice.writers import CacheUse

_MINIMUM, _STEP, _LOOK_BACK = 1024, 128, 20
_KEPT = 100_000
"""Beginnings that are remembered."""
_AUTOMATIC_SECONDS = 600.0
"""Seconds for which OpenAI keeps an unused beginning, about."""
_HOUR = 3600.0
_ORDER = (
    *("tools", "response_format", "text", "output_config", "output_format"),
    *("system", "instructions", "systemInstruction", "system_instruction"),
    *("messages", "input", "contents"),
)
_MARK = "cache_control"
_NOT_COUNTED = ("type", "role", "id", "tool_use_id", "signature", _MARK)


class _PromptBlock(NamedTuple):
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
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Hashes of beginnings, when they end, and for how long they are kept."""

    def use(self, protocol: Protocol, prompt: Prompt) -> CacheUse:
        """Return what of a prompt is cached, and remember it."""
        if protocol is Protocol.OLLAMA:
            return CacheUse()
        is_marked = protocol is Protocol.ANTHROPIC
        digest, characters, now = sha256(prompt.model.encode()), 0, self._now()
        beginnings: list[tuple[str, int, float | None]] = []
        for block in _marked(prompt) if is_marked else _steps(prompt):
            digest.update(block.text.encode("utf-8", "replace"))
            characters += block.characters
            tokens = min(prompt.tokens, -(-characters // 4))
            seconds = block.seconds if tokens >= _MINIMUM else None
            beginnings.append((digest.hexdigest(), tokens, seconds))
        read, written = 0, {_HOUR: 0, 300.0: 0}
        marks = [n for n, (_, _, seconds) in enumerate(beginnings) if seconds is not None]
        for mark in reversed(marks):
            for key, tokens, _ in reversed(beginnings[max(0, mark - _LOOK_BACK) : mark + 1]):
                expires, seconds = self._known.get(key, (0.0, 0.0))
                if expires >= now > 0 and tokens > read:
                    read = tokens
                    self._known[key] = now + seconds, seconds
        before = read
        for mark in marks:
            key, tokens, seconds = beginnings[mark]
            if seconds in written and tokens > before:
                written[seconds] += tokens - before
                before = tokens
            self._known[key] = now + (seconds or 0), seconds or 0
            self._known.move_to_end(key)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return CacheUse(read, written[300.0], written[_HOUR])


def _steps(prompt: Prompt) -> Iterator[_PromptBlock]:
    """Yield a prompt in whole steps, each of which is cached by itself."""
    text = "".join(to_json(prompt.body[key]) for key in _ORDER if key in prompt.body)
    size = 4 * _STEP
    for start in range(0, len(text) - size, size):
        yield _PromptBlock(text[start : start + size], size, _AUTOMATIC_SECONDS)


def _marked(prompt: Prompt) -> Iterator[_PromptBlock]:
    """Yield the blocks of a prompt with their marks."""
    blocks: list[_PromptBlock] = []
    for key in _ORDER:
        value = prompt.body.get(key)
        for item in as_array(value) or ([value] if value else []):
            message = as_object(item)
            contents = as_array(message.get("content")) or [item]
            head = f"{key} {message.get('role')}"
            for block in contents:
                fields = {k: v for k, v in as_object(block).items() if k != _MARK} or block
                text = f"{head} {to_json(fields)}"
                mark = as_object(block).get(_MARK)
                blocks.append(_PromptBlock(text, _characters(block), _seconds(mark)))
    yield from blocks[:-1]
    for last in blocks[-1:]:  # a mark of the whole request is one of its last block
        yield last._replace(seconds=last.seconds or _seconds(prompt.body.get(_MARK)))


def _characters(value: Any) -> int:
    """Return the characters of the texts in a part of a body."""
    if isinstance(value, str):
        return len(value)
    fields = as_object(value)
    inner = [field for key, field in fields.items() if key not in _NOT_COUNTED]
    return sum(map(_characters, [*inner, *as_array(value)]))


def _seconds(mark: Any) -> float | None:
    fields = object_or_none(mark)
    return None if fields is None else _HOUR if fields.get("ttl") == "1h" else 300.0
