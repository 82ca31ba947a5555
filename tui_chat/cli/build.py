"""`tui-chat build`: print the request that `ask` would send, or its envelope as JSON."""

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
    RequestCommand,
    attach_option,
    bare_option,
    continue_option,
    kind_option,
    request_endpoint,
    request_model,
    request_session,
    request_settings,
    schema_option,
    system_option,
)
from tui_chat.cli.output import (
    finish,
    write_body,
    write_json,
    write_line,
    write_notes,
    write_request,
)
from tui_chat.cli.question import (
    Question,
    read_message,
    read_part,
    read_system_message,
    request_choices,
    require_consistent,
)
from tui_chat.cli.request_json import envelope_json
from tui_chat.cli.workspace import (
    Choices,
    choose,
    choose_role,
    command_workspace,
    leave_pending_edits,
    load_tools,
    omit_screen_rules,
    open_session,
    send_only_conversation,
)
from tui_chat.compose import Composed, compose
from tui_chat.config import Config, standard_endpoint
from tui_chat.context import Inputs
from tui_chat.context.builders import prepared
from tui_chat.context.generation import of_kind
from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, STANDARD_INPUT, input_name, read_text
from tui_chat.hooks import load_named, parts
from tui_chat.interop.messages import read_history
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.library import Kind, doubts_of
from tui_chat.library.lorebooks import read_lorebook
from tui_chat.library.presets import load_preset
from tui_chat.library.roles_and_profiles import load_profile, load_role
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.message import Message
from tui_chat.models.text import clean
from tui_chat.protocols.common.encoding import NOTHING_TO_SEND
from tui_chat.turn_file import read_turn
from tui_chat.workspace.attachments import stored_attachment

if TYPE_CHECKING:
    from tui_chat.models.message import Part
    from tui_chat.workspace.workspace import Workspace


