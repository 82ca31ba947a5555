"""Token probabilities: a reply token by token, as its provider reported them.

dialog          the tokens, colored by how likely each was, and the alternatives of one
"""

from tui_chat.api import Action, Plugin

_SHOW = "tui_chat.plugins.probabilities.dialog:show_probabilities"
_TITLE = "Show token probabilities"
_ALIASES = ("logprobs", "log probabilities", "confidence", "alternatives", "perplexity")

PLUGIN = Plugin(
    name="probabilities",
    summary="Shows how likely each token of a reply was, and its alternatives.",
    actions=(
        Action(
            "probabilities",
            _SHOW,
            "Probabilities",
            _TITLE,
            aliases=_ALIASES,
            other_names=("logprobs", "confidence"),
        ),
        Action(
            "tokens",
            _SHOW,
            "tokens",
            _TITLE,
            keys="l",
            aliases=_ALIASES,
            place="message",
        ),
    ),
)
