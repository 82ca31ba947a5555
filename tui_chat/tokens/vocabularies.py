"""The vocabulary of each model. splintr ships them in its wheel; where its native library does not
load, tokens are estimated from characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from threading import Lock

from tui_chat.models.text import clean
from tui_chat.tokens.counter import Counter

_VOCABULARIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "o200k_base",
        ("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "chatgpt-4o", "gpt-oss", "codex-mini"),
    ),
    ("o200k_base", ("o1", "o3", "o4")),
    ("cl100k_base", ("gpt-4", "gpt-3.5", "text-embedding")),
    ("llama3", ("llama-3", "llama3", "meta-llama-3", "deepseek-r1-distill-llama")),
    ("qwen2", ("deepseek-r1-distill-qwen",)),
    ("deepseek_v3", ("deepseek-chat", "deepseek-reasoner", "deepseek-v3", "deepseek-r1")),
    ("llama2", ("llama-2", "llama2", "tinyllama", "vicuna")),
    ("codellama", ("codellama", "code-llama")),
    ("qwen2", ("qwen2-", "qwen2:", "qwen2.5", "qwq")),
    ("qwen3", ("qwen3-", "qwen3:")),
    ("gemma2", ("gemma-2-", "gemma2")),
    ("gemma3", ("gemma-3-", "gemma3")),
    ("mistral_v3", ("mistral-nemo", "open-mistral-nemo", "mistral-large", "pixtral", "ministral")),
    ("mistral_v3", ("mistral-small", "mistral-medium", "magistral", "devstral")),
    ("mistral_v2", ("mistral-7b-instruct-v0.3", "mixtral-8x22b", "open-mixtral-8x22b")),
    ("mistral_v1", ("mistral-7b-instruct-v0.1", "mistral-7b-instruct-v0.2", "mixtral-8x7b")),
    ("glm4", ("glm-4", "glm4")),
    ("kimi_k2", ("kimi-k2",)),
    ("phi4", ("phi-4", "phi4")),
)
"""Vocabularies and the prefixes of model names; the first match counts. Left out on purpose: Claude
and Gemini, whose vocabularies are not public, and families whose later models may have another
vocabulary (Llama 4, Mistral 7B without its version, Qwen 3.5)."""

_ESTIMATE = "o200k_base"
_EXCEPTIONS = ("qwen3-vl", "phi-4-mini", "phi4-mini", "phi-4-multimodal", "glm-4.6", "glm-4.7")
"""Names with the prefix of a family whose vocabulary may differ."""


def vocabulary_of(model: str) -> tuple[str, bool]:
    """Return the vocabulary for a model's tokens, and whether it is the model's own.

    A router's prefix (`openai/gpt-4o`) and a fine-tune's (`ft:gpt-4o:...`) are ignored.
    """
    name = model.rpartition("/")[2].lower().removeprefix("ft:")
    if not name.startswith(_EXCEPTIONS):
        for vocabulary, beginnings in _VOCABULARIES:
            if name.startswith(beginnings):
                return vocabulary, True
    return _ESTIMATE, False


def counter_for(model: str) -> Counter:
    """Return the counter of a model; the first call for a vocabulary loads it: 30 MB, and up to
    0.4 s in which other threads go on.
    """
    wanted = vocabulary_of(model)
    with _loading:  # a second thread waits for the first one's load
        if wanted not in _counters:
            _counters[wanted] = _load(*wanted)
        return _counters[wanted]


def is_loaded(model: str) -> bool:
    """Return True if `counter_for` loads nothing for a model."""
    return vocabulary_of(model) in _counters


_counters: dict[tuple[str, bool], Counter] = {}
_loading = Lock()


def _load(vocabulary: str, exact: bool) -> Counter:
    try:
        encode = _encoding(vocabulary)
    except ImportError:
        return Counter("characters", False, estimated_tokens)
    name = vocabulary.removesuffix("_base")
    long = _LongTexts(lambda text: len(encode(text)))

    def count(text: str) -> int:
        return len(encode(text)) if len(text) <= _LONG else long.count(text)

    return Counter(name, exact, count, encode)


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has: four ASCII characters make one, five others four."""
    ascii_length = len(text.encode("ascii", "ignore"))
    return (5 * ascii_length + 16 * (len(text) - ascii_length) + 19) // 20


_LONG = 200_000
"""Characters above which a text is counted in parts."""
_PART = 40_000
"""Characters of a part. The library holds the GIL while it counts: 15 ms for a part of the slowest
text, one endless word."""
_MOST = 4_000_000
"""Characters up to which every part is counted: a million tokens, longer than any context."""


class _LongTexts:
    """Counts long texts part by part, and of the longest only so many parts, evenly spread.

    Parts are cut at a line's or word's end where there is one, so the sum is exact but for a
    token at some cuts. Each text is counted once: what is kept of it is its length and hash.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known: dict[tuple[int, int], int] = {}

    def count(self, text: str) -> int:
        key = len(text), hash(text)
        if key not in self._known:
            if len(self._known) >= 256:
                self._known.clear()
            self._known[key] = self._counted(text)
        return self._known[key]

    def _counted(self, text: str) -> int:
        if len(text) > _MOST:
            step = len(text) // (_MOST // 10 // _PART)
            parts = [text[at : at + _PART] for at in range(0, len(text), step)]
            return round(sum(map(self._count, parts)) * len(text) / sum(map(len, parts)))
        tokens = at = 0
        while at < len(text):
            end = at + _PART
            if end < len(text):
                cut = max(text.rfind("\n", at + 1, end), text.rfind(" ", at + 1, end))
                end = cut if cut > at else end
            tokens += self._count(text[at:end])
            at = end
        return tokens


@cache
def _encoding(vocabulary: str) -> Callable[[str], Sequence[int]]:
    """Return the function that encodes a text."""
    import splintr  # its native library takes a while to load; the first frame must not wait

    ordinary = splintr.Tokenizer.from_pretrained(vocabulary).encode_ordinary

    def encode(text: str) -> Sequence[int]:
        try:
            return ordinary(text)
        except UnicodeEncodeError:  # a lone surrogate that slipped in: sent as what `clean` makes
            return ordinary(clean(text))

    return encode
