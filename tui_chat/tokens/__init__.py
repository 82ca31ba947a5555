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

counter       what a turn costs
correction    what replies taught about a model's estimates
vocabularies  which vocabulary counts for which model
"""

from __future__ import annotations

from tui_chat.tokens.correction import NO_CORRECTION, Correction
from tui_chat.tokens.counter import (
    LOW_DETAIL,
    PART_TOKENS,
    REQUEST_OVERHEAD,
    TOOL_OVERHEAD,
    TURN_OVERHEAD,
    Counter,
    how_counted,
)
from tui_chat.tokens.vocabularies import counter_for, vocabulary_of

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
    "vocabulary_of",
]
