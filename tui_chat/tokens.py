"""Token counters, and their memory.

1. Where a model's own vocabulary is at hand (splintr ships them in its wheel), a text's count
   is exact. Elsewhere it is an estimate, counted with o200k, and says so.
2. Text is counted as ordinary text: `<|endoftext|>` in a message is what a person typed and
   not a control token, and providers encode it so.
3. A turn costs its text, its tool calls, its parts and `TURN_OVERHEAD`; a request costs its
   turns, its tools and `REQUEST_OVERHEAD`. These are the constants of OpenAI's chat format;
   other providers' framing differs by a few tokens a turn.
4. Pictures, sounds and files are estimates whatever the vocabulary (`PART_TOKENS`), and so are
   tool definitions: each provider writes them into the prompt in a way of its own, which nobody
   publishes; they are counted as the compact JSON they are sent as.
5. A turn is counted once: turns are immutable, and the count is kept for as long as they live.
6. An estimate is corrected by what replies reported for earlier requests to the model; see
   `Correction`. An exact count never is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from threading import Lock

from tui_chat.model.envelope import ToolDefinition, Turn
from tui_chat.model.memo import Memo, Recent
from tui_chat.model.message import Part, PartKind
from tui_chat.model.text import Text, clean

TURN_OVERHEAD = 4
"""Tokens that frame one turn: its role and its borders."""
REQUEST_OVERHEAD = 3
"""Tokens that prime the reply."""
TOOL_OVERHEAD = 8
"""Tokens that frame one tool definition."""

PART_TOKENS: dict[PartKind, int] = {"image": 765, "audio": 500, "video": 5000, "file": 2000}
"""What a part costs, about. Image: OpenAI's price of a picture of 1,024 by 1,024 in high detail
(Anthropic's is at most about 1,600, Gemini's begins at 258). Audio: some fifteen seconds at
Gemini's 32 a second. Video: some twenty seconds of it. File: a document of two or three pages."""
LOW_DETAIL = 85
"""What OpenAI takes for a picture that it is to look at in low detail."""


@dataclass(frozen=True, slots=True)
class Correction:
    """How far a model's estimates were off, learned from the usage its replies reported.

    A pure value, to be kept for each model: `correction.after(estimated, reported)` learns from
    one more reply. Older replies count less and less.
    """

    estimated: float = 0.0
    """Tokens that were estimated, older ones fading."""
    reported: float = 0.0
    """Tokens that the provider counted for the same requests."""

    _FADING = 0.7
    _LEAST, _MOST = 0.25, 4.0

    @property
    def ratio(self) -> float:
        """What an estimate is to be multiplied with, in hundredths; 1 where nothing is known."""
        if self.estimated <= 0 or self.reported <= 0:
            return 1.0
        return round(min(max(self.reported / self.estimated, self._LEAST), self._MOST), 2)

    def after(self, estimated: int, reported: int | None) -> Correction:
        """Learn from a reply: what was estimated for its request, uncorrected
        (`Budget.uncorrected`), and how many input tokens it reported (cached ones included).
        """
        if estimated <= 0 or not reported or reported < 0:
            return self
        return Correction(
            self.estimated * self._FADING + estimated, self.reported * self._FADING + reported
        )


NO_CORRECTION = Correction()


