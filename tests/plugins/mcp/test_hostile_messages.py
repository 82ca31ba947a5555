"""Messages and questions of servers: nothing of theirs breaks us, or the package behind us."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.plugins.mcp.elicitation import FormQuestion, read_question

if TYPE_CHECKING:
    from tui_chat.plugins.mcp.transport import MessageFilter

METHODS = ["tools/list", "tools/call", "ping"]


def new_filter(version: str = "2026-07-28", method: str = "") -> MessageFilter:
    """Return a filter that saw a request, without importing the package to collect tests."""
    from mcp_types import JSONRPCRequest

    from tui_chat.plugins.mcp.transport import MessageFilter

    messages = MessageFilter()
    messages.version = version
    if method:
        messages.sent(JSONRPCRequest(jsonrpc="2.0", id=1, method=method))
    return messages


def test_lone_surrogates_arrays_and_deep_nesting():
    messages = new_filter()
    (message,) = messages.messages(b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}')
    assert message.message.result == {"a": "\ufffd"}
    ping = {"jsonrpc": "2.0", "id": "q", "method": "ping"}
    assert len(list(messages.messages(json.dumps([ping, ping]).encode()))) == 2
    assert list(messages.messages(b"[" * 100_000)) == []
    assert messages.noise == 1


def test_requests_that_nobody_reads_the_answers_of_are_dropped():
    from mcp_types import JSONRPCRequest, JSONRPCResponse

    messages = new_filter()
    ping = JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
    assert [messages.accept(ping) for _ in range(102)][-3:] == [True, False, False]
    messages.sent(JSONRPCResponse(jsonrpc="2.0", id=1, result={}))
    assert messages.accept(ping)


@each_row("amount", ["true", "-1", "1e400", "1" + "0" * 400, "NaN", '"1"', "null", "1e16"])
def test_a_progress_that_is_no_amount_is_dropped(amount: str):
    params = f'{{"progressToken": 1, "progress": {amount}, "total": 2}}'
    line = f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}'
    messages = new_filter()
    accepted = [messages.accept(message.message) for message in messages.messages(line.encode())]
    assert True not in accepted


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code"]), _VALUES
    ),
    st.sampled_from(METHODS),
    st.sampled_from(["2026-07-28", "2025-06-18"]),
)
def test_no_object_breaks_the_reader(value: dict[str, Any], method: str, version: str):
    messages = new_filter(version, method)
    for more in ({}, {"id": 1}):
        line = json.dumps({**value, "jsonrpc": "2.0", **more})
        for message in messages.messages(line.encode()):
            messages.accept(message.message)


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(line: bytes):
    list(new_filter().messages(line))


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
            "old": {"type": "string", "enum": ["x"]},
        },
        "required": ["name"],
    }
    form = read_question("s", {"message": "m", "requestedSchema": schema})
    assert isinstance(form, FormQuestion)
    kinds = [field.kind for field in form.fields]
    assert kinds == ["text", "integer", "boolean", "choice", "choice"]
    assert [field.default for field in form.fields[:3]] == [None, None, True]  # -1 is not allowed
    assert form.fields[3].choices == (("a", "A"), ("b", "b"))
    assert form.fields[4].choices == (("x", "x"),)
    good = {"name": "Ada", "age": 3, "yes": False, "one": "b"}
    assert form.faults(good) == {}
    bad = {"name": "x", "age": 1.5, "yes": 1, "one": "c", "old": 3}
    assert form.faults(bad) == {
        "name": "must be 2 characters or more",
        "age": "must be a whole number",
        "yes": "must be yes or no",
        "one": "must be one of the choices",
        "old": "must be one of the choices",
    }
    assert form.faults({}) == {"name": "is required"}


@each_row("url", ["javascript:alert(1)", "file:///etc/passwd", "http://a b", ""])
def test_only_a_url_of_the_web_may_be_shown(url: str):
    with pytest.raises(ValueError, match="URL"):
        read_question("s", {"mode": "url", "message": "m", "url": url})
