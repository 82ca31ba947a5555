"""`tui-chat convert`: a request body of one protocol, said in another."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tui_chat import paths
from tui_chat.analysis import read_captured
from tui_chat.cli.build import note_json
from tui_chat.cli.files import named, read_bytes
from tui_chat.cli.output import write_body, write_json, write_line
from tui_chat.config import load_config
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced
from tui_chat.models.payload import render
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.registry import protocol_of

PLACEHOLDER = "MODEL"
"""Stands where a protocol demands a model and nobody named one."""


def run_convert(
    settings: dict[str, object],
    file: Path,
    source: Protocol | None,
    target: Protocol,
    *,
    model: str,
    endpoint: str,
    report: bool,
) -> None:
    """Print the converted body, and the notes with it or on the standard error stream.

    Without a `source` the request is looked for in the file, and tells itself whose it is.
    Raises InputError naming the file, the place in it and the fault.
    """
    place = _endpoint(settings, endpoint, target)
    request = read_bytes(file)
    if source is None:
        source, request = _found(request, named(file))
    body, notes = convert(request, source, place, model=model, name=named(file))
    if report:
        told = {"body": json.loads(body), "notes": [note_json(note) for note in notes]}
        write_json(told)
        return
    write_body(body)
    for note in notes:
        if note.level is not Level.INFO:
            write_line(f"{note.level}: {note.sentence}", err=True)


def _found(text: bytes, name: str) -> tuple[Protocol, bytes]:
    try:
        captured = read_captured(text.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte {error.start} is not UTF-8") from error
    except InputError as error:
        raise InputError(f"{name}: {error}", advice=error.advice) from error
    return captured.protocol, captured.body


def convert(
    body: bytes, source: Protocol, to: Endpoint, *, model: str = "", name: str = "request"
) -> tuple[bytes, Sequence[Note]]:
    """Return a request body of `source` as `to` wants it, and a note for all that was changed.

    `model` is asked instead of the one that the request names. `name` is the request's, for
    errors. Raises InputError.
    """
    try:
        envelope = protocol_of(source).decode(body)
    except InputError as error:
        raise InputError(f"{name}: {error}", advice=error.advice) from error
    envelope, told = _with_model(envelope, model, to.protocol)
    encoded = protocol_of(to.protocol).encode(envelope, to)
    said = render(encoded.tree).body
    notes = [*envelope.notes, *told, *encoded.notes]
    if source is to.protocol and not model and not any(n.level is not Level.INFO for n in notes):
        notes += _mended(json.loads(body.decode("utf-8-sig")), json.loads(said))
    return said, notes


def _mended(before: Any, after: Any, place: str = "") -> Iterator[Note]:
    """Tell where a request differs that should have come back as it was: its protocol does not
    have it like that (a call without arguments, a result that names no call).
    """
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = cast("tuple[dict[str, Any], dict[str, Any]]", (before, after))
        for key in dict.fromkeys([*pairs[0], *pairs[1]]):
            yield from _mended(pairs[0].get(key, _NONE), pairs[1].get(key, _NONE), f"{place}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):  # type: ignore[arg-type]
        for index, pair in enumerate(zip(before, after, strict=True)):  # type: ignore[arg-type]
            yield from _mended(*pair, f"{place}/{index}")
    elif before != after:
        sentence = f"What stood at {place} is no valid request; it is mended."
        yield Note(Level.WARNING, "mended", sentence, place=place)


_NONE = object()


def _with_model(
    envelope: ChatEnvelope, model: str, target: Protocol
) -> tuple[ChatEnvelope, Sequence[Note]]:
    """Return the envelope with the model that is to be asked, and what there is to say about it.

    Gemini has the model in the URL, so its requests name none; the others demand one.
    """
    asked, told = envelope.parameters, ()
    if not model and not asked.model.value:
        if target is envelope.semantics.source or protocol_of(target).model_in_path:
            return envelope, ()
        model = PLACEHOLDER
        sentence = f"The request names no model, so “{model}” stands in its place; give --model."
        told = (Note(Level.ERROR, "no-model", sentence, place="/model"),)
    if model:
        origin = Origin(OriginKind.SETTING, "model", "--model")
        asked = replace(asked, model=Sourced(model, origin))
    return replace(envelope, parameters=asked), told


def _endpoint(settings: dict[str, object], name: str, target: Protocol) -> Endpoint:
    """Return the endpoint whose facts count; without a name one of which nothing is known, so
    that the body is what every server of the protocol takes.
    """
    if not name:
        return Endpoint("convert", target, "")
    config_dir = cast("Path | None", settings["config_dir"]) or paths.config_dir()
    found = load_config(config_dir, Path(), os.environ, {}).endpoint_named(name)
    if found.protocol is not target:
        raise InputError(f"The endpoint “{found.name}” speaks {found.protocol}, not {target}.")
    return found
