"""Which program sent a request, by its headers and the command that the tap was started with."""

from __future__ import annotations

from tests.support.tables import each_row
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
