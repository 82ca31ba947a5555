"""Messages of both eras: the official types accept ours, and nothing of theirs breaks us."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sdks import mcp_methods
from tests.support.tables import each_row
from tui_chat.plugins.mcp import messages
from tui_chat.plugins.mcp.elicitation import FormQuestion, Reaction, reaction_to, read_question
from tui_chat.plugins.mcp.messages import LEGACY, MODERN, Answer, Request, RpcError

CAPABILITIES = {"elicitation": {"form": {}, "url": {}}}
REQUESTS = [
    ("tools/list", {"cursor": "2"}),
    ("tools/call", {"name": "add", "arguments": {"a": 1}}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "p", "arguments": {"city": "Oslo"}}),
    ("resources/list", {}),
    ("resources/read", {"uri": "file:///a"}),
]


@each_row(("method", "params"), REQUESTS)
@each_row("version", [MODERN, *LEGACY])
def test_the_official_types_accept_our_requests(method: str, params: Any, version: str):
    message = messages.request(7, method, params, version, CAPABILITIES)
    assert (message["id"], message["method"]) == (7, method)
    mcp_methods.validate_client_request(method, version, message.get("params"))


def test_the_official_types_accept_what_begins_a_connection():
    probe = messages.request(1, "server/discover", {}, MODERN, CAPABILITIES)
    mcp_methods.validate_client_request("server/discover", MODERN, probe["params"])
    listening = messages.request(
        1, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, MODERN, {}
    )
    mcp_methods.validate_client_request("subscriptions/listen", MODERN, listening["params"])
    hello = messages.initialize(1, CAPABILITIES)
    for version in LEGACY:
        mcp_methods.validate_client_request("initialize", version, hello["params"])
        mcp_methods.validate_client_notification("notifications/initialized", version, None)
        gone = messages.cancellation(3)
        mcp_methods.validate_client_notification("notifications/cancelled", version, gone["params"])


async def test_the_official_types_accept_our_answers_to_questions():
    params = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}

    async def ask(_: object) -> Reaction:
        return Reaction("accept", {})

    for version in LEGACY[:2]:
        result = await reaction_to("s", params, ask)
        mcp_methods.validate_client_result("elicitation/create", version, result)


@each_row(
    ("answer", "is_modern"),
    [
        (Answer(1, {"supportedVersions": [MODERN, "2099-01-01"]}), True),
        (Answer(1, {"supportedVersions": ["2025-11-25"]}), False),
        (Answer(1, {}), False),
        (Answer(1, {}, RpcError(-32601, "no")), False),
        (Answer(1, {}, RpcError(-32022, "no", {"supported": ["2025-11-25", "2099-01-01"]})), False),
    ],
)
def test_the_answer_to_the_probe_tells_the_era(answer: Answer, is_modern: bool):
    assert (messages.discovered(answer) is not None) == is_modern


def test_a_server_of_other_versions_alone_is_refused():
    answer = Answer(1, {}, RpcError(-32022, "no", {"supported": ["2099-01-01"]}))
    with pytest.raises(ValueError, match="speaks other versions: 2099-01-01"):
        messages.discovered(answer)
    with pytest.raises(ValueError, match="another version: 1999"):
        messages.initialized(Answer(1, {"protocolVersion": "1999"}))


def test_a_lone_surrogate_becomes_a_replacement():
    (message,) = messages.messages_in(b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}')
    assert isinstance(message, Answer)
    assert message.result == {"a": "\ufffd"}


def test_several_messages_may_come_as_an_array():
    line = json.dumps([{"jsonrpc": "2.0", "id": "q", "method": "ping"}] * 2).encode()
    assert list(messages.messages_in(line)) == [Request("q", "ping", {})] * 2


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code"]), _VALUES
    )
)
def test_no_object_breaks_the_reader(value: dict[str, Any]):
    line = json.dumps({**value, "jsonrpc": "2.0"}).encode()
    try:
        list(messages.messages_in(line))
    except ValueError:
        return


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(line: bytes):
    try:
        list(messages.messages_in(line))
    except ValueError:
        return


@given(_VALUES)
def test_no_question_breaks_the_reader(schema: Any):
    try:
        read_question("s", {"message": schema, "requestedSchema": schema, "mode": schema})
        read_question(
            "s", {"requestedSchema": {"properties": {"a": schema, "b": {"type": schema}}}}
        )
    except ValueError:
        return


def test_the_fields_of_a_form_check_their_values():
    schema = {
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 4},
            "age": {"type": "integer", "minimum": 0, "default": -1},
            "yes": {"type": "boolean", "default": True},
            "one": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
            "old": {"type": "string", "enum": ["x"], "enumNames": ["X"]},
            "some": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
        },
        "required": ["name"],
    }
    form = read_question("s", {"message": "m", "requestedSchema": schema})
    assert isinstance(form, FormQuestion)
    kinds = [field.kind for field in form.fields]
    assert kinds == ["text", "integer", "boolean", "choice", "choice", "choices"]
    assert [field.default for field in form.fields[:3]] == [None, None, True]  # -1 is not allowed
    assert form.fields[3].choices == (("a", "A"), ("b", "b"))
    assert form.fields[4].choices == (("x", "X"),)
    good = {"name": "Ada", "age": 3, "yes": False, "one": "b", "some": ["a"]}
    assert form.faults(good) == {}
    bad = {"name": "x", "age": 1.5, "yes": 1, "one": "c", "old": 3, "some": ["a", "b"]}
    assert form.faults(bad) == {
        "name": "must be 2 characters or more",
        "age": "must be a whole number",
        "yes": "must be yes or no",
        "one": "must be one of the choices",
        "old": "must be one of the choices",
        "some": "must be 1 choices or less",
    }
    assert form.faults({}) == {"name": "is required"}


@each_row("url", ["javascript:alert(1)", "file:///etc/passwd", "http://a b", ""])
def test_only_a_url_of_the_web_may_be_shown(url: str):
    with pytest.raises(ValueError, match="URL"):
        read_question("s", {"mode": "url", "message": "m", "url": url})
