"""Cache marks that a preset places: where they land in a request, and where they do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.messages import make_message, thought
from tests.support.regions import regions
from tests.support.tables import each_row
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs
from tui_chat.models.blocks import CallBlock
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.models.message import Message
from tui_chat.models.payload import render
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Profile
from tui_chat.models.text import OriginKind
from tui_chat.protocols.registry import protocol_of

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
TALK = tuple(Message.of("assistant" if n % 2 else "user", f"h{n}", f"{n}") for n in range(4))


def line(content: str, mark: Any = "5m", role: Any = "user", **where: Any) -> PresetMessage:
    return PresetMessage(content, role, content, cache_control=mark, **where)


def history(mark: Any = "5m") -> PresetMessage:
    return PresetMessage("history", "user", type="chat_history", cache_control=mark)


def composed(
    *messages: PresetMessage,
    protocol: Protocol = Protocol.ANTHROPIC,
    talk: tuple[Message, ...] = TALK,
    fallback: str = "hoist",
    **inputs: Any,
) -> Composed:
    facts = (("m", ModelFacts(mid_history_system=False)),)
    to = Endpoint("e", protocol, "https://e", models=("m",), facts=facts, system_fallback=fallback)  # type: ignore[arg-type]
    preset = Preset("p", messages, system_placement="in_place")
    return compose(Inputs(to, preset, talk, **{"draft": "D", **inputs}))


def marks(request: Composed) -> dict[str, Any]:
    """Return the marks of a body, by the words of the block (or the id of the result)."""
    body = json.loads(request.payload.body)
    found: dict[str, Any] = {}
    for holder in ({"content": body.get("system") or []}, *body["messages"]):
        for block in holder["content"] if isinstance(holder["content"], list) else ():
            if "cache_control" in block:
                words = block.get("text") or block.get("tool_use_id") or block.get("id")
                found[words] = block["cache_control"]
    return found


def codes(request: Composed) -> list[str]:
    return [note.code for note in request.notes if "cache-mark" in note.code]


def test_a_mark_moves_with_its_message() -> None:
    request = composed(
        line("S", role="system"), history(None), line("A", insertion_point=1, mark="5m"), line("Z")
    )
    assert marks(request) == {"S": MARK, "A": MARK, "Z": MARK}
    assert codes(request) == []
    profile = PresetMessage("me", type="user_profile", role="user", cache_control="5m")
    assert marks(composed(profile, profile=Profile("Ann", "is tall"))) == {"is tall": MARK}
    assert marks(composed(line("S", mark=None), history(None))) == {}


def test_the_history_mark_is_on_the_newest_stable_message() -> None:
    assert marks(composed(history())) == {"h3": MARK}
    note = line("N", mark=None, insertion_point=-3)
    assert marks(composed(history(), note)) == {"h1": MARK}
    still = line("N", mark=None, insertion_point=1)
    assert marks(composed(history(), still)) == {"h3": MARK}
    assert marks(composed(history(), talk=())) == {}
    assert marks(composed(history(), talk=(*TALK, Message.of("user", " ", "b")))) == {"h3": MARK}


def test_the_mark_moves_on_and_the_turns_stay_the_same() -> None:
    lines = (history(),)
    one, two = composed(*lines), composed(*lines, draft="DD")
    assert [a is b for a, b in zip(one.envelope.turns, two.envelope.turns, strict=True)] == [
        *(True,) * 4,
        False,
    ]
    longer = composed(*lines, talk=(*TALK, Message.of("user", "h4", "4")))
    assert marks(longer) == {"h4": MARK}


def test_a_mark_names_the_line_that_placed_it() -> None:
    found = regions(composed(history()).payload)
    sent_marks = [r for r in found if r.piece.text == "ephemeral"]
    assert [r.piece.origin.within.id for r in sent_marks if r.piece.origin.within] == ["history"]
    assert sent_marks[0].piece.origin.kind is OriginKind.PRESET


def test_calls_and_results_take_marks_and_thinking_takes_none() -> None:
    thinking = thought(Protocol.ANTHROPIC, "hm", "sig")
    call = make_message(
        "assistant",
        "",
        "c",
        tool_calls=(CallBlock("call", "f", "{}"),),
        reasoning=(thinking,),
    )
    result = make_message("tool", "done", "r", tool_call_id="call")
    assert marks(composed(history(), talk=(TALK[0], call, result))) == {"call": MARK}
    pinned = line("N", mark=None, insertion_point=-2)
    assert list(marks(composed(history(), pinned, talk=(TALK[0], call, result)))) == ["call"]
    only = make_message("assistant", "x", "c", reasoning=(thinking,))
    assert marks(composed(history(), talk=(TALK[0], only))) == {"x": MARK}


def test_of_more_than_four_marks_the_last_four_are_sent_with_a_note() -> None:
    request = composed(*(line(f"{n}") for n in range(6)), history(None))
    assert marks(request) == {f"{n}": MARK for n in range(2, 6)}
    left_out = [n.origin.id for n in request.notes if n.code == "cache-mark-left-out" and n.origin]
    assert left_out == ["0", "1"]


@pytest.mark.parametrize("fallback", ["hoist", "user"])
def test_an_hour_never_follows_five_minutes(fallback: str) -> None:
    hours_first = composed(line("S", "1h", "system"), history(), fallback=fallback)
    assert marks(hours_first) == {"S": HOUR, "h3": MARK}
    mixed = composed(line("A"), line("B", "1h"), history("1h"), fallback=fallback)
    assert marks(mixed) == {"A": MARK, "B": MARK, "h3": MARK}
    assert codes(mixed) == ["cache-mark-shortened"] * 2
    hoisted = composed(line("A", "1h"), history(None), line("S", "5m", "system"), fallback=fallback)
    assert marks(hoisted) == {"A": MARK, "S": MARK}


@each_row("protocol", [p for p in Protocol if p is not Protocol.ANTHROPIC])
def test_protocols_without_marks_get_none_with_one_note(protocol: Protocol) -> None:
    bare = composed(line("S", None, "system"), history(None), protocol=protocol)
    request = composed(line("S", role="system"), history(), protocol=protocol)
    assert request.payload.body == bare.payload.body
    assert codes(request) == ["cache-mark-left-out"]


def test_a_marked_request_comes_back_from_its_bytes() -> None:
    request = composed(line("S", "1h", "system"), history(), line("Z"))
    anthropic = protocol_of(Protocol.ANTHROPIC)
    again = anthropic.encode(anthropic.decode(request.payload.body), request.endpoint)
    assert json.loads(render(again.tree).body) == json.loads(request.payload.body)


def test_a_system_turn_that_was_shortened_shortens_what_it_is_moved_in_front_of():
    request = composed(line("U", "1h"), history("5m"), line("S", "1h", "system"), talk=TALK[:1])
    assert set(map(str, marks(request).values())) == {str(MARK)}
    assert set(marks(request)) == {"U", "h0", "S"}
