"""`tui-chat build`: the request that the app would send, without the app."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from tui_chat import paths
from tui_chat.cli.app import preset_files
from tui_chat.cli.envelope_json import envelope_json
from tui_chat.cli.moment import moment
from tui_chat.cli.output import write_body, write_json, write_line, write_request
from tui_chat.compose import Composed, compose
from tui_chat.config import Config, load_config
from tui_chat.context import Inputs, Settings
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, read_text
from tui_chat.interop.history import read_history
from tui_chat.library import (
    load_preset,
    load_profile,
    load_role,
)
from tui_chat.library.lorebooks import read_lorebook
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Level
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.role import Role
from tui_chat.models.text import clean
from tui_chat.protocols.detection import detect_protocol
from tui_chat.recipe import read_turn
from tui_chat.request_text import as_curl, as_http

_PROVIDERS = {
    Protocol.OPENAI_CHAT: "openai",
    Protocol.OPENAI_RESPONSES: "openai-responses",
    Protocol.ANTHROPIC: "anthropic",
    Protocol.GEMINI: "google",
}


def run_build(settings: dict[str, object], options: dict[str, Any]) -> None:
    """Compose from files and print. Raises InputError naming the file, place and fault."""
    if options["turn"]:
        _show(_again(options["turn"]), options["show"])
        return
    config_dir = cast("Path | None", settings["config_dir"]) or paths.config_dir()
    config = load_config(config_dir, Path(), os.environ, {})
    endpoint = _endpoint(config, options)
    history: Path | None = options["history"]
    profile: Path | None = options["profile"]
    role = load_role(options["role"]) if options["role"] else None
    seed: int = options["seed"]
    composed = compose(
        Inputs(
            endpoint=endpoint,
            preset=load_preset(_preset(config, options["preset"], role)),
            history=read_history(read_text(history), str(history)) if history else (),
            draft=clean(options["draft"]),
            role=role,
            profile=load_profile(profile) if profile else None,
            settings=Settings(model=options["model"] or ""),
            stream=options["stream"],
            context_limit=options["context_limit"],
            reply_reserve=options["reply_reserve"],
            now=moment(options["at"], "--at") if options["at"] else datetime.now().astimezone(),
            seed=seed,
            session_seed=seed,
            lorebooks=tuple(map(_lorebook, cast("tuple[Path, ...]", options["lorebooks"]))),
            variables=dict(map(_variable, cast("tuple[str, ...]", options["variables"]))),
        )
    )
    _show(composed, options["show"])


def _again(path: Path) -> Composed:
    """Compose the request of an exported turn; tell where it is not what was sent."""
    turn = read_turn(read_text(path), str(path))
    composed = compose(turn.inputs)
    if composed.payload.sha256 != turn.request.sha256:
        sentence = f"warning: This is not what was sent; tui-chat {turn.app} made that."
        write_line(sentence, err=True)
    return composed


def _preset(config: Config, asked: Path | None, role: Role | None) -> Path:
    """Return the preset that is asked for, by path or name; else the role's, else the plain one."""
    presets = preset_files(config)
    if asked is not None:
        return asked if asked.exists() else presets.get(str(asked), asked)
    if role is not None and role.preset:
        if role.preset in presets:
            return presets[role.preset]
        sentence = f"warning: The role's preset “{role.preset}” cannot be found; plain is used."
        write_line(sentence, err=True)
    return presets["plain"]


def _lorebook(path: Path) -> Lorebook:
    """Read a lorebook, and tell what of it is not taken over. Raises InputError."""
    found = read_lorebook(read_text(path, max_bytes=MAX_BYTES), path.stem)
    found.file.raise_errors(str(path))
    assert found.book is not None  # no error, so there is one
    for finding in found.file.findings():
        if finding.level is Level.WARNING:
            write_line(f"{path}:{finding.line}: warning: {finding.sentence}", err=True)
    return found.book


def _variable(words: str) -> tuple[str, str]:
    name, separator, value = words.partition("=")
    if not (separator and name):
        raise InputError(f"--variable: “{words}” is not NAME=VALUE")
    return clean(name), clean(value)


def _endpoint(config: Config, options: dict[str, Any]) -> Endpoint:
    protocol = Protocol(options["protocol"]) if options["protocol"] else None
    if options["endpoint"]:
        endpoint = config.endpoint_named(options["endpoint"])
        if protocol not in (None, endpoint.protocol):
            raise InputError(
                f"The endpoint “{endpoint.name}” speaks {endpoint.protocol}, not {protocol}."
            )
        return endpoint
    protocol = protocol or detect_protocol(options["model"] or "") or Protocol.OPENAI_CHAT
    return config.endpoint_named(_PROVIDERS[protocol])


def _show(composed: Composed, what: str) -> None:
    match what:
        case "envelope":
            write_json(envelope_json(composed))
        case "request":
            write_request(as_http(composed))
        case "curl":
            write_request(as_curl(composed))
        case _:
            write_body(composed.payload.body)
            for note in composed.notes:
                write_line(f"{note.level}: {note.sentence}", err=True)
