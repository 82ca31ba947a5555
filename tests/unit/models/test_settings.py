"""Settings: what each accepts, as JSON and as text, and what errors say."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given

from tests.support.strategies import EVERY_SETTING, any_settings
from tests.support.tables import each_row
from tui_chat.models.settings import (
    NO_SETTINGS,
    SETTINGS,
    CharacterTexts,
    Injection,
    LoreRules,
    ResponseFormat,
    SettingError,
    Settings,
    TextScript,
    ToolChoice,
    WebSearch,
    parse_setting,
    read_settings,
    setting_text,
    settings_json,
    typed_setting_name,
)


def test_every_field_has_a_type_and_the_sample_a_value():
    assert tuple(SETTINGS) == tuple(field.name for field in dataclasses.fields(Settings))
    assert settings_json(EVERY_SETTING).keys() == SETTINGS.keys()


@given(any_settings)
def test_settings_survive_json(settings: Settings):
    assert read_settings(json.loads(json.dumps(settings_json(settings)))) == settings


@each_row("name", SETTINGS)
def test_a_value_is_read_from_its_own_text(name: str):
    value = getattr(EVERY_SETTING, name)
    assert parse_setting(name, setting_text(value)) == value


def test_keys_may_be_camel_case_and_null_is_unset():
    given = {"topP": 0.5, "maxTokens": 7, "webSearch": {"contextSize": "low"}, "seed": None}
    found = Settings(top_p=0.5, max_tokens=7, web_search=WebSearch("low"))
    assert read_settings(given) == found
    assert read_settings({}) == NO_SETTINGS


@each_row(
    ("name", "text", "value"),
    [
        ("temperature", " 0.7 ", 0.7),
        ("temperature", "1", 1),
        ("max_tokens", "2000", 2000),
        ("Top-P", "0.5", 0.5),
        ("effort", "HIGH", "high"),
        ("web_search", "on", WebSearch()),
        ("web_search", "no", WebSearch(enabled=False)),
        ("web_search", '{"max_uses": 2}', WebSearch(max_uses=2)),
        ("parallel_tool_calls", "off", False),
        ("stop", "THE END", ("THE END",)),
        ("stop", '["a", "\\n"]', ("a", "\n")),
        ("tool_choice", "required", ToolChoice("required")),
        ("tool_choice", "weather", ToolChoice("required", ("weather",))),
        ("response_format", "json", ResponseFormat("json")),
        (
            "response_format",
            '{"name": "n", "schema": {"type": "object"}, "strict": true}',
            ResponseFormat("schema", {"type": "object"}, name="n", strict=True),
        ),
        ("service_tier", "default", "default"),
        ("lore", '{"budgetPercent": 25}', LoreRules(budget_percent=25)),
        ("lore", "{}", LoreRules()),
        (
            "lore",
            '{"scanDepth": 4, "recursive": false, "tiers": [0, 1]}',
            LoreRules(scan_depth=4, recursive=False, tiers=(0, 1)),
        ),
        ("character", '{"systemPrompt": "Be brief."}', CharacterTexts(system_prompt="Be brief.")),
        ("injections", '[{"content": "Rain."}]', (Injection("text-1", "Rain."),)),
        (
            "scripts",
            '[{"pattern": "a", "appliesTo": ["user"]}]',
            (TextScript("", "a", "", ("user",)),),
        ),
        ("reply_start", "Sure, ", "Sure, "),
        ("reply_start", "{", "{"),
        ("global_variables", '{"mood": "calm"}', {"mood": "calm"}),
    ],
)
def test_a_setting_is_read_as_it_is_typed(name: str, text: str, value: object):
    assert parse_setting(name, text) == value


@each_row(
    ("name", "text", "fault"),
    [
        ("temperature", "hot", "temperature must be a number from 0 to 2, not “hot”"),
        ("temperature", "2.5", "temperature must be a number from 0 to 2, not 2.5"),
        ("temperature", "nan", "temperature must be a number from 0 to 2, not nan"),
        ("temperature", "", "temperature must be a number from 0 to 2, not “”"),
        ("max_tokens", "0", "max_tokens must be tokens, a whole number from 1"),
        ("max_tokens", "1.5", "max_tokens must be tokens, a whole number"),
        ("effort", "huge", "effort must be one of none, minimal, low"),
        ("logprobs", "21", "logprobs must be a whole number from 0 to 20"),
        ("parallel_tool_calls", "maybe", "must be on or off"),
        ("web_search", '{"sites": []}', "web_search.sites is unknown; known are context_size, "),
        ("web_search", '{"max_uses": 0}', "web_search.max_uses must be a whole number from 1"),
        ("web_search", '{"location": {"city": 1}}', "web_search.location.city must be text, not 1"),
        ("web_search", "{", "web_search: “{” is not valid JSON"),
        ("response_format", "xml", "response_format must be text, json, or an object with schema"),
        ("response_format", '{"name": "n"}', "response_format must have a JSON Schema as `schema`"),
        ("response_format", '{"schema": {"x": NaN}}', "response_format.schema must be JSON"),
        ("stop", '["a", ""]', "stop[1] must be text of 1 to 1,000 characters"),
        ("stop", json.dumps(["x"] * 65), "stop must be at most 64"),
        ("user_id", "a\nb", "user_id must be text in one line"),
        ("tempature", "1", "“tempature” is not a setting (did you mean “temperature”?)"),
        ("x", "1", "“x” is not a setting; settings are effort, "),
    ],
)
def test_errors_name_the_setting_and_what_it_accepts(name: str, text: str, fault: str):
    with pytest.raises(SettingError) as told:
        parse_setting(name, text)
    assert fault in str(told.value)


@each_row("value", [True, [1], {"a": 1}, 10**400, "one"])
def test_a_value_of_another_type_is_refused(value: object):
    with pytest.raises(SettingError, match=r"^temperature must be a number"):
        read_settings({"temperature": value})


@each_row(
    ("text", "name"),
    [
        ("temp", "temperature"),
        ("context", "context_limit"),
        ("Max-Tokens", "max_tokens"),
        ("top_p", "top_p"),
    ],
)
def test_the_beginning_of_a_typed_name_is_enough(text: str, name: str) -> None:
    assert typed_setting_name(text) == name


@each_row("text", ["top", "t", "", "contxt"])
def test_a_typed_name_of_several_settings_or_none_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="is not a setting"):
        typed_setting_name(text)
