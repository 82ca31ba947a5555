"""`config.toml`: its settings, and the errors about them."""

from __future__ import annotations

import os
from dataclasses import fields
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tests.unit.config.test_built_in_endpoints import unpublished_facts
from tui_chat.config import Config, default_endpoints, load_config
from tui_chat.errors import ConfigError
from tui_chat.files import read_toml
from tui_chat.models.endpoint import Protocol, Retries, Timeouts
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.model_facts import ModelFacts, known_facts
from tui_chat.models.prices import Prices, PriceTier
from tui_chat.models.settings import Settings, WebSearch
from tui_chat.models.tool import CommandTool

SECRET = "sk-proj-0123456789abcdef"

WHOLE = """
endpoint = "work"
model = "gpt-5-mini"
title_model = "openai/gpt-5-nano"
theme = "tui-chat-light"

[keys]
new = "ctrl+n,f9"

[endpoints.work]
protocol = "openai_chat"
base_url = "https://llm.example.org/v1/"
key = "command:op read op://team/llm/key"
auth = "header:X-Work-Key"
api_version = "2026-01-01"
models = ["gpt-5-mini", "gpt-5"]
headers = { "X-Team" = "search" }
query = { "api-version" = "2026-10-01" }
proxy = "http://proxy.example.org:3128"
system_fallback = "user"
max_tokens_key = "max_tokens"
max_tokens = 2048
timeouts = { connect = 5, silence = 120 }
retries = { times = 4, first_wait = 1, longest_wait = 30 }

[endpoints.work.parameters]
temperature = 0.7
effort = "high"
web_search = { context_size = "low" }

[endpoints.work.facts."gpt-5*"]
context_limit = 400000
sampling = false
developer_role = true
mid_history_system = false
prefill = false
max_output = 100000
strict_keys = true
stream_usage = false
max_tokens_key = "max_completion_tokens"
prices = { input = 1.25, output = 10, cached = 0.125 }
"""

FACTS = """
context_limit = 1000
sampling = false
sampling_efforts = ["none", ""]
developer_role = true
mid_history_system = true
prefill = true
max_output = 500
strict_keys = true
stream_usage = true
max_tokens_key = "max_tokens"
prices = { input = 1 }
efforts = ["high", "none"]
reasons_by_default = true
budgets = [1, 2]
adaptive_thinking = true
forced_tools = false
stop = false
response_schema = false
hosted_beside_functions = false
reasons = true
input_media = ["pdf", "text"]
output_media = ["audio"]
"""


def load(folder: Path, text: str, **environ: str) -> Config:
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return load_config(folder, folder, environ, {})


def test_every_setting_is_read(tmp_path: Path):
    config = load(tmp_path, WHOLE)
    work = config.endpoint_named("work")
    assert (config.endpoint, config.model, config.theme) == ("work", "gpt-5-mini", "tui-chat-light")
    assert config.title_model == "openai/gpt-5-nano"
    assert config.keys == (("new", "ctrl+n,f9"),)
    assert work.protocol is Protocol.OPENAI_CHAT
    assert work.base_url == "https://llm.example.org/v1"
    assert work.key == "command:op read op://team/llm/key"
    assert work.key_header(("Authorization", "Bearer ")) == ("X-Work-Key", "")
    assert work.headers == (("X-Team", "search"),)
    assert work.query == (("api-version", "2026-10-01"),)
    assert work.timeouts == Timeouts(5, 120)
    assert work.retries == Retries(4, 1, 30)
    assert (work.proxy, work.max_tokens, work.system_fallback) == (
        "http://proxy.example.org:3128",
        2048,
        "user",
    )
    assert work.settings == Settings(
        effort="high", temperature=0.7, web_search=WebSearch(context_size="low")
    )
    assert unpublished_facts(work, "gpt-5-mini") == ModelFacts(
        context_limit=400_000,
        sampling=False,
        developer_role=True,
        mid_history_system=False,
        prefill=False,
        max_output=100_000,
        strict_keys=True,
        stream_usage=False,
        max_tokens_key="max_completion_tokens",
        prices=Prices(Decimal("1.25"), Decimal(10), Decimal("0.125")),
        efforts=("minimal", "low", "medium", "high"),  # what is known of the name
        reasons_by_default=True,
    )
    assert unpublished_facts(work, "gpt-4") == ModelFacts(8_192, efforts=())


