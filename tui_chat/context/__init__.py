"""What the model will see: pure functions from inputs to an envelope.

inputs            Inputs: everything a request depends on, clock and seed included; its settings
resolved_message  a message with its origin and the reason why it is sent
scan              phases 1 and 3: put each message into its group; walk the list, fill the anchors
macros            expansion of `{{...}}`, in the preset's order
history           phase 2: count and truncate the history, inject messages by depth; summaries
muted_history     the history without what the user muted
session_texts     author's note, depth prompt, profile at a depth, injected texts
generation        the kinds of generation, and the turns that end a request
sent_texts        the messages that a turn is made of, the texts that a request carries
rules             what others ask of a preset's builder
budget            notes about where the tokens went
builder           build_context, which reads like these phases
builders          the builder that a preset chooses: the core's, or a plugin's
"""

from tui_chat.context.budget import calibrated, count_envelope, without_unsent
from tui_chat.context.builder import build_context
from tui_chat.context.builders import build
from tui_chat.context.inputs import Inputs, SessionSettings
from tui_chat.context.resolved_message import ResolvedMessage

__all__ = [
    "Inputs",
    "ResolvedMessage",
    "SessionSettings",
    "build",
    "build_context",
    "calibrated",
    "count_envelope",
    "without_unsent",
]
