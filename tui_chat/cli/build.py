"""`tui-chat build`: print the request that the app would send, or its envelope as JSON."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_chat.analysis.http_text import as_curl, as_http
from tui_chat.cli import completion
from tui_chat.cli.app import synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import (
    INPUT,
    PROTOCOLS,
    TEXT,
    kind_option,
    request_endpoint,
    request_model,
    request_settings,
    session_option,
)
from tui_chat.cli.output import (
    finish,
    write_body,
    write_json,
    write_line,
    write_notes,
    write_request,
)
from tui_chat.cli.request_json import envelope_json, lore_json
from tui_chat.cli.workspace import (
    Choices,
    choose,
    choose_role,
    command_workspace,
    leave_pending_edits,
    open_session,
)
from tui_chat.compose import Composed, compose
from tui_chat.config import Config, standard_endpoint
from tui_chat.context import Inputs
from tui_chat.context.generation import of_kind
from tui_chat.context.lorebooks.timers import with_lore_timers
from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, STANDARD_INPUT, input_name, read_text
from tui_chat.interop.messages import read_history
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.lorebooks import read_lorebook
from tui_chat.library.presets import load_preset
from tui_chat.library.roles_and_profiles import load_profile, load_role
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.protocols.common.encoding import NOTHING_TO_SEND
from tui_chat.turn_file import read_turn
from tui_chat.workspace.attachments import stored_attachment

if TYPE_CHECKING:
    from tui_chat.models.generation import GenerationKind
    from tui_chat.models.message import Part
    from tui_chat.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The command line's options about the request; a name that is None is left to the session."""

    session: str
    preset: str | None
    """A name or a file, like role and profile; empty for none."""
    role: str | None
    profile: str | None
    history: Path | None
    draft: str | None
    kind: GenerationKind
    protocol: str | None
    model: str
    endpoint: str
    context_limit: int | None
    """Tokens, like the reserve."""
    reply_reserve: int | None
    lorebooks: tuple[Path, ...]
    parameters: tuple[str, ...]
    """`NAME=VALUE` each, like the variables."""
    variables: tuple[str, ...]
    at: str | None
    seed: int
    stream: bool
    edits: bool
    """False for the body without the edits by hand."""
    tools: bool
    """True to ask the sources of tools for theirs."""


