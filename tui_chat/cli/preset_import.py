"""`tui-chat preset import`: SillyTavern's presets become files of the user's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from tui_chat import paths
from tui_chat.cli.app import shelf
from tui_chat.cli.output import write_line
from tui_chat.config import load_config
from tui_chat.errors import InputError
from tui_chat.library.sillytavern_presets import load_sillytavern_preset
from tui_chat.models.sanitize import one_line


def run_import(settings: dict[str, object], files: Sequence[Path], name: str) -> None:
    """Write each file as a preset of ours, and tell where it is and what was not taken over.

    Raises InputError naming the file and the fault; the files before it are written.
    """
    if name and len(files) > 1:
        raise InputError("One name is for one file.", advice="Leave --name out.")
    config_dir = cast("Path | None", settings["config_dir"]) or paths.config_dir()
    own = shelf(load_config(config_dir, Path(), os.environ, {}))
    for file in files:
        found = load_sillytavern_preset(file, name)
        kept = own.add_preset(found.preset)
        write_line(str(own.preset_file(kept)))
        for notes in found.notes:
            write_line(f"{notes.level}: {one_line(notes.sentence)}", err=True)
