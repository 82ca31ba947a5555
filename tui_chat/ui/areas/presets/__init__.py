"""The preset editor: the preset as a list that looks like the context it makes.

area           PresetsArea: the preset, its file, and the profile and lorebooks beside it
pane           PresetPane: shows the preset with its forms, and makes the edits
header         title, toolbar and filter
rows           PresetRows: the list, its keys and dragging by mouse
row_drawing    a row as text with styles
request_facts  what a composed request says about the rows: tokens, the history between them
message_form   the form of a message, with its content editor, and the edits that keys make
settings_form  the form of the preset itself: name, variables, system messages, policies
form_fields    the base and the fields of both forms
dialogs        the difference of two presets, and reports of imports
"""
