"""`tui-chat profiles`: list and show profiles."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from tui_chat.cli import completion
from tui_chat.cli.app import open_library
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.library import Item, LibraryKind, Listed, excerpt
from tui_chat.cli.options import json_option
from tui_chat.cli.output import write_line
from tui_chat.files import MAX_BYTES, read_text
from tui_chat.models.role import Profile


class _Profiles(LibraryKind[Profile]):
    noun = "profile"
    head = ("NAME", "USER", "CONTENT")
    narrowed = ((2, 20),)

    def items(self, common: CommonOptions) -> list[Item[Profile]]:
        library = open_library(common.config())
        return [
            Item(
                name,
                str(path),
                partial(library.profile, name),
                partial(read_text, path, max_bytes=MAX_BYTES),
            )
            for name, path in library.files("profiles").items()
        ]

    def row(self, listed: Listed[Profile]) -> tuple[str, ...]:
        user, content = _user_and_content(listed)
        return listed.item.name, user, excerpt(content)

    def json(self, listed: Listed[Profile]) -> dict[str, Any]:
        user, content = _user_and_content(listed)
        item = listed.item
        return {"name": item.name, "path": item.place, "user": user, "content": content}

    def describe(self, value: Profile) -> None:
        write_line(value.content)


def _user_and_content(listed: Listed[Profile]) -> tuple[str, str]:
    profile = listed.value
    return (profile.name, profile.content) if profile else ("", f"error: {listed.error}")


_PROFILES = _Profiles()


@click.group()
def profiles() -> None:
    """List and show profiles: who you are."""


@profiles.command("list")
@json_option()
@click.pass_obj
def list_profiles(common: CommonOptions, as_json: bool) -> None:
    """List the profiles.

    \b
    Example:
      tui-chat profiles list
    """
    _PROFILES.list(common, as_json=as_json)


@profiles.command("show")
@click.argument("profile", metavar="NAME", shell_complete=completion.complete_profile)
@json_option("Print the file.")
@click.pass_obj
def show_profile(common: CommonOptions, profile: str, as_json: bool) -> None:
    """Print a profile.

    \b
    Example:
      tui-chat profiles show kim
    """
    _PROFILES.show(common, profile, as_json=as_json)
