"""Who speaks in an imported chat: roles and profiles by name, answers, and names alone."""

from __future__ import annotations

from tui_chat.models.role import Role
from tui_chat.models.session import Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.workspace.chat_participants import ChatParticipants, ParticipantKind

CHAT = SessionTranscript(Session("s", "Talk"), character="ADA", user="ines")
ROLES = (
    Role("old", "Ada"),
    Role("new", "ada"),
    Role("off", "Ada", status="disabled"),
)


async def test_the_newest_enabled_role_and_the_profile_of_the_name_are_taken() -> None:
    participants = ChatParticipants(ROLES, {"ines": "me"})
    session = (await participants.assign(CHAT, ())).session
    assert (session.role_id, session.profile) == ("new", "me")
    assert (session.settings.char_name, session.settings.user_name) == (None, None)
    assert not participants.unknown


async def test_the_role_of_a_card_comes_with_the_chat() -> None:
    card = Role("card", "Ada", "I am Ada.")
    chat = await ChatParticipants(ROLES).assign(CHAT, (card,))
    assert (chat.session.role_id, chat.role) == ("card", card)


async def test_names_without_a_role_or_profile_are_settings() -> None:
    participants = ChatParticipants((Role("poet", "Poet"),))
    session = (await participants.assign(CHAT, ())).session
    assert (session.role_id, session.profile) == (None, "")
    assert (session.settings.char_name, session.settings.user_name) == ("ADA", "ines")
    assert list(participants.unknown) == ["ADA"]


async def test_a_chosen_role_and_profile_are_those_of_all_chats() -> None:
    participants = ChatParticipants(ROLES, {"ines": "me"}, role_id="poet", profile="other")
    session = (await participants.assign(CHAT, ())).session
    assert (session.role_id, session.profile) == ("poet", "other")


async def test_each_unknown_name_is_asked_for_once() -> None:
    questions: list[tuple[ParticipantKind, str]] = []

    async def ask(kind: ParticipantKind, name: str) -> str | None:
        questions.append((kind, name))
        return {"character": "poet", "user": "other"}[kind]

    participants = ChatParticipants((Role("poet", "Poet"),), {"other": "other"}, ask=ask)
    for _ in range(2):
        session = (await participants.assign(CHAT, ())).session
        assert (session.role_id, session.profile) == ("poet", "other")
    assert questions == [("character", "ADA"), ("user", "ines")]


async def test_nobody_is_asked_where_there_is_nothing_to_choose_from() -> None:
    async def ask(kind: ParticipantKind, name: str) -> str | None:
        raise AssertionError(kind, name)

    session = (await ChatParticipants(ask=ask).assign(CHAT, ())).session
    assert (session.role_id, session.profile) == (None, "")


async def test_a_conversation_without_names_stays_as_it_is() -> None:
    plain = SessionTranscript(Session("s", "Talk"))
    assert await ChatParticipants(ROLES, role_id="poet").assign(plain, ()) is plain
