"""Small requests for the tests of the context builder."""

from __future__ import annotations

from tests.support.messages import make_message
from tui_chat.context import Inputs, build
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import About, Message, Summary
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Role
from tui_chat.models.settings import Settings
from tui_chat.tokens import Counter

ENDPOINT = Endpoint("here", Protocol.OPENAI_CHAT, "https://here.invalid/v1", models=("m",))
LETTERS = Counter("letters", True, len)
"""A token is a character."""
U1, A1 = Message.of("user", "U1", "1"), Message.of("assistant", "A1", "2")
U2, A2 = Message.of("user", "U2", "3"), Message.of("assistant", "A2", "4")
ROLE = Role(
    "r", "Coder", "ROLE", model="role-model", settings=Settings(temperature=0.5, max_tokens=99)
)
HISTORY = PresetMessage("history", role="user", type="chat_history")
SPOT = PresetMessage("spot", type="placeholder")


def said(content: str, **where: object) -> PresetMessage:
    """A preset message that says something; a user message, called by what it says."""
    return PresetMessage(**{"id": content, "role": "user", "content": content, **where})  # type: ignore[arg-type]


def built(*messages: PresetMessage, **inputs: object) -> ChatEnvelope:
    """The context of a preset of these messages, of U1 A1 U2 A2 and the draft D."""
    preset = Preset(
        "test",
        messages,
        system_placement=inputs.pop("placement", "hoist"),  # type: ignore[arg-type]
        variables=inputs.pop("preset_variables", {}),  # type: ignore[arg-type]
        policies=inputs.pop("policies", {}),  # type: ignore[arg-type]
    )
    given = {"history": (U1, A1, U2, A2), "draft": "D", **inputs}
    return build(Inputs(ENDPOINT, preset, **given), lambda _: LETTERS)  # type: ignore[arg-type]


def order(envelope: ChatEnvelope) -> str:
    """What is sent, in one line."""
    return " ".join(turn.text.plain for turn in envelope.turns)


def codes(envelope: ChatEnvelope) -> list[str]:
    """The codes of the notes."""
    return [note.code for note in envelope.notes]


def rules(envelope: ChatEnvelope, word: str) -> str:
    """The rules that place the turns with a text."""
    return " ".join(turn.placement.rule for turn in envelope.turns if word in turn.text.plain)


def summary(text: str, kept: int, messages: int = 2, *, enabled: bool = True) -> Message:
    """A summary that stands for all messages but the last `kept` before it."""
    semantics = About(summary=Summary(kept, messages, enabled))
    return make_message("system", text, text, about=semantics)


def entry(content: str, *keys: str, **more: object) -> LorebookEntry:
    return LorebookEntry(**{"id": content, "content": content, "keys": keys, **more})  # type: ignore[arg-type]


def told(*entries: LorebookEntry, draft: str = "", **book: object) -> ChatEnvelope:
    """What is sent with a book of these entries to a conversation about dragons and tea."""
    history = tuple(
        Message.of(role, content, str(number))
        for number, (role, content) in enumerate(
            [("user", "Old Rome"), ("assistant", "I like tea"), ("user", "A red Dragon, twice")]
        )
    )
    books = (Lorebook("Book", entries, **book),)  # type: ignore[arg-type]
    return built(HISTORY, history=history, draft=draft, lorebooks=books)
