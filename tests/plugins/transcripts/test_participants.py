"""Who speaks in an imported chat: roles and profiles by name, and names alone."""

from __future__ import annotations

from tests.support.tables import each_row
from tui_chat.models.role import Role
from tui_chat.models.session import Session, SessionTranscript
from tui_chat.plugins.transcripts.importer import ChatParticipants

CHAT = SessionTranscript(Session("s", "Talk"), character="ADA", user="ines")
ROLES = (Role("old", "Ada"), Role("new", "ada"), Role("off", "Ada", status="disabled"))
POET = (Role("poet", "Poet"),)
ME = {"ines": "me"}
CARD = Role("card", "Ada", "I am Ada.")


@each_row(
    ("roles", "profiles", "cards", "found", "names"),
    [
        # the newest enabled role, and the profile of the name
        (ROLES, ME, (), ("new", "me"), (None, None)),
        (ROLES, {}, (CARD,), ("card", ""), (None, "ines")),
        # names without a role or profile are settings
        (POET, {}, (), (None, ""), ("ADA", "ines")),
    ],
)
def test_who_speaks(
    roles: tuple[Role, ...], profiles: dict[str, str], cards: tuple[Role, ...],
    found: tuple[str | None, str], names: tuple[str | None, str | None],
):  # fmt: skip
    participants = ChatParticipants(roles, profiles)
    chat = participants.assign(CHAT, cards)
    session = chat.session
    assert (session.role_id, session.profile) == found
    assert (session.settings.char_name, session.settings.user_name) == names
    assert chat.role == next(iter(cards), None)
    plain = SessionTranscript(Session("s", "Talk"))
    assert participants.assign(plain, ()) is plain, "it names nobody"