@click.command()
@click.argument("words", metavar="[TEXT]...", nargs=-1, type=TEXT)
@session_option("A stored session: its id, the start of one, or its title.")
@click.option(
    "--preset",
    shell_complete=completion.complete_preset_or_file,
    metavar="FILE|NAME",
    help='Default: the role\'s preset, else plain; "" for none.',
)
@click.option("--history", type=INPUT, help="A JSON array or JSONL of messages.")
@click.option(
    "--turn", type=INPUT, help="A turn exported by the app, whose request is composed again."
)
@click.option(
    "--draft", metavar="TEXT", type=TEXT, help="TEXT, as an option; default: the stored draft."
)
@kind_option("What to generate; the draft is the instruction of a kind that takes one.")
@click.option("--protocol", type=click.Choice(PROTOCOLS), help="The protocol of the request.")
@request_model
@request_endpoint
@click.option(
    "--context-limit", type=click.IntRange(min=1), help="Context limit in tokens, input and output."
)
@click.option("--reply-reserve", type=click.IntRange(min=0), help="Tokens reserved for the reply.")
@click.option(
    "--role",
    shell_complete=completion.complete_role_or_file,
    metavar="FILE|NAME",
    help='Default: the role used last; "" for none.',
)
@click.option(
    "--profile",
    shell_complete=completion.complete_profile_or_file,
    metavar="FILE|NAME",
    help='Default: the profile used last; "" for none.',
)
@click.option(
    "--lorebook", "lorebooks", type=INPUT, multiple=True, help="A lorebook file; repeatable."
)
@request_settings
@click.option(
    "--variable",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable for {{getvar::NAME}}; repeatable.",
)
@click.option(
    "--at", metavar="TIME", help="The time for macros, such as 2025-06-30T18:05; default: now."
)
@click.option("--seed", type=int, default=0, help="The random seed for macros.")
@click.option("--stream/--no-stream", default=True, help="Request a streamed reply.")
@click.option(
    "--edits/--no-edits",
    default=True,
    help="With what was edited by hand in the session.",
)
@click.option(
    "--tools",
    is_flag=True,
    help="Start the servers whose tools the session may offer: the app does so while you type.",
)
@click.option(
    "--show",
    type=click.Choice(["payload", "envelope", "request", "curl", "lore"]),
    default="payload",
    show_default=True,
    help="The exact body; the turns with their origins; the whole request; a curl command; why "
    "each lore entry is active or not, in every turn.",
)
@click.pass_obj
def build(
    common: CommonOptions,
    words: tuple[str, ...],
    draft: str | None,
    turn: Path | None,
    show: str,
    **others: Any,
) -> None:
    """Print the request that the app would send.

    Without options it is that of a new chat with an empty draft: endpoint, model, role, profile and
    tools are those that the app begins one with. With --session it is the next request of a stored
    session. A FILE may be - for the standard input, and so may the draft.

    The bytes are exact, and nothing is sent or stored. On a terminal, control and invisible
    characters are printed as JSON escapes.

    \b
    Examples:
      tui-chat build "Hello"
      tui-chat build --session "A walk" --draft - < question.txt
      tui-chat build --preset my.json --role "" --model gpt-5 --show curl
    """
    if words and draft is not None:
        raise InputError("TEXT and --draft are the same.", advice="Give one of them.")
    if turn is not None:
        composed = _recompose(turn)
    else:
        options = RequestOptions(draft=" ".join(words) if words else draft, **others)
        _require_one_standard_input(options)
        composed = _compose(common.config(), options)
    _show(composed, show)
    if any(note.code != NOTHING_TO_SEND.code for note in composed.errors):
        finish()
        sys.exit(2)


def _require_one_standard_input(options: RequestOptions) -> None:
    names = [name for name in _INPUTS if str(getattr(options, name) or "") == "-"]
    names += ["lorebook" for path in options.lorebooks if path == STANDARD_INPUT]
    if len(names) > 1:
        options_named = " and ".join(f"--{name}" for name in names)
        raise InputError(f"{options_named} cannot all be the standard input.")


_INPUTS = ("preset", "history", "role", "profile", "draft")
"""Options that may be `-`, besides `--lorebook`."""


@synchronous
async def _compose(config: Config, options: RequestOptions) -> Composed:
    """Return the request that the app would send, with the changes that the options make."""
    async with command_workspace(config, create=False) as (workspace, failures):
        if options.session:
            await open_session(workspace, failures, options.session)
        role_file = _file(options.role)
        preset_file = _file(options.preset)
        profile_file = _file(options.profile)
        if role_file is not None and not options.session:
            await choose_role(workspace, load_role(role_file))
        choices = Choices(
            endpoint=_endpoint_name(config, options),
            model=options.model,
            role=options.role if role_file is None or options.session else None,
            preset=None if preset_file else options.preset,
            profile=None if profile_file else options.profile,
            settings=options.parameters,
        )
        await choose(workspace, choices)
        if preset_file is not None:
            preset = load_preset(preset_file)
            workspace.update(preset=preset, preset_name=preset_file.stem)
        if profile_file is not None:
            workspace.update(profile=load_profile(profile_file), profile_name=profile_file.stem)
        if options.lorebooks:
            workspace.update(lorebooks=tuple(map(_lorebook, options.lorebooks)))
        if options.variables:
            variables = dict(map(_variable, options.variables))
            workspace.update(variables={**workspace.state.variables, **variables})
        failures.warn()
        if not options.edits:
            workspace.update(edits=())
        elif options.draft is not None:
            leave_pending_edits(workspace)
        draft, parts = await _draft(workspace, options)
        await _load_tools(workspace, start=options.tools)
        failures.warn()
        inputs = _with_options(workspace.requests.inputs(draft, parts), options)
        return compose(of_kind(inputs, options.kind))