def test_an_entry_overrides_the_built_in_endpoint_key_by_key(tmp_path: Path):
    config = load(
        tmp_path,
        '[endpoints.openai]\nkey = "keyring:work/openai"\n'
        '[endpoints.openai.facts."gpt-5*"]\nsampling = true\n',
    )
    ready = Config().endpoint_named("openai")
    ours = config.endpoint_named("openai")
    assert ours.key == "keyring:work/openai"
    assert (ours.base_url, ours.models) == (ready.base_url, ready.models)
    assert ready.facts_of("gpt-5").sampling is False
    assert ours.facts_of("gpt-5").sampling is True, "the user's own word wins"
    assert ours.facts_of("gpt-5").context_limit == ready.facts_of("gpt-5").context_limit
    assert [e.name for e in config.endpoints] == [e.name for e in default_endpoints()]


@each_row("table", ["endpoints.openai.facts", "models"])
def test_every_fact_about_a_model_can_be_set(table: str, tmp_path: Path):
    config = load(tmp_path, f"[{table}.gpt-9]{FACTS}")
    facts = config.endpoint_named("openai").facts_of("gpt-9")
    assert facts == ModelFacts(
        context_limit=1000,
        sampling=False,
        sampling_efforts=("", "none"),
        developer_role=True,
        mid_history_system=True,
        prefill=True,
        max_output=500,
        strict_keys=True,
        stream_usage=True,
        max_tokens_key="max_tokens",
        prices=Prices(Decimal(1)),
        efforts=("none", "high"),
        reasons_by_default=True,
        budgets=(1, 2),
        adaptive_thinking=True,
        forced_tools=False,
        stop=False,
        response_schema=False,
        hosted_beside_functions=False,
        reasons=True,
        input_media=("text", "pdf"),
        output_media=("audio",),
    )
    assert all(getattr(facts, field.name) is not None for field in fields(ModelFacts))
    assert config.endpoint_named("openai").facts_of("gpt-8") == ModelFacts(strict_keys=True)


def test_what_the_user_says_of_an_endpoint_goes_before_what_holds_everywhere(tmp_path: Path):
    config = load(
        tmp_path,
        '[models."claude-opus-4.9"]\nefforts = ["low"]\nprefill = true\n'
        '[models."gpt-5*"]\nsampling = true\nstrict_keys = false\ncontext_limit = 1\n'
        '[models."deepseek-chat"]\ncontext_limit = 2\n'
        '[endpoints.openai.facts."*"]\ncontext_limit = 3\n',
    )
    ours = config.endpoint_named("openai").facts_of("gpt-5-mini")
    assert (ours.context_limit, ours.sampling, ours.strict_keys) == (3, True, False)
    assert ours.efforts == ("minimal", "low", "medium", "high")
    router = config.endpoint_named("openrouter")
    assert router.facts_of("openai/gpt-5:online").context_limit == 1
    for name in ("anthropic/claude-4.9-opus", "claude-opus-4-9-20270101", "claude-opus-4.9"):
        assert router.facts_of(name) == ModelFacts(efforts=("low",), prefill=True)
    assert config.endpoint_named("deepseek").facts_of("deepseek-chat").context_limit == 2


def test_efforts_that_accept_sampling_replace_what_is_known_of_sampling(tmp_path: Path):
    config = load(tmp_path, '[models.gpt-5]\nsampling_efforts = ["minimal"]\n')
    assert known_facts("gpt-5").sampling is False
    assert config.endpoint_named("openai").facts_of("gpt-5").sampling is None


def test_flags_override_the_environment_which_overrides_the_file(tmp_path: Path):
    (tmp_path / "config.toml").write_text('endpoint = "openai"\nmodel = "a"\ntheme = "t"')
    environ = {"TUI_CHAT_ENDPOINT": "anthropic", "TUI_CHAT_MODEL": "b"}
    config = load_config(tmp_path, tmp_path, environ, {"endpoint": "google", "model": None})
    assert (config.endpoint, config.model, config.theme) == ("google", "b", "t")


def of_work(line: str) -> str:
    return f'[endpoints.work]\nprotocol = "openai_chat"\nbase_url = "https://e.org"\n{line}\n'


