"""Secrets of the configuration and keys that a provider repeats are shown and stored nowhere."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command_line import Done, Run
from tests.support.plugins import is_deleted
from tests.support.server import Answer, Provider, Received, events, json_answer
from tests.support.tables import each_row
from tui_chat.analysis.http_text import as_curl, as_http
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.preset import Preset
from tui_chat.request_recipe import revisions_of
from tui_chat.turn_file import dump_turn

SECRET, OTHER = "tok-4f9d1c7e5b3a2680", "sig/0a1b2c3d4e5f+="
CONFIG = """
endpoint = "gateway"
[endpoints.gateway]
protocol = "openai_chat"
base_url = "{url}"
auth = "none"
models = ["m"]
headers = {{ "X-Secret-Token" = "{secret}", "X-Team" = "search", "OpenAI-Beta" = "responses=v1" }}
query = {{ signed = "{other}", "api-version" = "2025-01-01" }}
retries = {{ times = 0 }}
"""


def require_secrets(request: Received) -> None:
    assert request.headers["x-secret-token"] == SECRET
    assert "signed=sig%2F0a1b2c3d4e5f%2B%3D" in request.path


def refuse(request: Received) -> Answer:
    require_secrets(request)
    return json_answer({"error": {"message": f"No search for {SECRET} of {OTHER}"}}, 401)


def list_models(request: Received) -> Answer:
    require_secrets(request)
    return json_answer({"data": [{"id": f"m-{SECRET}"}]})


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home whose server needs the secrets, and repeats them in its error and its models."""
    with Provider(refuse, models=list_models) as provider:
        config = CONFIG.format(url=f"{provider.url}/v1", secret=SECRET, other=OTHER)
        (tmp_path / "config.toml").write_text(config)
        yield tmp_path


def is_clean(text: str) -> bool:
    return not any(part in text for part in (SECRET, OTHER, "0a1b2c3d4e5f"))


CHECKS = () if is_deleted("doctor") else (("doctor",), ("endpoints", "test", "gateway"))
"""The commands of the plugin that asks endpoints."""


def test_no_command_shows_a_secret(home: Path, run: Run):
    def call(*words: object) -> Done:
        return run("--data-dir", home, "--config-dir", home, *words)

    refused = call("ask", "Hi")
    assert refused.code == 5
    assert "No search for [key]" in refused.err
    for words in (
        *(("build", "Hi", "--show", show) for show in ("payload", "request", "curl", "envelope")),
        ("config", "show"),
        ("config", "show", "--json"),
        ("config", "check"),
        *CHECKS,
        ("endpoints", "list", "--json"),
        ("models", "--endpoint", "gateway"),
        ("sessions", "show"),
        ("sessions", "show", "--json"),
        ("export",),
        ("ask", "Hi", "--json"),
    ):
        done = call(*words)
        assert is_clean(done.out + done.err), words
    with closing(sqlite3.connect(home / "chat.db")) as database:
        assert is_clean("\n".join(database.iterdump()))


def test_what_is_harmless_is_shown(home: Path, run: Run):
    shown = run("--data-dir", home, "--config-dir", home, "build", "Hi", "--show", "request").out
    assert "X-Secret-Token: [key]\n" in shown
    assert "X-Team: [key]\n" in shown  # not known to be harmless
    assert "OpenAI-Beta: responses=v1\n" in shown
    assert "?signed=[key]&api-version=2025-01-01" in shown


def test_the_curl_command_sends_the_values_of_variables(home: Path, run: Run, tmp_path: Path):
    shown = run("--data-dir", home, "--config-dir", home, "build", "Hi", "--show", "curl").out
    printed = subprocess.run(
        ["bash", "-c", 'curl() { printf "%s\\n" "$@"; }\n' + shown],
        env={"X_SECRET_TOKEN": SECRET, "X_TEAM": "search", "SIGNED": "s1", "PATH": "/bin:/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"X-Secret-Token: {SECRET}\n" in printed
    assert "X-Team: search\n" in printed
    assert "?signed=s1&api-version=2025-01-01\n" in printed


@each_row(
    ("value", "looked_for"),
    [
        ("search", False),
        ("production-team", False),
        ("tok-4f9d1c7e5b", True),
        ("12345678901", False),
    ],
)
def test_only_what_looks_like_a_secret_is_looked_for_in_replies(value: str, looked_for: bool):
    endpoint = Endpoint("e", Protocol.OPENAI_CHAT, "http://127.0.0.1/v1", headers=(("X-A", value),))
    assert (value in endpoint.secret_values) == looked_for
    assert endpoint.without_secrets().headers == (("X-A", "[key]"),)


def test_a_base_url_that_no_configuration_checked_is_shown_without_its_secrets():
    url = f"https://me:{SECRET}@llm.example.org/v1?signature={SECRET}&api-version=2025-01-01"
    endpoint = Endpoint("e", Protocol.OPENAI_CHAT, url, models=("m",))
    inputs = Inputs(endpoint, Preset("p"), (), "Hi")
    composed = compose(inputs)
    assert SECRET in composed.url
    shown = (
        "https://[key]@llm.example.org/v1/chat/completions?signature=[key]&api-version=2025-01-01"
    )
    assert composed.shown_url == shown
    turn = dump_turn(composed, composed.body, None)
    for text in (as_http(composed), as_curl(composed), str(revisions_of(inputs)), turn):
        assert SECRET not in text


# --- A provider's error that repeats a part of the key: none of it is shown or stored -----


KEY = "sk-proj-PLANTED0123456789abcdef"


def parts(text: str) -> set[str]:
    """Return the parts of the key, of 8 characters or more, that a text has."""
    return {KEY[at : at + 8] for at in range(len(KEY) - 7) if KEY[at : at + 8] in text}


def test_no_long_part_of_the_key_is_shown_or_stored(tmp_path, run, monkeypatch):
    monkeypatch.setenv("PLANTED", KEY)
    shown = [KEY, KEY[:-1], KEY[1:], KEY[2:-2], KEY[:12], KEY[-9:], f"{KEY[:10]}...{KEY[-4:]}"]
    shown += [KEY[:9] + "****" + KEY[-8:], f"{KEY[:-3]}/{KEY[3:]}", json.dumps({"k": KEY[:-1]})]
    wrong: list[str] = []
    for number, part in enumerate(shown):
        message = {"error": {"message": f"Incorrect API key provided: {part}.", "code": 401}}
        for kind, answer in {
            "refused": Answer(json.dumps(message), "application/json", 401),
            "plain": Answer(f"No such key: {part}", "text/plain", 403),
            "event": Answer(events(message, done=False)),
            "whole": Answer(json.dumps(message), "application/json"),
        }.items():
            home = tmp_path / f"{number}{kind}"
            home.mkdir()
            with Provider(answer) as provider:
                config = provider.config() + 'key = "env:PLANTED"\nretries = { times = 0 }\n'
                (home / "config.toml").write_text(config)
                done = run("--data-dir", home, "--config-dir", home, "ask", "hi")
            stored = b"".join(path.read_bytes() for path in home.glob("chat.db*"))
            found = {
                "output": parts(done.out + done.err),
                "store": parts(stored.decode("latin-1")),
            }
            if done.code == 0 or any(found.values()) or "[key]" not in done.err:
                wrong.append(f"{kind} {part}: {found}, code {done.code}, {done.err}")
    assert not wrong, "\n".join(wrong)
