"""`tui-chat ask`: a message, its reply, and what is left in the session."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import sys
from pathlib import Path

import pytest

from tests.support.command_line import NO_RETRIES, TOOL, Ask, Run, messages, rows
from tests.support.program import DEVNULL, PIPE, Program, run_program
from tests.support.server import Provider, chat_calls, chat_text
from tests.support.tables import each_row
from tests.support.terminal_app import TerminalApp
from tests.support.workspace import make_workspace
from tui_chat.cli.app import open_workspace
from tui_chat.cli.common_options import CommonOptions
from tui_chat.workspace.events import SessionsChanged
from tui_chat.workspace.workspace import Workspace

__all__ = ["make_workspace"]

BAD = "\x1b]0;owned\x07\x9b31mred"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_the_reply_is_printed_and_stored(ask: Ask, tmp_path: Path):
    done = ask("Hello", "there")
    assert (done.code, done.out, done.err) == (0, "Hello there\n", "")
    assert messages(tmp_path) == [
        ("user", "Hello there", "complete"),
        ("assistant", "Hello there", "complete"),
    ]


@each_row(
    ("words", "stdin", "sent"),
    [
        ((), b"piped\n", "piped"),
        (("-",), b"piped\n", "piped"),
        (("first",), b"then piped\n", "first\n\nthen piped"),
        (("first", "-"), b"then\npiped", "first\n\nthen\npiped"),
        (("only", "words"), b"", "only words"),
        (("only", "words"), None, "only words"),
        (("--", "--dashes"), b"", "--dashes"),
    ],
)
def test_the_message_is_of_arguments_and_input(
    words: tuple[str, ...], stdin: bytes | None, sent: str, ask: Ask, tmp_path: Path
):
    assert ask(*words, stdin=stdin, home=tmp_path).code == 0
    assert messages(tmp_path)[0] == ("user", sent, "complete")


def test_no_message_is_an_error_and_stores_nothing(ask: Ask, tmp_path: Path):
    for stdin in (b"", b" \n", None):
        done = ask(stdin=stdin)
        assert done.code == 2
        assert done.err.startswith("Error: There is no message to send.")
    assert ask("-", stdin=b"\xff\xfe").code == 2
    done = ask("caf\udce9")  # an argument of the shell that is not UTF-8
    assert done.code == 2
    assert "not UTF-8 text" in done.err
    done = ask("-c", "-s", "Hello", "More")
    assert done.code == 2
    assert "two sessions" in done.err
    assert not (tmp_path / "chat.db").exists()


def test_a_session_is_continued(ask: Ask, tmp_path: Path):
    ask("one")
    ask("other")
    assert ask("-s", "one", "two").code == 0
    assert [text for _, text, _ in messages(tmp_path)] == ["one", "one", "two", "two"]
    assert ask("-c", "three").code == 0
    assert [text for _, text, _ in messages(tmp_path)][-2:] == ["three", "three"]
    done = ask("-s", "oen", "x")
    assert done.code == 2
    assert "Did you mean" in done.err
    assert "one" in done.err
    assert ask("-c", "--role", "Assistant", "x").code == 2


def sent(home: Path) -> list[tuple[str, str]]:
    """Return the role and text of the messages of the last request."""
    [(body,), *_] = rows(
        home, "SELECT body FROM requests WHERE body IS NOT NULL ORDER BY rowid DESC"
    )
    messages = json.loads(body)["messages"]  # type: ignore[arg-type]
    return [(each["role"], each["content"]) for each in messages]


def test_what_the_user_chose_or_wrote_is_sent(ask: Ask, tmp_path: Path):
    assert ask("Hi", "--preset", "plain", "--role", "Assistant").code == 0
    assert [role for role, _ in sent(tmp_path)] == ["system", "system", "user"]
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "plain.json").write_text(
        '[{"role": "system", "content": "Be short."}, {"type": "chat_history"}]'
    )
    assert ask("Hi").code == 0
    assert sent(tmp_path) == [("system", "Be short."), ("user", "Hi")]
    assert ask("Hi", "--preset", "").code == 0
    assert sent(tmp_path) == [("user", "Hi")]
    assert ask("-c", "More").code == 0
    assert [role for role, _ in sent(tmp_path)] == ["user", "assistant", "user"]


def test_bare_sends_what_was_typed(ask: Ask, tmp_path: Path):
    (tmp_path / "config.toml").write_text(TOOL)
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "plain.json").write_text(
        '[{"role": "system", "content": "Be short."}, {"type": "chat_history"}]'
    )
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles" / "pirate.json").write_text('{"name": "P", "system_prompt": "Arr."}')
    assert ask("Hi {{user}}", "--bare", "--set", "temperature=0.5").code == 0
    [(body,)] = rows(tmp_path, "SELECT body FROM requests")
    request = json.loads(body)  # type: ignore[arg-type]
    assert request["messages"] == [{"role": "user", "content": "Hi {{user}}"}]
    assert (request["temperature"], "tools" in request) == (0.5, False)
    ask("Other", "--role", "P")
    assert ask("-c", "More", "--bare").code == 0
    assert [role for role, _ in sent(tmp_path)] == ["user", "assistant", "user"]
    assert ask("Hi", "--bare", "--system", "Arr.").code == 0
    assert sent(tmp_path) == [("system", "Arr."), ("user", "Hi")]
    assert ask("Hi", "--bare", "--role", "P").code == 2


@each_row(
    ("reply", "printed", "warned"),
    [
        ("Do:\n\n1. this\n\n   ```sh\n   wc -w\n   ```\n\n```\nno\n```", "wc -w\n", False),
        ("```\ncut", "cut\n", False),
        ("only `words`", "only `words`\n", True),
    ],
)
def test_the_first_code_block_alone(ask: Ask, reply: str, printed: str, warned: bool):
    done = ask("-x", "-m", "echo", reply, model="")
    assert (done.code, done.out) == (0, printed)
    assert ("no code block" in done.err) == warned
    assert ask("-x", "--json", "Hi").code == 2


def test_sources_of_a_reply_are_printed(ask: Ask):
    done = ask("Hi", model="researcher")
    assert "[1] " in done.err
    assert "https://" in done.err
    printed = json.loads(ask("--json", "Hi", model="researcher").out)
    assert len(printed["references"]["sources"]) == 2


def test_probabilities_of_tokens_are_printed_stored_and_exported(ask: Ask, run, tmp_path):
    tokens = json.loads(ask("--json", "--set", "logprobs=2", "Hi there").out)["tokens"]
    assert "".join(token["text"] for token in tokens) == "Hi there"
    assert {len(token["alternatives"]) for token in tokens} == {2}

    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    shown = json.loads(run(*home, "sessions", "show", "--json").out)
    assert shown["messages"][-1]["tokens"] == tokens
    exported = run(*home, "export", "--format", "json").out
    message = json.loads(exported)["sessions"][0]["messages"][-1]
    assert message["about"]["tokens"] == tokens
    assert json.loads(ask("--json", "Hi").out)["tokens"] is None


def test_pictures_of_a_reply_are_saved(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    done = ask("Hi", model="picture")
    [path] = tmp_path.glob("*.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "Saved the image (image/png" in done.err
    assert done.err.rstrip().endswith(f"to {path.name}.")
    printed = json.loads(ask("--json", "Hi", "--save-to", "made", model="picture").out)
    [saved] = printed["files"]
    assert Path(saved["path"]).parent == Path("made")
    assert Path(saved["path"]).read_bytes() == path.read_bytes()
    done = ask("--temporary", "Hi", model="picture")
    assert "was not saved" in done.err
    assert len(list(tmp_path.glob("*.png"))) == 1


def test_a_choice_that_is_not_there_has_a_near_name(ask: Ask, tmp_path: Path):
    for kind, name in (("presets", "short"), ("profiles", "kim")):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / f"{name}.json").write_text('{"name": "Kim", "presetMessages": []}')
    for words, near in [
        (("--preset", "shrot"), "short"), (("--role", "Asistant"), "Assistant"),
        (("--profile", "kimm"), "kim"), (("--set", "tempature=1"), "temperature"),
    ]:  # fmt: skip
        done = ask("Hi", *words)
        assert done.code == 2, words
        assert near in done.err
    assert ask("Hi", "--profile", "KIM", "--no-stream").code == 0
    [(body,)] = rows(tmp_path, "SELECT body FROM requests")
    assert not json.loads(body).get("stream")  # type: ignore[arg-type]


def test_a_system_message_stands_in_for_the_role(ask: Ask, tmp_path: Path):
    assert ask("Hi", "--system", "Be a pirate.").code == 0
    assert [text for _, text, _ in messages(tmp_path)] == ["Be a pirate.", "Hi", "Hi"]
    [(body,)] = rows(tmp_path, "SELECT body FROM requests")
    sent = json.loads(body)["messages"]  # type: ignore[arg-type]
    assert "helpful assistant" not in json.dumps(sent)
    assert "Be a pirate." in json.dumps(sent)
    [(title,)] = rows(tmp_path, "SELECT title FROM sessions")
    assert title == "Hi"


def test_files_are_attached(ask: Ask, tmp_path: Path):
    (tmp_path / "photo").write_bytes(PIXEL)
    assert ask("Look", "--attach", tmp_path / "photo", "--attach", "-", stdin=b"a text").code == 0
    [(body,)] = rows(tmp_path, "SELECT body FROM requests")
    sent = json.dumps(json.loads(body)["messages"][-1])  # type: ignore[arg-type]
    assert "image/png" in sent
    assert "a text" in sent
    done = ask("Look", "--attach", tmp_path / "none")
    assert (done.code, done.out) == (2, "")
    assert "does not exist" in done.err


def test_json_and_schema(ask: Ask, tmp_path: Path):
    (tmp_path / "schema.json").write_text('{"type": "object"}')
    done = ask('{"a": 1}', "--schema", tmp_path / "schema.json", "--json")
    assert done.code == 0, done.err
    printed = json.loads(done.out)
    assert printed["content"] == '{"a": 1}'
    assert (printed["status"], printed["model"], printed["endpoint"]) == (
        "complete", "echo", "loopback",
    )  # fmt: skip
    assert printed["usage"]["output"] > 0
    [(body,)] = rows(tmp_path, "SELECT body FROM requests")
    assert json.loads(body)["response_format"]["type"] == "json_schema"  # type: ignore[arg-type]
    (tmp_path / "schema.json").write_text("[")
    assert ask("x", "--schema", tmp_path / "schema.json").code == 2


def test_a_pipe_gets_the_exact_text(ask: Ask):
    assert ask(BAD).out == f"{BAD}\n"
    assert ask("--raw", BAD).out == BAD
    assert "\x1b" not in ask("--json", BAD).out


@each_row(
    ("model", "code", "said"),
    [("flaky-500", 5, "500"), ("flaky-cut", 6, "reply"), ("flaky-error", 5, "overloaded")],
)
def test_a_failure_has_its_exit_code(model: str, code: int, said: str, ask: Ask, tmp_path: Path):
    (tmp_path / "config.toml").write_text(f"[endpoints.loopback]\n{NO_RETRIES}\n")
    assert ask("Hi", home=tmp_path).code == 0
    done = ask("-c", "Hi", model=model, home=tmp_path)
    assert done.code == code, done.err
    assert done.err.startswith("Error: ")
    assert said in done.err
    assert messages(tmp_path)[-1][2] == "failed"


@each_row("model", ["flaky-cut", "flaky-error"])
def test_a_reply_that_began_is_kept(model: str, ask: Ask, tmp_path: Path):
    (tmp_path / "config.toml").write_text(f"[endpoints.loopback]\n{NO_RETRIES}\n")
    assert ask("Hi", model=model, home=tmp_path).code != 0
    assert messages(tmp_path)[-1][2] == "failed"


@each_row("model", ["flaky-429", "flaky-500", "flaky-529", "nonsense"])
def test_a_refused_message_begins_no_session(model: str, ask: Ask, tmp_path: Path):
    (tmp_path / "config.toml").write_text(f"[endpoints.loopback]\n{NO_RETRIES}\n")
    assert ask("Hi", model=model, home=tmp_path).code == 5
    assert rows(tmp_path, "SELECT 1 FROM sessions") == []
    assert ask("Hi", home=tmp_path).code == 0
    assert ask("-c", "More", model=model, home=tmp_path).code == 5
    assert messages(tmp_path)[-1][2] == "failed", "a session that has replies keeps it"


def test_a_missing_key_and_a_server_that_is_down(ask: Ask, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = ask("Hi", model="gpt-5")
    assert done.code == 3
    assert "OPENAI_API_KEY is not set" in done.err
    assert ask("Hi", "--system", "Arr.", model="gpt-5").code == 3
    (tmp_path / "config.toml").write_text(
        f'[endpoints.down]\nprotocol = "openai_chat"\nbase_url = "http://127.0.0.1:9/v1"\n'
        f'auth = "none"\n{NO_RETRIES}\n'
    )
    assert ask("Hi", "--endpoint", "down", model="m").code == 4
    assert rows(tmp_path, "SELECT 1 FROM sessions") == []  # nothing was sent
    assert ask("Hi").code == 0
    assert ask("-c", "More", "--endpoint", "down", model="m").code == 4
    assert messages(tmp_path)[-1][2] == "failed"
    (tmp_path / "chat.db").write_bytes(b"")
    assert ask("Hi").code == 7


def test_what_is_over_the_context_limit_is_not_sent(ask: Ask, tmp_path: Path):
    (tmp_path / "config.toml").write_text("[models.echo]\ncontext_limit = 20\n")
    done = ask("word " * 100)
    assert (done.code, done.out) == (2, "")
    assert "--force" in done.err
    assert rows(tmp_path, "SELECT 1 FROM messages") == []
    assert ask("word " * 100, "--force").code == 0


def test_the_defaults_and_the_draft_of_the_app_stay(ask: Ask, tmp_path: Path):
    async def remembered(workspace: Workspace) -> list[str | None]:
        names = ("session", "draft", "model", "roles_used")
        return [await workspace.store.settings.get(name) for name in names]

    async def begin() -> list[str | None]:
        workspace = await open_workspace(CommonOptions(tmp_path, tmp_path).config())
        try:
            await workspace.start()
            await workspace.sessions.save_draft(None, "half a thought")
            return await remembered(workspace)
        finally:
            await workspace.close()

    before = asyncio.run(begin())
    assert ask("Hi", "--role", "").code == 0
    assert asyncio.run(begin()) == before


def test_nothing_of_a_temporary_session_is_on_disk(ask: Ask, tmp_path: Path):
    words = "zaffre quokka 7731"
    done = ask(words, "--temporary", "--json", "--system", f"Be {words}.")
    assert done.code == 0, done.err
    printed = json.loads(done.out)
    assert (printed["content"], printed["session_id"]) == (words, None)
    assert not (tmp_path / "chat.db").exists()
    assert ask("stored").code == 0
    assert ask(words, "--temporary", "--role", "assistant").out == f"{words}\n"
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or words.encode() not in path.read_bytes()
    assert [text for _, text, _ in messages(tmp_path)] == ["stored", "stored"]
    assert ask("x", "--temporary", "-c").code == 2


@pytest.mark.slow
async def test_the_running_app_shows_the_session(make_workspace, tmp_path: Path):
    workspace, heard = await make_workspace()
    await workspace.windows.check()
    words = command(tmp_path, "From the shell", "--model", "echo")
    done = await asyncio.to_thread(run_program, *words)
    assert done.stdout == "From the shell\n"
    heard.changes.clear()
    await workspace.windows.check()
    assert heard.of(SessionsChanged)
    assert [each.title for each in workspace.state.sessions] == ["From the shell"]


# --- as a process ------------------------------------------------------------------------


def command(home: Path, *words: str) -> list[str]:
    folders = ("--data-dir", str(home), "--config-dir", str(home))
    return [*folders, "ask", *words]


@pytest.mark.slow
def test_ctrl_c_keeps_what_arrived(tmp_path: Path):
    words = command(tmp_path, "Tell", "--model", "lorem:200:20000")
    process = Program(words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    begun = process.stdout.read(200)
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.startswith(b"Stopped. What arrived is in session ")
    assert said.strip().count(b"\n") == 0
    [_, (role, text, status)] = messages(tmp_path)
    assert (role, status) == ("assistant", "stopped")
    assert text.startswith((begun + rest).decode().rstrip("\n"))


@pytest.mark.slow
def test_a_closed_pipe_is_quiet_and_stops_the_reply(tmp_path: Path):
    words = command(tmp_path, "Tell", "--model", "lorem:400:20000")
    process = Program(words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    assert process.stdout.read(50)
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()
    assert messages(tmp_path)[-1][2] == "stopped"


@pytest.mark.slow
def test_a_tool_call_that_is_not_allowed_waits(tmp_path: Path):
    with Provider(chat_calls(("weather", "{}"))) as provider:
        (tmp_path / "config.toml").write_text(provider.config() + TOOL)
        words = command(tmp_path, "Weather?")
        done = run_program(*words)
    assert done.returncode == 8
    assert "--allow-tool weather lets it run" in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(messages(tmp_path)) == 2


# --- on a terminal -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a pty")
def test_a_terminal_gets_nothing_that_it_would_obey(tmp_path: Path):
    text = f"# Title\n\n{BAD} **strong**\n\n```python\n{BAD} = 1\n```\n"
    with TerminalApp(tmp_path, ("ask", text, "--model", "echo")) as app:
        assert app.wait() == 0
        written = app.read().decode()
    assert "\x1b]0;" not in written
    assert "\x9b" not in written
    assert "\x07" not in written
    assert "␛]0;owned␇\\x9b31mred" in app.text()
    assert "**strong**" in written
    assert "echo at loopback" in app.text()


@pytest.mark.parametrize("option", ["-s", "--session"])
def test_an_empty_name_of_a_session_begins_none(ask: Ask, tmp_path: Path, option: str):
    done = ask(option, "", "Hello")
    assert done.code == 2
    assert "it is empty; name a session" in done.err
    assert not (tmp_path / "chat.db").exists()


# --- Servers on this machine --------------------------------------------------------------


def test_the_only_model_of_a_server_is_used(run: Run, tmp_path: Path):
    with Provider(chat_text("A reply."), models=("tiny",)) as provider:
        (tmp_path / "config.toml").write_text(provider.config(model=""))
        folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
        done = run(*folders, "ask", "Hi")
        assert (done.code, done.out, done.err) == (0, "A reply.\n", "")
        assert provider.bodies[-1]["model"] == "tiny"
        done = run(*folders, "ask", "-c", "More")
        assert (done.code, done.err, provider.bodies[-1]["model"]) == (0, "", "tiny")


def test_one_of_several_models_is_not_guessed(run: Run, tmp_path: Path):
    with Provider(chat_text("A reply."), models=("one", "two")) as provider:
        (tmp_path / "config.toml").write_text(provider.config(model=""))
        folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
        done = run(*folders, "ask", "Hi")
        assert (done.code, done.out, provider.received) == (2, "", [])
        assert "--model: one, two" in done.err
        assert run(*folders, "ask", "-m", "two", "Hi").code == 0


def test_models_that_are_not_configured_have_a_hint(run: Run, tmp_path: Path):
    with Provider(chat_text("A reply."), models=("tiny",)) as provider:
        (tmp_path / "config.toml").write_text(provider.config(model=""))
        words = ("--data-dir", tmp_path, "--config-dir", tmp_path, "models", "--endpoint", "local")
        done = run(*words)
        assert "No models." in done.err
        assert "--online asks its server" in done.err
        assert "tiny" in run(*words, "--online").out


def test_a_tool_server_that_does_not_start_is_reported(run: Run, tmp_path: Path):
    with Provider(chat_text("A reply.")) as provider:
        server = '\n[mcp.bad]\ncommand = "/nonexistent/server"\n'
        (tmp_path / "config.toml").write_text(provider.config() + server)
        folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
        for words in (("ask", "Hi"), ("build", "Hi")):
            done = run(*folders, *words)
            assert done.code == 0, words
            assert "warning: bad: " in done.err, words
            assert "could not be started" in done.err, words
        assert run(*folders, "ask", "--bare", "Hi").err == ""
