"""`tui-chat build`: print the request that `ask` would send, or its envelope as JSON."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_chat.analysis.http_text import as_curl, as_http
from tui_chat.cli.app import synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import INPUT, PROTOCOLS, PluginChoice, option, takes
from tui_chat.cli.output import (
    finish,
    write_body,
    write_json,
    write_line,
    write_notes,
    write_request,
)
from tui_chat.cli.question import (
    PRESET_HELP,
    ROLE_HELP,
    Question,
    completed,
    read_message,
    read_part,
    refuse,
    require_consistent,
)
from tui_chat.cli.workspace import (
    choose,
    choose_role,
    command_workspace,
    leave_pending_edits,
    load_tools,
    open_session,
)
from tui_chat.compose import Composed, compose
from tui_chat.config import Config, standard_endpoint
from tui_chat.context import Inputs
from tui_chat.context.builders import prepared
from tui_chat.context.generation import of_kind
from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, STANDARD_INPUT, input_name
from tui_chat.hooks import load_named, parts
from tui_chat.interop.messages import read_history
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.library import Kind, doubts_of
from tui_chat.library.presets import load_preset
from tui_chat.library.roles_and_profiles import load_role
from tui_chat.models.endpoint import Protocol
from tui_chat.models.generation import generation_kinds, side_kind
from tui_chat.models.message import Message
from tui_chat.models.text import clean
from tui_chat.protocols.common.losses import NOTHING_TO_SEND
from tui_chat.turn_file import read_turn
from tui_chat.workspace.attachments import stored_attachment

if TYPE_CHECKING:
    from tui_chat.models.blocks import MediaBlock
    from tui_chat.models.generation import GenerationKind

_ADDED_FORMS = tuple(form.name for _, form in parts("request form"))
"""The documents of a request that plugins print, by name."""


_FILE_OR_NAME = "FILE|NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions(Question):
    """A question, whose role and preset may be files, and what `ask` does not have."""

    role: str | None = option(metavar=_FILE_OR_NAME, help=ROLE_HELP)
    preset: str | None = option(
        *("-t", "--preset"),
        metavar=_FILE_OR_NAME,
        help=PRESET_HELP,
    )
    history: Path | None = option(type=INPUT, help="A JSON array or JSONL of messages.")
    turn: Path | None = option(
        type=INPUT, help="A turn exported by the app, whose request is composed again."
    )
    protocol: str | None = option(type=click.Choice(PROTOCOLS), help="The protocol of the request.")
    kind: GenerationKind = option(
        type=PluginChoice(generation_kinds),
        default="normal",
        help="What to generate. TEXT is the instruction of a kind that takes one.",
    )
    tools: bool = option(
        "--tools/--no-tools",
        default=True,
        help="Start the servers whose tools the session may offer, as `ask` and the app do.",
    )
    show: str = option(
        type=click.Choice(["payload", "envelope", "request", "curl", *_ADDED_FORMS]),
        default="payload",
        show_default=True,
        help="The exact body; the turns with their origins; the whole request; a curl command; or "
        "what a plugin says of it.",
    )


@click.command()
@takes(BuildOptions)
@click.pass_obj
def build(common: CommonOptions, options: BuildOptions) -> None:
    """Print the request that `ask` would send.

    TEXT and the options that both have mean the same: endpoint, model, role, preset and tools are
    those of the options, else of the session that -s or -c names, else of the configuration. With
    nothing configured the request has only TEXT. Without TEXT it is the next request of the session
    with its stored draft. A FILE may be - for the standard input, and so may TEXT.

    The bytes are exact, and nothing is sent or stored. On a terminal, control and invisible
    characters are printed as JSON escapes.

    \b
    Examples:
      tui-chat build "Hello"
      tui-chat build --session "A walk" - < question.txt
      tui-chat build --preset my.json --role Critic --model gpt-5 --show curl
    """
    if options.turn is not None:
        composed = _recompose(options.turn)
    else:
        text, parts = _read(options)
        composed = _compose(common.config(), completed(options), text, parts)
    _show(composed, options.show)
    if any(note.code != NOTHING_TO_SEND.code for note in composed.errors):
        finish()
        sys.exit(2)


def _read(question: BuildOptions) -> tuple[str, tuple[MediaBlock, ...]]:
    """Return the message and its attachments. Raises InputError."""
    history = str(question.history)
    named = {"--role": question.role, "--preset": question.preset, "--history": history}
    named |= {"TEXT": "-" if "-" in question.words else ""}
    inputs = [name for name, value in named.items() if value == "-"] + question.standard_inputs
    refuse((len(inputs) > 1, f"{' and '.join(inputs)} cannot all be the standard input.", ""))
    is_free = not inputs or inputs == ["TEXT"]
    text = read_message(question, may_be_piped=is_free)
    parts = tuple(map(read_part, question.attachments))
    kind, side = question.kind, side_kind(question.kind)
    takes_message = kind == "normal" or (side is not None and side.takes_prompt)
    refuse(
        (
            (text.strip() or parts) and not takes_message,
            f"--kind {kind} takes no message.",
            "Omit it.",
        ),
    )
    require_consistent(question)
    return clean(text), parts


@synchronous
async def _compose(
    config: Config, question: BuildOptions, text: str, parts: tuple[MediaBlock, ...]
) -> Composed:
    """Return the request that `ask` would send, with the changes that the options make."""
    async with command_workspace(config, create=False) as (workspace, failures):
        await open_session(workspace, failures, question)
        role_file = _file(question.role, "roles")
        preset_file = _file(question.preset, "presets")
        if role_file is not None and not question.has_session:
            await choose_role(workspace, load_role(role_file))
        named = replace(
            question,
            endpoint=_endpoint_name(config, question),
            preset=None if preset_file else question.preset,
        )
        role = question.role if role_file is None or question.has_session else None
        await choose(workspace, named, role)
        if preset_file is not None:
            preset = load_preset(preset_file)
            workspace.update(preset=preset, preset_name=preset_file.stem)
        failures.warn()
        takes_draft = question.has_session and not (text or parts)
        if not takes_draft:
            leave_pending_edits(workspace)
        if takes_draft:
            files = await workspace.sessions.draft_files()
            parts = tuple(stored_attachment(file).part for file in files)
            text = clean(await workspace.sessions.draft())
        if question.tools and not question.bare:
            await load_tools(workspace)
        failures.warn()
        inputs = _with_options(workspace.requests.inputs(text, parts), question)
        return compose(of_kind(inputs, question.kind))


def _with_options(inputs: Inputs, question: BuildOptions) -> Inputs:
    """Return the inputs with what is not part of a session: history and seeds."""
    changes: dict[str, Any] = {"stream": question.stream, "seed": 0}
    if not question.has_session:
        changes["session_seed"] = 0
    if (path := question.history) is not None:
        text = read_file_text(path, LARGEST_REQUEST)
        changes["history"] = read_history(text, input_name(path))
    if system := clean(question.system):
        history = changes.get("history", inputs.history)
        changes["history"] = (*history, Message.of("system", system))
    return prepared(replace(inputs, **changes))


def _file(name: str | None, kind: Kind) -> Path | None:
    """Return the path of an option that is a file, or a path that is missing; None for a name."""
    if not name:
        return None
    path = Path(name)
    looks_like_path = name == "-" or path.suffix == ".json" or path.name != name
    if not (looks_like_path or path.is_file()):
        return None
    for sentence in () if path == STANDARD_INPUT else doubts_of(path, kind):
        write_line(f"warning: {sentence}", err=True)
    return path


def _recompose(path: Path) -> Composed:
    """Compose the request of an exported turn; warn if it differs from the one that was sent."""
    turn = read_turn(read_file_text(path, LARGEST_REQUEST), str(path))
    composed = compose(turn.inputs)
    if composed.payload.sha256 != turn.request.sha256:
        write_line(f"warning: This differs from what tui-chat {turn.app} sent.", err=True)
    return composed


def _endpoint_name(config: Config, question: BuildOptions) -> str:
    """Return the endpoint that the options ask for; empty for none. Raises InputError."""
    if not question.protocol:
        return question.endpoint
    protocol = Protocol(question.protocol)
    if not question.endpoint:
        return standard_endpoint(protocol)
    endpoint = config.endpoint_named(question.endpoint)
    if protocol is not endpoint.protocol:
        raise InputError(
            f"The endpoint “{endpoint.name}” uses {endpoint.protocol}, not {protocol}."
        )
    return endpoint.name


def _show(composed: Composed, what: str) -> None:
    match what:
        case "payload":
            write_body(composed.payload.body)
        case "request":
            write_request(as_http(composed))
        case "curl":
            write_request(as_curl(composed))
        case "envelope":
            from tui_chat.cli.documents import envelope_document

            write_json(envelope_document(composed))
        case _:
            write_json(load_named("request form", what)(composed))
    write_notes(composed.notes if what in ("payload", "request", "curl") else ())