async def _load_tools(workspace: Workspace, *, start: bool) -> None:
    """Ask the sources of tools for theirs, or say which ones are not asked and why one failed."""
    sources = workspace.tool_sources
    if start:
        await sources.loaded()
        for status in workspace.state.tool_sources:
            if status.sentence:
                write_line(f"warning: {status.name}: {one_line(status.sentence)}", err=True)
    elif names := await sources.unasked():
        sentence = f"note: Tools of {', '.join(names)} are missing here: --tools starts servers."
        write_line(sentence, err=True)


async def _draft(workspace: Workspace, options: RequestOptions) -> tuple[str, tuple[Part, ...]]:
    """Return the draft and attachments of the command line, else those of the session."""
    if options.draft is not None or not options.session:
        text = read_text(STANDARD_INPUT) if options.draft == "-" else options.draft or ""
        return clean(text), ()
    files = await workspace.drafts.files()
    parts = tuple(stored_attachment(file).part for file in files)
    return clean(await workspace.drafts.text()), parts


def _with_options(inputs: Inputs, options: RequestOptions) -> Inputs:
    """Return the inputs with what is not part of a session: history, limits, time and seeds."""
    changes: dict[str, Any] = {"seed": options.seed, "stream": options.stream}
    if (path := options.history) is not None:
        changes["history"] = read_history(read_file_text(path, LARGEST_REQUEST), input_name(path))
    if options.at:
        changes["now"] = parse_time(options.at, "--at")
    if not options.session:
        changes["session_seed"] = options.seed
    if options.context_limit is not None:
        changes["context_limit"] = options.context_limit
    if options.reply_reserve is not None:
        changes["reply_reserve"] = options.reply_reserve
    return with_lore_timers(replace(inputs, **changes))


def _file(name: str | None) -> Path | None:
    """Return the path of an option that is a file, or a path that is missing; None for a name."""
    if not name:
        return None
    path = Path(name)
    looks_like_path = path == STANDARD_INPUT or path.suffix == ".json" or path.name != name
    return path if looks_like_path or path.is_file() else None


def _recompose(path: Path) -> Composed:
    """Compose the request of an exported turn; warn if it differs from the one that was sent."""
    turn = read_turn(read_file_text(path, LARGEST_REQUEST), str(path))
    composed = compose(turn.inputs)
    if composed.payload.sha256 != turn.request.sha256:
        sentence = f"warning: This differs from what tui-chat {turn.app} sent."
        write_line(sentence, err=True)
    return composed


def _lorebook(path: Path) -> Lorebook:
    """Read a lorebook, and print its warnings. Raises InputError."""
    parsed = read_lorebook(read_file_text(path), path.stem)
    parsed.file.raise_errors(str(path))
    assert parsed.book is not None  # it had no errors
    for finding in parsed.file.findings():
        if finding.level is Level.WARNING:
            write_line(f"{path}:{finding.line}: warning: {finding.sentence}", err=True)
    return parsed.book


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
        time = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InputError(
            f"{source}: “{text}” is not a time; write it as 2025-06-30T18:05 or "
            "2025-06-30T18:05:00+02:00"
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _endpoint_name(config: Config, options: RequestOptions) -> str:
    """Return the endpoint that the options ask for; empty for none. Raises InputError."""
    name = options.endpoint
    if not options.protocol:
        return name
    protocol = Protocol(options.protocol)
    if not name:
        return standard_endpoint(protocol)
    endpoint = config.endpoint_named(name)
    if protocol is not endpoint.protocol:
        raise InputError(
            f"The endpoint “{endpoint.name}” uses {endpoint.protocol}, not {protocol}."
        )
    return name


def _show(composed: Composed, what: str) -> None:
    match what:
        case "envelope":
            write_json(envelope_json(composed))
        case "lore":
            write_json(lore_json(composed))
        case "request":
            write_request(as_http(composed))
        case "curl":
            write_request(as_curl(composed))
        case _:
            write_body(composed.payload.body)
    write_notes(composed.notes if what in ("payload", "request", "curl") else ())
