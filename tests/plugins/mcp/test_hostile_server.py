"""Hostile servers and messages."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.mcp.conftest import SCRIPT, Start, has_ended, is_alive, running
from tests.support.tables import each_row
from tui_chat.errors import ConfigError, ProviderError
from tui_chat.plugins.mcp.content import read_result
from tui_chat.plugins.mcp.elicitation import FormQuestion, Question, Reaction, read_question
from tui_chat.providers.client import HttpClient

pytestmark = [pytest.mark.slow]
ERAS = pytest.mark.parametrize("era", ["modern", "legacy"])
VERSIONS = {"modern": "2026-07-28", "legacy": "2025-06-18"}


@ERAS
async def test_a_call_and_its_answer(start: Start, era: str):
    server = start(era)
    assert server.state == "idle"
    tools = await server.tools()
    assert server.state == "ready"
    assert server.info.protocol == VERSIONS[era]
    assert tools[0].definition.name == "bad__echo"
    result = await server.call("echo", {"a": ["ä", 1]})
    assert result.text == '{"a": ["\\u00e4", 1]}'  # and not the structured content again
    assert result.structured == {"a": ["ä", 1]}
    assert not result.failed


async def test_a_server_that_ignores_the_probe_gets_the_handshake(
    start: Start, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 0.2)
    server = start("mute")
    assert (await server.call("echo", {})).text == "{}"
    assert server.info.protocol == "2025-06-18"


async def test_tools_are_offered_as_they_are_under_names_that_models_accept(start: Start):
    server = start()
    listed = await server.tools()
    tools = {tool.name: tool for tool in listed}
    assert len(listed) == len(tools)
    assert not {"", "number", "listed", "huge"} & tools.keys()
    assert len(server.tool_faults) == 5
    assert any("has the name of another one" in fault for fault in server.tool_faults)
    names = {name: tool.definition.name for name, tool in tools.items()}
    assert len(set(names.values())) == len(names)
    assert all(len(name) <= 64 and name.startswith("bad__") for name in names.values())
    assert names["dotted_name"] == "bad__dotted_name"  # who has the name keeps it
    assert names["dotted.name"].startswith("bad__dotted_name_")
    hidden = tools["hidden"]
    assert {"\U000e0041", "\u202e"} <= set(hidden.definition.description)
    assert hidden.claims == (("readOnlyHint", True),)
    parameters = tools["remote"].definition.parameters
    assert parameters["$ref"] == "http://127.0.0.1:9/schema.json", "nobody fetches it"


@ERAS
async def test_a_changed_definition_has_another_hash_once_a_refresh_succeeds(
    start: Start, era: str
):
    changed = asyncio.Event()
    server = start(era, changed=lambda: server.is_stale and changed.set())
    before = {tool.name: tool.sha256 for tool in await server.tools()}
    await server.call("change", {"refusals": 1})
    await changed.wait()
    with pytest.raises(ProviderError, match="Not now"):
        await server.tools()
    after = {tool.name: tool.sha256 for tool in await server.tools()}
    assert {name for name in before if before[name] != after[name]} == {"hidden"}


def test_structured_content_is_repeated_only_by_equal_json():
    wrong = []
    for text, structured, repeats in (
        ("1", {"result": True}, False),
        ("true", {"result": 1}, False),
        ("0", {"result": False}, False),
        ("[1]", {"result": [True]}, False),
        ("1", {"result": 1}, True),
        ('{"a": 1, "b": 2}', {"b": 2, "a": 1}, True),
    ):
        block = {"content": [{"type": "text", "text": text}], "structuredContent": structured}
        if (len(read_result(block).text) == len(text)) is not repeats:
            wrong.append((text, structured))
    assert not wrong, wrong


async def test_uses_share_one_start_and_answers_out_of_order_reach_their_calls(start: Start):
    server = start()
    results = await asyncio.gather(server.tools(), server.tools(), server.call("echo", {}))
    assert results[0] == results[1]
    assert server.state == "ready"
    first, second = await asyncio.gather(server.call("late", {}), server.call("late", {}))
    numbers = [int(result.text.split()[1]) for result in (first, second)]
    assert numbers[0] < numbers[1]


async def test_what_is_no_answer_is_skipped_and_counted(start: Start):
    server = start()
    assert (await server.call("noise", {})).text == "heard"
    assert server.noise == 5, "lines of a log"
    assert server.stderr_lines == ("noisy",)
    assert (await server.call("flood", {})).text == "done", "20,000 notifications"
    assert (await server.call("wrong", {})).text == "right"
    assert (await server.call("echo", {})).text == "{}"
    assert server.noise >= 5 + 3, "ids that are none"


async def test_silence_ends_with_the_timeout_and_is_told(start: Start):
    server = start(settings={"timeout": 0.5})
    result = await server.call("silent", {})
    assert result.failed
    assert "did not answer within 0.5 seconds" in result.text
    assert len(json.loads((await server.call("cancelled", {})).text)) == 1


@ERAS
async def test_a_cancelled_call_is_told(start: Start, era: str):
    server = start(era)
    await server.tools()
    call = asyncio.ensure_future(server.call("silent", {}))
    await server.call("echo", {})
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(json.loads((await server.call("cancelled", {})).text)) == 1


async def test_death_tells_all_waiting_calls_and_there_is_one_restart(start: Start):
    server = start()
    await server.tools()
    waiting = asyncio.ensure_future(server.call("silent", {}))
    await server.call("echo", {})
    dead = await server.call("die", {})
    for result in (dead, await waiting):
        assert result.failed
        assert "ended with status 3. Its last words: " in result.text
        assert "\x1b" not in result.text
    assert server.state == "failed"
    assert (await server.call("echo", {})).text == "{}"
    assert server.state == "ready"
    await server.call("die", {})
    again = await server.call("echo", {})
    assert again.failed
    assert server.state == "failed"
    await server.close()
    assert server.state == "idle"
    assert (await server.call("echo", {})).text == "{}"


async def test_a_fork_that_keeps_the_pipes_open_hides_no_death_and_is_ended(start: Start):
    server = start()
    await server.tools()
    result = await server.call("fork", {})
    assert result.failed
    child = int(server.stderr_lines[-1].split()[1])
    assert await has_ended(child)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="it finds processes in /proc")
@each_row("quiet", [False, True])
async def test_a_group_is_ended_while_its_id_is_its_own(
    start: Start, monkeypatch: pytest.MonkeyPatch, quiet: bool
):
    kill, is_taken = os.killpg, list[bool]()

    def kill_taken(group: int, kind: int) -> None:
        is_taken.append(Path(f"/proc/{group}").exists())  # also of one that was not reaped
        kill(group, kind)

    monkeypatch.setattr(os, "killpg", kill_taken)
    server = start()
    await server.tools()
    (pid,) = running()
    await server.call("fork", {"quiet": quiet})
    child = int(server.stderr_lines[-1].split()[1])
    assert await has_ended(child)
    await server.close()
    assert is_taken
    assert all(is_taken)
    assert not Path(f"/proc/{pid}").exists(), "it was not reaped"


async def test_a_huge_result_is_cut_and_says_so(start: Start):
    result = await start().call("big", {"size": 500_000})
    assert len(result.text.encode()) <= 100_000
    assert result.text.startswith("ä" * 49_950 + "\n")
    assert result.text.endswith(
        "The last 900,100 of 1,000,000 bytes of this result were left out.]"
    )


async def test_a_line_without_end_is_refused(start: Start):
    server = start()
    await server.tools()
    (pid,) = running()
    result = await server.call("line", {"size": 100_000_000})
    assert result.failed
    assert "a line of more than 16 MB" in result.text
    assert await has_ended(pid)


async def test_results_are_what_they_are_and_not_what_they_say(start: Start):
    server = start()
    await server.call("progress", {})
    await server.tools()
    checked = await server.call("checked", {})
    assert not checked.failed, "no pattern of a server's schema is tried"
    result = await server.call("failing", {})
    assert (result.text, result.failed) == ("no such city", True)
    unknown = await server.call("nothing", {})
    assert unknown.failed
    assert "Unknown tool: nothing" in unknown.text
    result = await server.call("image", {})
    assert [(part.media, part.mime) for part in result.parts] == [("image", "image/png")]
    assert result.text.splitlines() == [
        "one",
        "[image left out: its data is damaged]",
        "[audio left out: it is empty or of another type]",
        "[a b: file:///etc/␛[2Jpasswd]",
        "inside",
        "[content of the unknown type “hologram” left out]",
        "[content of the unknown type “” left out]",
    ]
    result = await server.call("loop", {})
    assert result.failed
    assert "asked for input 10 times" in result.text
    result = await server.call("ask", {})
    assert result.failed
    assert "Elicitation not supported" in result.text, "nobody can answer"


@ERAS
async def test_a_question_reaches_the_user_and_time_stands_still(start: Start, era: str):
    asked: list[Question] = []

    async def ask(question: Question) -> Reaction:
        asked.append(question)
        await asyncio.sleep(0.8)  # longer than the timeout
        return Reaction("accept", {"name": "Ada", "color": "green", "age": None})

    server = start(era, settings={"timeout": 0.6}, ask=ask)
    result = await server.call("ask", {})
    (form,) = asked
    assert isinstance(form, FormQuestion)
    assert (form.server, form.message) == ("bad", "Who are you?")
    assert [field.kind for field in form.fields] == ["text", "choice", "integer"]
    assert form.fields[1].default == "red"
    accepted = {"action": "accept", "content": {"name": "Ada", "color": "green"}}
    answers = json.loads(result.text)
    if era == "modern":
        assert answers[0] == {"who": accepted}
        assert answers[1] == "s\u2028 1"  # unchanged
    else:
        assert answers["q1"] == accepted
        assert "code" in answers["q2"], "no sampling"
        assert answers["q3"] == {}


async def test_no_key_is_in_the_environment(start: Start):
    environ = {
        **os.environ,
        "OPENAI_API_KEY": "sk-secret-1",
        "WORK_LLM_KEY": "sk-secret-2",
        "LC_KEY": "sk-secret-3",
        "MY_TOKEN": "mine-12345",
    }
    client = HttpClient(environ=environ)
    settings = {"env": (("TOKEN", "${MY_TOKEN}"), ("REGION", "${NOWHERE:-eu}"))}
    server = start(client=client, hidden={"WORK_LLM_KEY", "LC_KEY"}, settings=settings)
    text = (await server.call("env", {})).text
    variables = json.loads(text)
    assert "sk-secret" not in text
    assert "mine-12345" not in text, "the server repeats it to the model and the store"
    assert (variables["TOKEN"], variables["REGION"]) == ("[key]", "eu")
    assert variables["PATH"] == os.environ["PATH"]

    stealing = start(
        client=client, hidden={"WORK_LLM_KEY"}, settings={"env": (("A", "${WORK_LLM_KEY}"),)}
    )
    with pytest.raises(ConfigError, match="WORK_LLM_KEY holds a credential of an endpoint"):
        await stealing.tools()
    with pytest.raises(ConfigError, match="variable UNSET_VARIABLE is not set"):
        await start(settings={"args": ("${UNSET_VARIABLE}",)}).tools()


async def test_a_program_that_does_not_exist_or_is_no_server_is_an_error(start: Start):
    server = start(settings={"command": "/nonexistent/server"})
    with pytest.raises(ProviderError, match="could not be started: No such file or directory"):
        await server.tools()
    assert server.state == "failed"
    with pytest.raises(ProviderError, match="ended with status 0"):
        await start(settings={"command": "echo", "args": ("hello",)}).tools()


async def test_a_stubborn_server_is_ended_by_force_and_who_leaves_does_not_wait(start: Start):
    server = start("stubborn")
    await server.tools()
    (pid,) = running()
    await server.close()
    assert not is_alive(pid)
    assert server.state == "idle"
    stubborn, polite = start("stubborn"), start()
    for server in (stubborn, polite):
        await server.tools()
    pids = running()
    assert len(pids) == 2
    stubborn.leave()
    polite.leave()
    assert any(map(is_alive, pids))
    assert all([await has_ended(pid) for pid in pids])


LEAVING = f"""
import asyncio
from tests.plugins.mcp.conftest import running
from tui_chat.plugins.mcp.server import Server
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.providers.client import HttpClient

