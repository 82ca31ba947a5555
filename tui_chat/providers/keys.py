"""API keys: a key reference is resolved to the key it names.

    env:NAME                 an environment variable
    keyring:SERVICE/NAME     an entry in the system's keyring (needs the `keyring` extra)
    command:PROGRAM ARGS     the first line that a program prints; no shell is involved
    file:PATH                the first line of a file that only its owner can read
    run:NAME                 a key that was typed in the app for as long as it runs; not in a file

1. A key is looked up when a request leaves, put into its header, and forgotten.
2. It is passed as a `Secret`, which no repr, log or traceback with local variables shows.
3. No error repeats the value found, nor a command's arguments or output: the key may have been put
   there by mistake.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Generator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from tui_chat.errors import InputError, KeyMissing, install_advice
from tui_chat.files import read_file, write_private

COMMAND_SECONDS = 60.0
"""Seconds that a key command may take: a password manager may ask for a fingerprint first."""

SERVICE = "tui-chat"
"""The keyring's service of the keys that `tui-chat keys` stores; their names are endpoints."""

_MAX_OUTPUT = 65_536
"""Bytes of a command's output that are searched for the key."""


class Secret:
    """A key on its way to a header; its repr is masked and it cannot be pickled."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key. Use it in the same expression; do not bind it to a name."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(••••)"

    def __reduce__(self) -> str:
        raise TypeError("a key must not be stored")


NO_KEYS: Mapping[str, Secret] = MappingProxyType({})

RunKeys = MutableMapping[str, Secret]
"""Keys that were typed in the app for as long as it runs, by the name of their endpoint."""


async def resolve_key(
    reference: str,
    environ: Mapping[str, str],
    run_keys: Mapping[str, Secret] = NO_KEYS,
    *,
    owner: str = "",
) -> Secret:
    """Return the key that a reference names; `owner` is whose key it is. Raises KeyMissing, with
    advice.
    """
    kind, _, rest = reference.partition(":")
    match kind:
        case "env" if rest:
            return _from_environment(rest, environ, owner)
        case "keyring" if all(rest.partition("/")):
            service, _, name = rest.partition("/")
            return await asyncio.to_thread(_from_keyring, service, name)
        case "command" if rest.strip():
            return await _from_command(rest)
        case "file" if rest.strip():
            return await asyncio.to_thread(_from_file, rest)
        case "run" if rest in run_keys:
            return run_keys[rest]
        case _:
            raise KeyMissing(
                "The endpoint's `key` is not a valid key reference.",
                advice="Write “env:NAME”, “keyring:SERVICE/NAME”, “file:PATH” or "
                "“command:PROGRAM ARGUMENTS”.",
            )


def describe_key_reference(reference: str) -> str:
    """Return a key reference in a form that may be shown: of a command only its program."""
    kind, _, rest = reference.partition(":")
    if kind in ("env", "keyring", "file"):
        return reference
    if kind == "run":
        return "typed for this run"
    return f"command:{_program(rest)} …" if kind == "command" else "an invalid key reference"


def _from_environment(name: str, environ: Mapping[str, str], owner: str) -> Secret:
    if not environ.get(name, "").strip():
        raise KeyMissing(
            f"No API key{f' for {owner}' if owner else ''} ({name} is not set).",
            advice=f"Set {name} and start again, enter a key (`/key` in the app, `tui-chat keys "
            "set` in a shell), or choose another endpoint.",
        )
    return _checked(
        Secret(environ[name]),
        f"The environment variable {name} contains characters that are invalid in a key.",
        f"Set {name} again, without a line break or quotation marks around the key.",
    )


def _from_file(name: str) -> Secret:
    path = Path(name).expanduser()
    try:
        status = path.stat()
        # Files of the system, such as mounted secrets, have the permissions that it gives them.
        own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        if os.name == "posix" and own and status.st_mode & 0o077:
            raise KeyMissing(
                f"The key file {path} can be read by other users of this machine.",
                advice=f"Run `chmod 600 {path}`.",
            )
    except OSError:
        pass  # reading it says why
    try:
        content = Secret(read_file(path, _MAX_OUTPUT).decode("utf-8", "replace"))
    except InputError as error:
        raise KeyMissing(str(error), advice="Enter the key again, or change `key`.") from None
    return _checked(
        Secret(content.reveal().partition("\n")[0]),
        f"The first line of {path} is not a key.",
        "Its first line must be the key and nothing else.",
    )


def typed_key(text: str) -> Secret:
    """Return a key that was typed or pasted. Raises KeyMissing if it cannot be one."""
    return _checked(
        Secret(text),
        "No key was given, or it contains invalid characters.",
        "Give the key alone, without quotation marks.",
    )


def store_key(service: str, name: str, key: Secret) -> None:
    """Put a key into the system's keyring. Raises KeyMissing, with advice."""
    with _keyring_of("written to") as keyring:
        keyring.set_password(service, name, key.reveal())


