"""`tui-chat view` and `/view`: the app on files of other programs, read-only.

It imports the files into a temporary database, which is deleted when the app closes. It opens the
app without accounts and network: only the endpoints of the offline provider exist.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from tui_chat.cli.app import open_workspace, require_terminal, show
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import FILE
from tui_chat.config import Config
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.paths import typed_path

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

OFFLINE = "loopback"
"""The start of the names of endpoints that need neither key nor network."""


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=FILE)
@click.pass_obj
def view(common: CommonOptions, paths: tuple[Path, ...]) -> None:
    """Read conversations of other programs in the app, without importing them.

    PATH is a file of any format that `import` reads, or a folder, such as ~/.claude/projects;
    without one, the folders of known programs are read, the newest files first. They are
    followed while they grow. Needs no account or network, and does not touch your own
    conversations or the files.

    \b
    Example:
      tui-chat view chatgpt.zip
    """
    from tui_chat.plugins.transcripts.viewed_files import require_conversations

    require_terminal()
    config = common.config()
    paths = paths or tuple(known_places(Path.home(), os.environ))
    require_conversations(paths)
    with TemporaryDirectory(prefix="tui-chat-") as folder:
        from tui_chat.ui.app import TuiChat

        config = read_only_config(config, Path(folder))
        show(TuiChat(config, lambda: open_files(config, paths), read_only=banner(paths)))


async def open_files(config: Config, paths: Sequence[Path]) -> Workspace:
    """Return a workspace in a temporary folder that lists files. Raises InputError, StoreError."""
    from tui_chat.plugins.transcripts.viewed_files import ViewedFiles

    workspace = await open_workspace(config)
    workspace.session_files = files = ViewedFiles(workspace, paths)
    try:
        await files.start()
    except BaseException:
        await workspace.close()
        raise
    return workspace


def known_places(home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the existing places of known programs. Raises InputError if there is none."""
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    codex = Path(environ.get("CODEX_HOME") or home / ".codex")
    places = [
        Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        codex / "sessions",
        codex / "archived_sessions",
        home / ".gemini/tmp",
        home / ".pi/agent/sessions",
        data / "opencode/opencode.db",
        Path(environ.get("LLM_USER_PATH") or config / "io.datasette.llm") / "logs.db",
    ]
    existing = [place for place in places if place.exists()]
    if not existing:
        looked = ", ".join(str(place) for place in places)
        raise InputError(
            "No conversations of other programs were found.", advice=f"Looked in {looked}."
        )
    return existing


def read_only_config(config: Config, folder: Path) -> Config:
    """Return a configuration with this data folder, without network."""
    # The built-in ones: the user's file may redefine their names.
    offline = tuple(
        endpoint for endpoint in Config().endpoints if endpoint.name.startswith(OFFLINE)
    )
    config = replace(config, data_dir=folder, endpoints=offline, endpoint=OFFLINE, model="")
    return replace(config, named=("", ""))


def banner(files: Sequence[Path]) -> str:
    """Return the line that says that the app is read-only, and how to keep the files."""
    names = " ".join(str(file) for file in files)
    many = f"{len(files)} places" if len(files) > 1 else one_line(files[0].name, 60)
    return f"Read-only: {many}. To keep it and go on: tui-chat import {one_line(names, 120)}"


async def view_from_app(app: TuiChat, path: str) -> None:
    """Run `tui-chat view` in place of the app until it is closed; without a path, ask for one."""
    from tui_chat.plugins.transcripts.viewed_files import require_conversations
    from tui_chat.ui.questions import ask_path
    from tui_chat.ui.terminal.external_programs import run_in_terminal

    title = "View a file or folder of conversations"
    path = path or await ask_path(app, title, enter="open") or ""
    if not path:
        return
    file, config = typed_path(path), app.chat.context.config
    await asyncio.to_thread(require_conversations, (file,))
    options = ("--config-dir", str(config.config_dir), "--theme", app.theme)
    # -P: a file in the current folder must not be imported as a module.
    program = (sys.executable, "-P", "-m", "tui_chat")
    await run_in_terminal(app, (*program, *options, "view", "--", str(file)))
