"""The user's files: presets, roles, profiles, lorebooks; JSON on disk <-> values.

library                  all of them by name, from the folders they are in
presets                  preset files: read, and written back in their own style
roles_and_profiles       role and profile files
lorebooks                lorebook files
foreign_files            what a plugin provides that reads other programs' files
prices                   prices of models: the user's, refreshed ones, ours
preset_check             findings about a preset, from its text and from the built context
file_reader              checks one JSON file: known keys, unknown keys, types
json_locations           locates values in JSON text
editing                  edits of a preset, without a screen

A broken file raises an `InputError` that names the file, the place in it (a JSON path with line
and column) and the fault; nothing is half-loaded.

Nothing is imported here: the screen edits presets (`editing`) without loading the readers of files.
"""
