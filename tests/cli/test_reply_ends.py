"""Every way in which a reply can end has a sentence and an exit code, also as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command_line import Run
from tests.support.server import Answer, Provider, events


def chat(finish: str | None, content: str = "Half", **message: Any) -> Answer:
    words = {"content": content, **message}
    return Answer(events({"choices": [{"delta": words, "finish_reason": finish}]}))


def gemini(finish: str, *parts: Any, **more: Any) -> Answer:
    candidate = {"content": {"parts": list(parts)}, "finishReason": finish, **more}
    return Answer(events({"candidates": [candidate]}, done=False))


def anthropic(stop: str, *content: Any, **more: Any) -> Answer:
    value = {"type": "message", "content": list(content), "stop_reason": stop, **more}
    return Answer(json.dumps(value), "application/json")


def responses(status: str, *output: Any, **more: Any) -> Answer:
    value = {"object": "response", "status": status, "output": list(output), **more}
    return Answer(json.dumps(value), "application/json")


HALF: dict[str, Any] = {"text": "Half"}
TEXT = {"type": "text", "text": "Half"}
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Half"}]}
SOUND = {"message": {"content": "", "images": ["aGk="]}, "done": True, "done_reason": "stop"}
ENDS: dict[str, tuple[str, Answer, int, str, tuple[str | None, str | None]]] = {
    "stop": ("openai_chat", chat("stop"), 0, "", ("stop", "stop")),
    "no word": ("openai_chat", chat(None), 0, "", ("stop", None)),
    "a picture": (
        "ollama",
        Answer(json.dumps(SOUND), "application/x-ndjson"),
        0,
        "Saved the image",
        ("stop", "stop"),
    ),
    "limit": ("openai_chat", chat("length"), 0, "token limit", ("length", "length")),
    "limit, empty": (
        "openai_chat",
        chat("length", "", reasoning="Hm"),
        6,
        "token limit. The reply is empty.",
        ("length", "length"),
    ),
    "limit of Gemini": (
        "gemini",
        gemini("MAX_TOKENS", HALF),
        0,
        "token limit",
        ("length", "MAX_TOKENS"),
    ),
    "limit of the window": (
        "anthropic",
        anthropic("model_context_window_exceeded", TEXT),
        0,
        "token limit",
        ("length", "model_context_window_exceeded"),
    ),
    "filter": (
        "openai_chat",
        chat("content_filter"),
        6,
        "provider's filter (content_filter)",
        ("content_filter", "content_filter"),
    ),
    "safety": (
        "gemini",
        gemini("SAFETY", HALF),
        6,
        "filter (SAFETY)",
        ("content_filter", "SAFETY"),
    ),
    "blocked prompt": (
        "gemini",
        Answer(
            events(
                {"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "Bad words"}},
                done=False,
            )
        ),
        6,
        "Bad words",
        ("other", "OTHER"),
    ),
    "blocked prompt without words": (
        "gemini",
        Answer(events({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, done=False)),
        6,
        "filter (PROHIBITED_CONTENT)",
        ("content_filter", "PROHIBITED_CONTENT"),
    ),
    "malformed call": (
        "gemini",
        gemini("MALFORMED_FUNCTION_CALL", finishMessage="Malformed call: print(x)"),
        6,
        "Ended with “MALFORMED_FUNCTION_CALL”: Malformed call: print(x)",
        ("other", "MALFORMED_FUNCTION_CALL"),
    ),
    "unknown": ("openai_chat", chat("odd_end"), 6, "Ended with “odd_end”.", ("other", "odd_end")),
    "unknown, empty": (
        "openai_chat",
        chat("odd_end", ""),
        6,
        "Ended with “odd_end”. The reply is empty.",
        ("other", "odd_end"),
    ),
    "empty": ("openai_chat", chat("stop", ""), 6, "The reply is empty.", ("stop", "stop")),
    "blank": ("openai_chat", chat("stop", "\n"), 6, "The reply is empty.", ("stop", "stop")),
    "thoughts alone": (
        "openai_chat",
        chat("stop", "", reasoning_content="Hm"),
        6,
        "The reply is empty.",
        ("stop", "stop"),
    ),
    "empty of Gemini": ("gemini", gemini("STOP"), 6, "The reply is empty.", ("stop", "STOP")),
    "refusal": (
        "openai_chat",
        chat("stop", "", refusal="I will not."),
        6,
        "The model declined: I will not.",
        ("refusal", "stop"),
    ),
    "refusal of Anthropic": (
        "anthropic",
        anthropic("refusal", stop_details={"explanation": "Not this."}),
        6,
        "The model declined: Not this.",
        ("refusal", "refusal"),
    ),
    "pause": ("anthropic", anthropic("pause_turn", TEXT), 6, "Paused", ("paused", "pause_turn")),
    "incomplete": (
        "openai_responses",
        responses("incomplete", MESSAGE, incomplete_details={"reason": "max_output_tokens"}),
        0,
        "token limit",
        ("length", "max_output_tokens"),
    ),
    "incomplete by a filter": (
        "openai_responses",
        responses("incomplete", MESSAGE, incomplete_details={"reason": "content_filter"}),
        6,
        "filter (content_filter)",
        ("content_filter", "content_filter"),
    ),
    "cancelled": (
        "openai_responses",
        responses("cancelled", MESSAGE),
        6,
        "Ended with “cancelled”.",
        ("other", "cancelled"),
    ),
}
"""Protocol, reply, exit code, words on the error stream, our reason and the provider's."""


