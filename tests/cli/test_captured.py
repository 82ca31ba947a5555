"""`tui-chat inspect`, `read` and `convert`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.data import table
from tests.support.command_line import Done, Run
from tests.support.requests import call, calls, chat, function, result, user
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol

BODY = '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'


@each_row(
    ("text", "told"),
    [("Dear diary", "Error: {path}: "), (BODY, "Error: The screen needs a terminal.")],
)
def test_inspect_says_why_the_app_cannot_open(run: Run, tmp_path: Path, text: str, told: str):
    path = tmp_path / "captured.txt"
    path.write_text(text)
    done = run("inspect", path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(told.format(path=path))


def stream(*chunks: dict[str, Any], end: str = "") -> bytes:
    return ("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + end).encode()


def chunk(**delta: Any) -> dict[str, Any]:
    finish = delta.pop("finish", None)
    return {"id": "r", "model": "m", "choices": [{"delta": delta, "finish_reason": finish}]}


TOOL = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a": 1'}}
CHAT = stream(
    chunk(reasoning_content="Hm."),
    chunk(content="Hi\u2028there"),
    chunk(tool_calls=[TOOL]),
    chunk(finish="tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
    end="data: [DONE]\n\n",
)
OLLAMA = b"".join(
    json.dumps({"model": "m", **chunk}).encode() + b"\n"
    for chunk in (
        {"message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": False},
        {"message": {"role": "assistant", "content": "Hi\u2028"}, "done": False},
        {"message": {"content": ""}, "done": True, "done_reason": "length", "eval_count": 3},
    )
)


def told(done: Done) -> Any:
    assert done.code == 0
    assert done.err == ""
    return json.loads(done.out)


def read(run: Run, folder: Path, protocol: str, body: bytes | dict[str, Any]) -> Any:
    path = folder / "reply"
    path.write_bytes(body if isinstance(body, bytes) else json.dumps(body).encode())
    return told(run("read", path, "--protocol", protocol))


def test_read_parses_a_stream(run: Run, tmp_path: Path):
    assert read(run, tmp_path, "openai_chat", CHAT) == {
        "content": "Hi\u2028there",
        "reasoning": "Hm.",
        "tool_calls": [{"id": "c1", "name": "f", "arguments": '{"a": 1'}],
        "finish_reason": "tool_calls",
        "provider_finish_reason": "tool_calls",
        "usage": {
            "input": 7,
            "output": 3,
            "cached": None,
            "cache_write": None,
            "reasoning": None,
        },
        "error": None,
    }


@each_row("name", table("captured"))
def test_read_parses_a_body(name: str, run: Run, tmp_path: Path):
    row = table("captured")[name]
    reply = read(run, tmp_path, row["protocol"], row["body"])
    assert reply | row["reply"] == reply
    assert reply["usage"] | row["usage"] == reply["usage"]


def test_read_parses_lines_of_json_as_a_stream_of_ollama(run: Run, tmp_path: Path):
    reply = read(run, tmp_path, "ollama", OLLAMA)
    assert (reply["content"], reply["reasoning"]) == ("Hi\u2028", "Hm.")
    assert (reply["finish_reason"], reply["usage"]["output"]) == ("length", 3)
    cut = read(run, tmp_path, "ollama", OLLAMA[: OLLAMA.rindex(b'{"model"') + 9])
    assert (cut["content"], cut["error"]["kind"]) == ("Hi\u2028", "cut")


@each_row("length", [len(CHAT) // 3, len(CHAT) // 2])
def test_a_cut_stream_is_parsed_as_far_as_it_goes(run: Run, tmp_path: Path, length: int):
    reply = read(run, tmp_path, "openai_chat", CHAT[:length])
    assert reply["error"]["kind"] == "cut"
    assert reply["reasoning"] == "Hm."
    assert reply["finish_reason"] is None


def test_an_error_body_keeps_the_providers_message(run: Run, tmp_path: Path):
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    for protocol in Protocol:
        error = read(run, tmp_path, protocol, body)["error"]
        assert (error["kind"], error["code"]) == ("refused", "overloaded_error")
        assert "Overloaded" in error["message"]


def test_an_error_in_the_stream_keeps_the_text_before_it(run: Run, tmp_path: Path):
    body = stream(chunk(content="Hi"), {"error": {"message": "Token limit reached", "code": 400}})
    reply = read(run, tmp_path, "openai_chat", body)
    assert reply["content"] == "Hi"
    assert "Token limit reached" in reply["error"]["message"]


@each_row("body", [b"", b"\xff\xfe\x00", b"<html>502</html>", b"data: {\n\n", b"{"])
@each_row("protocol", list(Protocol))
def test_a_file_without_a_reply_is_an_error(run: Run, tmp_path: Path, protocol: str, body: bytes):
    assert read(run, tmp_path, protocol, body)["error"]["message"]


def test_read_reads_standard_input_for_a_dash(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CHAT)))
    assert told(run("read", "-", "--protocol", "openai_chat"))["content"] == "Hi\u2028there"


def test_an_unreadable_file_is_named(run: Run, tmp_path: Path):
    done = run("read", tmp_path, "--protocol", "gemini")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"Error: {tmp_path} cannot be read: Is a directory\n"


CHAT_REQUEST = chat(
    {"role": "system", "content": "Be exact."},
    user("How warm is it in 北京?"),
    calls(call("c1", "weather", '{"city": "北京"}'), content="Looking."),
    result("c1", "20 °C"),
    tools=[function("weather")],
)
GEMINI_REQUEST = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def written(folder: Path, body: Any) -> Path:
    path = folder / "request.json"
    path.write_text(body if isinstance(body, str) else json.dumps(body))
    return path


def report(run: Run, folder: Path, body: Any, to: str, source: str = "openai_chat") -> Any:
    """Convert a request; return its body and notes."""
    path = written(folder, body)
    done = run("convert", path, "--from", source, "--to", to, "--report")
    assert done.err == ""
    return json.loads(done.out)


def codes(told: Any, level: str = "") -> list[str]:
    return [note["code"] for note in told["notes"] if level in ("", note["level"])]


def test_converting_to_the_same_protocol_changes_nothing(run: Run, tmp_path: Path):
    body = {**CHAT_REQUEST, "x_unheard_of": {"deep": [1, None]}, "tools": []}
    done = run("convert", written(tmp_path, body), "--from", "openai_chat", "--to", "openai_chat")
    assert json.loads(done.out) == body
    assert done.code == 0


def test_convert_prints_the_body_and_notes_on_standard_error(run: Run, tmp_path: Path):
    path = written(tmp_path, {**CHAT_REQUEST, "logit_bias": {"1": 2}})
    done = run("convert", path, "--from", "openai_chat", "--to", "anthropic", "--model", "claude")
    body = json.loads(done.out)
    assert body["model"] == "claude"
    assert body["messages"][2]["content"][0]["tool_use_id"] == "c1"
    assert "warning: logit_bias" in done.err
    assert "info: Anthropic requires max_tokens" in done.err


def test_the_protocol_is_detected_even_inside_a_curl_command(run: Run, tmp_path: Path):
    path = written(tmp_path, f"curl https://here.invalid -d '{json.dumps(GEMINI_REQUEST)}'")
    done = run("convert", path, "--to", "gemini")
    assert json.loads(done.out) == GEMINI_REQUEST


def test_a_file_without_a_request_is_named_in_the_error(run: Run, tmp_path: Path):
    path = written(tmp_path, {"hello": 1})
    done = run("convert", path, "--to", "gemini")
    assert done.code == 2
    assert str(path) in done.err


def test_a_report_has_body_and_notes(run: Run, tmp_path: Path):
    told = report(run, tmp_path, {**CHAT_REQUEST, "logit_bias": {"1": 2}}, "gemini")
    assert set(told) == {"body", "notes"}
    assert told["body"]["systemInstruction"]["parts"] == [{"text": "Be exact."}]
    assert (codes(told), codes(told, "warning")) == (["setting-left-out"],) * 2
    assert "logit_bias" in told["notes"][0]["sentence"]


def test_a_missing_model_is_a_placeholder_with_a_note(run: Run, tmp_path: Path):
    told = report(run, tmp_path, GEMINI_REQUEST, "openai_responses", "gemini")
    assert told["body"]["model"] == "MODEL"
    assert codes(told, "error") == ["no-model"]


def test_gemini_requests_need_no_model(run: Run, tmp_path: Path):
    done = run("convert", written(tmp_path, GEMINI_REQUEST), "--from", "gemini", "--to", "gemini")
    assert json.loads(done.out) == GEMINI_REQUEST
    assert done.err == ""


def test_model_facts_apply_without_an_endpoint(run: Run, tmp_path: Path):
    path = written(tmp_path, {**CHAT_REQUEST, "temperature": 0.5, "model": "claude-haiku-4-5"})
    ways = ("convert", path, "--from", "openai_chat", "--to", "anthropic")
    here = ("--config-dir", tmp_path)
    assert json.loads(run(*here, *ways).out)["temperature"] == 0.5
    newer = run(*here, *ways, "--model", "claude-opus-4-8")
    assert "temperature" not in json.loads(newer.out)


def test_convert_reads_standard_input_for_a_dash(run: Run, monkeypatch: pytest.MonkeyPatch):
    given = io.TextIOWrapper(io.BytesIO(json.dumps(GEMINI_REQUEST).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    done = run("convert", "-", "--from", "gemini", "--to", "openai_chat", "--model", "m")
    assert json.loads(done.out)["messages"] == [{"role": "user", "content": "hi"}]


@each_row(
    ("body", "fault"),
    [
        ("{", "not JSON"),
        ("[]", "it is a list and not an object"),
        ("{}", "it has no “messages”"),
        ('{"messages": 3}', "messages must be a list, not a number"),
        ('{"messages": [{"role": "boss"}]}', "messages[0].role must be one of"),
        ('{"messages": [{"role": "user", "content": 3}]}', "messages[0].content must be"),
        ('{"messages": [], "temperature": NaN}', "NaN is not a JSON number"),
        ('{"messages": [{"content": "no role"}]}', "not null"),
        ('{"messages": [{"role": "\u202e"}]}', 'not "\\u202e"'),
        ('{"messages": ' + "9" * 5000 + "}", "thousands of digits"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_request_prints_one_sentence_with_place_and_fault(
    run: Run, tmp_path: Path, body: str, fault: str
):
    path = written(tmp_path, body)
    done = run("convert", path, "--from", "openai_chat", "--to", "gemini")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: {path}: ")
    assert fault in done.err
    assert done.err.count("\n") == 1


@each_row(
    ("body", "fault"),
    [
        (
            b'{"messages": [{"role": "us',
            "line 1, column 24: is not JSON: this string has no closing quote",
        ),
        (b'{"model": "\xe9", "messages": []}', "byte 11 is not UTF-8"),
        (b"curl https://here.invalid", "No request"),
    ],
)
def test_a_broken_request_inside_text_is_reported_with_its_place(
    run: Run, tmp_path: Path, body: bytes, fault: str
):
    path = tmp_path / "request.json"
    path.write_bytes(body)
    done = run("convert", path, "--to", "gemini")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: {path}: ")
    assert fault in done.err


def test_a_lone_surrogate_is_reported_and_not_sent(run: Run, tmp_path: Path):
    body = '{"model": "m", "messages": [{"role": "user", "content": "a\\ud83d"}]}'
    told = report(run, tmp_path, body, "anthropic")
    assert told["body"]["messages"] == [{"role": "user", "content": "a\ufffd"}]
    assert "surrogate-replaced" in codes(told)


def test_repairs_in_the_same_protocol_are_reported(run: Run, tmp_path: Path):
    twice = chat(user(), calls(call("c1"), call("c1")), *[result("c1")] * 2)
    told = report(run, tmp_path, twice, "openai_chat")
    ids = [each["id"] for each in told["body"]["messages"][1]["tool_calls"]]
    assert ids == ["c1", "c1_2"]
    assert {*codes(told)} == {"repaired", "call-id-changed"}


def test_what_a_request_lacks_it_lacks_in_its_own_protocol(run: Run, tmp_path: Path):
    nameless = {"role": "tool", "content": "20 °C"}
    request = chat(user(), calls(call("")), nameless, user(["a", {"type": "text", "text": "b"}]))
    told = report(run, tmp_path, request, "openai_chat")
    assert told == {"body": request, "notes": []}


def test_read_gives_the_pictures_of_a_reply(run: Run, tmp_path: Path):
    part = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    candidate = {"content": {"parts": [part]}, "finishReason": "STOP"}
    reply = read(run, tmp_path, "gemini", {"candidates": [candidate]})
    assert [(each["kind"], each["mime"], each["data"]) for each in reply["parts"]] == [
        ("image", "image/png", "AAAA")
    ]


@each_row("command", [["inspect"], ["convert", "--to", "gemini"]])
def test_an_export_is_named(run: Run, tmp_path: Path, command: list[str]):
    file = tmp_path / "export.json"
    file.write_text('{"format": "tui-chat", "version": 1, "sessions": []}')
    result = run(*command, str(file))
    assert result.code
    assert "read by `tui-chat import FILE`" in result.err
    shown = run("sessions", "show", str(file))
    assert shown.code
    assert "is a file, not a session" in shown.err


def test_equal_notes_are_one_line_with_their_number(run: Run, tmp_path: Path):
    later = {"role": "system", "content": "S"}
    path = written(tmp_path, chat(user(), later, user(), later, user()))
    notes = run("convert", path, "--to", "gemini").err.splitlines()
    assert [line.endswith(" (2 times)") for line in notes if "A later system" in line] == [True]


# --- A key that stands twice in an object of a captured request ---------------------------


REQUEST = '{"model": "m", "messages": [{"role": "user", "content": "FIRST", "content": "second"}]}'


def test_a_repeated_key_is_a_note(run: Run, tmp_path: Path):
    file = tmp_path / "request.json"
    wrong: list[str] = []
    for text in (REQUEST, f"curl https://e.invalid/v1/chat/completions -d '{REQUEST}'"):
        file.write_text(text)
        for target in ("openai_chat", "anthropic"):
            done = run("convert", file, "--to", target, "--report")
            if done.code:
                wrong.append(f"{target}: {done.err}")
                continue
            report = json.loads(done.out)
            assert "second" in json.dumps(report["body"])
            said = [note["sentence"] for note in report["notes"] if note["code"] == "key-repeated"]
            if len(said) != 1 or "“content”" not in said[0]:
                wrong.append(f"{target}: {report['notes']}")
    assert not wrong, "\n".join(wrong)
