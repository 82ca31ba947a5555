"""`tui-chat convert`: a request said in another protocol, with notes for what was changed."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.protocols.requests import call, calls, chat, function, result, user

CHAT = chat(
    {"role": "system", "content": "Be exact."},
    user("How warm is it in 北京?"),
    calls(call("c1", "weather", '{"city": "北京"}'), content="Looking."),
    result("c1", "20 °C"),
    tools=[function("weather")],
)
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def written(folder: Path, body: Any) -> Path:
    path = folder / "request.json"
    path.write_text(body if isinstance(body, str) else json.dumps(body))
    return path


def test_in_its_own_protocol_a_request_comes_back_as_it_was(run: Run, tmp_path: Path):
    body = {**CHAT, "x_unheard_of": {"deep": [1, None]}, "tools": []}
    done = run("convert", written(tmp_path, body), "--from", "openai_chat", "--to", "openai_chat")
    assert json.loads(done.out) == body
    assert done.code == 0


def test_the_body_alone_is_printed_and_what_was_changed_is_told_beside_it(run: Run, tmp_path: Path):
    path = written(tmp_path, {**CHAT, "logit_bias": {"1": 2}})
    done = run("convert", path, "--from", "openai_chat", "--to", "anthropic", "--model", "claude")
    body = json.loads(done.out)
    assert body["model"] == "claude"
    assert body["messages"][2]["content"][0]["tool_use_id"] == "c1"
    assert "logit_bias" in done.err


def test_a_request_tells_itself_whose_it_is_and_may_be_in_a_curl_command(run: Run, tmp_path: Path):
    path = written(tmp_path, f"curl https://here.invalid -d '{json.dumps(GEMINI)}'")
    done = run("convert", path, "--to", "gemini")
    assert json.loads(done.out) == GEMINI


def test_what_is_no_request_is_told_with_the_file(run: Run, tmp_path: Path):
    path = written(tmp_path, {"hello": 1})
    done = run("convert", path, "--to", "gemini")
    assert done.code == 2
    assert str(path) in done.err


def test_a_report_holds_body_and_notes(run: Run, tmp_path: Path):
    path = written(tmp_path, {**CHAT, "logit_bias": {"1": 2}})
    done = run("convert", path, "--from", "openai_chat", "--to", "gemini", "--report")
    told = json.loads(done.out)
    assert set(told) == {"body", "notes"}
    assert told["body"]["systemInstruction"]["parts"] == [{"text": "Be exact."}]
    assert [(note["level"], note["code"]) for note in told["notes"]] == [
        ("warning", "setting-left-out")
    ]
    assert "logit_bias" in told["notes"][0]["sentence"]
    assert done.err == ""


def test_without_a_model_the_gap_is_plain_to_see(run: Run, tmp_path: Path):
    path = written(tmp_path, GEMINI)
    done = run("convert", path, "--from", "gemini", "--to", "openai_responses", "--report")
    told = json.loads(done.out)
    assert told["body"]["model"] == "MODEL"
    assert [note["code"] for note in told["notes"] if note["level"] == "error"] == ["no-model"]


def test_gemini_s_own_requests_need_no_model(run: Run, tmp_path: Path):
    done = run("convert", written(tmp_path, GEMINI), "--from", "gemini", "--to", "gemini")
    assert json.loads(done.out) == GEMINI
    assert done.err == ""


def test_what_is_known_of_a_model_needs_no_endpoint(run: Run, tmp_path: Path):
    path = written(tmp_path, {**CHAT, "temperature": 0.5, "model": "claude-haiku-4-5"})
    ways = ("convert", path, "--from", "openai_chat", "--to", "anthropic")
    here = ("--config-dir", tmp_path)
    for at in ((), ("--endpoint", "anthropic"), ("--endpoint", "loopback-anthropic")):
        assert json.loads(run(*here, *ways, *at).out)["temperature"] == 0.5
        newer = run(*here, *ways, *at, "--model", "claude-opus-4-8")
        assert "temperature" not in json.loads(newer.out)
    wrong = run(*here, *ways, "--endpoint", "google")
    assert (wrong.code, wrong.err) == (
        2,
        "Error: The endpoint “google” speaks gemini, not anthropic.\n",
    )


def test_the_standard_input_is_read_for_a_dash(run: Run, monkeypatch: pytest.MonkeyPatch):
    given = io.TextIOWrapper(io.BytesIO(json.dumps(GEMINI).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    done = run("convert", "-", "--from", "gemini", "--to", "openai_chat", "--model", "m")
    assert json.loads(done.out)["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("{", "not JSON"),
        ("[]", "it is a list and not an object"),
        ("{}", "it has no “messages”"),
        ('{"messages": 3}', "messages must be a list, not a number"),
        ('{"messages": [{"role": "boss"}]}', "messages[0].role must be one of"),
        ('{"messages": [{"role": "user", "content": 3}]}', "messages[0].content must be"),
        ('{"messages": [], "temperature": NaN}', "NaN is not JSON"),
        ('{"messages": [{"content": "no role"}]}', "not null"),
        ('{"messages": [{"role": "\u202e"}]}', 'not "\\u202e"'),
        ('{"messages": ' + "9" * 5000 + "}", "thousands of digits"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_file_is_one_sentence_with_place_and_fault(
    run: Run, tmp_path: Path, body: str, fault: str
):
    path = written(tmp_path, body)
    done = run("convert", path, "--from", "openai_chat", "--to", "gemini")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: {path}: ")
    assert fault in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b'{"messages": [{"role": "us', "not JSON, Unterminated string starting at line 1"),
        (b'{"model": "\xe9", "messages": []}', "byte 11 is not UTF-8"),
        (b"curl https://here.invalid", "no request"),
    ],
)
def test_what_is_looked_for_in_vain_is_told_with_its_place(
    run: Run, tmp_path: Path, body: bytes, fault: str
):
    path = tmp_path / "request.json"
    path.write_bytes(body)
    done = run("convert", path, "--to", "gemini")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: {path}: ")
    assert fault in done.err


def test_half_a_surrogate_pair_is_told_and_not_sent(run: Run, tmp_path: Path):
    path = written(
        tmp_path, '{"model": "m", "messages": [{"role": "user", "content": "a\\ud83d"}]}'
    )
    done = run("convert", path, "--from", "openai_chat", "--to", "anthropic", "--report")
    told = json.loads(done.out)
    assert told["body"]["messages"] == [{"role": "user", "content": "a\ufffd"}]
    assert "surrogate-replaced" in [note["code"] for note in told["notes"]]


def test_what_had_to_be_mended_in_its_own_protocol_is_told(run: Run, tmp_path: Path):
    nameless = {"role": "tool", "content": "20 °C"}
    path = written(tmp_path, chat(user(), calls(call("c1")), nameless))
    done = run("convert", path, "--from", "openai_chat", "--to", "openai_chat", "--report")
    told = json.loads(done.out)
    assert told["body"]["messages"][2]["tool_call_id"] == "c1"
    assert [(note["code"], note["place"]) for note in told["notes"]] == [
        ("mended", "/messages/2/tool_call_id")
    ]
