"""The speakers of an imported chat: the role of its character, and the profile of its user.

1. Both are found by name: roles by theirs, profiles by theirs or their file's. Of roles with one
   name the newest is taken; disabled ones are not.
2. Where there is none, the caller may be asked. Without an answer the names are settings of the
   session, so that `{{char}}` and `{{user}}` are right all the same.
3. Chats that are in the database already keep what they have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.models.role import Role
    from tui_chat.models.transcript import SessionTranscript

ParticipantKind = Literal["character", "user"]

AskParticipant = Callable[[ParticipantKind, str, "Mapping[str, str]"], Awaitable[str | None]]
"""Asks for the role id of a character, or the profile's file of a user, by the name in the chat;
the choices are names by these. None for none."""


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

    roles: Sequence[Role] = ()
    profiles: Mapping[str, str] = field(default_factory=dict[str, str])
    """See `profile_files`."""
    role_id: str | None = None
    """The role of all chats; None finds that of each."""
    profile: str | None = None
    """The file of the profile of all chats; None finds that of each."""
    ask: AskParticipant | None = None
    unknown: dict[str, None] = field(default_factory=dict[str, None])
    """The characters of new chats without a role."""
    _answers: dict[tuple[ParticipantKind, str], str | None] = field(
        default_factory=dict[tuple[ParticipantKind, str], "str | None"]
    )

    async def assign(
        self, transcript: SessionTranscript, cards: Sequence[Role]
    ) -> SessionTranscript:
        """Return a new chat with role, profile and names; `cards` are roles imported with it."""
        character, user = transcript.character, transcript.user
        if not (character or user):
            return transcript
        session, settings = transcript.session, transcript.session.settings
        role_id, profile = await self._role(character, cards), await self._profile(user)
        if role_id is None:
            settings = replace(settings, char_name=character or None)
            if character:
                self.unknown[character] = None
        if profile is None:
            settings = replace(settings, user_name=user or None)
        role = next((card for card in cards if card.role_id == role_id), None)
        session = replace(session, role_id=role_id, profile=profile or "", settings=settings)
        return replace(transcript, session=session, role=role)

    async def _role(self, name: str, cards: Sequence[Role]) -> str | None:
        if self.role_id is not None or not name:
            return self.role_id
        for role in reversed((*self.roles, *cards)):
            if role.name.casefold() == name.casefold() and role.status == "enabled":
                return role.role_id
        enabled = {role.role_id: role.name for role in self.roles if role.status == "enabled"}
        return await self._asked("character", name, enabled) if self.roles else None

    async def _profile(self, name: str) -> str | None:
        if self.profile is not None or not name:
            return self.profile
        if (file := self.profiles.get(name.casefold())) is not None:
            return file
        files = {file: file for file in sorted(self.profiles.values())}
        return await self._asked("user", name, files) if self.profiles else None

    async def _asked(
        self, kind: ParticipantKind, name: str, choices: Mapping[str, str]
    ) -> str | None:
        """Return the answer for a name, which is asked for once."""
        if self.ask is None:
            return None
        key = kind, name.casefold()
        if key not in self._answers:
            self._answers[key] = await self.ask(kind, name, choices)
        return self._answers[key]
