"""`tui-chat config`: the configuration file and what it amounts to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import write_json, write_line
from tui_chat.config import BUILT_IN_ENDPOINTS, Config, load_config
from tui_chat.errors import ConfigError, InputError
from tui_chat.files import input_name
from tui_chat.models.setting_json import settings_json
from tui_chat.providers.keys import describe_key_reference


def print_path(common: CommonOptions) -> None:
    """Print the path of the configuration file."""
    write_line(str(common.config_file))


def show(common: CommonOptions, *, as_json: bool) -> None:
    """Print the effective settings and where each one comes from. Raises ConfigError."""
    config, path = common.config(), common.config_file
    defaults = Config(config_dir=config.config_dir, data_dir=config.data_dir)
    of_file = load_config(config.config_dir, config.data_dir, {}, {})
    flags = common.flags
    sources = {
        name: "--" + name
        if flags.get(name)
        else f"TUI_CHAT_{name.upper()}"
        if os.environ.get(f"TUI_CHAT_{name.upper()}")
        else str(path)
        if getattr(of_file, name) != getattr(defaults, name)
        else "default"
        for name in ("endpoint", "model", "theme", "notify", "title_model")
    }
    own = [each for each in config.endpoints if each not in BUILT_IN_ENDPOINTS]
    endpoints = [
        {
            "name": each.name,
            "protocol": each.protocol.value,
            "base_url": each.base_url,
            "key": describe_key_reference(each.key) if each.key else "",
            "models": list(each.models),
            "parameters": settings_json(each.settings),
        }
        for each in own
    ]
    if as_json:
        body: dict[str, Any] = {name: getattr(config, name) for name in sources}
        body |= {"sources": sources, "keys": dict(config.keys), "endpoints": endpoints}
        body |= {"tools": [tool.name for tool in config.tools]}
        body |= {"config_dir": str(config.config_dir), "data_dir": str(config.data_dir)}
        write_json(body)
        return
    rows = [(name, str(getattr(config, name)) or "—", source) for name, source in sources.items()]
    rows += [(f"keys.{name}", keys or "none", str(path)) for name, keys in config.keys]
    rows += [
        (f"tools.{tool.name}", " ".join(tool.command) or "—", str(path)) for tool in config.tools
    ]
    rows += [
        (f"endpoints.{each['name']}", f"{each['protocol']} at {each['base_url']}", str(path))
        for each in endpoints
    ]
    rows += [("config_dir", str(config.config_dir), ""), ("data_dir", str(config.data_dir), "")]
    for name, value, source in rows:
        write_line(f"{name:<14} = {value}", f"   ({source})" if source else "")


def check(common: CommonOptions, file: Path | None) -> None:
    """Print that a configuration has no faults. Raises ConfigError with place, line and column."""
    from tui_chat.ui.key_bindings import screen_errors

    path = file or common.config_file
    if file is None:
        config = common.config()
        if not path.exists():
            write_line(f"{path} does not exist; the defaults hold.")
            return
    else:
        from tui_chat.config.file import read_config_file

        defaults = Config(config_dir=common.config_folder, data_dir=common.data_folder)
        config = read_config_file(path, defaults)
        config.endpoint_named(config.endpoint)
    if errors := screen_errors(config):
        sentences = " ".join(str(error) for error in errors)
        raise ConfigError(f"{input_name(path)}: {sentences}", advice=errors[0].advice)
    write_line(f"{input_name(path)} has no faults.")


def edit(common: CommonOptions) -> None:
    """Open the configuration file in the user's editor, and check it afterwards.

    A new file has everything commented out. Raises InputError if the editor fails, and ConfigError
    for what is wrong in the file.
    """
    from tui_chat.config.file import create_config_file
    from tui_chat.ui.terminal.external_programs import editor_command

    path = common.config_file
    command = editor_command(os.environ)
    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR") or sys.stdin.isatty()):
        raise InputError(
            "There is no terminal for an editor.", advice=f"Edit {path}, or set EDITOR."
        )
    create_config_file(path)
    try:
        code = subprocess.run([*command, str(path)], check=False).returncode  # noqa: S603
    except OSError as error:
        raise InputError(
            f"{command[0]} cannot be started: {error.strerror}.",
            advice="Set EDITOR to the command of your editor.",
        ) from error
    if code:
        raise InputError(f"{command[0]} ended with {code}.")
    check(common, None)
