"""The speakers of an imported chat: the role of its character, and the profile of its user.

1. Both are found by name: roles by theirs, profiles by theirs or their file's. Of roles with one
   name the newest is taken; disabled ones are not.
2. Where there is none, the names are settings of the session, so that `{{char}}` and `{{user}}` are
   right all the same.
3. Chats that are in the database already keep what they have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.models.role import Role
    from tui_chat.models.session import SessionTranscript


def profile_files(library: Library) -> dict[str, str]:
    """Return the files of profiles by the names in them and by their own, in lower case; files
    that cannot be read have only their own.
    """
    files: dict[str, str] = {}
    for file in library.names("profiles"):
        with suppress(InputError):
            files.setdefault(library.profile(file).name.casefold(), file)
    return {**files, **{file.casefold(): file for file in library.names("profiles")}}


@dataclass(slots=True)
class ChatParticipants:
    """Finds the role and the profile of each imported chat."""

    roles: Sequence[Role]
    profiles: Mapping[str, str]
    """See `profile_files`."""

    def assign(self, transcript: SessionTranscript, cards: Sequence[Role]) -> SessionTranscript:
        """Return a new chat with role, profile and names; `cards` are roles imported with it."""
        character, user = transcript.character, transcript.user
        if not (character or user):
            return transcript
        session, settings = transcript.session, transcript.session.settings
        role_id = self._role(character, cards)
        profile = self.profiles.get(user.casefold())
        if role_id is None:
            settings = replace(settings, char_name=character or None)
        if profile is None:
            settings = replace(settings, user_name=user or None)
        role = next((card for card in cards if card.role_id == role_id), None)
        session = replace(session, role_id=role_id, profile=profile or "", settings=settings)
        return replace(transcript, session=session, role=role)

    def _role(self, name: str, cards: Sequence[Role]) -> str | None:
        for role in reversed((*self.roles, *cards)):
            if name and role.name.casefold() == name.casefold() and role.status == "enabled":
                return role.role_id
        return None