_ADDED_FORMS = tuple(form.name for _, form in parts("request form"))
"""What plugins print of a request, by name."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """The options of the command line that `ask` does not have, and names that may be files here; a
    name that is None is left to the session.
    """

    preset: str | None
    """A name or a file, like role and profile; empty for none."""
    role: str | None
    profile: str | None
    history: Path | None
    draft: str | None
    """The message in place of the arguments and what is piped; None for those."""
    protocol: str | None
    endpoint: str
    context_limit: int | None
    """Tokens, like the reserve."""
    reply_reserve: int | None
    lorebooks: tuple[Path, ...]
    variables: tuple[str, ...]
    """`NAME=VALUE` each."""
    at: str | None
    seed: int
    edits: bool
    """False for the body without the edits by hand."""
    tools: bool
    """True to ask the sources of tools for theirs."""


@click.command(cls=RequestCommand)
@click.argument("words", metavar="[TEXT]...", nargs=-1, type=TEXT)
@continue_option
@request_session
@attach_option
@system_option
@click.option(
    "-t",
    "--preset",
    shell_complete=completion.complete_preset_or_file,
    metavar="FILE|NAME",
    help='Default: the preset of the role or session; "" for none.',
)
@click.option("--history", type=INPUT, help="A JSON array or JSONL of messages.")
@click.option(
    "--turn", type=INPUT, help="A turn exported by the app, whose request is composed again."
)
@click.option(
    "--draft",
    metavar="TEXT",
    type=TEXT,
    help="TEXT, as an option, without what is piped; default: the stored draft.",
)
@bare_option
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
    help='The role of a new session; "" for none, also in a session that lost its own.',
)
@click.option(
    "--profile",
    shell_complete=completion.complete_profile,
    metavar="FILE|NAME",
    help='A profile; "" for none.',
)
@click.option(
    "--lorebook", "lorebooks", type=INPUT, multiple=True, help="A lorebook file; repeatable."
)
@request_settings
@schema_option
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
    "--tools/--no-tools",
    default=True,
    help="Start the servers whose tools the session may offer, as `ask` and the app do.",
)
@click.option(
    "--show",
    type=click.Choice(["payload", "envelope", "request", "curl", *_ADDED_FORMS]),
    default="payload",
    show_default=True,
    help="The exact body; the turns with their origins; the whole request; a curl command; or "
    "what a plugin says of it.",
)
@click.pass_obj
def build(
    common: CommonOptions,
    words: tuple[str, ...],
    turn: Path | None,
    show: str,
    **others: Any,
) -> None:
    """Print the request that `ask` would send.

    TEXT and the options that both have mean the same: endpoint, model, role, preset and tools are
    those of the options, else of the session that -s or -c names, else of the configuration. With
    nothing configured the request has only TEXT. Without TEXT it is the next request of the session
    with its stored draft. A FILE may be - for the standard input, and so may the draft.

    The bytes are exact, and nothing is sent or stored. On a terminal, control and invisible
    characters are printed as JSON escapes.

    \b
    Examples:
      tui-chat build "Hello"
      tui-chat build --session "A walk" --draft - < question.txt
      tui-chat build --preset my.json --role Critic --model gpt-5 --show curl
    """
    if words and others["draft"] is not None:
        raise InputError("TEXT and --draft are the same.", advice="Give one of them.")
    if turn is not None:
        composed = _recompose(turn)
    else:
        composed = _compose(common.config(), *_read_options(words, others))
    _show(composed, show)
    if any(note.code != NOTHING_TO_SEND.code for note in composed.errors):
        finish()
        sys.exit(2)


def _read_options(
    words: tuple[str, ...], values: dict[str, Any]
) -> tuple[Question, BuildOptions, str, tuple[Part, ...]]:
    """Return the options that `ask` has, those of `build`, the message and its attachments. Raises
    InputError.
    """
    names = ("last", "session", "attachments", "system", "bare", "kind", "schema", "stream")
    shared = {name: values.pop(name) for name in names}
    choices = Choices(model=values.pop("model"), settings=values.pop("parameters"))
    options = BuildOptions(**values)
    inputs = [f"--{name}" for name in _INPUTS if str(getattr(options, name) or "") == "-"]
    inputs += ["--lorebook" for path in options.lorebooks if path == STANDARD_INPUT]
    question = Question(words=words, choices=choices, **shared)
    inputs += ["TEXT"] if "-" in words else question.standard_inputs
    if len(inputs) > 1:
        raise InputError(f"{' and '.join(inputs)} cannot all be the standard input.")
    if options.draft is not None:
        text = read_text(STANDARD_INPUT) if options.draft == "-" else options.draft
    else:
        text = read_message(question, may_be_piped=not inputs)
    parts = tuple(map(read_part, question.attachments))
    named = {"role": options.role, "preset": options.preset, "profile": options.profile}
    with_names = replace(question, choices=replace(choices, **named))
    has_message = options.draft is None and bool(text.strip() or parts)
    require_consistent(with_names, has_message=has_message)
    chosen = request_choices(with_names)
    return replace(question, choices=chosen), options, clean(text), parts


_INPUTS = ("preset", "history", "role", "profile", "draft")
"""Options that may be `-`, besides `--lorebook` and those of `ask`."""


@synchronous
async def _compose(
    config: Config, question: Question, options: BuildOptions, text: str, parts: tuple[Part, ...]
) -> Composed:
    """Return the request that `ask` would send, with the changes that the options make."""
    async with command_workspace(config, create=False) as (workspace, failures):
        if has_session := bool(question.session or question.last):
            await open_session(workspace, failures, question.session)
        role_file, preset_file = _file(options.role), _file(options.preset)
        profile_file = _file(options.profile)
        files: tuple[tuple[Path | None, Kind], ...] = (
            *((role_file, "roles"), (preset_file, "presets"), (profile_file, "profiles")),
        )
        for path, kind in files:
            if path is not None and path != STANDARD_INPUT:
                for sentence in doubts_of(path, kind):
                    write_line(f"warning: {sentence}", err=True)
        if role_file is not None and not has_session:
            await choose_role(workspace, load_role(role_file))
        choices = replace(
            question.choices,
            endpoint=_endpoint_name(config, options),
            role=question.choices.role if role_file is None or has_session else None,
            preset=None if preset_file else options.preset,
            profile=None if profile_file else options.profile,
        )
        await choose(workspace, choices)
        omit_screen_rules(workspace, choices)
        if preset_file is not None:
            preset = load_preset(preset_file)
            workspace.update(preset=preset, preset_name=preset_file.stem)
        if profile_file is not None:
            workspace.update(profile=load_profile(profile_file), profile_name=profile_file.stem)
        if question.bare:
            send_only_conversation(workspace)
        if options.lorebooks:
            workspace.update(lorebooks=tuple(map(_lorebook, options.lorebooks)))
        if options.variables:
            variables = dict(map(_variable, options.variables))
            workspace.update(variables={**workspace.state.variables, **variables})
        failures.warn()
        takes_draft = has_session and not (text or parts) and options.draft is None
        if not options.edits:
            workspace.update(edits=())
        elif not takes_draft:
            leave_pending_edits(workspace)
        if takes_draft:
            text, parts = await _stored_draft(workspace)
        if options.tools and not question.bare:
            await load_tools(workspace)
        elif not question.bare:
            await _name_missing_tools(workspace)
        failures.warn()
        inputs = _with_options(workspace.requests.inputs(text, parts), question, options)
        return compose(of_kind(inputs, question.kind))


async def _name_missing_tools(workspace: Workspace) -> None:
    """Say which sources of tools are not asked."""
    if names := await workspace.tool_sources.unasked():
        missing = f"Tools of {', '.join(names)} are missing here"
        write_line(f"note: {missing}: --no-tools starts no server.", err=True)


async def _stored_draft(workspace: Workspace) -> tuple[str, tuple[Part, ...]]:
    """Return the draft and attachments of the session."""
    files = await workspace.drafts.files()
    parts = tuple(stored_attachment(file).part for file in files)
    return clean(await workspace.drafts.text()), parts


def _with_options(inputs: Inputs, question: Question, options: BuildOptions) -> Inputs:
    """Return the inputs with what is not part of a session: history, limits, time and seeds."""
    changes: dict[str, Any] = {"seed": options.seed, "stream": question.stream}
    history = inputs.history
    if (path := options.history) is not None:
        history = read_history(read_file_text(path, LARGEST_REQUEST), input_name(path))
    if system := clean(read_system_message(question)):
        history = (*history, Message("system", system))
    if history is not inputs.history:
        changes["history"] = history
    if options.at:
        changes["now"] = parse_time(options.at, "--at")
    if not (question.session or question.last):
        changes["session_seed"] = options.seed
    if options.context_limit is not None:
        changes["context_limit"] = options.context_limit
    if options.reply_reserve is not None:
        changes["reply_reserve"] = options.reply_reserve
    return prepared(replace(inputs, **changes))


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


def _endpoint_name(config: Config, options: BuildOptions) -> str:
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
        case "request":
            write_request(as_http(composed))
        case "curl":
            write_request(as_curl(composed))
        case "payload":
            write_body(composed.payload.body)
        case _:
            write_json(load_named("request form", what)(composed))
    write_notes(composed.notes if what in ("payload", "request", "curl") else ())
