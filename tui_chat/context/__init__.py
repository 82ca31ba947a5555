"""WHAT the model will see: pure functions from inputs to an envelope.

inputs      Inputs: everything a request depends on, clock and seed included
scan        phase 1: find the anchors, put each preset message into its group
core        phase 2: truncate the history to the budget, inject by depth
skeleton    phase 3: walk the list, fill the anchors
parameters  model, temperature, max tokens: from the session, else the role, else the endpoint
build       build_context, which reads like these three phases
"""

from tui_chat.context.build import build_context
from tui_chat.context.inputs import Inputs, Settings

__all__ = ["Inputs", "Settings", "build_context"]
