"""The preset editor: the preset as a list that looks like the context it makes.

pane     PresetPane: title, bar, list and form; what the app talks to
rows     PresetRows: the list, of which only the visible lines are drawn
steps    what a key does to the message under the cursor
look     a row as text and styles
facts    what a composed request tells of the rows: tokens, the history's first words
form     MessageForm: one message's fields and its content
options  one of a few words, chosen with the arrows or the mouse
content  the content's editor, with its macros
differ   two presets beside each other, as a difference of their JSON
"""

from tui_chat.ui.presets.pane import PresetPane

__all__ = ["PresetPane"]
