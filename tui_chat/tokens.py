"""Token counters, and their memory.

1. Where a model's own vocabulary is at hand (splintr ships them in its wheel), a text's count
   is exact. Elsewhere it is an estimate, counted with o200k, and says so.
2. Text is counted as ordinary text: `<|endoftext|>` in a message is what a person typed and
   not a control token, and providers encode it so.
3. A turn costs its text, its tool calls and `TURN_OVERHEAD`; a request costs its turns and
   `REQUEST_OVERHEAD`. These are the constants of OpenAI's chat format; other providers'
   framing differs by a few tokens a turn, so only a text's count can be called exact.
4. A turn is counted once: turns are immutable, and the count is kept for as long as they live.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock

from tui_chat.model.envelope import Turn
from tui_chat.model.memo import Memo

TURN_OVERHEAD = 4
"""Tokens that frame one turn: its role and its borders."""
REQUEST_OVERHEAD = 3
"""Tokens that prime the reply."""


class Counter:
    """Counts tokens the way one vocabulary does."""

    def __init__(self, name: str, exact: bool, count: Callable[[str], int]) -> None:
        self.name = name
        """The vocabulary: `o200k`, `cl100k`, ..."""
        self.exact = exact
        """Whether it is the model's own."""
        self.count = count
        """Tokens of a text."""
        self.turn: Memo[Turn, int] = Memo(self._turn)
        """Tokens of a turn, framing included; counted once per turn."""

    def _turn(self, turn: Turn) -> int:
        calls = sum(self.count(c.name) + self.count(c.arguments) for c in turn.tool_calls)
        name = self.count(turn.name) + 1 if turn.name else 0
        return self.count(turn.text.plain) + calls + name + TURN_OVERHEAD


_O200K = ("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "chatgpt-4o", "o1", "o3", "o4", "gpt-oss")
_CL100K = ("gpt-4", "gpt-3.5", "text-embedding")


def vocabulary_of(model: str) -> tuple[str, bool]:
    """Return the vocabulary to count a model's tokens with, and whether it is its own.

    A router's prefix (`openai/gpt-4o`) is ignored. Claude's and Gemini's vocabularies are not
    public, so theirs are estimates.
    """
    name = model.rpartition("/")[2].lower()
    if name.startswith(_O200K):
        return "o200k_base", True
    if name.startswith(_CL100K):
        return "cl100k_base", True
    if name.startswith(("llama-3", "llama3", "meta-llama-3")):
        return "llama3", True
    if name.startswith("deepseek"):
        return "deepseek_v3", True
    return "o200k_base", False


def counter_for(model: str) -> Counter:
    """Return the counter of a model; the first call for a vocabulary loads it (to 0.4 s)."""
    return _counter(*vocabulary_of(model))


_loading = Lock()


def _counter(vocabulary: str, exact: bool) -> Counter:
    with _loading:  # a second thread waits for the first one's load
        return _loaded(vocabulary, exact)


@cache
def _loaded(vocabulary: str, exact: bool) -> Counter:
    import splintr  # its native library takes a while to load; the first frame must not wait

    encode = splintr.Tokenizer.from_pretrained(vocabulary).encode_ordinary
    return Counter(vocabulary.removesuffix("_base"), exact, lambda text: len(encode(text)))
