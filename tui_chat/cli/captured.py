"""Captured requests and replies: `tui-chat inspect`, `read` and `convert`.

1. `inspect` opens the app on a captured request or an exported turn. Of a HAR file it lists the
   provider calls, and opens or explains one.
2. `read` prints a recorded reply of any protocol as JSON. Input that is not JSON is read as a
   stream of server-sent events, and several lines of JSON as a stream too, if the protocol
   streams so. A reply that was cut or refused is read as far as it goes, and `error` describes
   the failure. `usage` is as `Usage` has it, in every protocol: the input includes
   cached tokens, and the output includes reasoning. `refusal` is present only if the model declined
   in words apart from its text.
3. `convert` encodes a request body of one protocol in another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click

from tui_chat import extensions
from tui_chat.analysis import read_captured
from tui_chat.cli.app import run_app
from tui_chat.cli.build_request import note_json
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import (
    PROTOCOLS,
    endpoint_option,
    file_argument,
    json_option,
    model_option,
)
from tui_chat.cli.output import write_body, write_json, write_notes
from tui_chat.compose import encode
from tui_chat.errors import InputError, ProviderError, Refused
from tui_chat.files import LARGEST_REQUEST, STANDARD_INPUT, input_name
from tui_chat.library.file_reader import read_content
from tui_chat.models.citations import NO_REFERENCES
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced
from tui_chat.models.json_values import pack
from tui_chat.models.reply import Reply, advance
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.usage import usage_json
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers import recorded_events
from tui_chat.providers.client import JSON_LINES
from tui_chat.turn_file import holds_turn, read_turn


@click.command("convert")
@file_argument
@click.option(
    "--from",
    "source",
    type=click.Choice(PROTOCOLS),
    help="The protocol of FILE; default: detected.",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(PROTOCOLS),
    required=True,
    help="The protocol to convert to.",
)
@model_option("Replace the model. (Gemini requests have theirs in the URL.)", default="")
@endpoint_option("Encode for this endpoint's models; default: for any server.", default="")
@click.option("--report", is_flag=True, help='Print a JSON object with "body" and "notes".')
@click.pass_obj
def convert_command(
    common: CommonOptions,
    file: Path,
    source: str | None,
    target: str,
    model: str,
    endpoint: str,
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
    ways = Protocol(source) if source else None, Protocol(target)
    run_convert(common, file, *ways, model=model, endpoint=endpoint, report=report)


@click.command()
@file_argument
@click.option("--call", type=click.IntRange(min=1), help="Of a HAR file: the number of a call.")
@json_option("Of a HAR file: print JSON.")
@click.pass_obj
def inspect(common: CommonOptions, file: Path, call: int | None, as_json: bool) -> None:
    """Open a captured request in the inspector.

    FILE, or - for the standard input, is a request body of any protocol, text that contains one (a
    curl command, a log line), or an exported turn, which is composed again. The inspector explains
    and converts it, and can make a session and a preset of it.

    Of a HAR file, list the provider calls; open the one of --call, or explain it with --json, in
    the form of `tap --json`.

    \b
    Example:
      tui-chat inspect request.json
    """
    run_inspect(common, file, call, as_json=as_json)


@click.command()
@file_argument
@click.option(
    "--protocol",
    "--from",
    type=click.Choice(PROTOCOLS),
    help="The protocol of the reply; default: detected.",
)
def read(file: Path, protocol: str | None) -> None:
    """Parse a recorded reply and print it as JSON.

    FILE, or - for the standard input, is an event stream or JSON. Prints a JSON object with
    "content", "reasoning", "tool_calls", "finish_reason", "provider_finish_reason", "usage" (its
    input includes cached tokens, its output reasoning) and "error". A reply that was cut or refused
    is parsed as far as it goes.

    \b
    Example:
      tui-chat read reply.sse
    """
    run_read(file, Protocol(protocol) if protocol else None)


def run_inspect(
    common: CommonOptions, file: Path, call: int | None = None, *, as_json: bool = False
) -> None:
    """Open the app on a captured request; of a HAR file, print its calls unless one is chosen.

    Raises InputError, before the app opens, if the file contains none.
    """
    content = read_content(file, LARGEST_REQUEST)
    text = content.decode("utf-8", "replace")
    try:
        if choose := _chooser_of_calls(text):
            chosen = choose(text, call, as_json=as_json)
            if chosen is None:
                return
            text = chosen
        elif call is not None or as_json:
            raise InputError("--call and --json are for HAR files.", advice=_missing_reader())
        elif not holds_turn(text):
            _require_no_transcript(content, "request")
        if holds_turn(text):
            read_turn(text, "the turn")
        else:
            read_captured(text)
    except InputError as error:
        raise InputError(f"{input_name(file)}: {error}", advice=error.advice) from error
    if file == STANDARD_INPUT:
        _take_terminal()
    run_app(common, captured=text)


def _chooser_of_calls(text: str) -> Callable[..., str | None] | None:
    """Return what lists the calls of a file that holds several, and chooses one of them; None for
    any other text.
    """
    for plugin in extensions.plugins():
        for recording in plugin.recordings:
            if extensions.load_part(plugin, recording.detect)(text):
                return extensions.load_part(plugin, recording.choose)
    return None


def _missing_reader() -> str:
    """Return advice if a plugin that reads such files is not here."""
    missing = ", ".join(f"“{plugin}”" for plugin, _ in extensions.missing_plugins("recordings"))
    return f"The plugin {missing} reads them, and is not installed." if missing else ""


def _require_no_transcript(content: bytes, wanted: str) -> None:
    """Raise InputError if the content of a file is the conversations of a program."""
    from tui_chat.interop.reader import transcript_format

    if not (label := transcript_format(content)):
        return
    advice = "`tui-chat view FILE` shows it, and `tui-chat import FILE` imports it."
    if _chooser_of_calls(content.decode("utf-8", "replace")):
        advice = "`tui-chat inspect FILE` lists its calls, and `--call N` explains one."
    raise InputError(f"This holds conversations ({label}), not a {wanted}.", advice=advice)


def _name_file(file: Path, content: bytes, wanted: str) -> None:
    """Raise InputError that names the file, like `_require_no_transcript`."""
    try:
        _require_no_transcript(content, wanted)
    except InputError as error:
        raise InputError(f"{input_name(file)}: {error}", advice=error.advice) from error


def _take_terminal() -> None:
    """Replace the standard input, which was a file or pipe, by the terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:  # no terminal, or a system that has no such file
        advice = "Save the request to a file, and name that file."
        raise InputError("The screen needs a terminal to read keys from.", advice=advice) from error
    os.dup2(terminal, 0)
    os.close(terminal)


