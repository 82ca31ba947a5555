"""The preset editor: the preset as a list that looks like the context it makes.

area            PresetsArea: the preset, its file, and the profile and lorebooks beside it
pane            PresetPane: shows the preset with its forms, and makes the edits
row_edits       the edits that keys make
row_sentences   what is said of a row below the list
header          title, toolbar and filter
rows            PresetRows: the list, its keys and clicks
outline_lines   which line of the list shows which row
folding         the parts of the request and the groups that fold
row_drawing     a row as text with styles
request_facts   what a composed request says about the rows: tokens, the history between them
message_form    the form of a message
content_editor  its text, with completion of macros
settings        the form of the preset itself: name, variables, system messages, policies
form_fields     the base of both forms: labeled fields in rows
dialogs         the difference of two presets, and reports of imports
"""
