"""Origins in the inspector: each has its place and rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from textual.widgets import TextArea

from tests.support.messages import make_message
from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS as ALL_ENDPOINTS
from tui_chat.analysis.captured_request import read_captured
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError
from tui_chat.models.blocks import CallBlock
from tui_chat.models.endpoint import ModelFacts, Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message, with_content
from tui_chat.models.payload import Obj, render, tree_of
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.request_edit import END, BodyPath, RequestEdit
from tui_chat.models.role import Character, Profile, Role
from tui_chat.models.settings import AuthorNote
from tui_chat.models.text import OriginKind
from tui_chat.ui.inspector.drawn_row import CursorTarget, target_at
from tui_chat.ui.inspector.edit_place import EditPlace, place_of
from tui_chat.ui.inspector.origins import origin_phrase, placement_rule
from tui_chat.ui.inspector.payload_layout import PayloadLayout

ENDPOINTS = {
    each.protocol: replace(
        each, facts=(("developing", ModelFacts(developer_role=True)), ("*", ModelFacts()))
    )
    for each in ALL_ENDPOINTS
}
HISTORY = PresetMessage("history", type="chat_history")
STYLE = PresetMessage("style", content="Be brief, {{user}}.", name="Style")
LATE = PresetMessage("late", content="Mind.", insertion_point=-1)
CARD = Role("r", "Ada", "Be Ada.", character=Character(description="Tall."))
CALL = make_message("assistant", "", "2", tool_calls=(CallBlock("c", "look", '{"a":1}'),))
RESULT = make_message("tool", "Nothing.", "3", tool_call_id="c")
TALK = (Message.of("user", "Look.", "1"), CALL, RESULT, Message.of("assistant", "So.", "4"))
BOOK = Lorebook("Facts", (LorebookEntry("f", "{{char}} runs", ("fox",), name="Fox"),))
LOOK = (ToolDefinition("look", "Looks", {"type": "object"}),)
CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA = Protocol


def request(
    protocol: Protocol = CHAT,
    *lines: PresetMessage,
    draft: str = "Hi.",
    history: tuple[Message, ...] = (),
    placement: Any = "hoist",
    settings: SessionSettings | None = None,
    model: str = "m",
    **more: Any,
) -> Composed:
    preset = Preset("p", (*lines, HISTORY), system_placement=placement)
    given = replace(settings or SessionSettings(), model=model)
    return compose(Inputs(ENDPOINTS[protocol], preset, history, draft, settings=given, **more))


def captured(protocol: Protocol, body: dict[str, Any], model: str = "") -> Composed:
    return read_captured(json.dumps(body), protocol).composed(ENDPOINTS[protocol], model)


def targets(made: Composed) -> Iterator[CursorTarget]:
    """What the cursor can be on."""
    layout = PayloadLayout(made.payload, 80)
    for row in range(layout.rows):
        spot = layout.spot(row)
        line = layout.line(spot)
        for run in line.runs:
            if (target := target_at(spot, line, run)) is not None:
                yield target


def phrases(made: Composed) -> set[str]:
    """What the status line can say of a request: origins, and the sentences after a turn's rule."""
    found: set[str] = set()
    for target in targets(made):
        rule = placement_rule(target, made)
        found |= {origin_phrase(target), *(f"{each.strip()}." for each in rule.split(".") if each)}
    return found


def note(text: str) -> SessionSettings:
    return SessionSettings(author_note=AuthorNote(text))


