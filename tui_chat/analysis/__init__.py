"""Analysis of requests without sending them. Pure.

prompt            the body in the order in which a model reads it, with token counts
cache_forecast    how much of it a prompt cache can serve, and the first difference
diff              the difference of two bodies, line by line
captured_request  a pasted request as a session and a preset
history_parts     what captured messages are made of: reminders, files, tool results, ...
token_shares      what is in the context window: tokens by origin, growth, largest turns
lore_table        the entries of lorebooks over the turns of a conversation
http_text         a request as HTTP text or as a curl command
"""

from tui_chat.analysis.cache_forecast import CacheBreak, Forecast, Forecaster
from tui_chat.analysis.captured_request import CapturedRequest, read_captured, with_edits
from tui_chat.analysis.diff import Difference, DiffRow, diff_payloads
from tui_chat.analysis.history_parts import HistoryPart
from tui_chat.analysis.prompt import CacheBreakpoint, Prompt, prompt_of
from tui_chat.analysis.token_shares import (
    ExchangeTokens,
    Share,
    ShareCalculator,
    Shares,
    largest_turns,
)

__all__ = [
    "CacheBreak",
    "CacheBreakpoint",
    "CapturedRequest",
    "DiffRow",
    "Difference",
    "ExchangeTokens",
    "Forecast",
    "Forecaster",
    "HistoryPart",
    "Prompt",
    "Share",
    "ShareCalculator",
    "Shares",
    "diff_payloads",
    "largest_turns",
    "prompt_of",
    "read_captured",
    "with_edits",
]
