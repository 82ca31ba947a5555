"""From a key reference to the key.

    env:NAME                 an environment variable
    keyring:SERVICE/NAME     an entry of the system's keyring (needs the `keyring` extra)
    command:PROGRAM ARGS     the first line that a program prints; no shell is involved

1. A key is looked up when a request leaves, put into its header, and forgotten.
2. It travels as a `Secret`, which no repr, log or traceback with local variables shows.
3. No error repeats what was found, nor a command's arguments or output: somebody may have put
   the key there by mistake.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module

from tui_chat.errors import KeyMissing

COMMAND_SECONDS = 60.0
"""How long a key command may take: a password manager may ask for a fingerprint first."""

_LONGEST = 65_536
"""Bytes of a command's output that are looked at."""


class Secret:
    """A key on its way to a header. Nothing shows what is inside."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key; to be put where it goes in the same expression."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(••••)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not to be stored")


async def find_key(reference: str, environ: Mapping[str, str]) -> Secret:
    """Follow a key reference. Raises KeyMissing, with what to do about it."""
    kind, _, rest = reference.partition(":")
    match kind:
        case "env" if rest:
            return _from_environment(rest, environ)
        case "keyring" if all(rest.partition("/")):
            service, _, name = rest.partition("/")
            return await asyncio.to_thread(_from_keyring, service, name)
        case "command" if rest.strip():
            return await _from_command(rest)
        case _:
            raise KeyMissing(
                "The endpoint's key is not a reference that can be followed.",
                advice="Write “env:NAME”, “keyring:SERVICE/NAME” or “command:PROGRAM ARGUMENTS”.",
            )


def place_of(reference: str) -> str:
    """Return where a key is, as it may be shown: of a command only its program."""
    kind, _, rest = reference.partition(":")
    if kind in ("env", "keyring"):
        return reference
    return f"command:{_program(rest)} …" if kind == "command" else "a reference nobody can follow"


def _from_environment(name: str, environ: Mapping[str, str]) -> Secret:
    if not environ.get(name, "").strip():
        raise KeyMissing(
            f"The environment variable {name} is not set, so there is no key to send.",
            advice=f"Set {name} and start again, or choose another endpoint.",
        )
    return _checked(
        Secret(environ[name]),
        f"The environment variable {name} holds characters that no key has.",
        f"Set {name} again; was a line break or a quotation mark pasted with it?",
    )


def _from_keyring(service: str, name: str) -> Secret:
    try:
        keyring = import_module("keyring")
    except ImportError:
        raise KeyMissing(
            "The key is in the system's keyring, and the part of tui-chat that reads it is not "
            "installed.",
            advice="Install it with `pip install 'tui-chat[keyring]'`, or use “env:NAME”.",
        ) from None
    try:
        found = Secret(keyring.get_password(service, name) or "")
    except Exception as error:  # backends raise whatever they like
        raise KeyMissing(
            f"The system's keyring could not be read ({type(error).__name__}).",
            advice="Unlock it, or use “env:NAME” or “command:...” for this key.",
        ) from None
    if not found.reveal().strip():
        raise KeyMissing(
            f"The system's keyring has no entry {service}/{name}.",
            advice=f"Put the key there with `keyring set {service} {name}`.",
        )
    return _checked(
        found,
        f"The keyring's entry {service}/{name} holds characters that no key has.",
        f"Set it again with `keyring set {service} {name}`.",
    )


async def _from_command(command: str) -> Secret:
    program = _program(command)
    try:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command), stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "the command cannot be read"
        raise KeyMissing(
            f"The key command {program} cannot be run: {why}.",
            advice="Check the endpoint's `key`; no shell is involved, so `|` and `$` mean nothing.",
        ) from None
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            line = await _first_line(process)
            status = await process.wait()
    except TimeoutError:
        raise KeyMissing(
            f"The key command {program} gave no key within {COMMAND_SECONDS:.0f} seconds.",
            advice="Run it in a terminal: does it wait for an answer?",
        ) from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(process.wait())
    if status != 0:
        raise KeyMissing(
            f"The key command {program} failed with exit status {status}.",
            advice="Run it in a terminal to see why; its output is not shown here.",
        )
    if not line.reveal().strip():
        raise KeyMissing(
            f"The key command {program} printed no key on its first line.",
            advice="Run it in a terminal to see what it prints.",
        )
    return _checked(
        line,
        f"What the key command {program} prints first is no key.",
        "Its first line must be the key and nothing else.",
    )


async def _first_line(process: Process) -> Secret:
    """Return the first line of the output; the rest is read and thrown away."""
    assert process.stdout is not None
    kept = b""
    while chunk := await process.stdout.read(_LONGEST):
        if b"\n" not in kept and len(kept) < _LONGEST:
            kept += chunk
    return Secret(kept.partition(b"\n")[0].decode("utf-8", "replace"))


def _program(command: str) -> str:
    """Return a command's program as it may be shown."""
    try:
        words = shlex.split(command)
    except ValueError:
        return "(unreadable)"
    return os.path.basename(words[0]) if words else "(empty)"


def _checked(found: Secret, fault: str, advice: str) -> Secret:
    """Return the key without white space around it. Raises KeyMissing where it can be none."""
    if not re.fullmatch(r"[!-~]+", found.reveal().strip()):
        raise KeyMissing(fault, advice=advice)
    return Secret(found.reveal().strip())