class Counter:
    """Counts tokens the way one vocabulary does."""

    def __init__(self, name: str, exact: bool, count: Callable[[str], int]) -> None:
        self.name = name
        """The vocabulary: `o200k`, `cl100k`, ..."""
        self.exact = exact
        """Whether it is the model's own."""
        self.ratio = 1.0
        """What its counts were corrected by."""
        self.count = count
        """Tokens of a text."""
        self.text: Memo[Text, int] = Memo(self._text)
        """Tokens of a text alone; counted once per text."""
        self.turn: Memo[Turn, int] = Memo(self._turn)
        """Tokens of a turn, framing included; counted once per turn."""
        self.tools: Recent[tuple[ToolDefinition, ...], int] = Recent(self._tools)
        """Tokens of tool definitions, about."""
        self._times = lru_cache(maxsize=8)(self._multiplied)

    def corrected(self, correction: Correction) -> Counter:
        """Return this counter, its counts multiplied by what replies taught; the same object for
        the same ratio, and this one if it is exact or nothing is to be corrected.
        """
        ratio = correction.ratio
        return self if self.exact or ratio == 1 else self._times(ratio)

    def _multiplied(self, ratio: float) -> Counter:
        return _Corrected(self, ratio)

    def _text(self, text: Text) -> int:
        return self.count(text.plain)

    def _turn(self, turn: Turn) -> int:
        tokens = self.count(turn.text.plain) + TURN_OVERHEAD
        for call in turn.tool_calls:
            tokens += self.count(call.name) + self.count(call.arguments)
        if turn.name:
            tokens += self.count(turn.name) + 1
        return tokens + sum(map(self._part, turn.parts)) if turn.parts else tokens

    def _part(self, part: Part) -> int:
        if part.text:
            return self.count(part.text)
        if part.kind == "image" and part.detail == "low":
            return LOW_DETAIL
        return PART_TOKENS[part.kind]

    def _tools(self, tools: tuple[ToolDefinition, ...]) -> int:
        return sum(map(self._tool, tools))

    def _tool(self, tool: ToolDefinition) -> int:
        schema = json.dumps(tool.parameters, separators=(",", ":"), ensure_ascii=False, default=str)
        return sum(map(self.count, (tool.name, tool.description, schema))) + TOOL_OVERHEAD


class _Corrected(Counter):
    """A counter whose counts are multiplied. What it counted before is counted once all the
    same: a new ratio multiplies what the first counter remembers.
    """

    def __init__(self, first: Counter, ratio: float) -> None:
        super().__init__(first.name, False, lambda text: round(first.count(text) * ratio))
        self.ratio = ratio
        self.text = Memo(lambda text: round(first.text(text) * ratio))
        self.turn = Memo(lambda turn: round(first.turn(turn) * ratio))
        self.tools = Recent(lambda tools: round(first.tools(tools) * ratio))


def how_counted(counter: Counter, *, guessed: bool = False) -> str:
    """Say who counts and how far that is to be trusted; `guessed`: tools or parts are among it."""
    if counter.exact and guessed:
        return f"counted with {counter.name}; tools, pictures and files are estimated"
    if counter.exact:
        return f"counted with {counter.name}, the model's own vocabulary"
    if counter.ratio == 1:
        return f"estimated with {counter.name}: the model's own vocabulary is not at hand"
    return f"estimated with {counter.name}, times {counter.ratio:.2f} as its replies reported"


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
"""Whose names begin how; the first that fits counts. Left out on purpose: Claude and Gemini, whose
vocabularies are not public, and families where a later model may have another than the one at hand
(Llama 4, Mistral 7B without its version, Qwen 3.5)."""

_ESTIMATE = "o200k_base"
_NOT_THE_SAME = ("qwen3-vl", "phi-4-mini", "phi4-mini", "phi-4-multimodal", "glm-4.6", "glm-4.7")
"""Names that begin like a family's and whose vocabulary may be another."""


def vocabulary_of(model: str) -> tuple[str, bool]:
    """Return the vocabulary to count a model's tokens with, and whether it is its own.

    A router's prefix (`openai/gpt-4o`) and a fine-tune's (`ft:gpt-4o:...`) are ignored.
    """
    name = model.rpartition("/")[2].lower().removeprefix("ft:")
    if not name.startswith(_NOT_THE_SAME):
        for vocabulary, beginnings in _VOCABULARIES:
            if name.startswith(beginnings):
                return vocabulary, True
    return _ESTIMATE, False


def counter_for(model: str) -> Counter:
    """Return the counter of a model; the first call for a vocabulary loads it (to 0.4 s)."""
    return _counter(*vocabulary_of(model))


_loading = Lock()


def _counter(vocabulary: str, exact: bool) -> Counter:
    with _loading:  # a second thread waits for the first one's load
        return _loaded(vocabulary, exact)


@cache
def _loaded(vocabulary: str, exact: bool) -> Counter:
    encode = _encoder(vocabulary)

    def count(text: str) -> int:
        try:
            return len(encode(text))
        except UnicodeEncodeError:  # a lone surrogate that slipped in: sent as what `clean` makes
            return len(encode(clean(text)))

    return Counter(vocabulary.removesuffix("_base"), exact, count)


@cache
def _encoder(vocabulary: str) -> Callable[[str], list[int]]:
    import splintr  # its native library takes a while to load; the first frame must not wait

    return splintr.Tokenizer.from_pretrained(vocabulary).encode_ordinary