FAULTS = {
    "unknown key": ("themee = 'x'", "themee", "theme"),
    "unknown in endpoint": (of_work("api_key = 'x'"), "endpoints.work.api_key", "not a setting"),
    "at another place": ("timeouts = 3", "timeouts", "timeouts is not a setting here ("),
    "misspelled": (of_work("modles = []"), "endpoints.work.modles", "did you mean “models”?"),
    "unknown fact": (of_work("facts = {g = {smapling = true}}"), "facts.g.smapling", "sampling"),
    "unknown fact everywhere": ("models.g.smapling = true", "models.g.smapling", "“sampling”"),
    "unknown effort": ("models.g.efforts = ['huge']", "models.g.efforts", "minimal, low"),
    "unknown medium": ("models.g.input_media = ['smell']", "models.g.input_media", "video, pdf"),
    "budgets in disorder": ("models.g.budgets = [2, 1]", "models.g.budgets", "least and the most"),
    "limit of nothing": ("models.g.max_output = 0", "models.g.max_output", "number from 1"),
    "pattern inside": (of_work("facts.'a*b'.stop = true"), "facts.a*b", "only at its end"),
    "pattern of nothing": ("models.' '.stop = true", "models. ", "one line"),
    "no title model": ("title_model = 'gpt'", "title_model", "must be ENDPOINT/MODEL"),
    "title model nowhere": ("title_model = 'a/b'", "title_model", "no endpoint “a”"),
    "key itself": (of_work(f"key = '{SECRET}'"), "endpoints.work.key", "reference"),
    "key of no kind": (of_work(f"key = 'vault:{SECRET}'"), "endpoints.work.key", "reference"),
    "keyring without name": (of_work(f"key = 'keyring:{SECRET}'"), "work.key", "SERVICE/NAME"),
    "empty command": (of_work("key = 'command: '"), "work.key", "reference"),
    "key in header": (
        of_work(f"headers = {{ Authorization = 'Bearer {SECRET}' }}"),
        "work.headers",
        "contains a key",
    ),
    "key in query": (of_work(f"query = {{ key = '{SECRET}' }}"), "work.query", "contains a key"),
    "header of two lines": (
        of_work(f'headers = {{ X-A = "a\\n{SECRET}" }}'),
        "work.headers",
        "one line",
    ),
    "reference in header": (
        of_work("headers = { X-Secret-Token = 'env:NAME' }"),
        "work.headers",
        "header:X-Secret-Token",
    ),
    "password in URL": (
        f"[endpoints.w]\nprotocol='gemini'\nbase_url='https://u:{SECRET}@e.org'",
        "endpoints.w.base_url",
        "password",
    ),
    "query in URL": (
        f"[endpoints.w]\nprotocol='gemini'\nbase_url='https://e.org/?key={SECRET}'",
        "endpoints.w.base_url",
        "query",
    ),
    "no URL": (
        f"[endpoints.w]\nprotocol='gemini'\nbase_url='{SECRET}'", "endpoints.w.base_url", "http://"
    ),
    "URL without host": (
        "[endpoints.w]\nprotocol='gemini'\nbase_url='http://'", "w.base_url", "is not a URL"
    ),
    "bad port": (
        "[endpoints.w]\nprotocol='gemini'\nbase_url='http://e:x'", "w.base_url", "is not a URL"
    ),
    "password in proxy": (of_work(f"proxy = 'http://u:{SECRET}@p:1'"), "work.proxy", "password"),
    "proxy of no kind": (of_work("proxy = 'ftp://p'"), "work.proxy", "socks5"),
    "protocol": (
        f"[endpoints.w]\nprotocol='{SECRET}'\nbase_url='https://e'", "w.protocol", "gemini"
    ),
    "protocol missing": ("[endpoints.w]\nbase_url='https://e'", "endpoints.w.protocol", "missing"),
    "URL missing": ("[endpoints.w]\nprotocol='gemini'", "endpoints.w.base_url", "missing"),
    "auth": (of_work(f"auth = '{SECRET}'"), "work.auth", "header:NAME"),
    "auth header": (of_work("auth = 'header:a b'"), "work.auth", "header:NAME"),
    "timeout": (of_work("timeouts = { connect = 0 }"), "timeouts.connect", "number above 0"),
    "retries": (of_work("retries = { times = 99 }"), "retries.times", "from 0 to 10"),
    "context limit": (of_work("facts = {g = {context_limit = -1}}"), "context_limit", "from 1"),
    "type": (of_work(f"models = '{SECRET}'"), "work.models", "must be a list"),
    "blank model": (of_work("models = ['']"), "work.models", "one line"),
    "name": ('[endpoints."a b"]\n', "endpoints.a b", "without white space"),
    "setting": (
        of_work(f"parameters = {{ user_id = '{SECRET}', seed = '{SECRET}' }}"),
        "work.parameters",
        "seed must be a whole number",
    ),
    "unknown setting": (of_work("parameters = { heat = 1 }"), "work.parameters", "not a setting"),
    "not TOML": (f"endpoint = {SECRET}", "is not TOML", "line 1"),
    "no such endpoint": ("endpoint = 'nowhere'", "nowhere", "nowhere"),
}  # fmt: skip


