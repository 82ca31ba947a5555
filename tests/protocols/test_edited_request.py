"""Requests with edits by hand, in every protocol: the body that is sent, the notes, what follows
the body (model, stream, tokens), and bodies that are no requests any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.sdk_types import accept
from tests.support.tables import each_row
from tui_chat.analysis.settings_report import report_settings
from tui_chat.analysis.token_shares import token_shares
from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.budget import count_envelope
from tui_chat.edited_request import INVALID, OTHER_PROTOCOL
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import to_json
from tui_chat.models.message import Message
from tui_chat.models.payload import Arr, Obj, Str, Tree, body_of
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.request_edit import (
    EDITED,
    END,
    NOT_APPLIED,
    BodyPath,
    EditedBody,
    Operation,
    RequestEdit,
    changed_edits,
    value_at,
)
from tui_chat.models.text import OriginKind
from tui_chat.protocols.registry import protocol_of
from tui_chat.tokens import counter_for

PROTOCOLS = list(Protocol)
MODELS = {
    Protocol.OPENAI_CHAT: "gpt-4o",
    Protocol.OPENAI_RESPONSES: "gpt-4o",
    Protocol.ANTHROPIC: "claude-sonnet-4-5",
    Protocol.GEMINI: "gemini-2.5-flash",
    Protocol.OLLAMA: "llama3",
}
LIST = {Protocol.OPENAI_RESPONSES: "input", Protocol.GEMINI: "contents"}
"""The key of the messages, where it is another one than `messages`."""


def inputs_for(protocol: Protocol, **changes: Any) -> Inputs:
    model = MODELS[protocol]
    endpoint = Endpoint("e", protocol, "https://e.invalid/v1", models=(model,))
    history = (Message.of("user", "one", "m1"), Message.of("assistant", "two", "m2"))
    preset = Preset(
        "p", (PresetMessage("main", content="Be brief."), PresetMessage("h", type="chat_history"))
    )
    settings = SessionSettings(model=model, max_tokens=100)
    return replace(Inputs(endpoint, preset, history, "three", settings=settings), **changes)


def walk(node: Tree, path: BodyPath = ()) -> Iterator[tuple[BodyPath, Tree]]:
    yield path, node
    if isinstance(node, Obj):
        for key, value in node.items:
            yield from walk(value, (*path, key))
    elif isinstance(node, Arr):
        for index, value in enumerate(node.items):
            yield from walk(value, (*path, index))


def path_of(composed: Composed, text: str) -> BodyPath:
    """The path of the string that is a text."""
    [path] = [
        path
        for path, node in walk(composed.encoded.tree)
        if isinstance(node, Str) and node.text.plain == text
    ]
    return path


def body_with(composed: Composed) -> EditedBody:
    return composed.edited or EditedBody(composed.encoded.tree, composed.encoded.tree)


def edit(composed: Composed, path: BodyPath, value: object, *, kept: bool = False) -> Composed:
    return _changed(composed, "set", path, to_json(value), kept)


def add(composed: Composed, path: BodyPath, value: object) -> Composed:
    return _changed(composed, "add", path, to_json(value))


def remove(composed: Composed, path: BodyPath) -> Composed:
    return _changed(composed, "remove", path)


def _changed(
    composed: Composed, operation: Operation, path: BodyPath, value: str = "", kept: bool = False
) -> Composed:
    assert composed.inputs is not None
    new = RequestEdit(composed.protocol, path, operation, value, kept)
    edits = changed_edits(composed.inputs.edits, body_with(composed), new)
    return compose(replace(composed.inputs, edits=edits))


def codes(composed: Composed) -> list[str]:
    return [note.code for note in composed.notes if "edit" in note.code]


def json_of(composed: Composed) -> Any:
    return json.loads(composed.payload.body)


@each_row("protocol", PROTOCOLS)
def test_a_text_is_edited_and_nothing_else(protocol: Protocol):
    before = compose(inputs_for(protocol))
    after = edit(before, path_of(before, "one"), "eleven")
    assert after.payload.body == before.payload.body.replace(b'"one"', b'"eleven"')
    accept(protocol, json_of(after))
    [note] = [note for note in after.notes if note.code == EDITED]
    assert (note.level, note.sentence) == (
        Level.INFO, f'{note.place} is edited by hand in this request: "eleven" instead of "one".'
    )  # fmt: skip
    assert note.place == "".join(f"/{step}" for step in path_of(after, "eleven"))
    leaf = value_at(after.encoded.tree, path_of(after, "eleven"))
    assert isinstance(leaf, Str)
    [span] = leaf.text.spans
    assert span.origin.kind is OriginKind.EDIT
    assert span.origin.outermost.kind is OriginKind.HISTORY
    texts = [[turn.text for turn in composed.envelope.turns] for composed in (before, after)]
    assert texts[0] == texts[1]
    assert after.envelope.parameters == before.envelope.parameters


@each_row("protocol", PROTOCOLS)
def test_a_turn_is_removed_and_another_added(protocol: Protocol):
    before = compose(inputs_for(protocol))
    messages = LIST.get(protocol, "messages")
    turns = json_of(before)[messages]
    [index] = [number for number, turn in enumerate(turns) if '"two"' in json.dumps(turn)]
    after = remove(before, (messages, index))
    assert json_of(after)[messages] == turns[:index] + turns[index + 1 :]
    again = add(after, (messages, END), turns[index])
    assert json_of(again)[messages] == [*turns[:index], *turns[index + 1 :], turns[index]]
    accept(protocol, json_of(again))
    assert codes(again) == [EDITED, EDITED]


@each_row("protocol", PROTOCOLS)
def test_the_budget_changes_by_what_the_edits_cost(protocol: Protocol):
    before = compose(inputs_for(protocol))
    longer = edit(before, path_of(before, "one"), "one and many more words than before")
    edited = remove(longer, path_of(longer, "two")[:2])
    count = counter_for(before.model)
    envelopes = [
        count_envelope(protocol_of(protocol).decode(composed.payload.body), count)
        for composed in (before, longer, edited)
    ]
    totals = [envelope.budget.total for envelope in envelopes if envelope.budget]
    shown = [c.envelope.budget.total for c in (before, longer, edited) if c.envelope.budget]
    assert [total - totals[0] for total in totals] == [total - shown[0] for total in shown]
    assert totals[1] > totals[0] != totals[2]
    for composed in (before, longer, edited):
        budget, shares = composed.envelope.budget, token_shares(composed.envelope)
        assert budget is not None
        assert shares.used == budget.total
        tokens = {share.kind: share.tokens for share in shares.shares}
        assert tokens.get(OriginKind.EDIT, 0) == budget.edits


def test_an_edit_that_exceeds_the_budget_is_an_error_before_sending():
    before = compose(inputs_for(Protocol.OPENAI_CHAT, context_limit=140))
    assert not before.errors
    after = edit(before, path_of(before, "one"), "word " * 200)
    assert [note.code for note in after.errors] == ["over-budget"]
    assert edit(after, path_of(after, "word " * 200), "one").errors == ()


@each_row("protocol", PROTOCOLS)
def test_without_edits_nothing_is_made_anew(protocol: Protocol):
    inputs = inputs_for(protocol)
    composed = compose(inputs)
    assert composed.edited is None
    others = [other for other in Protocol if other is not protocol]
    edits = tuple(RequestEdit(other, ("temperature",), "set", "1") for other in others[:2])
    foreign = compose(replace(inputs, edits=(*edits, edits[0])))
    assert foreign.payload.body == composed.payload.body
    assert [note.sentence for note in foreign.notes if note.code == OTHER_PROTOCOL] == [
        f"2 edits by hand are for requests to {others[0].label} and not applied to this one.",
        f"1 edit by hand is for requests to {others[1].label} and not applied to this one.",
    ]


def test_the_edits_of_each_protocol_apply_to_its_own_request():
    inputs = inputs_for(Protocol.OPENAI_CHAT)
    edits = (
        RequestEdit(Protocol.OPENAI_CHAT, ("x",), "add", "1"),
        RequestEdit(Protocol.OLLAMA, ("y",), "add", "2"),
    )
    composed = compose(replace(inputs, edits=edits))
    other = replace(inputs.endpoint, protocol=Protocol.OLLAMA)
    assert json_of(composed)["x"] == 1
    assert json_of(encode(composed.envelope, other, composed.inputs))["y"] == 2


# What decides the URL, or how the reply is read

IN_BODY = [protocol for protocol in Protocol if protocol is not Protocol.GEMINI]


@each_row("protocol", IN_BODY)
def test_the_model_follows_the_body(protocol: Protocol):
    before = compose(inputs_for(protocol))
    after = edit(before, ("model",), "another-model")
    assert (after.model, before.model) == ("another-model", MODELS[protocol])
    assert after.url == before.url
    report = next(report for report in report_settings(after) if report.name == "model")
    assert (report.value, report.by) == ("another-model", "edited by hand")
    assert [value.pointer for value in report.sent] == ["/model"]
    nameless = remove(before, ("model",))
    assert [note.code for note in nameless.errors] == [INVALID]
    assert "names no model" in nameless.errors[0].sentence


@each_row("protocol", IN_BODY)
@each_row("streams", [True, False])
def test_the_reading_of_the_reply_follows_the_stream_flag(protocol: Protocol, streams: bool):
    before = compose(inputs_for(protocol, stream=streams))
    after = edit(before, ("stream",), not streams)
    assert after.streams is not streams
    accepted = dict(after.headers)["Accept"]
    assert (accepted == "application/json") is streams
    if before.encoded.tree.get("stream") is not None:
        removed = remove(before, ("stream",))
        assert removed.streams is (protocol is Protocol.OLLAMA)
    wrong = edit(before, ("stream",), "yes")
    assert [note.code for note in wrong.errors] == [INVALID]


@pytest.mark.parametrize("key", ["model", "stream"])
def test_a_protocol_with_it_in_the_url_refuses_the_edit(key: str):
    before = compose(inputs_for(Protocol.GEMINI))
    after = add(before, (key,), "x")
    assert after.payload.body == before.payload.body
    assert (after.url, after.model, after.streams) == (before.url, before.model, before.streams)
    [note] = [note for note in after.notes if note.code == NOT_APPLIED]
    assert f"{key} in the URL" in note.sentence


@each_row("protocol", PROTOCOLS)
def test_an_edited_setting_is_reported_with_what_is_sent(protocol: Protocol):
    before = compose(inputs_for(protocol))
    [path] = [path for path, node in walk(before.encoded.tree) if body_of(node) == b"100"]
    after = edit(before, path, 200)
    report = next(report for report in report_settings(after) if report.name == "max_tokens")
    assert [value.text for value in report.sent] == ["200"]


# Bodies that are no requests any more


@each_row("protocol", PROTOCOLS)
def test_a_body_that_is_no_request_is_an_error(protocol: Protocol):
    before = compose(inputs_for(protocol))
    for after in (
        edit(before, (LIST.get(protocol, "messages"),), 5),
        edit(before, (LIST.get(protocol, "messages"), 0), "not an object"),
    ):
        assert [note.code for note in after.errors] == [INVALID], json_of(after)
        with pytest.raises(Exception):  # noqa: B017 - each SDK raises its own
            accept(protocol, json_of(after))
    assert edit(before, path_of(before, "one"), "x").errors == ()


@each_row("protocol", PROTOCOLS)
def test_the_error_names_the_place_in_the_body_that_is_sent(protocol: Protocol):
    before = compose(inputs_for(protocol))
    key, index, *_ = path_of(before, "three")
    assert isinstance(index, int)
    assert index > 1
    after = edit(before, (key, index, "role"), "assistantzz")
    [note] = after.errors
    assert note.code == INVALID
    assert f"{key}[{index}]" in note.sentence


def test_an_edit_without_its_place_is_a_warning():
    before = compose(inputs_for(Protocol.ANTHROPIC))
    after = edit(before, path_of(before, "one"), "x")
    assert after.inputs is not None
    other = compose(replace(after.inputs, history=()))
    [note] = [note for note in other.notes if note.code == NOT_APPLIED]
    assert note.level is Level.WARNING
    assert other.edited is not None
    assert other.payload.body == compose(replace(after.inputs, history=(), edits=())).payload.body


def test_the_model_may_change_the_place_and_the_edit_still_holds():
    """A kept edit of a message follows it when the history grows and is cut."""
    before = compose(inputs_for(Protocol.OPENAI_CHAT))
    after = edit(before, path_of(before, "two"), "2", kept=True)
    assert after.inputs is not None
    history = after.inputs.history
    for messages in (history[1:], (Message.of("user", "zero", "m0"), *history, *history[:1])):
        other = compose(replace(after.inputs, history=messages))
        assert path_of(other, "2")
        [note] = [note for note in other.notes if note.code == EDITED]
        assert "in every request of this session" in note.sentence


def test_context_facts_hold_for_an_edited_request():
    facts = ModelFacts(context_limit=4_000)
    inputs = inputs_for(Protocol.ANTHROPIC)
    inputs = replace(inputs, endpoint=replace(inputs.endpoint, facts=(("*", facts),)))
    after = edit(compose(inputs), ("max_tokens",), 50)
    assert json_of(after)["max_tokens"] == 50
