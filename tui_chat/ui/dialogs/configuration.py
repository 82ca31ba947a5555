"""The dialogs: each changes `config.toml`, and what it changed is in use when it ends."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from tui_chat.config import LOOPBACK_URL
from tui_chat.errors import FieldError, InputError
from tui_chat.library.typed_fields import Field, FieldRows, Values, shown_values
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.sanitize import one_line
from tui_chat.models.tool import CommandTool
from tui_chat.providers.failures import is_loopback
from tui_chat.ui.dialogs.api_key import enter_key
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.questions import EDITS, ask
from tui_chat.workspace.aside import EXCERPT

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

MOST_MODELS = 200
"""Models of an endpoint that are written into the file at most."""
NEW = "+"
"""The id of the choice that adds something."""

ENDPOINT_FIELDS: FieldRows = (
    (
        Field("name", "Name"),
        Field(
            "protocol", "Protocol", "choice", tuple((each.value, each.label) for each in Protocol)
        ),
    ),
    (Field("base_url", "Base URL, with the version where the provider has one: …/v1"),),
    (Field("models", "Models, the first is the default; empty: ask the server", "words"),),
    (Field("key", "Key reference: env:NAME, file:PATH …; empty: none, or enter the key next"),),
)
TOOL_FIELDS: FieldRows = (
    (Field("name", "Name"), Field("timeout", "Timeout (seconds)", "number")),
    (Field("description", "Description (the model reads it)", "lines"),),
    (Field("command", "Command (leave empty to answer calls yourself)"),),
    (Field("parameters", "Parameters (JSON Schema, optional)", "text"),),
    (
        Field("consent", "Permission", "choice", (("ask", "ask first"), ("always", "always run"))),
        Field("offered", "Offer it in new sessions", "switch"),
    ),
)


async def edit_endpoints(app: TuiChat, name: str) -> None:
    """Add an endpoint, or edit one."""
    workspace = await app.main.opened_workspace()
    endpoints = {
        endpoint.name: endpoint
        for endpoint in workspace.state.config.endpoints
        if not endpoint.base_url.startswith(LOOPBACK_URL)
    }
    choices = [(NEW, "New endpoint…", "any server that speaks one of the five protocols")]
    choices += [
        (name, name, f"{endpoint.protocol.label} · {endpoint.base_url}")
        for name, endpoint in endpoints.items()
    ]
    _require(name, endpoints, "endpoint")
    chosen = name or await ask(app, "Add or edit endpoint", choices, hint=EDITS)
    if chosen is not None:
        with workspace.reporting():
            await _edit_endpoint(app, workspace, endpoints.get(chosen))


def _require(name: str, there: Iterable[str], noun: str) -> None:
    """Raise InputError for the name of something to be edited that does not exist."""
    if name and name not in there:
        listed = f" There is {', '.join(there)}." if there else ""
        advice = f"/{noun}s without a name adds one.{listed}"
        raise InputError(f"There is no {noun} “{one_line(name, 40)}”.", advice=advice)


async def _edit_endpoint(app: TuiChat, workspace: Workspace, before: Endpoint | None) -> None:
    fields = (field for row in ENDPOINT_FIELDS for field in row)
    shown = shown_values(before or Endpoint("", Protocol.OPENAI_CHAT, ""), fields)
    name = before.name if before is not None else ""
    name = await _fill_in(
        app, workspace, "endpoints", name, ENDPOINT_FIELDS, shown, _endpoint_value
    )
    if not name:
        return
    endpoint = workspace.state.config.endpoint_named(name)
    if before is None and not endpoint.key and not is_loopback(endpoint.base_url):
        await enter_key(app, workspace, name)
        endpoint = workspace.state.config.endpoint_named(name)
    if not endpoint.models:
        await _choose_model(app, workspace, endpoint)


async def _choose_model(app: TuiChat, workspace: Workspace, endpoint: Endpoint) -> None:
    """Offer the models that the server lists, and use the chosen one."""
    listed = await workspace.settings.list_models(endpoint)
    model = await ask(app, f"Model of {endpoint.name}", ((name, name) for name in listed))
    if model is not None:
        models = [model, *(name for name in listed if name != model)][:MOST_MODELS]
        await workspace.settings.change_config({("endpoints", endpoint.name, "models"): models})
        await workspace.settings.set_model(endpoint.name, model)


async def edit_tools(app: TuiChat, name: str) -> None:
    """Add a tool, or edit one."""
    workspace = await app.main.opened_workspace()
    tools = {tool.name: tool for tool in workspace.state.config.tools}
    choices = [(NEW, "New tool…", "a command on this machine that models may call")]
    choices += [(name, name, tool.definition.description) for name, tool in tools.items()]
    _require(name, tools, "tool")
    chosen = name or await ask(app, "Add or edit tool", choices, hint=EDITS)
    if chosen is not None:
        before = tools.get(chosen)
        name = before.name if before is not None else ""
        shown = _tool_values(before)
        await _fill_in(app, workspace, "tools", name, TOOL_FIELDS, shown, _tool_value)


async def choose_title_model(app: TuiChat, name: str) -> None:
    """Choose the model that writes titles, each with a request of its own."""
    workspace = await app.main.opened_workspace()
    config = workspace.state.config
    names = [f"{at.name}/{model}" for at in config.endpoints for model in at.models]
    no_model = (
        "",
        "No model",
        "no requests; a title is the first words, or what /rename asks for",
    )
    choices = [no_model, *((each, each) for each in names)]
    title = "Model that is asked for a title after each first reply"
    chosen = name or await ask(app, title, choices, config.title_model)
    if chosen is None:
        return
    with workspace.reporting():
        await workspace.settings.change_config({("title_model",): chosen or None})
    if chosen and workspace.state.config.title_model == chosen:
        app.notify(
            f"After each first reply {chosen} is asked for a title: it gets the first {EXCERPT} "
            "characters of both messages.",
            markup=False,
        )


async def _fill_in(
    app: TuiChat,
    workspace: Workspace,
    table: Literal["endpoints", "tools"],
    name: str,
    rows: FieldRows,
    shown: Values,
    value_of: Callable[[str, str | bool], object],
) -> str:
    """Show the form of an entry of a table, a new one without a name. Return the name under which
    it was kept; empty if it was not. `value_of` returns a typed field as `config.toml` has it.
    """
    is_new, noun = not name, table.removesuffix("s")

    async def keep(values: Values, overwrite: bool) -> None:
        nonlocal name
        entries: tuple[Endpoint | CommandTool, ...] = getattr(workspace.state.config, table)
        name = name or _new_name(values, (entry.name for entry in entries))
        await workspace.settings.change_config(
            {
                (table, name, field): value_of(field, value)
                for field, value in values.items()
                if field != "name" and (is_new or value != shown[field])
            }
        )

    title = f"New {noun}" if is_new else f"{noun.capitalize()} {name}"
    rows = rows if is_new else (rows[0][1:], *rows[1:])  # without the name
    is_kept = await app.push_screen_wait(FieldsForm(title, rows, shown, keep))
    if not is_kept:
        return ""
    use = f" Use it with /model {name}." if noun == "endpoint" else ""
    called = f"{noun.capitalize()} “{one_line(name, 40)}”"
    app.notify(f"{called} saved.{use}", markup=False)
    return name


def _new_name(values: Values, taken: Iterable[str]) -> str:
    """Return the name that was typed. Raises FieldError if it is empty or taken; what else is wrong
    in it is said when the file is read.
    """
    name = str(values["name"]).strip()
    if not name:
        raise FieldError("name", "Enter a name.")
    if name in taken:
        raise FieldError("name", f"“{name}” already exists.")
    return name


def _endpoint_value(field: str, value: str | bool) -> object:
    if field == "models":
        return [word.strip() for word in str(value).split(",") if word.strip()] or None
    return value or None


def _tool_values(tool: CommandTool | None) -> Values:
    if tool is None:
        names = (field.name for row in TOOL_FIELDS for field in row)
        return dict.fromkeys(names, "") | {"timeout": "60", "consent": "ask", "offered": True}
    parameters = tool.definition.parameters
    return {
        "description": tool.definition.description,
        "command": shlex.join(tool.command),
        "parameters": json.dumps(parameters, ensure_ascii=False, indent=2) if parameters else "",
        "timeout": f"{tool.timeout:g}",
        "consent": tool.consent,
        "offered": tool.offered,
    }


def _tool_value(field: str, value: str | bool) -> object:
    """Return a typed field of a tool as `config.toml` has it. Raises FieldError."""
    if isinstance(value, bool):
        return value
    text = value.strip()
    try:
        match field:
            case "command":
                return shlex.split(text) or None
            case "timeout":
                return float(text) if text else None
            case "parameters":
                if text:
                    json.loads(text)
                return text or None
            case _:
                return text or None
    except ValueError as error:
        raise FieldError(field, f"{field}: {error}.") from None
