"""Exported turns: composed again from the file alone, and run as test cases."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.file_strategies import any_lorebooks, any_presets
from tests.support.messages import make_message
from tests.support.tables import each_row
from tests.support.turns import a_turn
from tests.support.workspace import LOOPBACKS
from tui_chat.cli.commands import cli
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.turn_file import dump_turn, holds_turn, read_turn

TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    found: list[Message] = []
    for index in range(draw(st.integers(0, 4))):
        user, reply = draw(TEXTS), draw(TEXTS)
        found.append(Message.of("user", user, id=f"u{index}", pinned=draw(st.booleans())))
        calls = (CallBlock(f"c{index}", "t", "{}"),) if draw(st.booleans()) else ()
        found.append(make_message("assistant", reply, id=f"a{index}", tool_calls=calls))
        if calls:
            found.append(
                make_message("tool", draw(TEXTS), id=f"t{index}", tool_call_id=calls[0].id)
            )
    return tuple(found)


@st.composite
def any_inputs(draw: st.DrawFn) -> Inputs:
    return Inputs(
        draw(st.sampled_from(LOOPBACKS)),
        draw(any_presets),
        history=draw(histories()),
        draft=draw(TEXTS),
        role=Role("r", "R", draw(TEXTS)) if draw(st.booleans()) else None,
        settings=SessionSettings(
            model="echo",
            temperature=draw(st.none() | st.floats(0, 2)),
            max_tokens=draw(st.none() | st.just(9)),
        ),
        context_limit=draw(st.none() | st.integers(1, 3000)),
        seed=draw(st.integers(0, 2**32 - 1)),
        lorebooks=tuple(draw(st.lists(any_lorebooks, max_size=1))),
        variables=draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(inputs=any_inputs())
def test_any_exported_turn_gives_the_same_bytes(inputs: Inputs):
    composed = compose(inputs)
    turn = read_turn(dump_turn(composed, composed.payload.body, None), "turn")
    assert compose(turn.inputs).payload.body == composed.payload.body


def test_a_turn_that_was_exported_before_blocks_gives_the_same_bytes():
    path = Path(__file__).parent / "data" / "turn_of_before_blocks.json"
    turn = read_turn(path.read_text(), "turn")
    assert compose(turn.inputs).payload.body.decode() == turn.request.body
    assert "signature" in turn.request.body
    assert turn.request.body.count("iVBORw0KGgo=") == 2
    assert turn.messages[-1].content == "A sky."


def test_an_exported_turn_becomes_a_session_and_a_preset(tmp_path: Path):
    path, _ = a_turn(tmp_path)
    assert holds_turn(path.read_text())
    assert not holds_turn(path.read_text()[:-3])
    turn = read_turn(path.read_text(), "turn")
    assert [message.content for message in turn.messages] == ["hi", "go"]
    assert turn.preset("Mine") == replace(turn.inputs.preset, name="Mine")


def test_build_composes_an_exported_turn_again(tmp_path: Path):
    path, body = a_turn(tmp_path)
    ran = CliRunner().invoke(cli, ["build", "--turn", str(path)])
    assert ran.exit_code == 0, ran.output
    assert ran.stdout_bytes == body


def test_build_says_that_an_edited_turn_is_another_request(tmp_path: Path):
    path, _ = a_turn(tmp_path)
    changed = json.loads(path.read_text())
    changed["inputs"]["draft"] = "other"
    path.write_text(json.dumps(changed))
    ran = CliRunner().invoke(cli, ["build", "--turn", str(path)])
    assert "This differs from what tui-chat" in ran.stderr


def set_schema(whole, schema: object) -> None:
    whole["inputs"]["settings"] = {"response_format": {"kind": "schema", "schema": schema}}


@each_row(
    ("change", "fault"),
    [
        (lambda whole: whole.pop("tuiChatTurn"), "is not an exported turn"),
        (lambda whole: whole.update(tuiChatTurn=99), "another version"),
        (lambda whole: whole["inputs"].update(history=[{"role": "boss"}]), "$.inputs.history.0"),
        (lambda whole: whole["inputs"].update(now="yesterday"), "$.inputs.now"),
        (lambda whole: whole["request"].update(body="{}"), "sha256"),
        (lambda whole: whole.pop("inputs"), "$.inputs"),
        (lambda whole: set_schema(whole, {"minimum": float("nan")}), "NaN is not a JSON number"),
        (lambda whole: set_schema(whole, "object"), "$.inputs.settings.response_format"),
    ],
)
def test_a_broken_turn_is_reported_with_its_place(tmp_path: Path, change, fault: str):
    path, _ = a_turn(tmp_path)
    whole = json.loads(path.read_text())
    change(whole)
    with pytest.raises(InputError) as told:
        read_turn(json.dumps(whole), str(path))
    assert fault in str(told.value)
    assert str(path) in str(told.value)
