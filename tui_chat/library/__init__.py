"""The user's files: presets, roles, profiles, lorebooks; JSON on disk <-> values.

library                  all of them by name, from the folders they are in
presets                  preset files: read, and written back in their own style
roles_and_profiles       role and profile files
lorebooks                lorebook files, ours and SillyTavern's (sillytavern_world_info)
sillytavern_presets      SillyTavern's chat completion presets as ours
preset_check             findings about a preset: from its text, and from the built context
file_reader              checking one JSON file: known keys, unknown keys, types, findings
located_json             parsing JSON, and locating values in its text
editing                  edits of a preset, without a screen

A broken file raises an `InputError` that names the file, the place in it (a JSON path with line
and column) and the fault; nothing is half-loaded.

`lorebooks` and `preset_check` are imported from their own modules, so that the first frame, which
needs a preset, does not wait for them.
"""

from tui_chat.library.file_reader import Finding
from tui_chat.library.library import Library, file_name
from tui_chat.library.located_json import parse_json
from tui_chat.library.presets import dump_preset, load_preset, parse_preset, save_preset
from tui_chat.library.roles_and_profiles import load_profile, load_role, parse_profile, parse_role

__all__ = [
    "Finding",
    "Library",
    "dump_preset",
    "file_name",
    "load_preset",
    "load_profile",
    "load_role",
    "parse_json",
    "parse_preset",
    "parse_profile",
    "parse_role",
    "save_preset",
]
