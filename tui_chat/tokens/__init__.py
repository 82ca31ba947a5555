"""Token counters.

1. With a model's own vocabulary (splintr ships many in its wheel), a count is exact. For other
   models it is an estimate, counted with o200k.
2. Text is counted as ordinary text: `<|endoftext|>` in a message is typed text and not a
   control token, and providers encode it as such.
3. A turn costs its text, its tool calls, its parts and `TURN_OVERHEAD`; a request costs its
   turns, its tools and `REQUEST_OVERHEAD`. These are the constants of OpenAI's chat format;
   other providers' framing differs by a few tokens a turn.
4. Images, audio and files are always estimates (`PART_TOKENS`), and so are tool definitions, which
   are counted as the compact JSON they are sent as: how providers insert them into the prompt is
   not published.
5. A turn is immutable and counted once; the count is kept as long as the turn lives.
6. Estimates are corrected by the usage that replies of the model reported; see `Correction`.

counter       the tokens of texts, turns and tools, and the correction of a model's estimates
vocabularies  the vocabulary of each model
"""

from __future__ import annotations

from tui_chat.tokens.counter import (
    LOW_DETAIL,
    NO_CORRECTION,
    PART_TOKENS,
    REQUEST_OVERHEAD,
    TOOL_OVERHEAD,
    TURN_OVERHEAD,
    Correction,
    Counter,
    how_counted,
    media_tokens,
)
from tui_chat.tokens.vocabularies import counter_for, is_loaded, vocabulary_of

__all__ = [
    "LOW_DETAIL",
    "NO_CORRECTION",
    "PART_TOKENS",
    "REQUEST_OVERHEAD",
    "TOOL_OVERHEAD",
    "TURN_OVERHEAD",
    "Correction",
    "Counter",
    "counter_for",
    "how_counted",
    "is_loaded",
    "media_tokens",
    "vocabulary_of",
]
