"""`tui-chat config`: show, change and check the configuration file."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, cast

import click

from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import INPUT, TEXT, json_option
from tui_chat.cli.output import write_json, write_line
from tui_chat.config import Config
from tui_chat.errors import ConfigError, InputError
from tui_chat.files import input_name, read_toml
from tui_chat.models.sanitize import one_line
from tui_chat.providers.keys import describe_key_reference


@click.group("config")
def config_group() -> None:
    """Show, change and check the configuration file."""


@config_group.command("path")
@click.pass_obj
def print_path(common: CommonOptions) -> None:
    """Print the path of the configuration file.

    \b
    Example:
      cat "$(tui-chat config path)"
    """
    write_line(str(common.config_file))


@config_group.command("show")
@json_option()
@click.pass_obj
def show_config(common: CommonOptions, as_json: bool) -> None:
    """Print the settings in effect, and where each one comes from.

    `endpoints list` and `keys list` have the endpoints.

    \b
    Example:
      TUI_CHAT_MODEL=gpt-5 tui-chat config show
    """
    config = common.config()
    sources = _sources(common, config)
    values = {name: getattr(config, name) for name in sources}
    folders = {"config_dir": str(config.config_dir), "data_dir": str(config.data_dir)}
    if as_json:
        write_json(values | {"sources": sources} | folders)
        return
    for name, value in (values | folders).items():
        source = f"   ({sources[name]})" if name in sources else ""
        shown = str(value).lower() if isinstance(value, bool) else str(value)  # as in the file
        write_line(f"{name:<14} = {shown or '—'}", source)


_SHOWN = (
    *("endpoint", "model", "theme", "notify"),
    *("title_model", "editing_mode", "daily_backups"),
)


def _sources(common: CommonOptions, config: Config) -> dict[str, str]:
    """Return what sets each setting: a flag, a variable, the file, or the default."""
    file, path = common.config_file, str(common.config_file)
    in_file = read_toml(file) if file.exists() else {}
    sources: dict[str, str] = {}
    for name in _SHOWN:
        variable = f"TUI_CHAT_{name.upper()}" if name in common.flags else ""
        if common.flags.get(name):
            sources[name] = f"--{name}"
        elif variable and os.environ.get(variable):
            sources[name] = variable
        elif name in in_file:
            sources[name] = path
        elif name == "endpoint" and config.is_endpoint_found:
            key = config.endpoint_named(config.endpoint).key
            sources[name] = f"the first with a key: {describe_key_reference(key)}"
        else:
            sources[name] = "default"
    return sources


@config_group.command("set")
@click.argument("key", type=TEXT)
@click.argument("value", type=TEXT)
@click.pass_obj
def set_value(common: CommonOptions, key: str, value: str) -> None:
    """Change a value of the configuration file; the rest of it, comments too, stays.

    KEY is as in the file, with dots between tables. VALUE is text, or TOML such as true, 4096 or
    ["a", "b"]. Nothing is written if the file would have a fault then.

    \b
    Examples:
      tui-chat config set endpoint anthropic
      tui-chat config set endpoints.work.models '["gpt-5", "gpt-5-mini"]'
    """
    steps = _steps(_toml(f"{key} = 0"))
    if not steps:
        raise InputError(f"“{one_line(key, 80)}” is no key.", advice="Write it as in the file.")
    if steps == ("endpoint",):
        common.config().endpoint_named(value)  # raises an error for an unknown one
    change_file(common, steps, _toml(f"value = {value}").get("value", value))


def _steps(table: dict[str, Any]) -> tuple[str, ...]:
    """Return the keys that lead to the only value of a table; none if it has several."""
    if len(table) != 1:
        return ()
    name, inner = next(iter(table.items()))
    return (name, *_steps(cast("dict[str, Any]", inner))) if isinstance(inner, dict) else (name,)


def change_file(common: CommonOptions, key: tuple[str, ...], value: object) -> None:
    """Change a value of the configuration file, and say so. Raises ConfigError and InputError."""
    from tui_chat.config.file import change_config

    defaults = Config(config_dir=common.config_folder, data_dir=common.data_folder)
    change_config(common.config_file, {key: value}, defaults)
    write_line(f"{common.config_file}: {'.'.join(key)} is changed.")


def _toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML text; none if it is not one."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


@config_group.command("check")
@click.argument("file", required=False, type=INPUT)
@click.pass_obj
def check_config(common: CommonOptions, file: Path | None) -> None:
    """Check the configuration file, or FILE (- for the standard input).

    Faults are printed with line and column; exits with 2 then.

    \b
    Examples:
      tui-chat config check
      tui-chat config check new.toml
    """
    from tui_chat.ui.keys import screen_errors

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
