"""A key is found nowhere after a session with errors, however it is given."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.plugins import is_deleted
from tests.support.server import Answer, Provider, Received, chat_text, events, json_answer
from tests.support.terminal_app import CTRL_Q, ENTER, TerminalApp

KEY = "sk-planted-4f9d1c7e5b3a2680"
WAYS = ("env", "keyring", "command", "header")
MODELS = ("fine", "refused", "broken", "cut")


def key_in(request: Received) -> str:
    given = request.headers.get("authorization", "") + request.headers.get("x-own-key", "")
    assert KEY in given, "the key is sent"
    return given


def refuse(request: Received) -> Answer:
    sent = key_in(request)
    return json_answer({"error": {"message": f"Incorrect key: {sent}", "code": sent}}, 401)


def answer(request: Received) -> Answer:
    """Repeat the key in every error."""
    piece = {"choices": [{"index": 0, "delta": {"content": "Some words"}}]}
    match request.json["model"]:
        case "refused":
            return refuse(request)
        case "broken":
            page = f"<h1>Debug</h1><pre>{request.headers}{key_in(request)}</pre>"
            return Answer(page, "text/html", 500)
        case "cut":
            fault = {"error": {"message": f"Lost {key_in(request)}", "param": key_in(request)}}
            return Answer(events(piece, fault, done=False))
        case _:
            return Answer(chat_text("Some words"))


@pytest.fixture
def provider() -> Iterator[str]:
    with Provider(answer, models=refuse) as provider:
        yield f"{provider.url}/v1"


@pytest.mark.parametrize("way", WAYS)
def test_a_planted_key_is_found_nowhere(
    way: str,
    provider: str,
    run: Run,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "key").write_text(f"{KEY}\n")
    (outside / "keyring.py").write_text(
        f"def get_password(service, name):\n    return open({str(outside / 'key')!r}).readline()\n"
    )
    monkeypatch.syspath_prepend(outside)
    monkeypatch.delitem(sys.modules, "keyring", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    read = shlex.join([sys.executable, "-c", f"print(open({str(outside / 'key')!r}).read())"])
    references = {
        "env": "env:PLANTED",
        "keyring": "keyring:a/b",
        "command": f"command:{read}",
        "header": "env:PLANTED",
    }
    environ = {"PYTHONPATH": str(outside)}
    if way in ("env", "header"):
        environ["PLANTED"] = KEY
        monkeypatch.setenv("PLANTED", KEY)
    lines = [
        'endpoint = "work"',
        "[endpoints.work]",
        'protocol = "openai_chat"',
        f"base_url = {json.dumps(provider)}",
        f"key = {json.dumps(references[way])}",
        f"models = {json.dumps(MODELS)}",
        "retries = { times = 0 }",
        *(['auth = "header:X-Own-Key"'] if way == "header" else []),
    ]
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.toml").write_text("\n".join(lines))
    folders = ("--config-dir", folder, "--data-dir", folder)
    printed: list[str] = []

    def call(*words: str, code: int) -> None:
        done = run(*folders, *words)
        assert done.code == code, (words, done.out, done.err)
        printed.extend((done.out, done.err))

    call("ask", "Hello", "--model", "fine", code=0)
    call("ask", "Hello", "--model", "refused", code=5)
    call("ask", "Hello", "--model", "refused", "--json", code=5)
    call("ask", "-c", "Again", "--model", "broken", code=5)
    call("ask", "-c", "Again", "--model", "cut", code=5)
    call("endpoints", "list", "--json", code=0)
    call("models", "--endpoint", "work", "--online", code=1)
    if not is_deleted("doctor"):
        call("endpoints", "test", "work", "--model", "refused", code=1)
        call("endpoints", "test", "work", "--model", "broken", code=1)
        call("doctor", "--json", code=0)
    call("keys", "list", "--json", code=0)
    call("config", "show", "--json", code=0)
    for shown in ("payload", "envelope", "request", "curl"):
        call("build", "Hello", "--show", shown, code=0)
    call("export", "--all", code=0)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    (fresh / "config.toml").write_text("\n".join(lines))
    with TerminalApp(fresh, ["--model", "cut"], environ=environ) as app:
        app.until(lambda: app.shows("Type a message") and (fresh / "chat.db").exists())
        app.type(b"Hello")
        app.type(ENTER)
        app.until(lambda: app.shows("Lost"))
        app.type(CTRL_Q)
        assert app.wait() == 0
        printed.append(app.written.decode(errors="replace"))
    assert "Some words" in "".join(printed)
    assert not [text for text in printed if KEY in text]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {folder / "chat.db", fresh / "chat.db"} <= set(files)
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_key_instead_of_a_reference_is_not_repeated(run: Run, tmp_path: Path):
    """The file has the key; no command prints it."""
    text = f'endpoint = "openai"\n[endpoints.openai]\nkey = "{KEY}"\n'
    (tmp_path / "config.toml").write_text(text)
    folders = ("--config-dir", tmp_path, "--data-dir", tmp_path)
    doctor = [] if is_deleted("doctor") else [("doctor",)]
    for words in (("ask", "x"), ("config", "check"), ("config", "show"), *doctor):
        done = run(*folders, *words)
        assert done.code in (1, 2)
        assert "must be a reference" in done.out + done.err
        assert KEY not in done.out + done.err
