"""Programs that the tap starts, and what is recorded of them."""

from __future__ import annotations

from typing import Any

import httpx

from tests.plugins.tap.conftest import Recording
from tests.support.tables import each_row
from tui_chat.plugins.tap.command import call_line, heading
from tui_chat.plugins.tap.programs import Program, program_of

CASES: dict[str, tuple[dict[str, str], tuple[str, ...], Program]] = {
    "claude": (
        {"User-Agent": "claude-cli/2.1.197 (external, sdk-cli)"},
        ("claude", "-p", "Hi"),
        Program("Claude Code", "2.1.197"),
    ),
    "codex": (
        {"user-agent": "codex_exec/0.169.0 (Debian 12; x86_64) xterm (codex_exec; 0.169.0)"},
        (),
        Program("Codex", "0.169.0"),
    ),
    "gemini": (
        {"User-Agent": "GeminiCLI-tui/0.61.0/gemini-3-pro (linux; x64; terminal)"},
        (),
        Program("Gemini CLI", "0.61.0"),
    ),
    "a program that nobody knows": (
        {"User-Agent": "opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14"},
        (),
        Program("opencode", "1.18.33"),
    ),
    "the library stands first": (
        {"User-Agent": "python-httpx/0.28 my-agent/7"},
        (),
        Program("my-agent", "7"),
    ),
    "an SDK behind a command": (
        {"user-agent": "OpenAI/Python 3.54.0"},
        ("llm", "-m", "gpt-4o-mini", "hi"),
        Program("llm"),
    ),
    "an SDK without a command": (
        {"user-agent": "OpenAI/Python 3.54.0"},
        (),
        Program("OpenAI/Python", "3.54.0"),
    ),
    "a script": ({"user-agent": "Anthropic/JS 0.9"}, ("python3", "-u", "b.py"), Program("b.py")),
    "a module": ({}, ("python", "-m", "my_agent", "x"), Program("my_agent")),
    "program text": ({"user-agent": "Bun/1.3"}, ("bash", "-c", "curl x"), Program("bash")),
    "variables": ({"user-agent": "node"}, ("env", "A=1", "/usr/bin/aider", "x"), Program("aider")),
    "a title": (
        {"X-Title": "Roo Code", "User-Agent": "OpenAI/JS 5.0"},
        ("node", "x.js"),
        Program("Roo Code"),
    ),
    "a browser": (
        {"User-Agent": "Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/130 Safari/537 Writer/2"},
        (),
        Program("Writer", "2"),
    ),
    "nothing": ({}, (), Program()),
}  # fmt: skip


@each_row("case", CASES)
def test_the_program_of_a_request(case: str):
    headers, command, program = CASES[case]
    found = program_of(tuple(headers.items()), command)
    assert found == program


def test_a_hostile_name_is_harmless():
    found = program_of((("User-Agent", "a\x1b[31mb\u202e/1"),))
    assert not {"\x1b", "\u202e"} & set(found.name)


# --- Side conversations, programs and lost caches of recorded calls, stored and as lines --


LONG = "The ferry leaves at dawn, and nobody has asked why. " * 400


async def ask(tap: Recording, text: str, *tools: str, system: str = "", said: str = "") -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": text}]
    if said:
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": said}]
    body: dict[str, Any] = {"model": "echo", "max_tokens": 99, "messages": messages}
    if tools:
        schema = {"type": "object", "properties": {}}
        body["tools"] = [{"name": name, "input_schema": schema} for name in tools]
    if system:
        mark = {"type": "ephemeral"}
        body["system"] = [{"type": "text", "text": system, "cache_control": mark}]
    headers = {
        "x-claude-code-session-id": "one",
        "user-agent": "claude-cli/2.1.197 (external, cli)",
        "anthropic-version": "2023-06-01",
        "x-api-key": "sk-planted-0123456789abcdefghij",
    }
    async with httpx.AsyncClient(trust_env=False) as client:
        reply = await client.post(f"{tap.base_url}/v1/messages", json=body, headers=headers)
        assert reply.status_code == 200


async def test_titles_and_subagents_belong_to_their_session(tap: Recording):
    await ask(tap, "Write the title of: Build it", system="You write titles.")
    await tap.recorded(1)
    await ask(tap, "Build it", "Read", "Agent", system="You build.")
    await ask(tap, "Look for it", "Read", system="You look.")
    await ask(tap, "Go on after the summary", "Read", "Agent", system="You build.")
    title, main, agent, further = await tap.recorded(4)
    number = main.placed.conversation
    assert [c.placed.conversation.main for c in (title, main, agent, further)] == [
        *(number, None, number, None)
    ]
    assert {c.call.program.name for c in (title, main, agent, further)} == {"Claude Code"}
    sessions = {session.session_id: session for session in await tap.sessions()}
    parents = [sessions[c.session_id].parent_id for c in (title, main, agent, further)]
    assert parents == [main.session_id, "", main.session_id, ""]
    assert {session.client for session in sessions.values()} == {"Claude Code"}
    assert "└ Claude Code" in call_line(title, 0.0)
    assert "└" not in call_line(main, 0.0)


async def test_a_changed_prompt_loses_what_was_cached(tap: Recording):
    await ask(tap, "One", "Read", system=LONG)
    await ask(tap, "One", "Read", system=LONG, said="Two")
    await ask(tap, "One", "Read", system=f"Monday. {LONG}", said="Two again")
    one, two, three = await tap.recorded(3)
    assert (one.loss, two.loss) == (None, None)
    assert two.reply.usage.cached > 1024
    assert three.reply.usage.cached == 0
    assert three.loss.tokens == two.reply.usage.cached
    assert three.loss.cause.endswith((" has changed.", " differ."))
    transcript = await tap.store.transcripts.get(three.session_id)
    losses = [e.cache_loss for e in transcript.entries if e.cache_loss is not None]
    assert losses == [three.loss]
    first, second = call_line(three, 0.0).splitlines()
    assert heading().split() == [
        *("time", "program", "model", "input", "cached", "written", "lost", "cost")
    ]
    assert first.split()[1:4] == ["Claude", "Code", "echo"]
    assert second.strip() == three.loss.sentence