@each_row("fault", FAULTS)
def test_a_fault_names_the_place_and_never_the_value(fault: str, tmp_path: Path):
    text, place, words = FAULTS[fault]
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    said = str(raised.value)
    assert place in said
    assert words in said
    assert "\n" not in said
    assert SECRET not in said + raised.value.advice
    if fault != "no such endpoint":
        assert str(tmp_path / "config.toml") in said
    assert raised.value.__cause__ is None


def test_a_file_with_keys_of_earlier_versions_is_read(tmp_path: Path):
    text = """
        [endpoints.work]
        protocol = "openai_responses"
        base_url = "https://llm.example.org/v1"
        provider_keeps = true
        models = ["m"]
        facts.m = { cache_breakpoints = true, strict_keys = true }

        [models."other*"]
        cache_breakpoints = false
    """
    config = load(tmp_path, text)
    assert config.endpoint_named("work").models == ("m",)


def test_all_faults_are_reported_at_once(tmp_path: Path):
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, "a = 1\nb = 2\n" + of_work("c = 3"))
    assert all(f"{name} is not a setting" in str(raised.value) for name in ("a", "b", "work.c"))


def test_a_file_that_is_not_text_is_a_fault(tmp_path: Path):
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not TOML"):
        load_config(tmp_path, tmp_path, {}, {})


@each_row(
    ("protocol", "typed", "base_url", "api_version"),
    [
        ("anthropic", "https://api.anthropic.com/v1/messages", "https://api.anthropic.com", ""),
        ("openai_chat", "localhost:1234", "http://localhost:1234/v1", ""),
        ("openai_responses", "https://h/v1/responses/", "https://h/v1", ""),
        ("gemini", "https://h/v1/models/m:generateContent", "https://h", "v1"),
    ],
)
def test_pasted_base_urls_are_parsed(
    tmp_path: Path, protocol: str, typed: str, base_url: str, api_version: str
):
    text = f'[endpoints.w]\nprotocol = "{protocol}"\nbase_url = "{typed}"\n'
    found = load(tmp_path, text).endpoint_named("w")
    assert (found.base_url, found.api_version) == (base_url, api_version)


def test_a_pasted_url_keeps_its_query_and_needs_a_path_of_its_protocol(tmp_path: Path):
    text = '[endpoints.w]\nprotocol = "openai_chat"\nbase_url = "%s"\nquery = { b = "2" }\n'
    found = load(tmp_path, text % "https://h/x/chat/completions?api-version=1")
    work = found.endpoint_named("w")
    assert (work.base_url, work.query) == ("https://h/x", (("api-version", "1"), ("b", "2")))
    with pytest.raises(ConfigError, match=r"endpoints\.w\.base_url.*Anthropic"):
        load(tmp_path, text % "https://h/v1/messages")


DEEP = {
    "arrays": "x = " + "[" * 100_000,
    "closed arrays": "x = " + "[" * 400 + "]" * 400,
    "inline tables": "x = " + "{a=" * 5_000,
    "dotted keys": ".".join("a" * 50_000) + " = 1",
    "some dotted keys": ".".join("a" * 300) + " = 1",
    "headers": "[" + ".".join("a" * 50_000) + "]",
}


