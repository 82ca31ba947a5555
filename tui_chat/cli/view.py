"""`tui-chat view`: exported conversations in the app, without touching the user's own.

They are imported into a database of their own, which goes when the app is closed. No account and
no network: of the endpoints only the offline provider is there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from tui_chat import paths
from tui_chat.cli.app import new_id, open_workspace, require_terminal, settled_config, show
from tui_chat.cli.import_export import Meter, print_faults
from tui_chat.cli.interpreter import share_heap
from tui_chat.config import Config
from tui_chat.errors import InputError
from tui_chat.importing import Report, import_files
from tui_chat.models.sanitize import one_line

OFFLINE = "loopback"
"""How the names of the endpoints begin that need neither key nor network."""


def run_view(settings: Mapping[str, object], files: Sequence[Path]) -> None:
    """Open the app on the files and stay until it is closed.

    Raises InputError where there is nothing to show, ConfigError and StoreError.
    """
    require_terminal()
    flags = cast("Mapping[str, str | None]", settings["flags"])
    config = settled_config(None, cast("Path | None", settings["config_dir"]), flags)
    share_heap()
    with TemporaryDirectory(prefix="tui-chat-") as folder:
        meter = Meter()
        try:
            reports = asyncio.run(fill(Path(folder), files, meter))
        finally:
            meter.clear()
        for report in reports:
            print_faults(report)
        if not any(report.session_ids for report in reports):
            raise InputError("There is no conversation to show.")
        from tui_chat.ui.viewer import Viewer

        config = apart(config, Path(folder))
        app = Viewer(config, lambda: open_workspace(config), line(files))
        show(app)


async def fill(folder: Path, files: Sequence[Path], meter: Meter) -> tuple[Report, ...]:
    """Make a database of the files, on which the app opens at the first conversation."""
    from tui_chat.store import Store

    path = paths.database_file(folder)
    async with await Store.open(path, now=time.time, new_id=new_id) as store:
        reports = await import_files(store, files, progress=meter.show)
        first = next((found for report in reports for found in report.session_ids), None)
        if first is not None:
            await store.settings.set("session", first)
        return reports


def apart(config: Config, folder: Path) -> Config:
    """Return the configuration with a data folder of its own and without a network."""
    # Those that came with the program: the user's file may have taken their names.
    offline = tuple(each for each in Config().endpoints if each.name.startswith(OFFLINE))
    return replace(config, data_dir=folder, endpoints=offline, endpoint=OFFLINE, model="")


def line(files: Sequence[Path]) -> str:
    """Say that nothing can be said, and what to do for that."""
    names = " ".join(str(file) for file in files)
    many = f"{len(files)} files" if len(files) > 1 else one_line(files[0].name, 60)
    return f"Read-only: {many}. To keep it and go on: tui-chat import {one_line(names, 120)}"
