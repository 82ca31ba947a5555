"""What a protocol made of a message is told where the message stands."""

from __future__ import annotations

from dataclasses import replace

from tests.support.messages import make_message
from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS as ALL_ENDPOINTS
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.blocks import CallBlock
from tui_chat.models.endpoint import ModelFacts, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.common.trees import field_origin
from tui_chat.ui.inspector.drawn_row import CursorTarget
from tui_chat.ui.inspector.origins import origin_phrase
from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.inspector.payload_places import NotePlaces

ENDPOINTS = {
    one.protocol: replace(
        one, facts=(("developing", ModelFacts(developer_role=True)), ("*", ModelFacts()))
    )
    for one in ALL_ENDPOINTS
}
PRESET = Preset(
    "mixed",
    (
        PresetMessage("rule", content="Be {{noop}}brief, {{user}}."),
        PresetMessage("history", "user", type="chat_history"),
        PresetMessage("late", content="Later:\nmind {{user}}.", insertion_point=-1),
    ),
    system_placement="in_place",
)
CALLS = (CallBlock("c1", "look", "{}"), CallBlock("c2", "look", "{}"))
HISTORY = (
    Message.of("user", "Look it up.", "m1"),
    make_message("assistant", "", "m2", tool_calls=CALLS),
    make_message("tool", "Nothing.", "m3", tool_call_id="c1"),
    make_message("tool", "Something.", "m4", tool_call_id="c2"),
    Message.of("assistant", "It is so.", "m5"),
)


def composed(protocol: Protocol, model: str = "m") -> Composed:
    settings = SessionSettings(model=model)
    return compose(Inputs(ENDPOINTS[protocol], PRESET, HISTORY, "And now?", settings=settings))


def laid_out(one: Composed) -> PayloadLayout:
    return PayloadLayout(one.payload, 60)


@each_row("protocol", list(Protocol))
def test_a_note_marks_the_row_of_its_subject(protocol: Protocol) -> None:
    one = composed(protocol)
    layout, marks = laid_out(one), NotePlaces(one.notes)
    found: list[str] = []
    for row in range(layout.rows):
        spot = layout.spot(row)
        if (note := marks.at(layout, spot)) is not None and note.code == "system-moved":
            start, end = layout.line(spot).slice(spot.row)
            found.append(layout.line(spot).text[start:end])
    if protocol in (Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES, Protocol.OLLAMA):
        assert not found
    else:
        assert len(found) == 1
        assert "Later:" in found[0]


def test_a_field_of_a_message_is_called_one_of_the_message() -> None:
    message = Origin(OriginKind.HISTORY, "7", "user 7")
    mark = field_origin(message, "cache mark")
    assert origin_phrase(CursorTarget(mark, mark, "", 0)) == "cache mark of message “user 7”"
