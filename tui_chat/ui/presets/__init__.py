"""The pane of the preset.

area            PresetsArea: opening the editor, choosing presets and profiles, files
pane            PresetPane: title, list and forms, and the edits that they ask for
rows            PresetList: the list that looks like the request
facts           what a composed request says about the rows: tokens, why one is not sent
edits           the edits that keys make
form            MessageForm: a message, and in words where it goes
content_editor  its text, with completion of macros
settings        the form of the preset itself: name, variables, system messages, policies
dialogs         the difference of two presets, and reports of imports
"""
