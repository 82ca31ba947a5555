"""The preset editor: the preset as a list that looks like the context it makes.

pane     PresetPane: makes the edits; what the app talks to
view     PresetView: what is shown of them: title, bar, list and form
bar      what stands over the list: the title, what can be clicked, the filter
rows     PresetRows: the list under a cursor, of which only the visible lines are drawn
lines    which row, or which note under one, stands on which line
drag     a row on its way to another slot, by the mouse
colours  the list's colours
look     a row as text and styles
facts    what a composed request tells of the rows: tokens, the history's first words
steps    what a key does to the message under the cursor
edit_form  EditForm: what the forms have in common
form     MessageForm: one message's fields and its content
settings SettingsForm: the preset's name, variables, place of system messages
field    a line of text in a form
options  one of a few words, chosen with the arrows or the mouse
content  the content's editor, with its macros
differ   two presets beside each other, as a difference of their JSON
"""

from tui_chat.ui.presets.pane import PresetPane

__all__ = ["PresetPane"]
