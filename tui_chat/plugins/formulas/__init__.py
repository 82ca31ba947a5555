"""Formulas in replies: LaTeX is drawn as text that can be read in a terminal, (a+b)/2 ≤ x².

rules           recognize formulas in Markdown
formula_text    a formula as text; pylatexenc parses it
"""

from tui_chat.api import Part, Plugin

PLUGIN = Plugin(
    name="formulas",
    summary="Draws LaTeX formulas in messages as text.",
    parts=(Part("Markdown rule", "tui_chat.plugins.formulas.rules:add_rules"),),
)
