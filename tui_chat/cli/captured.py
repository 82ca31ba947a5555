"""Captured requests and replies: `tui-chat inspect`, `convert` and `read`.

1. `inspect` opens the app on a captured request or an exported turn.
2. `convert` encodes a request body of one protocol in another.
3. `read` prints a reply as JSON: server-sent events, one JSON text, or several lines of JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click

from tui_chat.analysis.captured_request import read_captured
from tui_chat.cli.app import run_app
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import (
    PROTOCOLS,
    file_argument,
    model_option,
)
from tui_chat.cli.output import write_body, write_json, write_notes
from tui_chat.compose import encode
from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, STANDARD_INPUT, input_name
from tui_chat.library.file_reader import read_content
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.response_recorder import read_recorded
from tui_chat.turn_file import holds_turn, read_turn

PLACEHOLDER = "MODEL"
"""The model of a converted request if the protocol requires one and none is known."""


@contextmanager
def named_in_errors(name: str) -> Generator[None]:
    """Put the name of a file before the errors of the block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}", advice=error.advice) from error


# Requests


@click.command()
@file_argument
@click.pass_obj
def inspect(common: CommonOptions, file: Path) -> None:
    """Open a captured request in the inspector.

    FILE, or - for the standard input, is a request body of any protocol, text that contains one (a
    curl command, a log line), or an exported turn, which is composed again. The inspector explains
    and converts it, and can make a session and a preset of it.

    \b
    Example:
      tui-chat inspect request.json
    """
    text = read_content(file, LARGEST_REQUEST).decode("utf-8", "replace")
    with named_in_errors(input_name(file)):
        if holds_turn(text):
            read_turn(text, "the turn")
        else:
            read_captured(text)
    if file == STANDARD_INPUT:
        _take_terminal()
    run_app(common, captured=text)


def _take_terminal() -> None:
    """Replace the standard input, which was a file or pipe, by the terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:  # no terminal, or a system that has no such file
        advice = "Save the request to a file, and name that file."
        raise InputError("The screen needs a terminal to read keys from.", advice=advice) from error
    os.dup2(terminal, 0)
    os.close(terminal)


@click.command("convert")
@file_argument
@click.option(
    *("--from", "source"),
    type=click.Choice(PROTOCOLS),
    help="The protocol of FILE; default: detected.",
)
@click.option(
    *("--to", "target"),
    type=click.Choice(PROTOCOLS),
    required=True,
    help="The protocol to convert to.",
)
@model_option("Replace the model. (Gemini requests have theirs in the URL.)", default="")
@click.option("--report", is_flag=True, help='Print a JSON object with "body" and "notes".')
def convert_command(
    file: Path,
    source: str | None,
    target: str,
    model: str,
    report: bool,
) -> None:
    """Convert a request body to another protocol.

    FILE may be - for the standard input. Without --from, the body may also be inside other text,
    such as a curl command. Changes and losses are reported on the standard error stream, or with
    --report as notes. Converted to its own protocol, a request stays the same.

    \b
    Examples:
      tui-chat convert request.json --to gemini --report
      pbpaste | tui-chat convert - --to anthropic --model claude-sonnet-4-5
    """
    to = Endpoint("convert", Protocol(target), "")  # one without facts, whose body all accept
    name, request = input_name(file), read_content(file, LARGEST_REQUEST)
    protocol = Protocol(source) if source else None
    if protocol is None:
        try:
            with named_in_errors(name):
                captured = read_captured(request.decode())
        except UnicodeDecodeError as error:
            raise InputError(f"{name}: byte {error.start} is not UTF-8") from error
        protocol, request = captured.protocol, captured.body
    body, notes = convert(request, protocol, to, model=model, name=name)
    if report:
        from tui_chat.cli.documents import ConvertedDocument, NoteDocument, document

        documents = tuple(document(NoteDocument, note) for note in notes)
        write_json(ConvertedDocument(json.loads(body), documents))
    else:
        write_body(body)
        write_notes(notes)


def convert(
    body: bytes, source: Protocol, to: Endpoint, *, model: str = "", name: str = "request"
) -> tuple[bytes, Sequence[Note]]:
    """Return a request body of protocol `source` encoded for the endpoint `to`, and notes.

    `model` replaces the request's model. `name` is what errors call the request. Raises
    InputError.
    """
    with named_in_errors(name):
        envelope = protocol_of(source).decode(body)
    envelope, model_notes = _with_model(envelope, model, to.protocol)
    composed = encode(envelope, to)
    converted = composed.payload.body
    notes = [*model_notes, *composed.notes]
    if source is to.protocol and not model and not any(n.level is not Level.INFO for n in notes):
        notes += _repair_notes(json.loads(body.decode("utf-8-sig")), json.loads(converted))
    return converted, notes


def _repair_notes(before: Any, after: Any, place: str = "") -> Iterator[Note]:
    """Yield a note for each difference that encoding in the request's own protocol made: places
    where the request was invalid, such as a call without arguments.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("tuple[dict[str, Any], dict[str, Any]]", (before, after))
        for key in dict.fromkeys([*old, *new]):
            yield from _repair_notes(old.get(key, _NONE), new.get(key, _NONE), f"{place}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):  # type: ignore[arg-type]
        for index, pair in enumerate(zip(before, after, strict=True)):  # type: ignore[arg-type]
            yield from _repair_notes(*pair, f"{place}/{index}")
    elif before != after:
        sentence = f"The value at {place} is not valid in this protocol and was repaired."
        yield Note(Level.WARNING, "repaired", sentence, place=place)


_NONE = object()


def _with_model(
    envelope: ChatEnvelope, model: str, target: Protocol
) -> tuple[ChatEnvelope, Sequence[Note]]:
    """Return the envelope with the model of the converted request, and notes about it.

    Gemini has the model in the URL, so its requests name none; the others require one.
    """
    parameters, notes = envelope.parameters, ()
    if not model and not parameters.values.model:
        if target is envelope.source or protocol_of(target).model_in_path:
            return envelope, ()
        model = PLACEHOLDER
        sentence = f"The request names no model. “{model}” is a placeholder; set --model."
        notes = (Note(Level.ERROR, "no-model", sentence, place="/model"),)
    if model:
        origin = Origin(OriginKind.SETTING, "model", "--model")
        parameters = parameters.with_value("model", model, origin)
    return replace(envelope, parameters=parameters), notes


# Replies


@click.command()
@file_argument
@click.option(
    "--protocol", type=click.Choice(PROTOCOLS), required=True, help="The protocol of the reply."
)
def read(file: Path, protocol: str) -> None:
    """Parse a recorded reply and print it as JSON.

    FILE, or - for the standard input, is an event stream or JSON. Prints a JSON object with
    "content", "reasoning", "tool_calls", "finish_reason", "provider_finish_reason", "usage" (its
    input includes cached tokens, its output reasoning) and "error". A reply that was cut or refused
    is parsed as far as it goes.

    \b
    Example:
      tui-chat read reply.sse --protocol anthropic
    """
    content = read_content(file, LARGEST_REQUEST)
    from tui_chat.cli.documents import recorded_reply_document

    write_json(recorded_reply_document(*read_recorded(content, Protocol(protocol))))
