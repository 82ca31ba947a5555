"""What is pasted as a captured request may be the path of a file with one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS
from tui_chat.analysis.http_text import read_http
from tui_chat.context import Inputs
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.preset import Preset
from tui_chat.models.role import Profile, Role
from tui_chat.turn_file import TurnFile, TurnRequest
from tui_chat.workspace.sent import save_summary, text_or_file


def test_a_path_is_replaced_by_the_file(tmp_path: Path):
    file = tmp_path / "a request.json"
    file.write_text('{"model": "m", "messages": []}')
    assert text_or_file(f" '{file}'\n") == file.read_text()
    for text in ('{"model": "m"}', "no/such/file", "curl x\n -d {}", "", str(tmp_path), "x" * 9999):
        assert text_or_file(text) == text


def test_an_unreadable_path_is_reported():
    with pytest.raises(InputError, match="cannot be read"):
        text_or_file("~nobody-of-this-name/request.json\0")


@each_row(
    ("not_kept", "wanted", "told", "is_all"),
    [
        ((), "m", "Saved as a session with its preset.", True),
        (("tools (a, b)", "stop"), "m", "Not kept: tools (a, b), stop.", False),
        ((), "", "It names no model: the session uses m.", False),
        ((), "other", "Its model other is not offered here: the session uses m.", False),
        (("x" * 999,), "m", "…", False),
        (("\x1b[2J",), "m", "␛[2J", False),
    ],
)
def test_lost_parts_of_a_captured_request_are_reported(
    not_kept: tuple[str, ...], wanted: str, told: str, is_all: bool
):
    words, kept_all = save_summary(not_kept, wanted, "m")
    assert told in words
    assert kept_all is is_all
    assert len(words) < 400


def test_the_other_inputs_of_an_exported_turn_are_listed():
    made_of = Inputs(
        ENDPOINTS[0],
        Preset("p"),
        role=Role("", "Gardener", "You garden."),
        profile=Profile("Ann", ""),
        tools=(ToolDefinition("dig", "", {}),),
    )
    sent = TurnRequest(Protocol.OPENAI_CHAT, "POST", "", "", "{}")
    assert TurnFile("0", made_of, sent).not_kept == ("role (Gardener)", "profile", "tools (dig)")


KEY = "sk-planted-0123456789abcdef"
BODY = '{"model":"m","stream":true,"messages":[{"role":"user","content":"It\'s “%s” \\u00e9"}]}'


def test_copied_http_text_is_read_with_its_head():
    text = f"POST https://x.example/v1/messages?beta=true\nx-api-key: {KEY}\nA: b\n\n{BODY % KEY}"
    found = read_http(text)
    assert found.url == "https://x.example/v1/messages?beta=true"
    assert found.headers == (("x-api-key", "[key]"), ("A", "b"))
    assert found.is_masked
    assert json.loads(found.body)["messages"][0]["content"] == "It's “[key]” é"
    assert read_http(BODY) is None
    assert read_http(f"Look:\n\n{BODY}") is None


PLAIN = "b7Qz-planted-91xK"


@each_row(
    ("url", "header", "kept_url", "kept_header"),
    [
        ("", f"Authorization: Bearer {PLAIN}", "", "Bearer [key]"),
        ("", f"cookie: a=b; sid={PLAIN}", "", "a=b; sid=[key]"),
        ("", f"X-Session-Token: {PLAIN}", "", "[key]"),
        (f"?alt=sse&key={PLAIN}", "A: b", "?alt=sse&key=[key]", "b"),
        (f"?api_key={PLAIN}", "A: ollama", "?api_key=[key]", "ollama"),
    ],
)
def test_keys_of_a_copied_request_are_masked(
    url: str, header: str, kept_url: str, kept_header: str
):
    text = f"POST https://x.example/v1{url}\n{header}\n\n{BODY % PLAIN}"
    found = read_http(text)
    assert found is not None
    assert found.headers is not None
    assert (found.url, found.headers[0][1]) == (f"https://x.example/v1{kept_url}", kept_header)
    assert PLAIN not in found.body.decode()
