"""`tui-chat build`: the request of files and options, and with edits by hand."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.build_command import FILES, HISTORY, ROLE, Build
from tests.support.command_line import Run
from tests.support.program import run_program
from tests.support.tables import each_row
from tui_chat.cli.app import open_workspace
from tui_chat.cli.common_options import CommonOptions
from tui_chat.compose import compose
from tui_chat.config import Config
from tui_chat.context import Inputs, SessionSettings
from tui_chat.interop.messages import read_history
from tui_chat.library.presets import load_preset
from tui_chat.library.roles_and_profiles import load_role
from tui_chat.models.endpoint import Protocol
from tui_chat.models.request_edit import RequestEdit

ENDPOINTS = {
    "openai_chat": "openai",
    "openai_responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "google",
    "ollama": "ollama-native",
}


@each_row("protocol", list(Protocol))
def test_the_body_is_what_the_app_composes(protocol: Protocol, folder: Path, build: Build):
    done = build(*FILES, "--history", "history.json", "--protocol", protocol.value)
    assert done.returncode == 0, done.stderr
    composed = compose(
        Inputs(
            Config().endpoint_named(ENDPOINTS[protocol]),
            load_preset(folder / "preset.json"),
            read_history((folder / "history.json").read_text(), "h"),
            "Go on",
            role=load_role(folder / "role.json"),
            settings=SessionSettings(model="m-1"),
        )
    )
    assert done.stdout == composed.payload.body
    assert b"Reminder." in done.stdout


def test_jsonl_history_gives_the_same_body(build: Build):
    one, other = (build(*FILES, "--history", name) for name in ("history.json", "history.jsonl"))
    assert one.stdout == other.stdout != b""


def test_muted_messages_are_left_out_and_listed(folder: Path, build: Build):
    muted = [{**message, "muted": index == 1} for index, message in enumerate(HISTORY)]
    (folder / "muted.json").write_text(json.dumps(muted))
    (folder / "without.json").write_text(json.dumps([HISTORY[0], *HISTORY[2:]]))
    one, other = (build(*FILES, "--history", f"{name}.json") for name in ("muted", "without"))
    assert one.stdout == other.stdout != b""
    body = json.loads(build(*FILES, "--history", "muted.json", "--show", "envelope").stdout)
    [left_out] = body["muted"]
    assert left_out["preview"] == HISTORY[1]["content"]
    assert body["tokens"]["muted"] == left_out["tokens"] > 0
    assert [note["code"] for note in body["notes"]].count("history-muted") == 1


def test_the_envelope_names_origins_drops_and_tokens(folder: Path, build: Build):
    (folder / "config.toml").write_text("[models.m-1]\ncontext_limit = 114\n")
    done = build(*FILES, "--history", "history.json", "--show", "envelope")
    body = json.loads(done.stdout)
    assert [(t["content"], t["origin"]["kind"]) for t in body["turns"]] == [
        ("You are a critic.", "system"),
        ("Be exact.", "preset"),
        ("W", "preset"),
        ("Reminder.", "preset"),
        ("In the 18th century.", "history"),
        ("Go on", "draft"),
    ]
    assert [d["preview"] for d in body["dropped"]] == [m["content"] for m in HISTORY[:3]]
    assert body["tokens"]["dropped"] == sum(d["tokens"] for d in body["dropped"])
    assert body["tokens"]["total"] <= 50
    assert any(note["code"] == "history-dropped" for note in body["notes"])


def test_curl_and_request_never_contain_a_key(build: Build, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    for show in ("curl", "request"):
        done = build(*FILES, "--protocol", "anthropic", "--show", show)
        assert b"sk-ant-secret" not in done.stdout + done.stderr
        assert b"https://api.anthropic.com/v1/messages" in done.stdout
    assert (
        b"${ANTHROPIC_API_KEY}" in build(*FILES, "--protocol", "anthropic", "--show", "curl").stdout
    )


def test_the_message_is_the_text_or_the_draft(run: Run, tmp_path: Path):
    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    done = run(*home, "build", "Hello", "there")
    assert (done.code, done.out) == (0, run(*home, "build", "Hello there").out)
    sent = json.loads(run(*home, "build", "Hi", "--preset", "", "--role", "").out)
    assert sent["messages"] == [{"role": "user", "content": "Hi"}]


def test_a_request_that_cannot_be_sent_is_printed_and_exits_with_2(run: Run, tmp_path: Path):
    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    for show in ("payload", "curl"):
        done = run(*home, "build", "Hi", "--protocol", "ollama", "--show", show)
        assert (done.code, "error: No model is chosen" in done.err) == (2, True)
        assert "Hi" in done.out
    assert run(*home, "build").code == 0  # nothing is typed yet


def test_the_model_name_determines_the_protocol(build: Build):
    done = build("--model", "gemini-2.5-flash", "hi", "--show", "request")
    assert b":streamGenerateContent?alt=sse" in done.stdout


@each_row(
    ("name", "text", "words"),
    [
        ("preset.json", "{", ["preset.json", "not JSON", "line 1"]),
        ("preset.json", '{"presetMessages": [{"role": "boss"}]}', ["$.presetMessages[0].role"]),
        ("preset.json", '[{"insertionPoint": "deep"}]', ["$[0].insertionPoint"]),
        ("preset.json", "5", ["preset.json", "$"]),
        ("history.json", '[{"role": "user", "content": 5}]', ["$[0].content"]),
        ("history.json", '[{"role": "wizard"}]', ["$[0].role", "wizard"]),
        ("history.json", "[" * 100_000, ["nested too deeply"]),
        ("history.json", '{"role": "user", "content": "a"}\nnonsense', ["line 2", "not JSON"]),
        ("history.json", '[{"role": "user", "contnet": "a"}]', ["$[0].content", "is missing"]),
        ("role.json", '{"system_prompt": "x"}', ["role.json", "name"]),
    ],
)
def test_bad_input_prints_one_sentence_and_exits_with_2(
    name: str, text: str, words: list[str], folder: Path, build: Build
):
    before = (folder / name).read_text()
    (folder / name).write_text(text)
    done = build(*FILES, "--history", "history.json")
    (folder / name).write_text(before)
    assert done.returncode == 2
    assert done.stdout == b""
    said = done.stderr.decode()
    assert said.count("\n") == 1, said
    assert all(word in said for word in words), said


@each_row(
    "words",
    [
        ("--history", "missing.json"),
        ("--protocol", "smoke-signals"),
        ("--port", "1"),
        ("--preset", "no-such-preset"),
    ],
)
def test_bad_flags_exit_with_2(words: tuple[str, ...], build: Build):
    done = build(*words)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_the_preset_of_a_role_is_used(folder: Path, build: Build):
    (folder / "presets").mkdir()
    (folder / "presets" / "mine.json").write_text('[{"content": "MINE"}, {"type": "chat_history"}]')
    words = ("--role", "role.json", "--model", "m-1", "a")
    for preset, expected in [("mine", b"MINE"), ("few-shot", b"git commit"), ("", b"critic")]:
        (folder / "role.json").write_text(json.dumps({**ROLE, "preset": preset}))
        done = build(*words)
        assert expected in done.stdout
        assert done.stderr == b""
    assert b"MINE" in build(*words, "--preset", "mine").stdout
    (folder / "role.json").write_text(json.dumps({**ROLE, "preset": "gone"}))
    done = build(*words)
    assert done.stderr.decode().startswith("warning: There is no preset “gone”.")
    assert b"continues without a preset" in done.stderr
    assert b"TERMINAL" not in build(*words, "--preset", "preset.json").stdout


@pytest.mark.slow
def test_build_writes_exact_bytes_to_a_pipe(folder: Path, build: Build):
    words = (*FILES, "--history", "history.json")
    done = run_program("--config-dir", folder, "build", *words, cwd=folder, text=False, check=True)
    assert done.stdout == build(*words).stdout != b""


def test_settings_are_read_from_the_command_line_and_the_role(build: Build):
    chosen = ("--set", "top-p=0.5", "--set", "effort=high", "--set", "web_search=on")
    done = build(*FILES, *chosen, "--show", "envelope")
    found = {
        name: (each["value"], each["origin"]["name"])
        for name, each in json.loads(done.stdout)["parameters"].items()
    }
    assert found == {
        "model": ("m-1", "model, set by the session"),
        "temperature": (0.3, "temperature, set by the role Critic"),
        "max_tokens": (64, "max_tokens, set by the role Critic"),
        "top_p": (0.5, "top_p, set by the session"),
        "effort": ("high", "effort, set by the session"),
        "web_search": (True, "web_search, set by the session"),
    }
    body = json.loads(build(*FILES, *chosen, "--protocol", "gemini").stdout)
    assert body["generationConfig"]["topP"] == 0.5
    assert body["tools"] == [{"googleSearch": {}}]


@each_row(
    ("words", "fault"),
    [
        ("temperature", b"--set: \xe2\x80\x9ctemperature\xe2\x80\x9d is not NAME=VALUE"),
        ("temperature=hot", b"--set: temperature must be a number from 0 to 2"),
        ("tempature=1", b"is not a setting (did you mean"),
    ],
)
def test_a_wrong_setting_on_the_command_line_is_one_sentence(
    words: str, fault: bytes, build: Build
):
    done = build(*FILES, "--set", words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert fault in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_the_kinds_of_generation(run: Run, tmp_path: Path):
    history = tmp_path / "h.json"
    talk = [("user", "U1"), ("assistant", "A1"), ("user", "U2"), ("assistant", "A2")]
    history.write_text(json.dumps([{"role": role, "content": said} for role, said in talk]))

    def built(kind: str, *more: object) -> list[str]:
        home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
        text = ("D",) if kind == "normal" else ()
        words = ("--history", history, "--role", "", *text, "--kind", kind)
        done = run(*home, "build", *words, "--endpoint", "loopback", *more)
        assert done.code == 0, done.err
        messages = json.loads(done.out)["messages"]
        return [each["content"][:30] for each in messages if each["role"] != "system"]

    assert built("normal") == ["U1", "A1", "U2", "A2", "D"]
    assert built("regenerate") == built("swipe") == ["U1", "A1", "U2"]
    nudge = "Continue your last message fro"
    assert built("continue") == ["U1", "A1", "U2", "A2", nudge]
    (tmp_path / "config.toml").write_text("[models.echo]\nprefill = true\n")
    assert built("continue", "--model", "echo") == ["U1", "A1", "U2", "A2"]
    history.write_text('[{"role": "user", "content": "U1"}]')
    done = run("--data-dir", tmp_path, "build", "--history", history, "--kind", "continue")
    assert done.code == 2
    assert "There is no reply to continue." in done.err


# --- Edits of requests by hand on the command line ----------------------------------------


KEPT = RequestEdit(Protocol.OPENAI_CHAT, ("seed",), "add", "7", kept=True)
WAITING = RequestEdit(Protocol.OPENAI_CHAT, ("top_p",), "add", "0.5")
BROKEN = RequestEdit(Protocol.OPENAI_CHAT, ("messages",), "set", "5", kept=True)


def homes(home: Path) -> tuple[object, ...]:
    return "--data-dir", home, "--config-dir", home


def begin(run: Run, home: Path) -> None:
    done = run(*homes(home), "ask", "--endpoint", "loopback", "--model", "echo", "one")
    assert (done.code, done.err) == (0, "")


def edited(home: Path, *edits: RequestEdit) -> None:
    """Make edits by hand in the last session, with a draft, as the app does."""

    async def edit() -> None:
        workspace = await open_workspace(CommonOptions(home, home).config(), remembers=False)
        try:
            [last] = await workspace.store.sessions.list()
            await workspace.store.sessions.update(last.session_id, edits=edits)
            await workspace.store.drafts.save(last.session_id, "typed")
        finally:
            await workspace.close()

    asyncio.run(edit())


def edits_in(home: Path) -> tuple[RequestEdit, ...]:
    async def read() -> tuple[RequestEdit, ...]:
        workspace = await open_workspace(CommonOptions(home, home).config(), remembers=False)
        try:
            [last] = await workspace.store.sessions.list()
            session = await workspace.store.sessions.get(last.session_id)
            return session.edits
        finally:
            await workspace.close()

    return asyncio.run(read())


def keys(body: str) -> set[str]:
    found: dict[str, Any] = json.loads(body)
    return found.keys() & {"seed", "top_p"}


def test_build_has_the_edits_of_the_session(run: Run, tmp_path: Path):
    begin(run, tmp_path)
    edited(tmp_path, KEPT, WAITING)
    build = (*homes(tmp_path), "build", "--session", "one")
    done = run(*build)
    assert keys(done.out) == {"seed", "top_p"}
    assert "/seed is added by hand in every request of this session: 7." in done.err
    assert keys(run(*build, "another", "draft").out) == {"seed"}


def test_ask_sends_what_is_kept_and_leaves_what_waits(run: Run, tmp_path: Path):
    begin(run, tmp_path)
    edited(tmp_path, KEPT, WAITING)
    assert run(*homes(tmp_path), "ask", "-c", "two").code == 0
    assert edits_in(tmp_path) == (KEPT, WAITING)
    exported = run(*homes(tmp_path), "export", "one", "--format", "json").out
    [session] = json.loads(exported)["sessions"]
    assert keys(session["requests"][-1]["body"]) == {"seed"}
    assert [edit["path"] for edit in session["session"]["edits"]] == [["seed"]]


def test_an_invalid_body_is_not_sent_unless_wanted(run: Run, tmp_path: Path):
    begin(run, tmp_path)
    edited(tmp_path, BROKEN)
    assert run(*homes(tmp_path), "build", "--session", "one").code == 2
    done = run(*homes(tmp_path), "ask", "-c", "two")
    assert done.code == 2
    assert "With the edits by hand the body is not a request to OpenAI" in done.err
    assert "--force" in done.err