def key_file(data_dir: Path, endpoint: str) -> Path:
    """Return the file that keeps the key of an endpoint, if one does."""
    return data_dir.absolute() / "keys" / quote(endpoint, safe="")


def write_key_file(data_dir: Path, endpoint: str, key: Secret) -> str:
    """Write a key into a private file; return the reference to it. Raises InputError."""
    path = key_file(data_dir, endpoint)
    write_private(f"{key.reveal()}\n", path)
    with suppress(RuntimeError, ValueError):
        return f"file:~/{path.relative_to(Path.home()).as_posix()}"
    return f"file:{path}"


def has_keyring() -> bool:
    """Return True if the system has a keyring that can be written to."""
    try:
        with _keyring_of("read") as keyring:
            return keyring.get_keyring().priority >= 1
    except KeyMissing:
        return False


def delete_key(service: str, name: str) -> bool:
    """Remove a key from the system's keyring; False if it has none. Raises KeyMissing."""
    with _keyring_of("changed") as keyring:
        if keyring.get_password(service, name) is None:
            return False
        keyring.delete_password(service, name)
    return True


@contextmanager
def _keyring_of(verb: str) -> Generator[Any]:
    """Give the module for the system's keyring, and raise KeyMissing for whatever it raises."""
    try:
        keyring = import_module("keyring")
    except ImportError:
        raise KeyMissing(
            "The system's keyring is read by the package keyring, which is not installed.",
            advice=f"{install_advice('keyring')} Or use “env:NAME”.",
        ) from None
    try:
        yield keyring
    except Exception as error:  # backends raise exceptions of any type
        raise KeyMissing(
            f"The system's keyring could not be {verb} ({type(error).__name__}).",
            advice="Unlock it, or use “env:NAME” or “command:...” for this key.",
        ) from None


def _from_keyring(service: str, name: str) -> Secret:
    is_ours = service == SERVICE
    command = f"`tui-chat keys set {name}`" if is_ours else f"`keyring set {service} {name}`"
    with _keyring_of("read") as keyring:
        secret = Secret(keyring.get_password(service, name) or "")
    if not secret.reveal().strip():
        raise KeyMissing(
            f"The system's keyring has no entry {service}/{name}.",
            advice=f"Put the key there with {command}.",
        )
    return _checked(
        secret,
        f"The keyring's entry {service}/{name} contains characters that are invalid in a key.",
        f"Set it again with {command}.",
    )


async def _from_command(command: str) -> Secret:
    program = _program(command)
    try:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command), stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its quotation marks do not match"
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
            advice="Run it in a terminal to see whether it waits for input.",
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
        f"The first line that the key command {program} prints is not a key.",
        "Its first line must be the key and nothing else.",
    )


async def _first_line(process: Process) -> Secret:
    """Return the first line of the output; the rest is read and discarded."""
    assert process.stdout is not None
    kept = b""
    while chunk := await process.stdout.read(_MAX_OUTPUT):
        if b"\n" not in kept and len(kept) < _MAX_OUTPUT:
            kept += chunk
    return Secret(kept.partition(b"\n")[0].decode("utf-8", "replace"))


def _program(command: str) -> str:
    """Return the name of a command's program, for messages."""
    try:
        words = shlex.split(command)
    except ValueError:
        return "(unreadable)"
    return os.path.basename(words[0]) if words else "(empty)"


def _checked(secret: Secret, fault: str, advice: str) -> Secret:
    """Return the key without surrounding white space. Raises KeyMissing if it cannot be a key."""
    if not re.fullmatch(r"[!-~]+", secret.reveal().strip()):
        raise KeyMissing(fault, advice=advice)
    return Secret(secret.reveal().strip())