def ask(run: Run, folder: Path, provider: Provider, protocol: str, *options: str):
    folder.mkdir(exist_ok=True)
    config = provider.config(protocol) + "[endpoints.local.retries]\ntimes = 0\n"
    (folder / "config.toml").write_text(config)
    base = ("--config-dir", folder, "--data-dir", folder, "ask", "Hi", "--raw")
    return run(*base, "--save-to", folder, *options)


def test_ask_says_how_a_reply_ended(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, (protocol, answer, code, words, _) in ENDS.items():
        with Provider(answer) as provider:
            done = ask(run, tmp_path, provider, protocol)
        is_told = words in done.err if words else not done.err
        if done.code != code or not is_told or done.err.count(words or "x") > 1:
            wrong.append((name, done))
        if "Half" in str(answer.body) and done.out != "Half":
            wrong.append((name, "text", done.out))
    assert not wrong, wrong


def test_json_has_both_reasons(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, (protocol, answer, code, words, reasons) in ENDS.items():
        with Provider(answer) as provider:
            done = ask(run, tmp_path, provider, protocol, "--json")
        reply = json.loads(done.out)
        found = (reply["finish_reason"], reply["provider_finish_reason"])
        error = reply["error"] or ""
        is_told = "Saved" in words or (error != "") == bool(words)
        if found != reasons or done.code != code or not is_told:
            wrong.append((name, found, done.code, error))
    assert not wrong, wrong


def test_several_models_end_apart(run: Run, tmp_path: Path):
    with Provider(chat("stop", ""), chat("stop", "Whole")) as provider:
        done = ask(
            run, tmp_path, provider, "openai_chat", "-m", "a", "-m", "b", "--endpoint", "local"
        )
    assert done.code == 6
    assert "The reply is empty." in done.err
    assert "Whole" in done.out


def test_a_cut_reply_and_an_error_have_theirs(run: Run, tmp_path: Path):
    half = events({"choices": [{"delta": {"content": "Half"}}]}, done=False)
    rows = {
        "cut": (Answer(half), 6, "The connection ended in the middle of the reply."),
        "cut at once": (Answer(""), 6, "The connection ended before the reply began."),
        "error": (Answer(half + 'data: {"error":"boom"}\n\n'), 5, "boom"),
        "refused": (Answer('{"error":{"message":"no"}}', "application/json", 400), 5, "no"),
    }
    wrong: list[object] = []
    for name, (answer, code, words) in rows.items():
        with Provider(answer) as provider:
            done = ask(run, tmp_path, provider, "openai_chat")
        if done.code != code or words not in done.err:
            wrong.append((name, done))
    assert not wrong, wrong
