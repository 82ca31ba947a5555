"""Where a preset message goes, in words: a request that shows each sentence."""

from __future__ import annotations

from dataclasses import replace

from tests.support.contexts import HISTORY, said
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.library.editing.places import place_in_request
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage, SystemPlacement
from tui_chat.models.role import Role

ENDPOINT = Endpoint("here", Protocol.OPENAI_CHAT, "https://here.invalid", models=("gpt-4o",))
SPOT = PresetMessage("spot", name="World info", type="placeholder")
OFF = replace(SPOT, enabled=False)
X = replace(said("X"), name="Style")
SYSTEM = replace(X, role="system")
FIRST = PresetMessage("first", "system", "First.", name="Terminal")
CHAT = ("Why does my prompt cache miss after every message?", "A cache serves a prefix.")


def place(
    *messages: PresetMessage,
    chat: tuple[str, ...] = CHAT,
    draft: str = "And now?",
    role: Role | None = None,
    of: str = "X",
    placement: SystemPlacement = "hoist",
) -> str:
    roles = ("user", "assistant")
    history = tuple(Message.of(roles[n % 2], text, f"m{n}") for n, text in enumerate(chat))  # type: ignore[arg-type]
    preset = Preset("p", messages, system_placement=placement)
    inputs = Inputs(ENDPOINT, preset, history, draft, role=role)
    return place_in_request(compose(inputs), of)


def at(depth: int) -> PresetMessage:
    return replace(X, insertion_point=-depth)


@each_row(
    ("sentence", "found"),
    [
        ("→ Goes with the system messages, before the chat, after “Terminal”.",
         place(FIRST, SYSTEM, HISTORY)),
        ("→ Goes with the system messages, before the chat: first of all.",
         place(SYSTEM, HISTORY)),
        ("→ Goes with the system messages, before the chat, after the role's prompt.",
         place(SYSTEM, HISTORY, role=Role("r", "R", "Be R."))),
        ("→ Goes before the chat history, after “Terminal”.", place(FIRST, X, HISTORY)),
        ("→ Goes after the chat history.", place(HISTORY, X)),
        ("→ Goes before the chat history: first of all.",
         place(SYSTEM, HISTORY, placement="in_place")),
        ("→ Goes directly before “World info”.",
         place(replace(X, anchor_point="before", anchor_target="spot"), SPOT, HISTORY)),
        ("→ Goes directly before the chat history.",
         place(replace(X, anchor_point="before"), HISTORY)),
        ("→ Goes after your message: the last thing the model reads.",
         place(replace(X, anchor_point="after"), HISTORY)),
        ("→ Goes after your message.",
         place(replace(X, anchor_point="after"), HISTORY, said("Y"))),
        ("→ Goes directly before your message: after “A cache serves a prefix.”.",
         place(at(1), HISTORY)),
        ("→ Goes directly before your message.", place(at(1), HISTORY, chat=())),
        ("→ Goes before the last 2 messages, your draft included: "
         "after “Why does my prompt cache…”.", place(at(2), HISTORY)),
        ("→ Goes before the last 3 messages, your draft included: before all of them.",
         place(at(3), HISTORY)),
        ("→ Goes before the last 2 messages, the message to answer included: "
         "after “Why does my prompt cache…”.", place(at(2), HISTORY, chat=(*CHAT, "?"), draft="")),
        ("→ Only 3 messages are sent: goes before all of them.", place(at(90), HISTORY)),
        ("→ Only 1 message is sent: goes before it.", place(at(90), HISTORY, chat=())),
        ("→ Goes before the first message of the chat history.",
         place(replace(X, insertion_point=0), HISTORY)),
        ("→ Goes after the first message of the chat history.",
         place(replace(X, insertion_point=1), HISTORY)),
        ("→ Goes after message 2 of the chat history.",
         place(replace(X, insertion_point=2), HISTORY)),
        ("→ Only 2 messages are before yours: goes after all of them.",
         place(replace(X, insertion_point=9), HISTORY)),
        ("→ Other messages can go before or after it.", place(SPOT, X, HISTORY, of="spot")),
        ("→ Sent only on continue.", place(replace(X, triggers=("continue",)), HISTORY)),
        ("– Off; when it is on: goes directly before the chat history.",
         place(replace(X, anchor_point="before", enabled=False), HISTORY)),
        ("▲ “World info” is off: the message stays at its place in the list.",
         place(replace(X, anchor_target="spot"), OFF, HISTORY)),
        ("▲ There is no anchor “gone”: the message stays at its place in the list.",
         place(replace(X, anchor_target="gone"), HISTORY)),
        ("", place(X, HISTORY, of="nobody")),
    ],
)  # fmt: skip
def test_a_message_goes_where_the_request_has_it(sentence: str, found: str) -> None:
    assert found == sentence