ASKED = {"messages": [{"role": "user", "content": "x"}]}
TEXT_AND_CALL = with_content(CALL, "I look.")
WALK: list[tuple[str, Callable[[], Composed], Callable[[], Composed]]] = [
    ("system prompt of role “Ada”", lambda: request(role=CARD),
     lambda: request(role=replace(CARD, system_prompt=""))),
    ("preset message “Style”", lambda: request(CHAT, STYLE), request),
    ("macro “{{user}}” in preset message “Style”", lambda: request(CHAT, STYLE),
     lambda: request(CHAT, replace(STYLE, content="{{date}}"))),
    ("macro “{{description}}” in preset message “Style”",
     lambda: request(CHAT, replace(STYLE, content="{{description}}"), role=CARD),
     lambda: request(CHAT, STYLE, role=CARD)),
    ("profile “Me”",
     lambda: request(CHAT, PresetMessage("who", type="user_profile"), profile=Profile("Me", "I")),
     lambda: request(profile=Profile("Me", "I"))),
    ("lore entry “Fox” of the lorebook “Facts”",
     lambda: request(draft="A fox.", lorebooks=(BOOK,)), lambda: request(lorebooks=(BOOK,))),
    ("macro “{{char}}” in lore entry “Fox” of the lorebook “Facts”",
     lambda: request(draft="A fox.", lorebooks=(BOOK,)), lambda: request(lorebooks=(BOOK,))),
    ("protocol in lore entry “Fox” of the lorebook “Facts”",
     lambda: request(draft="A fox.", lorebooks=(BOOK,)), lambda: request(lorebooks=(BOOK,))),
    ("author's note, set by the session", lambda: request(settings=note("N")),
     lambda: request(settings=note(""))),
    ("message “Look.”", lambda: request(history=TALK), lambda: request(draft="Look.")),
    ("draft", request, lambda: request(draft="", history=TALK)),
    ("tool “look”", lambda: request(tools=LOOK), lambda: request(history=TALK)),
    ("setting “temperature, set by the session”",
     lambda: request(settings=SessionSettings(temperature=0.5)), request),
    ("setting “stream: the reply is shown as it arrives”", request,
     partial(request, GEMINI)),
    ("setting “max_tokens: no limit is set, and Anthropic requires one”",
     lambda: request(ANTHROPIC),
     lambda: request(ANTHROPIC, settings=SessionSettings(max_tokens=9))),
    ("tool call id of message “I look.”",
     lambda: request(history=(TALK[0], TEXT_AND_CALL, RESULT)),
     lambda: request(history=(TALK[0], Message.of("assistant", "I look.", TEXT_AND_CALL.id)))),
    *((f"arguments of look of message “{TEXT_AND_CALL.content}”",
       partial(request, protocol, history=(TALK[0], TEXT_AND_CALL, RESULT)),
       partial(request, protocol,
               history=(TALK[0], Message.of("assistant", "I look.", TEXT_AND_CALL.id))))
      for protocol in Protocol),
    *((f"protocol in arguments of look of message “{TEXT_AND_CALL.content}”",
       partial(request, protocol, history=(TALK[0], TEXT_AND_CALL, RESULT)),
       partial(request, CHAT, history=(TALK[0], TEXT_AND_CALL, RESULT)))
      for protocol in (ANTHROPIC, GEMINI, OLLAMA)),
    ("edited by hand", lambda: request(edits=(RequestEdit(CHAT, ("seed",), "add", "7"),)), request),
    ("edited by hand in setting “temperature, set by the session”",
     lambda: request(settings=SessionSettings(temperature=0.5),
                     edits=(RequestEdit(CHAT, ("temperature",), "set", "1"),)),
     lambda: request(edits=(RequestEdit(CHAT, ("temperature",), "set", "1"),))),
    ("setting “model, from the captured request”", lambda: captured(CHAT, {"model": "m", **ASKED}),
     lambda: captured(CHAT, ASKED, "m")),
    ("message “user 1”", lambda: captured(CHAT, ASKED), request),
    ("captured body", lambda: captured(CHAT, {"messages": [{"role": "tool", "content": "x"}]}),
     lambda: captured(CHAT, ASKED)),
    # What a protocol made of a turn.
    ("This model uses the role “developer” for system messages.",
     lambda: request(CHAT, STYLE, model="developing"), lambda: request(CHAT, STYLE)),
    ("Anthropic takes system text separately from the messages.",
     lambda: request(ANTHROPIC, STYLE), lambda: request(CHAT, STYLE)),
    ("OpenAI Responses takes system text separately from the messages.",
     lambda: captured(RESPONSES, {"instructions": "S", "input": "x"}),
     lambda: request(RESPONSES, STYLE)),
    ("Gemini takes all system text as one instruction, separate from the messages.",
     lambda: request(GEMINI, STYLE), lambda: request(GEMINI, replace(STYLE, role="user"))),
    ("Gemini calls the assistant “model”.", lambda: request(GEMINI, history=TALK),
     lambda: request(GEMINI, history=TALK[:1], draft="")),
    ("Anthropic takes tool results in the role “user”.", lambda: request(ANTHROPIC, history=TALK),
     lambda: request(ANTHROPIC, history=(TALK[0], TALK[3]))),
    ("Gemini takes tool results in the role “user”.", lambda: request(GEMINI, history=TALK),
     lambda: request(CHAT, history=TALK)),
]  # fmt: skip


