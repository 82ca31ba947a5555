"""Presets, roles, profiles and lorebooks as files: JSON on disk <-> values.

presets     preset files: read, written back in their own style
people      role and profile files
shelf       all of them by name, from the folders they are in
lorebooks   lorebook files, ours and (world_info) SillyTavern's
sillytavern presets of SillyTavern's as ours; not_carried: what they say that ours do not
check       all there is to say about a preset: its text, and what the context builder finds
reading     one file on its way: known keys, unknown keys, faults and their lines
findings    what there is to say about a place in a file
json_text   JSON text that knows its places
text_files  read within bounds, written wholly or not at all

A broken file is an `InputError` that names the file, the place in it (as a JSON path, with
line and column) and the fault; nothing is half-loaded.

`lorebooks` and `check` are imported from their own modules, by whoever needs them: the first
frame needs a preset, and should not wait for more.
"""

from tui_chat.library.findings import Finding
from tui_chat.library.json_text import parse_json
from tui_chat.library.people import load_profile, load_role, parse_profile, parse_role
from tui_chat.library.presets import dump_preset, load_preset, parse_preset, save_preset
from tui_chat.library.shelf import Shelf, file_name
from tui_chat.library.text_files import read_text

__all__ = [
    "Finding",
    "Shelf",
    "dump_preset",
    "file_name",
    "load_preset",
    "load_profile",
    "load_role",
    "parse_json",
    "parse_preset",
    "parse_profile",
    "parse_role",
    "read_text",
    "save_preset",
]
