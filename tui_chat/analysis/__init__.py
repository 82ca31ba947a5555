"""What can be said of a request without sending it: pure, in figures and sentences.

prompt            the body in the order in which a model reads it, with its tokens
cache_forecast    how much of it a provider's prompt cache can serve, and what breaks it off
diff              what one body has and another lacks, line by line
captured_request  a pasted request: its protocol, and the session and preset that it makes
token_shares      where the tokens go, by origin, and which message is dropped next
http_text         a request as HTTP text or as a curl command
"""

from tui_chat.analysis.cache_forecast import CacheBreak, Forecast, Forecaster
from tui_chat.analysis.captured_request import CapturedRequest, read_captured
from tui_chat.analysis.diff import Difference, DiffRow, diff_payloads
from tui_chat.analysis.prompt import CacheBreakpoint, Prompt, prompt_of
from tui_chat.analysis.token_shares import Share, ShareCalculator, Shares, shares_of

__all__ = [
    "CacheBreak",
    "CacheBreakpoint",
    "CapturedRequest",
    "DiffRow",
    "Difference",
    "Forecast",
    "Forecaster",
    "Prompt",
    "Share",
    "ShareCalculator",
    "Shares",
    "diff_payloads",
    "prompt_of",
    "read_captured",
    "shares_of",
]
