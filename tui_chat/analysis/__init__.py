"""What can be said of a request without sending it: pure, and told in figures and sentences.

prompt       the body in the order in which a model reads it, with its tokens
forecast     how much of it a provider's prompt cache can serve, and what breaks it off
difference   what one body has that another has not, line by line
captured     a request that was pasted: whose it is, and what session and preset it makes
shares       where the tokens go, by origin, and what falls out next
"""

from tui_chat.analysis.captured import Captured, read_captured
from tui_chat.analysis.difference import Difference, DiffRow, difference
from tui_chat.analysis.forecast import Break, Forecast, Forecaster
from tui_chat.analysis.prompt import Mark, Prompt, prompt_of
from tui_chat.analysis.shares import Accountant, Share, Shares, shares_of

__all__ = [
    "Accountant",
    "Break",
    "Captured",
    "DiffRow",
    "Difference",
    "Forecast",
    "Forecaster",
    "Mark",
    "Prompt",
    "Share",
    "Shares",
    "difference",
    "prompt_of",
    "read_captured",
    "shares_of",
]