def run_read(file: Path, protocol: Protocol | None) -> None:
    """Print a reply as JSON; without a protocol, it is detected. Raises InputError if the file
    cannot be read.
    """
    content = read_content(file, LARGEST_REQUEST)
    _name_file(file, content, "reply")
    protocol = protocol or detect_reply(content)
    if protocol is None:
        raise InputError(
            f"{input_name(file)}: The protocol of the reply cannot be told from its keys.",
            advice="Name it with --protocol.",
        )
    reply, error = read_reply(content, protocol)
    write_json(reply_json(reply, error))


def read_reply(body: bytes, protocol: Protocol) -> tuple[Reply, ProviderError | None]:
    """Return the reply as far as it can be read, and the error that ended it, if any."""
    definition, reply = protocol_of(protocol), Reply()
    try:
        if not _is_stream(body, definition.stream_type):
            return definition.read_reply(body), None
        parser = definition.parser()
        for name, data in recorded_events(body):
            for event in parser.feed(name, data):
                reply = advance(reply, event)
        for event in parser.close():
            reply = advance(reply, event)
    except ProviderError as error:
        return reply, error
    return reply, None


_SIGNS: tuple[tuple[Protocol, Callable[[Mapping[str, Any]], bool]], ...] = (
    (Protocol.OPENAI_CHAT, lambda data: "choices" in data),
    (Protocol.GEMINI, lambda data: "candidates" in data or "promptFeedback" in data),
    (
        Protocol.OPENAI_RESPONSES,
        lambda data: (
            data.get("object") == "response" or str(data.get("type", "")).startswith("response.")
        ),
    ),
    (
        Protocol.ANTHROPIC,
        lambda data: (
            str(data.get("type", "")).startswith(("message", "content_block"))
            or (data.get("type") == "error" and "error" in data)
        ),
    ),
    (Protocol.OLLAMA, lambda data: "done" in data and ("message" in data or "response" in data)),
)
"""What only replies of a protocol have, at the top of a body or of an event."""


def detect_reply(body: bytes) -> Protocol | None:
    """Return the protocol of a recorded reply; None if nothing in it tells."""
    body = body.removeprefix(b"\xef\xbb\xbf").strip()
    texts: list[str | bytes] = [body]
    if _is_stream(body, ""):
        texts = [data for _, data in recorded_events(body)]
    if body[:1] == b"{":
        texts = [*texts, body.partition(b"\n")[0]]  # JSON lines
    for text in texts[:100]:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for data in cast("list[Any]", found)[:1] if isinstance(found, list) else [found]:
            for protocol, is_sign in _SIGNS if isinstance(data, dict) else ():
                if is_sign(cast("dict[str, Any]", data)):
                    return protocol
    return None


