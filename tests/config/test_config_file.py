"""`config.toml`: what it can say, and what it says when it is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui_chat.config import BUILT_IN_ENDPOINTS, Config, load_config
from tui_chat.config.toml_file import read_toml
from tui_chat.errors import ConfigError
from tui_chat.models.endpoint import Protocol, Retries, Timeouts
from tui_chat.models.model_facts import ModelFacts, Prices

SECRET = "sk-proj-0123456789abcdef"

WHOLE = """
endpoint = "work"
model = "gpt-5-mini"
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


def load(folder: Path, text: str, **environ: str) -> Config:
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return load_config(folder, folder, environ, {})


def test_everything_that_can_be_said(tmp_path: Path):
    config = load(tmp_path, WHOLE)
    work = config.endpoint_named("work")
    assert (config.endpoint, config.model, config.theme) == (
        "work",
        "gpt-5-mini",
        "tui-chat-light",
    )
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
    assert work.facts_of("gpt-5-mini") == ModelFacts(
        context_limit=400_000,
        sampling=False,
        developer_role=True,
        mid_history_system=False,
        prefill=False,
        max_output=100_000,
        strict_keys=True,
        stream_usage=False,
        max_tokens_key="max_completion_tokens",
        prices=Prices(1.25, 10, 0.125),
    )
    assert work.facts_of("gpt-4") == ModelFacts(8_192)


def test_an_entry_is_laid_over_the_ready_made_one(tmp_path: Path):
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
    assert [e.name for e in config.endpoints] == [e.name for e in BUILT_IN_ENDPOINTS]


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path):
    (tmp_path / "config.toml").write_text('endpoint = "openai"\nmodel = "a"\ntheme = "t"')
    environ = {"TUI_CHAT_ENDPOINT": "anthropic", "TUI_CHAT_MODEL": "b"}
    config = load_config(tmp_path, tmp_path, environ, {"endpoint": "google", "model": None})
    assert (config.endpoint, config.model, config.theme) == ("google", "b", "t")


def of_work(line: str) -> str:
    return f'[endpoints.work]\nprotocol = "openai_chat"\nbase_url = "https://e.org"\n{line}\n'


FAULTS = {
    "unknown key": ("themee = 'x'", "themee", "theme"),
    "unknown in endpoint": (of_work("api_key = 'x'"), "endpoints.work.api_key", "no setting"),
    "misspelled": (of_work("modles = []"), "endpoints.work.modles", "is “models” meant?"),
    "unknown fact": (of_work("facts = {g = {smapling = true}}"), "facts.g.smapling", "sampling"),
    "key itself": (of_work(f"key = '{SECRET}'"), "endpoints.work.key", "reference"),
    "key of no kind": (of_work(f"key = 'vault:{SECRET}'"), "endpoints.work.key", "reference"),
    "keyring without name": (of_work(f"key = 'keyring:{SECRET}'"), "work.key", "SERVICE/NAME"),
    "empty command": (of_work("key = 'command: '"), "work.key", "reference"),
    "key in header": (
        of_work(f"headers = {{ Authorization = 'Bearer {SECRET}' }}"),
        "work.headers",
        "carries a key",
    ),
    "key in query": (of_work(f"query = {{ key = '{SECRET}' }}"), "work.query", "carries a key"),
    "header of two lines": (
        of_work(f'headers = {{ X-A = "a\\n{SECRET}" }}'),
        "work.headers",
        "one line",
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
        "[endpoints.w]\nprotocol='gemini'\nbase_url='http://'", "endpoints.w.base_url", "is no URL"
    ),
    "bad port": (
        "[endpoints.w]\nprotocol='gemini'\nbase_url='http://e:x'", "w.base_url", "is no URL"
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
    "timeout": (of_work("timeouts = { connect = 0 }"), "timeouts.connect", "greater than 0"),
    "retries": (of_work("retries = { times = 99 }"), "retries.times", "less than or equal to 10"),
    "context limit": (of_work("facts = {g = {context_limit = -1}}"), "context_limit", "greater"),
    "type": (of_work(f"models = '{SECRET}'"), "work.models", "tuple"),
    "blank model": (of_work("models = ['']"), "work.models", "one line"),
    "name": ('[endpoints."a b"]\n', "endpoints.a b", "pattern"),
    "not TOML": (f"endpoint = {SECRET}", "is not TOML", "line 1"),
    "no such endpoint": ("endpoint = 'nowhere'", "nowhere", "nowhere"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
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


def test_all_faults_are_told_at_once(tmp_path: Path):
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, "a = 1\nb = 2\n" + of_work("c = 3"))
    assert all(f"{name}: is no setting" in str(raised.value) for name in ("a", "b", "work.c"))


def test_what_is_no_text_is_told(tmp_path: Path):
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not TOML"):
        load_config(tmp_path, tmp_path, {}, {})


@pytest.mark.parametrize(
    ("protocol", "typed", "base_url", "api_version"),
    [
        ("anthropic", "https://api.anthropic.com/v1/messages", "https://api.anthropic.com", ""),
        ("openai_chat", "localhost:1234", "http://localhost:1234/v1", ""),
        ("openai_responses", "https://h/v1/responses/", "https://h/v1", ""),
        ("gemini", "https://h/v1/models/m:generateContent", "https://h", "v1"),
    ],
)
def test_a_base_url_is_read_as_it_was_pasted(
    tmp_path: Path, protocol: str, typed: str, base_url: str, api_version: str
):
    text = f'[endpoints.w]\nprotocol = "{protocol}"\nbase_url = "{typed}"\n'
    found = load(tmp_path, text).endpoint_named("w")
    assert (found.base_url, found.api_version) == (base_url, api_version)


def test_a_query_of_a_pasted_url_is_kept_and_a_path_of_another_protocol_is_a_fault(tmp_path: Path):
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


@pytest.mark.parametrize("text", DEEP.values(), ids=list(DEEP))
def test_a_file_that_is_nested_too_deeply_is_a_fault(text: str, tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="nested too deeply") as raised:
        read_toml(path)
    assert str(path) in str(raised.value)


def test_a_file_that_cannot_be_toml_is_a_fault_and_keeps_nobody_waiting(tmp_path: Path):
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
