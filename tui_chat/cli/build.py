"""`tui-chat build`: print the request that the app would send, or its envelope as JSON."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from tui_chat import paths
from tui_chat.analysis.http_text import as_curl, as_http
from tui_chat.analysis.settings_report import parameter_json, set_parameters
from tui_chat.cli.app import preset_files
from tui_chat.cli.output import write_body, write_json, write_line, write_request
from tui_chat.compose import Composed, compose
from tui_chat.config import Config, load_config, standard_endpoint
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, read_text
from tui_chat.interop.messages import read_history
from tui_chat.library.lorebooks import read_lorebook
from tui_chat.library.presets import load_preset
from tui_chat.library.roles_and_profiles import load_profile, load_role
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Budget, Level, Note, Turn
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.role import Role
from tui_chat.models.settings import SettingError, parse_setting, setting_name
from tui_chat.models.text import Origin, clean
from tui_chat.protocols.detection import detect_protocol
from tui_chat.turn_file import read_turn


def run_build(settings: dict[str, object], options: dict[str, Any]) -> None:
    """Compose a request from files and print it. Raises InputError with file, place and fault."""
    if options["turn"]:
        _show(_recompose(options["turn"]), options["show"])
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
            settings=_settings(options["model"] or "", options["parameters"]),
            stream=options["stream"],
            context_limit=options["context_limit"],
            reply_reserve=options["reply_reserve"],
            now=parse_time(options["at"], "--at") if options["at"] else datetime.now().astimezone(),
            seed=seed,
            session_seed=seed,
            lorebooks=tuple(map(_lorebook, cast("tuple[Path, ...]", options["lorebooks"]))),
            variables=dict(map(_variable, cast("tuple[str, ...]", options["variables"]))),
        )
    )
    _show(composed, options["show"])


def _recompose(path: Path) -> Composed:
    """Compose the request of an exported turn; warn if it differs from the one that was sent."""
    turn = read_turn(read_text(path), str(path))
    composed = compose(turn.inputs)
    if composed.payload.sha256 != turn.request.sha256:
        sentence = f"warning: This differs from what tui-chat {turn.app} sent."
        write_line(sentence, err=True)
    return composed


def _preset(config: Config, preset: Path | None, role: Role | None) -> Path:
    """Return the preset with the given path or name; else the role's, else the plain one."""
    presets = preset_files(config)
    if preset is not None:
        return preset if preset.exists() else presets.get(str(preset), preset)
    if role is not None and role.preset:
        if role.preset in presets:
            return presets[role.preset]
        sentence = f"warning: The role's preset “{role.preset}” cannot be found; plain is used."
        write_line(sentence, err=True)
    return presets["plain"]


def _lorebook(path: Path) -> Lorebook:
    """Read a lorebook, and print its warnings. Raises InputError."""
    found = read_lorebook(read_text(path, max_bytes=MAX_BYTES), path.stem)
    found.file.raise_errors(str(path))
    assert found.book is not None  # it had no errors
    for finding in found.file.findings():
        if finding.level is Level.WARNING:
            write_line(f"{path}:{finding.line}: warning: {finding.sentence}", err=True)
    return found.book


def _settings(model: str, given: tuple[str, ...]) -> SessionSettings:
    values: dict[str, Any] = {}
    for words in given:
        name, separator, value = words.partition("=")
        if not separator:
            raise InputError(f"--set: “{words}” is not NAME=VALUE")
        try:
            values[setting_name(name)] = parse_setting(name, value)
        except SettingError as error:
            raise InputError(f"--set: {error}") from error
    return SessionSettings(model=model, **values)


def _variable(words: str) -> tuple[str, str]:
    name, separator, value = words.partition("=")
    if not (separator and name):
        raise InputError(f"--variable: “{words}” is not NAME=VALUE")
    return clean(name), clean(value)


def parse_time(text: str, source: str) -> datetime:
    """Parse an ISO 8601 time, in UTC if it has no offset. Raises InputError.

    UTC rather than the local zone: the same text gives the same request on every machine.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InputError(
            f"{source}: “{text}” is not a time; write it as 2025-06-30T18:05 or "
            "2025-06-30T18:05:00+02:00"
        ) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _endpoint(config: Config, options: dict[str, Any]) -> Endpoint:
    protocol = Protocol(options["protocol"]) if options["protocol"] else None
    if options["endpoint"]:
        endpoint = config.endpoint_named(options["endpoint"])
        if protocol not in (None, endpoint.protocol):
            raise InputError(
                f"The endpoint “{endpoint.name}” uses {endpoint.protocol}, not {protocol}."
            )
        return endpoint
    protocol = protocol or detect_protocol(options["model"] or "") or Protocol.OPENAI_CHAT
    return config.endpoint_named(standard_endpoint(protocol))


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


def envelope_json(composed: Composed) -> dict[str, Any]:
    """Return `{"turns", "dropped", "notes", "tokens", "parameters"}`."""
    envelope = composed.envelope
    parameters = envelope.parameters
    return {
        "turns": [
            _turn_json(turn, tokens)
            for turn, tokens in zip(envelope.turns, envelope.tokens, strict=True)
        ],
        "dropped": [
            {
                "role": dropped.role,
                "preview": dropped.preview,
                "tokens": dropped.tokens,
                "origin": _origin_json(dropped.origin),
            }
            for dropped in envelope.dropped
        ],
        "notes": [note_json(note) for note in composed.notes],
        "tokens": _budget_json(envelope.budget),
        "parameters": {
            name: {"value": parameter_json(sourced.value), "origin": _origin_json(sourced.origin)}
            for name, sourced in set_parameters(parameters)
        },
    }


def _turn_json(turn: Turn, tokens: int) -> dict[str, Any]:
    body: dict[str, Any] = {
        "role": turn.role,
        "content": turn.text.plain,
        "origin": _origin_json(turn.origin),
        "placement": _placement_json(turn),
        "tokens": tokens,
    }
    if len(turn.text.spans) > 1:
        body["spans"] = [
            {"text": span.text, "origin": _origin_json(span.origin), "start": span.start}
            for span in turn.text.spans
        ]
    if turn.tool_calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in turn.tool_calls
        ]
    if turn.tool_call_id:
        body["tool_call_id"] = turn.tool_call_id
    return body


def _placement_json(turn: Turn) -> dict[str, Any]:
    placement = turn.placement
    body: dict[str, Any] = {"kind": placement.kind, "rule": placement.rule}
    if placement.anchor:
        body["anchor"] = placement.anchor
    if placement.depth is not None:
        body["depth"] = placement.depth
    return body


def _origin_json(origin: Origin) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": origin.kind.value, "id": origin.id, "name": origin.name}
    if origin.within is not None:
        body["within"] = _origin_json(origin.within)
    return body


def note_json(note: Note) -> dict[str, Any]:
    """Return a note as `{"level", "code", "sentence", "origin", "place"}`."""
    return {
        "level": note.level.value,
        "code": note.code,
        "sentence": note.sentence,
        "origin": _origin_json(note.origin) if note.origin else None,
        "place": note.place,
    }


def _budget_json(budget: Budget | None) -> dict[str, Any]:
    if budget is None:
        return {}
    return {
        "total": budget.total,
        "fixed": budget.fixed,
        "history": budget.history,
        "dropped": budget.dropped,
        "limit": budget.limit,
        "reserve": budget.reserve,
        "free": budget.free,
        "counter": budget.counter,
        "exact": budget.exact,
    }
