"""Key references: what they find, what they say when they do not, and what they never show."""

from __future__ import annotations

import asyncio
import copy
import pickle
import sys
import types
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tui_chat.errors import KeyMissing
from tui_chat.providers import keys
from tui_chat.providers.keys import Secret, describe_key_reference, resolve_key

KEY = "sk-proj-0123456789abcdef"
PYTHON = sys.executable


def printing(code: str) -> str:
    return f"command:{PYTHON} -c '{code}'"


class Backend(types.ModuleType):
    """A stand-in for the keyring package."""

    def __init__(self, entries: dict[tuple[str, str], str], error: Exception | None = None):
        super().__init__("keyring")
        self.entries, self.error = entries, error

    def get_password(self, service: str, name: str) -> str | None:
        if self.error is not None:
            raise self.error
        return self.entries.get((service, name))


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Backend:
    backend = Backend({("chat", "work"): KEY, ("chat", "a/b"): KEY, ("chat", "odd"): KEY + "\n\n"})
    monkeypatch.setitem(sys.modules, "keyring", backend)
    return backend


FOUND = {
    "environment": "env:NAME",
    "environment with space around": "env:SPACED",
    "keyring": "keyring:chat/work",
    "keyring with a slash in the name": "keyring:chat/a/b",
    "keyring with line breaks": "keyring:chat/odd",
    "command": printing(f'print("{KEY}")'),
    "command's first line only": printing(f'print("{KEY}"); print("user: me")'),
    "command with CRLF": printing(f'import sys; sys.stdout.write("{KEY}" + chr(13) + chr(10))'),
    "command without line break": printing(f'import sys; sys.stdout.write("{KEY}")'),
    "command with much output": printing(f'print("{KEY}"); print("x" * 3000000)'),
}


@each_row("how", FOUND)
async def test_a_reference_leads_to_the_key(how: str, keyring: Backend):
    found = await resolve_key(FOUND[how], {"NAME": KEY, "SPACED": f" {KEY}\n"})
    assert found.reveal() == KEY


BROKEN = {
    "nothing set": ("env:NAME", "NAME is not set", "Set NAME"),
    "blank": ("env:BLANK", "BLANK is not set", "Set BLANK"),
    "two lines": ("env:LINES", "characters that are invalid in a key", "LINES"),
    "not ASCII": ("env:QUOTES", "characters that are invalid in a key", "quotation mark"),
    "no entry": ("keyring:chat/none", "no entry chat/none", "keyring set chat none"),
    "no such program": ("command:/no/such/program get", "program cannot be run", "no shell"),
    "bad quotes": ("command:echo '" + KEY, "cannot be run", "no shell"),
    "failing": (printing(f'print("{KEY}"); raise SystemExit(3)'), "exit status 3", "terminal"),
    "silent": (printing("pass"), "printed no key", "terminal"),
    "blank line first": (printing(f'print(); print("{KEY}")'), "printed no key", "terminal"),
    "a sentence": (printing(f'print("the key is {KEY}")'), "is not a key", "nothing else"),
    "no kind": (KEY, "not a valid key reference", "env:NAME"),
    "unknown kind": (f"vault:{KEY}", "not a valid key reference", "env:NAME"),
    "keyring without name": (f"keyring:{KEY}", "not a valid key reference", "SERVICE/NAME"),
}


@each_row("fault", BROKEN)
async def test_a_broken_reference_gives_advice_and_reveals_nothing(fault: str, keyring: Backend):
    reference, words, advice = BROKEN[fault]
    environ = {"BLANK": " ", "LINES": f"{KEY}\n{KEY}", "QUOTES": f"“{KEY}”"}
    with pytest.raises(KeyMissing) as raised:
        await resolve_key(reference, environ)
    assert words in str(raised.value)
    assert advice in raised.value.advice
    assert KEY not in str(raised.value) + raised.value.advice
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


async def test_a_keyring_failure_names_only_its_kind(keyring: Backend):
    keyring.error = RuntimeError(f"locked while reading {KEY}")
    with pytest.raises(KeyMissing) as raised:
        await resolve_key("keyring:chat/work", {})
    assert "RuntimeError" in str(raised.value)
    assert KEY not in str(raised.value)


async def test_a_missing_keyring_package_gives_install_advice(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(KeyMissing) as raised:
        await resolve_key("keyring:chat/work", {})
    assert "pip install keyring" in raised.value.advice


async def test_no_shell_sees_a_command(tmp_path):
    mark = tmp_path / "mark"
    with pytest.raises(KeyMissing):
        await resolve_key(f"command:echo a; touch {mark}", {})
    assert (await resolve_key("command:echo $HOME", {})).reveal() == "$HOME"
    assert not mark.exists()


async def test_a_command_that_waits_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(keys, "COMMAND_SECONDS", 0.3)
    async with asyncio.timeout(20):
        with pytest.raises(KeyMissing, match="gave no key within"):
            await resolve_key(printing("import time; time.sleep(60)"), {})


async def test_a_command_is_ended_with_the_request():
    task = asyncio.create_task(resolve_key(printing("import time; time.sleep(60)"), {}))
    await asyncio.sleep(0.2)
    task.cancel()
    async with asyncio.timeout(20):
        with pytest.raises(asyncio.CancelledError):
            await task


def test_a_secret_is_never_shown():
    secret = Secret(KEY)
    assert KEY not in f"{secret} {secret!r} {[secret]} { {'key': secret} }"
    for keep in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError):
            keep(secret)


@each_row(
    ("reference", "shown"),
    [
        ("env:NAME", "env:NAME"),
        ("keyring:chat/work", "keyring:chat/work"),
        (f"command:/usr/bin/op read {KEY}", "command:op …"),
        (f"command:'{KEY}", "command:(unreadable) …"),
        (KEY, "an invalid key reference"),
    ],
)
def test_of_a_command_only_the_program_is_shown(reference: str, shown: str):
    assert describe_key_reference(reference) == shown


async def test_a_file_of_the_users_that_others_can_read_is_refused(tmp_path: Path):
    file = tmp_path / "key"
    file.write_text(f"{KEY}\nmore\n")
    file.chmod(0o600)
    assert (await resolve_key(f"file:{file}", {})).reveal() == KEY
    file.chmod(0o640)
    with pytest.raises(KeyMissing) as raised:
        await resolve_key(f"file:{file}", {})
    assert "can be read by other users" in str(raised.value)
    assert f"chmod 600 {file}" in raised.value.advice
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(("content", "words"), [("", "not a key"), ("two words", "not a key")])
async def test_a_file_without_a_key_is_named(content: str, words: str, tmp_path: Path):
    file = tmp_path / "key"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(KeyMissing, match=words):
        await resolve_key(f"file:{file}", {})
    with pytest.raises(KeyMissing, match="none"):
        await resolve_key(f"file:{tmp_path / 'none'}", {})


async def test_a_key_of_this_run_is_in_no_other(tmp_path: Path):
    keys_of_run = {"work": Secret(KEY)}
    assert (await resolve_key("run:work", {}, keys_of_run)).reveal() == KEY
    with pytest.raises(KeyMissing, match="not a valid key reference"):
        await resolve_key("run:work", {})
    assert describe_key_reference("run:work") == "typed for this run"