@each_row("text", DEEP.values(), ids=list(DEEP))
def test_a_file_that_is_nested_too_deeply_is_a_fault(text: str, tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="nested too deeply") as raised:
        read_toml(path)
    assert str(path) in str(raised.value)


def test_a_pipe_device_or_large_file_is_a_fault(tmp_path: Path):
    path = tmp_path / "config.toml"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="not a regular file"):
        read_toml(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="not a regular file"):
        read_toml(path)
    path.unlink()
    path.write_text("x = " + "1" * 5_000)
    with pytest.raises(ConfigError, match="is not TOML"):
        read_toml(path)
    path.write_text("# " + "x" * 2**20)
    with pytest.raises(ConfigError, match="is larger than 1 MiB"):
        read_toml(path)


def test_every_setting_of_a_tool(tmp_path: Path):
    config = load(
        tmp_path,
        """
        [tools.weather]
        description = "The weather."
        parameters = '{"type": "object", "properties": {"city": {"type": "string"}}}'
        command = ["weather", "--json"]
        consent = "always"
        offered = false
        timeout = 5
        most_output = 1000
        """,
    )
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    weather = CommandTool(
        ToolDefinition("weather", "The weather.", schema),
        command=("weather", "--json"),
        consent="always",
        offered=False,
        timeout=5,
        most_output=1000,
    )
    assert config.tools == (weather,)
    assert config.tool_named("weather") == weather
    assert config.tool_named("other") is None


def test_a_schema_may_be_a_table(tmp_path: Path):
    config = load(tmp_path, "[tools.t.parameters]\ntype = 'object'\nproperties = {a = {}}\n")
    assert config.tools[0].definition.parameters == {"type": "object", "properties": {"a": {}}}
    assert config.tools[0].consent == "ask"


@each_row(
    ("line", "fault"),
    [
        ("parameters = '{'", "tools.t.parameters is not JSON"),
        ("parameters = '[]'", "tools.t.parameters must be a JSON Schema of type object"),
        ("parameters = {type = 'string'}", "must be a JSON Schema of type object"),
        ("parameters = {x = 2020-01-01}", "a value that JSON cannot represent"),
        ("consent = 'never'", "tools.t.consent"),
        ("command = 'rm'", "tools.t.command"),
        ("timeout = 0", "tools.t.timeout"),
        ("comand = ['x']", "did you mean “command”?"),
    ],
)
def test_faults_name_their_place(tmp_path: Path, line: str, fault: str):
    with pytest.raises(ConfigError) as told:
        load(tmp_path, f"[tools.t]\n{line}\n")
    assert fault in str(told.value)


def test_a_name_that_providers_refuse_is_a_fault(tmp_path: Path):
    with pytest.raises(ConfigError):
        load(tmp_path, '[tools."my tool"]\n')


def test_prices_may_have_tiers_and_days(tmp_path: Path):
    config = load(
        tmp_path,
        "[models.gpt-9]\n"
        "prices = { input = 1.1, output = 2, cache_write_1h = 0.3, per_request = 0.01, "
        "from = 2026-01-01, until = 2026-12-31, "
        "tiers = [{ above = 200, input = 4 }, { above = 100, input = 3, output = 9 }] }\n",
    )
    prices = config.endpoint_named("openai").facts_of("gpt-9").prices
    assert prices == Prices(
        input=Decimal("1.1"),
        output=Decimal(2),
        cache_write_1h=Decimal("0.3"),
        per_request=Decimal("0.01"),
        tiers=(PriceTier(100, Decimal(3), Decimal(9)), PriceTier(200, Decimal(4))),
        starts=date(2026, 1, 1),
        until=date(2026, 12, 31),
    )
    assert prices.hold_on(date(2026, 12, 31))
    assert not prices.hold_on(date(2027, 1, 1))


@each_row(
    "fault",
    [
        "input = -1",
        "input = inf",
        "input = nan",
        "input = 1e9",
        "input = true",
        "tiers = [{ input = 1 }]",
        "tiers = [{ above = -1 }]",
        "from = 3",
    ],
)
def test_a_price_that_cannot_be_is_refused(fault: str, tmp_path: Path):
    with pytest.raises(ConfigError, match="prices"):
        load(tmp_path, f"[models.gpt-9]\nprices = {{ {fault} }}\n")