_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def _is_stream(body: bytes, media_type: str) -> bool:
    """Return True if the body is a stream of server-sent events, or of JSON lines where
    `media_type` is theirs, rather than JSON.
    """
    body = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if media_type == JSON_LINES and b"\n{" in body:
        return True
    return body[:1] not in (b"{", b"[") and any(
        line.startswith(_FIELDS) for line in body.splitlines()
    )


def reply_json(reply: Reply, error: ProviderError | None) -> dict[str, Any]:
    """Return a reply in the form that `read` prints."""
    finish, refusal = reply.finish, str(reply.refusal)
    references = reply.references.counted_in(reply.content)
    return {
        "content": reply.text,
        **({"refusal": refusal} if refusal else {}),
        "reasoning": reply.thought,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": str(call.arguments)}
            for call in reply.calls
        ],
        **({"parts": [json.loads(pack(part)) for part in reply.parts]} if reply.parts else {}),
        "finish_reason": finish.reason if finish else None,
        "provider_finish_reason": finish.raw if finish else None,
        **({"replaced": list(reply.replaced)} if reply.replaced else {}),
        **({"references": json.loads(pack(references))} if references != NO_REFERENCES else {}),
        "usage": usage_json(reply.usage),
        "error": _error_json(error) if error else None,
    }


def _error_json(error: ProviderError) -> dict[str, Any]:
    refused = error if isinstance(error, Refused) else None
    return {
        "kind": "cut" if refused is None else "refused",
        "message": str(error),
        "code": refused.code or None if refused else None,
        "status": refused.status if refused else None,
        "advice": error.advice,
    }


PLACEHOLDER = "MODEL"
"""The model of a converted request if the protocol requires one and none is known."""


def run_convert(
    common: CommonOptions,
    file: Path,
    source: Protocol | None,
    target: Protocol,
    *,
    model: str,
    endpoint: str,
    report: bool,
) -> None:
    """Print the converted body, with its notes in the report or on the standard error stream.

    Without a `source` the request is searched for in the file, and its protocol detected.
    Raises InputError naming the file, the place in it and the fault.
    """
    place = _endpoint(common, endpoint, target)
    request = read_content(file, LARGEST_REQUEST)
    _name_file(file, request, "request")
    if source is None:
        source, request = _found(request, input_name(file))
    body, notes = convert(request, source, place, model=model, name=input_name(file))
    if report:
        write_json({"body": json.loads(body), "notes": [note_json(note) for note in notes]})
        return
    write_body(body)
    write_notes(notes)


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
    """Return a request body of protocol `source` encoded for the endpoint `to`, and notes.

    `model` replaces the request's model. `name` is what errors call the request. Raises
    InputError.
    """
    try:
        envelope = protocol_of(source).decode(body)
    except InputError as error:
        raise InputError(f"{name}: {error}", advice=error.advice) from error
    envelope, model_notes = _with_model(envelope, model, to.protocol)
    composed = encode(envelope, to)
    converted = composed.payload.body
    notes = [*model_notes, *composed.notes]
    if source is to.protocol and not model and not any(n.level is not Level.INFO for n in notes):
        notes += _repair_notes(json.loads(body.decode("utf-8-sig")), json.loads(converted))
    return converted, notes


def _repair_notes(before: Any, after: Any, place: str = "") -> Iterator[Note]:
    """Yield a note for each difference that encoding in the request's own protocol made.

    These are places where the request was invalid: a call without arguments, a result that names
    no call.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = cast("tuple[dict[str, Any], dict[str, Any]]", (before, after))
        for key in dict.fromkeys([*pairs[0], *pairs[1]]):
            yield from _repair_notes(
                pairs[0].get(key, _NONE), pairs[1].get(key, _NONE), f"{place}/{key}"
            )
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
    if not model and not parameters.model.value:
        if target is envelope.semantics.source or protocol_of(target).model_in_path:
            return envelope, ()
        model = PLACEHOLDER
        sentence = f"The request names no model. “{model}” is a placeholder; set --model."
        notes = (Note(Level.ERROR, "no-model", sentence, place="/model"),)
    if model:
        origin = Origin(OriginKind.SETTING, "model", "--model")
        parameters = replace(parameters, model=Sourced(model, origin))
    return replace(envelope, parameters=parameters), notes


def _endpoint(common: CommonOptions, name: str, target: Protocol) -> Endpoint:
    """Return the endpoint with this name. Without a name, return one without any facts, so that
    every server of the protocol accepts the body.
    """
    if not name:
        return Endpoint("convert", target, "")
    found = common.config().endpoint_named(name)
    if found.protocol is not target:
        raise InputError(f"The endpoint “{found.name}” uses {found.protocol}, not {target}.")
    return found
