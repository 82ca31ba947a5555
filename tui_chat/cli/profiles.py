"""Profiles in `tui-chat library`, which also are `tui-chat profiles`: who the user is."""

from __future__ import annotations

from functools import partial

from tui_chat.cli.app import open_library
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.library import Item, LibraryKind, Listed, excerpt
from tui_chat.cli.output import write_line
from tui_chat.files import MAX_BYTES, read_text
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.role import Profile


@dataclass(frozen=True, slots=True)
class ProfileDocument:
    """A profile in a list; `user` is the name in it."""

    name: str
    path: str
    user: str
    content: str


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

    def document(self, listed: Listed[Profile]) -> ProfileDocument:
        user, content = _user_and_content(listed)
        return ProfileDocument(listed.item.name, listed.item.place, user, content)

    def describe(self, value: Profile) -> None:
        write_line(value.content)


def _user_and_content(listed: Listed[Profile]) -> tuple[str, str]:
    profile = listed.value
    return (profile.name, profile.content) if profile else ("", f"error: {listed.error}")


PROFILES = _Profiles()
