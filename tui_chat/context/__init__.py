"""WHAT the model will see: pure functions from inputs to an envelope.

inputs        Inputs: everything a request depends on, clock and seed included
parameters    model, temperature, max tokens: from the session, else the role, else the endpoint
listed        what stands in the list: a message, where it is from, why it is there
opening       the role's prompt, or why it is not said
contributors  the extension point: who may add to a preset's list
lorebooks     the contributor we ship; lore_shelf makes books ready, lore_keys finds their keys
              (those that are regular expressions: pattern_syntax parses them, patterns matches
              them, backtracking those with back-references)
scan          phase 1: find the anchors, put each line into its group
expansion     macros, in the list's order; macro_syntax reads them, macros expands them,
              macro_table is what there are, scene is what they may ask
ledger        what the history costs
core          phase 2: truncate the history to the budget, inject by depth
skeleton      phase 3: walk the list, fill the anchors
accounts      where the tokens went, in notes
build         build_context, which reads like these phases
"""

from tui_chat.context.accounts import counted
from tui_chat.context.build import CONTRIBUTORS, build_context
from tui_chat.context.contributors import Contribution, Contributor
from tui_chat.context.inputs import Inputs, Settings
from tui_chat.context.listed import Listed

__all__ = [
    "CONTRIBUTORS",
    "Contribution",
    "Contributor",
    "Inputs",
    "Listed",
    "Settings",
    "build_context",
    "counted",
]
