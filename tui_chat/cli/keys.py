"""`tui-chat keys`: endpoints' keys, in the keyring or private files. Never prints a key."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from tui_chat.cli.app import asynchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.config import change_file
from tui_chat.cli.options import endpoint_argument, json_option
from tui_chat.cli.output import write_line, write_list
from tui_chat.config import Config
from tui_chat.errors import InputError, KeyMissing
from tui_chat.files import read_standard_input
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.providers.keys import (
    SERVICE,
    delete_key,
    describe_key_reference,
    key_file,
    resolve_key,
    store_key,
    typed_key,
    write_key_file,
)

if TYPE_CHECKING:
    from tui_chat.models.endpoint import Endpoint

LONGEST_KEY = 65_536
"""Maximum bytes of a key on the standard input."""


@dataclass(frozen=True, slots=True)
class KeyDocument:
    """The place of an endpoint's key, and if it is there."""

    endpoint: str
    key: str
    state: str


@click.group()
def keys() -> None:
    """Keep the keys of endpoints in the system's keyring, or in private files.

    The keyring needs the extra “keyring”. No command prints a key.
    """


@keys.command("set")
@endpoint_argument
@click.option("--file", "in_file", is_flag=True, help="Keep it in a private file, not the keyring.")
@click.pass_obj
def set_key(common: CommonOptions, name: str, in_file: bool) -> None:
    """Store the key of an endpoint, and make the endpoint use it.

    The key is typed without being shown, or is the first line of the standard input. The keyring
    has it as tui-chat/ENDPOINT; config.toml gets the reference, never the key.

    \b
    Examples:
      tui-chat keys set openai
      tui-chat keys set openai --file
      pass show openai | tui-chat keys set openai
    """
    config = common.config()
    endpoint = config.endpoint_named(name)
    if endpoint.key_header(("", "")) is None:
        raise InputError(f"The endpoint “{name}” needs no key.")
    if sys.stdin.isatty():
        text = click.prompt(f"Key of {name}", hide_input=True, err=True)
    else:
        piped = read_standard_input(LONGEST_KEY).decode("utf-8", "replace")
        text = piped.strip().partition("\n")[0]
    key = typed_key(text)
    if in_file:
        reference = write_key_file(config.data_dir, name, key)
        write_line(f"The key is in {key_file(config.data_dir, name)}.")
    else:
        store_key(SERVICE, name, key)
        reference = f"keyring:{SERVICE}/{name}"
        write_line(f"The key is in the keyring as {SERVICE}/{name}.")
    if endpoint.key != reference:
        change_file(common, ("endpoints", name, "key"), reference)


@keys.command()
@endpoint_argument
@click.pass_obj
def delete(common: CommonOptions, name: str) -> None:
    """Remove the key of an endpoint from the keyring, or its file. config.toml stays as it is.

    \b
    Example:
      tui-chat keys delete openai
    """
    config = common.config()
    reference, path = config.endpoint_named(name).key, key_file(config.data_dir, name)
    if path.exists():
        path.unlink()
        write_line(f"{path} is deleted.")
        return
    try:
        was_there = delete_key(SERVICE, name)
    except KeyMissing:
        if reference.startswith("keyring:"):
            raise
        where = describe_key_reference(reference) if reference else "none"
        sentence = f"The key of “{name}” is {where}, which is not in the keyring."
        raise InputError(sentence, advice="There is nothing to delete.") from None
    if not was_there:
        raise KeyMissing(f"The keyring has no entry {SERVICE}/{name}.")
    write_line(f"The keyring has no key of {name} any more.")


@keys.command("list")
@json_option()
@asynchronous
async def list_keys(common: CommonOptions, as_json: bool) -> None:
    """List where each endpoint's key is, and whether it is there.

    The keyring may ask for its password. Commands that print keys are not run.

    \b
    Example:
      tui-chat keys list --json
    """
    write_list(
        [KeyDocument(*state) for state in await key_states(common.config())],
        as_json,
        None,
        ("ENDPOINT", "KEY", "STATE"),
        lambda key: (key.endpoint, key.key, one_line(key.state, 200)),
        (2, 20),
        nothing="No endpoint needs a key.",
    )


async def key_states(config: Config) -> list[tuple[str, str, str]]:
    """Return name, key reference and state of each endpoint that needs a key."""
    return [
        (endpoint.name, describe_key_reference(endpoint.key), await key_state(endpoint))
        for endpoint in config.endpoints
        if endpoint.key_header(("", "")) is not None
    ]


async def key_state(endpoint: Endpoint) -> str:
    """Return `found`, `not tried` for a command, which may do anything, or why there is no key."""
    if endpoint.key.startswith("command:"):
        return "not tried"
    try:
        await resolve_key(endpoint.key, os.environ, owner=endpoint.name)
    except KeyMissing as error:
        return str(error)
    return "found"