@each_row("number", range(len(WALK)))
def test_a_phrase_is_shown_where_it_is_true_and_nowhere_else(number: int) -> None:
    phrase, shows, silent = WALK[number]
    assert phrase in phrases(shows()), phrases(shows())
    assert phrase not in phrases(silent())


@pytest.mark.parametrize(
    ("fallback", "words"),
    [
        ("user", "Anthropic gets this system message in the role “user”."),
        ("hoist", "Anthropic takes system text separately from the messages."),
    ],
)
def test_a_system_message_that_stays_is_told_from_one_that_is_moved(
    fallback: Any, words: str
) -> None:
    endpoint = replace(ENDPOINTS[ANTHROPIC], system_fallback=fallback)
    preset = Preset("p", (HISTORY, LATE), system_placement="in_place")
    made = compose(Inputs(endpoint, preset, TALK, "Hi.", settings=SessionSettings(model="m")))
    assert [each for each in phrases(made) if "this system" in each or "system text" in each] == [
        words
    ]


def test_the_walk_has_every_kind_of_origin() -> None:
    shown = {target.origin.kind for _, shows, _ in WALK for target in targets(shows())}
    assert shown == set(OriginKind)


# --- Places of the body that are edited by hand -------------------------------------------


BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "one\ntwo"}, {"role": "user", "content": "\r\u2028x"}],
    "stop": [],
    "temperature": 0.5,
}


def place(pointer: str, body: object = BODY, *, closes: bool = False) -> EditPlace:
    tree = tree_of(body)  # type: ignore[arg-type]
    assert isinstance(tree, Obj)
    layout = PayloadLayout(render(tree), 80)
    layout.unfold_to(pointer)
    spots = [layout.spot(row) for row in range(layout.rows)]
    part = ("close",) if closes else ("open", "leaf")
    return place_of(next(s for s in spots if s.place.pointer == pointer and s.place.part in part))


@each_row(
    ("pointer", "is_text", "written"),
    [
        ("/messages/0/content", True, "one\ntwo"),
        ("/messages/1/content", False, '"\\r\\u2028x"'),
        ("/temperature", False, "0.5"),
        ("/messages/0", False, '{\n  "role": "user",\n  "content": "one\\ntwo"\n}'),
    ],
)
def test_a_value_is_edited_as_text_or_as_json(pointer: str, is_text: bool, written: str):
    here = place(pointer)
    assert (here.is_text, here.written, here.pointer) == (is_text, written, pointer)
    area = TextArea(here.written)
    assert area.text == here.written, "a text field that is only opened changes nothing"


@each_row(
    ("pointer", "closes", "path"),
    [
        ("/model", False, ("",)),
        ("/messages/0", False, ("messages", 0)),
        ("/messages/0", True, ("messages", 0, "")),
        ("/messages/0/role", False, ("messages", 0, "")),
        ("/messages", True, ("messages", END)),
        ("/stop", False, ("stop", END)),
        ("", False, ("",)),
        ("", True, ("",)),
    ],
)
def test_more_is_added_behind_or_inside(pointer: str, closes: bool, path: BodyPath):
    assert place(pointer, closes=closes).new_path == path


def test_what_is_no_message_begins_empty():
    assert place("/stop", {"stop": [1]}, closes=True).new_value() == ""


@each_row("key", ["messages", "input", "contents"])
def test_a_new_message_has_its_form(key: str):
    value = json.loads(place(f"/{key}", {key: [1]}, closes=True).new_value())
    assert value == (
        {"role": "user", "parts": [{"text": ""}]}
        if key == "contents"
        else {"role": "user", "content": ""}
    )


def test_a_very_long_value_is_not_opened():
    with pytest.raises(InputError, match="300,000 characters"):
        _ = place("/a", {"a": "x" * 300_000}).written
