"""`tui-chat build`: print the request that the app would send, or its envelope as JSON."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from tui_chat.analysis import Share, ShareCalculator
from tui_chat.analysis.http_text import as_curl, as_http
from tui_chat.analysis.lore_table import LoreTable
from tui_chat.analysis.settings_report import parameter_json, set_parameters
from tui_chat.cli import completion
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
from tui_chat.cli.workspace import (
    Choices,
    choose,
    choose_role,
    command_workspace,
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
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.lorebooks import read_lorebook
from tui_chat.library.presets import load_preset
from tui_chat.library.roles_and_profiles import load_profile, load_role
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Turn
from tui_chat.models.lorebook import EntryState, Lorebook
from tui_chat.models.text import Origin, OriginKind, clean
from tui_chat.protocols.common.encoding import NOTHING_TO_SEND
from tui_chat.turn_file import read_turn
from tui_chat.workspace.attachments import read_attachment

if TYPE_CHECKING:
    from tui_chat.models.message import Part
    from tui_chat.workspace.workspace import Workspace


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
@kind_option("What to generate; with quiet, the draft is the prompt.")
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
    "--show",
    type=click.Choice(["payload", "envelope", "request", "curl", "lore"]),
    default="payload",
    show_default=True,
    help="The exact body; the turns with their origins; the whole request; a curl command; why "
    "each lore entry is active or not, in every turn.",
)
@click.pass_obj
def build(common: CommonOptions, **options: Any) -> None:
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
    words: tuple[str, ...] = options.pop("words")
    if words and options["draft"] is not None:
        raise InputError("TEXT and --draft are the same.", advice="Give one of them.")
    if words:
        options["draft"] = " ".join(words)
    if options["turn"]:
        composed = _recompose(options["turn"])
    else:
        _require_one_standard_input(options)
        composed = asyncio.run(_compose(common.config(), options))
    _show(composed, options["show"])
    if any(note.code != NOTHING_TO_SEND.code for note in composed.errors):
        finish()
        sys.exit(2)


def _require_one_standard_input(options: dict[str, Any]) -> None:
    names = [name for name in _INPUTS if str(options[name] or "") == "-"]
    names += ["lorebook" for each in options["lorebooks"] if each == STANDARD_INPUT]
    if len(names) > 1:
        options_named = " and ".join(f"--{name}" for name in names)
        raise InputError(f"{options_named} cannot all be the standard input.")


_INPUTS = ("preset", "history", "role", "profile", "draft")
"""Options that may be `-`, besides `--lorebook`."""


async def _compose(config: Config, options: dict[str, Any]) -> Composed:
    """Return the request that the app would send, with the changes that the options make."""
    async with command_workspace(config, create=False) as (workspace, failures):
        if options["session"]:
            await open_session(workspace, failures, options["session"])
        role_file = _file(options["role"])
        preset_file = _file(options["preset"])
        profile_file = _file(options["profile"])
        if role_file is not None and not options["session"]:
            await choose_role(workspace, load_role(role_file))
        choices = Choices(
            endpoint=_endpoint_name(config, options),
            model=options["model"],
            role=options["role"] if role_file is None or options["session"] else None,
            preset=None if preset_file else options["preset"],
            profile=None if profile_file else options["profile"],
            settings=options["parameters"],
        )
        await choose(workspace, choices)
        if preset_file is not None:
            preset = load_preset(preset_file)
            workspace.update(preset=preset, preset_name=preset_file.stem)
        if profile_file is not None:
            workspace.update(profile=load_profile(profile_file), profile_name=profile_file.stem)
        if options["lorebooks"]:
            workspace.update(lorebooks=tuple(map(_lorebook, options["lorebooks"])))
        if options["variables"]:
            variables = dict(map(_variable, cast("tuple[str, ...]", options["variables"])))
            workspace.update(variables={**workspace.state.variables, **variables})
        failures.warn()
        draft, parts = await _draft(workspace, options)
        failures.warn()
        inputs = _with_options(workspace.requests.inputs(draft, parts), options)
        return compose(of_kind(inputs, options["kind"]))


async def _draft(workspace: Workspace, options: dict[str, Any]) -> tuple[str, tuple[Part, ...]]:
    """Return the draft and its attachments: those of the command line, else those that are stored
    with the session.
    """
    given: str | None = options["draft"]
    if given is not None or not options["session"]:
        text = read_text(STANDARD_INPUT) if given == "-" else given or ""
        return clean(text), ()
    files = await workspace.drafts.files()
    parts = tuple(read_attachment(Path(file)).part for file in files)
    return clean(await workspace.drafts.text()), parts


def _with_options(inputs: Inputs, options: dict[str, Any]) -> Inputs:
    """Return the inputs with what is not part of a session: history, limits, time and seeds."""
    seed: int = options["seed"]
    changes: dict[str, Any] = {"seed": seed, "stream": options["stream"]}
    if options["history"]:
        path: Path = options["history"]
        changes["history"] = read_history(read_file_text(path, LARGEST_REQUEST), input_name(path))
    if options["at"]:
        changes["now"] = parse_time(options["at"], "--at")
    if not options["session"]:
        changes["session_seed"] = seed
    for name in ("context_limit", "reply_reserve"):
        if options[name] is not None:
            changes[name] = options[name]
    return with_lore_timers(replace(inputs, **changes))


def _file(name: str | None) -> Path | None:
    """Return the path of an option that is a file, or a path that does not exist; None for a
    name.
    """
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
    found = read_lorebook(read_file_text(path), path.stem)
    found.file.raise_errors(str(path))
    assert found.book is not None  # it had no errors
    for finding in found.file.findings():
        if finding.level is Level.WARNING:
            write_line(f"{path}:{finding.line}: warning: {finding.sentence}", err=True)
    return found.book


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


def _endpoint_name(config: Config, options: dict[str, Any]) -> str:
    """Return the name of the endpoint that the options ask for; empty if they do not. Raises
    InputError.
    """
    name: str = options["endpoint"]
    if not options["protocol"]:
        return name
    protocol = Protocol(options["protocol"])
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
        "tokens": _tokens_json(envelope),
        "parameters": {
            name: {"value": parameter_json(sourced.value), "origin": _origin_json(sourced.origin)}
            for name, sourced in set_parameters(parameters)
        },
    }


def lore_json(composed: Composed) -> dict[str, Any]:
    """Return `{"entries", "turns"}`: what became of each lore entry in the request, and which were
    active or held back in each turn, by book and id.
    """
    if composed.inputs is None:
        return {"entries": [], "turns": []}
    table = LoreTable(composed.inputs)
    newest = table.turns - 1
    found = [table.outcome(newest, number) for number in range(len(table.entries))]
    names = [{"book": each.book, "entry": each.entry} for each in found]

    def turn_json(turn: int) -> dict[str, Any]:
        reply = table.column(turn).reply
        return {
            "reply": reply.id if reply is not None else None,
            "active": [names[each] for each in table.with_state(turn, EntryState.ACTIVE)],
            "held_back": [names[each] for each in table.with_state(turn, EntryState.HELD_BACK)],
        }

    return {
        "entries": [
            {
                **name,
                "name": each.name,
                "state": each.state.name.lower(),
                "sentence": each.sentence,
                "message": each.message_id or None,
            }
            for name, each in zip(names, found, strict=True)
        ],
        "turns": [turn_json(turn) for turn in range(table.turns)],
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


def _tokens_json(envelope: ChatEnvelope) -> dict[str, Any]:
    """Return the budget, and the shares that add up to its total with `framing`."""
    budget = envelope.budget
    if budget is None:
        return {}
    shares = ShareCalculator()(envelope)
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
        "counted": budget.how,
        "shares": [_share_json(share) for share in shares.shares],
        "framing": shares.framing,
    }


def _share_json(share: Share) -> dict[str, Any]:
    is_tools = share.kind is OriginKind.TOOL
    items = [
        {"name": item.name, "tokens": item.tokens}
        | ({"server": item.server or None} if is_tools else {})
        for item in share.items
    ]
    return {
        "origin": share.kind.value,
        "part": share.part.value if share.part is not None else None,
        "tokens": share.tokens,
        ("tools" if is_tools else "turns"): share.turns,
        **({"items": items} if items else {}),
    }