async def main(how):
    settings = ServerSettings("bad", {sys.executable!r}, ("-S", {str(SCRIPT)!r}, *how.split()[1:]))
    server = Server(settings, HttpClient())
    await server.tools()
    print(*running(), flush=True)
    if how.startswith("killed"):
        await asyncio.sleep(600)
    server.leave()

import sys
asyncio.run(main(sys.argv[1]))
"""


@each_row("how", ["killed", "left", "left stubborn"])
async def test_no_orphan_is_left_by_a_program_that_ends(how: str):
    process = subprocess.Popen(
        [sys.executable, "-c", LEAVING, how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    if how == "killed":
        process.send_signal(signal.SIGKILL)
    _, errors = await asyncio.to_thread(process.communicate)
    assert errors == ""
    assert await has_ended(pid)


# --- Messages and questions of servers: nothing of theirs breaks us, or the package behind us


if TYPE_CHECKING:
    from tui_chat.plugins.mcp.transport import MessageFilter

METHODS = ["tools/list", "tools/call", "ping"]


def new_filter(version: str = "2026-07-28", method: str = "") -> MessageFilter:
    """Return a filter that saw a request, without importing the package to collect tests."""
    from mcp_types import JSONRPCRequest

    from tui_chat.plugins.mcp.transport import MessageFilter

    messages = MessageFilter()
    messages.version = version
    if method:
        messages.sent(JSONRPCRequest(jsonrpc="2.0", id=1, method=method))
    return messages


def test_lone_surrogates_arrays_and_deep_nesting():
    messages = new_filter()
    (message,) = messages.messages(b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}')
    assert message.message.result == {"a": "\ufffd"}
    ping = {"jsonrpc": "2.0", "id": "q", "method": "ping"}
    assert len(list(messages.messages(json.dumps([ping, ping]).encode()))) == 2
    assert list(messages.messages(b"[" * 100_000)) == []
    assert messages.noise == 1


def test_requests_that_nobody_reads_the_answers_of_are_dropped():
    from mcp_types import JSONRPCRequest, JSONRPCResponse

    messages = new_filter()
    ping = JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
    assert [messages.accept(ping) for _ in range(102)][-3:] == [True, False, False]
    messages.sent(JSONRPCResponse(jsonrpc="2.0", id=1, result={}))
    assert messages.accept(ping)


@each_row("amount", ["true", "-1", "1e400", "1" + "0" * 400, "NaN", '"1"', "null", "1e16"])
def test_a_progress_that_is_no_amount_is_dropped(amount: str):
    params = f'{{"progressToken": 1, "progress": {amount}, "total": 2}}'
    line = f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}'
    messages = new_filter()
    accepted = [messages.accept(message.message) for message in messages.messages(line.encode())]
    assert True not in accepted


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code"]), _VALUES
    ),
    st.sampled_from(METHODS),
    st.sampled_from(["2026-07-28", "2025-06-18"]),
)
def test_no_object_breaks_the_reader(value: dict[str, Any], method: str, version: str):
    messages = new_filter(version, method)
    for more in ({}, {"id": 1}):
        line = json.dumps({**value, "jsonrpc": "2.0", **more})
        for message in messages.messages(line.encode()):
            messages.accept(message.message)


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(line: bytes):
    list(new_filter().messages(line))


@given(_VALUES)
def test_no_question_breaks_the_reader(schema: Any):
    try:
        read_question("s", {"message": schema, "requestedSchema": schema, "mode": schema})
        read_question(
            "s", {"requestedSchema": {"properties": {"a": schema, "b": {"type": schema}}}}
        )
    except ValueError:
        return


def test_the_fields_of_a_form_check_their_values():
    schema = {
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 4},
            "age": {"type": "integer", "minimum": 0, "default": -1},
            "yes": {"type": "boolean", "default": True},
            "one": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
            "old": {"type": "string", "enum": ["x"]},
        },
        "required": ["name"],
    }
    form = read_question("s", {"message": "m", "requestedSchema": schema})
    assert isinstance(form, FormQuestion)
    kinds = [field.kind for field in form.fields]
    assert kinds == ["text", "integer", "boolean", "choice", "choice"]
    assert [field.default for field in form.fields[:3]] == [None, None, True]  # -1 is not allowed
    assert form.fields[3].choices == (("a", "A"), ("b", "b"))
    assert form.fields[4].choices == (("x", "x"),)
    good = {"name": "Ada", "age": 3, "yes": False, "one": "b"}
    assert form.faults(good) == {}
    bad = {"name": "x", "age": 1.5, "yes": 1, "one": "c", "old": 3}
    assert form.faults(bad) == {
        "name": "must be 2 characters or more",
        "age": "must be a whole number",
        "yes": "must be yes or no",
        "one": "must be one of the choices",
        "old": "must be one of the choices",
    }
    assert form.faults({}) == {"name": "is required"}


@each_row("url", ["javascript:alert(1)", "file:///etc/passwd", "http://a b", ""])
def test_only_a_url_of_the_web_may_be_shown(url: str):
    with pytest.raises(ValueError, match="URL"):
        read_question("s", {"mode": "url", "message": "m", "url": url})
