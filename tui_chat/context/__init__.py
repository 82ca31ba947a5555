"""What the model will see: pure functions from inputs to an envelope.

inputs            Inputs: everything a request depends on, clock and seed included
parameters        model, temperature, max tokens: from the session, else the role, else the endpoint
resolved_message  a message with its origin and the reason why it is sent
lorebooks         search and activation of lore entries
scan              phase 1: find the anchors, put each message into its group
macros            expansion of `{{...}}`, in the preset's order
history           phase 2: count and truncate the history, inject messages by depth; summaries
muted_history     the history without what the user muted
skeleton          phase 3: walk the list, fill the anchors
session_texts     author's note, depth prompt, profile at a depth, injected texts
draft             the turn that ends the conversation
generation        the kinds of generation, and what continue adds
sent_texts        the texts that a request carries
rules             what others ask of a preset's builder
turn_sources      the messages that a merged turn is made of
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
