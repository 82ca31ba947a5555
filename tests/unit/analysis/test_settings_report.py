"""What became of settings in each protocol."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.support.strategies import EVERY_SETTING
from tests.support.tables import each_row
from tui_chat.analysis.settings_report import SettingReport, report_settings
from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.preset import Preset
from tui_chat.models.role import Role
from tui_chat.models.settings import CONTEXT_SETTINGS, SETTINGS, Settings, WebSearch
from tui_chat.protocols.registry import protocol_of

MODELS = {
    Protocol.OPENAI_CHAT: "gpt-4o",
    Protocol.OPENAI_RESPONSES: "gpt-5.4",
    Protocol.ANTHROPIC: "claude-opus-4-6",
    Protocol.GEMINI: "gemini-3.5-flash",
    Protocol.OLLAMA: "qwen3",
}
WEATHER = ToolDefinition("weather", "The weather.", {"type": "object", "properties": {}})


def request(protocol: Protocol, settings: Settings, **inputs: Any) -> Composed:
    endpoint = Endpoint("here", protocol, "https://x.invalid", models=(MODELS[protocol],))
    given = SessionSettings.of("", settings)
    return compose(
        Inputs(endpoint, Preset("P"), draft="Hi", settings=given, tools=(WEATHER,), **inputs)
    )


def reported(composed: Composed) -> dict[str, SettingReport]:
    return {each.name: each for each in report_settings(composed)}


def value_at(body: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        body = body[int(key)] if isinstance(body, list) else body[key]
    return body


@each_row("protocol", Protocol)
def test_every_setting_is_in_the_body_or_has_a_note(protocol: Protocol):
    composed = request(protocol, EVERY_SETTING)
    body, found = json.loads(composed.payload.body), reported(composed)
    for name in SETTINGS:
        report = found[name]
        assert report.sent or report.notes or name in CONTEXT_SETTINGS, name
        assert report.by == "set by the session"
    for report in found.values():
        for sent in report.sent:
            if not sent.pointer.startswith("<"):
                assert value_at(body, sent.pointer) == json.loads(sent.text)


def test_outcomes_are_where_the_protocol_has_them():
    settings = Settings(temperature=0.5, top_k=5, stop=("END",), effort="high", max_tokens=3000)
    outcomes = {
        protocol: {
            name: each.outcome for name, each in reported(request(protocol, settings)).items()
        }
        for protocol in Protocol
    }
    assert outcomes[Protocol.OPENAI_CHAT]["temperature"] == "/temperature 0.5"
    assert outcomes[Protocol.OPENAI_RESPONSES]["temperature"] == "not sent"
    assert outcomes[Protocol.GEMINI]["temperature"] == "/generationConfig/temperature 0.5"
    assert outcomes[Protocol.OLLAMA]["stop"] == '/options/stop ["END"]'
    assert outcomes[Protocol.ANTHROPIC]["effort"] == (
        '/thinking/type "adaptive", /output_config/effort "high"'
    )
    assert outcomes[Protocol.GEMINI]["effort"] == (
        '/generationConfig/thinkingConfig/thinkingLevel "HIGH"'
    )
    assert outcomes[Protocol.GEMINI]["model"].startswith("</v1beta/models/gemini-3.5-flash")
    assert outcomes[Protocol.OPENAI_RESPONSES]["max_tokens"] == "/max_output_tokens 3000"
    assert outcomes[Protocol.OPENAI_CHAT]["effort"] == "not sent"


def test_notes_say_why_a_setting_is_not_sent_or_changed():
    found = reported(request(Protocol.ANTHROPIC, Settings(seed=3, effort="minimal")))
    assert found["seed"].sentence == (
        "seed: 3, set by the session; not sent. seed is not sent: Anthropic has no such setting."
    )
    assert found["effort"].notes[0].code == "setting-changed"
    assert "“minimal” is sent as the effort “low”" in found["effort"].sentence


def test_two_settings_in_one_object_are_both_found():
    settings = Settings(parallel_tool_calls=False, tool_choice=EVERY_SETTING.tool_choice)
    found = reported(request(Protocol.ANTHROPIC, settings))
    assert found["parallel_tool_calls"].outcome == "/tool_choice/disable_parallel_tool_use true"
    assert found["tool_choice"].sent[0].pointer == "/tool_choice"


def test_what_nobody_set_is_reported_with_its_reason():
    found = reported(request(Protocol.ANTHROPIC, Settings()))
    limit = found["max_tokens"]
    assert not limit.is_set
    assert (limit.value, limit.by) == ("128000", "no limit is set, and Anthropic requires one")
    assert limit.notes[0].code == "default-invented"
    assert found["model"].source == "endpoint here"


def test_a_value_that_happens_anyway_needs_nothing():
    role = Role("r", "R", settings=Settings(web_search=WebSearch()))
    off = Settings(web_search=WebSearch(enabled=False))
    report = reported(request(Protocol.GEMINI, off, role=role))["web_search"]
    assert (report.value, report.outcome) == ("off", "nothing to send")


@each_row("name", ["context_limit", "user_name", "lore", "author_note"])
def test_a_setting_of_the_context_decides_what_is_sent(name: str):
    report = reported(request(Protocol.OPENAI_CHAT, EVERY_SETTING))[name]
    assert report.outcome == "decides what is sent"
    assert report.sentence.endswith("set by the session; decides what is sent.")


def test_a_captured_request_is_reported_too():
    messages = [{"role": "user", "content": "x"}]
    body = {"model": "gpt-4o", "messages": messages, "seed": 7, "logit_bias": {"1": 2}}
    envelope = protocol_of(Protocol.OPENAI_CHAT).decode(json.dumps(body).encode())
    endpoint = Endpoint("e", Protocol.OPENAI_CHAT, "https://x.invalid")
    found = reported(encode(envelope, endpoint))
    assert found["seed"].sentence == "seed: 7, from the captured request; sent as 7 at /seed."
    assert found["logit_bias"].value == '{"1":2}'
    elsewhere = reported(encode(envelope, replace(endpoint, protocol=Protocol.ANTHROPIC)))
    assert elsewhere["seed"].outcome == "not sent"
