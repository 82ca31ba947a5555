"""The commands about this machine: the configuration, keys and the doctor, declared for click."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import INPUT, endpoint_argument, json_option


@click.group()
def config() -> None:
    """Show, edit and check the configuration file."""


@config.command("path")
@click.pass_obj
def config_path(common: CommonOptions) -> None:
    """Print the path of the configuration file.

    \b
    Example:
      cat "$(tui-chat config path)"
    """
    from tui_chat.cli.config_file import print_path

    print_path(common)


@config.command("show")
@json_option()
@click.pass_obj
def config_show(common: CommonOptions, as_json: bool) -> None:
    """Print the effective settings and where each one comes from.

    \b
    Example:
      TUI_CHAT_MODEL=gpt-5 tui-chat config show
    """
    from tui_chat.cli.config_file import show

    show(common, as_json=as_json)


@config.command("edit")
@click.pass_obj
def config_edit(common: CommonOptions) -> None:
    """Open the configuration file in $VISUAL or $EDITOR, and check it afterwards.

    A file that does not exist is created, with everything in it commented out.

    \b
    Example:
      EDITOR=nano tui-chat config edit
    """
    from tui_chat.cli.config_file import edit

    edit(common)


@config.command("check")
@click.argument("file", required=False, type=INPUT)
@click.pass_obj
def config_check(common: CommonOptions, file: Path | None) -> None:
    """Check the configuration file, or FILE (- for the standard input).

    Faults are printed with line and column; exits with 2 then.

    \b
    Examples:
      tui-chat config check
      tui-chat config check new.toml
    """
    from tui_chat.cli.config_file import check

    check(common, file)


@click.group()
def keys() -> None:
    """Keep the keys of endpoints in the system's keyring. Needs the extra “keyring”.

    No command prints a key.
    """


@keys.command("set")
@endpoint_argument
@click.pass_obj
def keys_set(common: CommonOptions, name: str) -> None:
    """Store the key of an endpoint, and make the endpoint use it.

    The key is typed without being shown, or is the first line of the standard input. It is stored
    as tui-chat/ENDPOINT; config.toml gets the reference, never the key.

    \b
    Examples:
      tui-chat keys set openai
      pass show openai | tui-chat keys set openai
    """
    from tui_chat.cli.keys import set_key

    set_key(common, name)


@keys.command("list")
@json_option()
@click.pass_obj
def keys_list(common: CommonOptions, as_json: bool) -> None:
    """List where each endpoint's key is, and whether it is there.

    The keyring may ask for its password. Commands that print keys are not run.

    \b
    Example:
      tui-chat keys list --json
    """
    from tui_chat.cli.keys import list_keys

    list_keys(common, as_json=as_json)


@keys.command("delete")
@endpoint_argument
@click.pass_obj
def keys_delete(common: CommonOptions, name: str) -> None:
    """Remove the key of an endpoint from the keyring. config.toml stays as it is.

    \b
    Example:
      tui-chat keys delete openai
    """
    from tui_chat.cli.keys import remove_key

    remove_key(common, name)


@click.command()
@click.option("--online", is_flag=True, help="Also ask the endpoints that have a key.")
@json_option()
@click.pass_obj
def doctor(common: CommonOptions, online: bool, as_json: bool) -> None:
    """Check this machine, and say what to do.

    It looks at versions, terminal, configuration, files, database, keys and endpoints. Nothing is
    sent without --online. Exits with 1 if something does not work.

    \b
    Examples:
      tui-chat doctor
      tui-chat doctor --online --json
    """
    from tui_chat.cli.doctor import run_doctor

    if not run_doctor(common, online=online, as_json=as_json):
        sys.exit(1)
