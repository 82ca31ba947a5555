"""The configuration file, `config.toml`.

    endpoint = "work"            # what new sessions use
    model = "gpt-5-mini"
    theme = "tui-chat-light"
    notify = "osc777"            # long replies, while you look elsewhere: or osc9, bell, off

    [keys]
    new = "Ctrl+N, F9"           # an action's id, and its keys; "" for none

    [endpoints.anthropic]        # laid over the ready-made entry: the rest of it stays
    key = "keyring:tui-chat/anthropic"

    [endpoints.work]
    protocol = "openai_chat"     # or openai_responses, anthropic, gemini
    base_url = "https://llm.example.org/v1"
    key = "env:WORK_LLM_KEY"     # or "command:op read op://team/llm/key"; never the key itself
    auth = "header:X-Work-Key"   # or bearer, x-api-key, x-goog-api-key, none
    api_version = ""             # anthropic-version, or the version in Gemini's path
    models = ["gpt-5-mini", "gpt-5"]
    headers = { "X-Team" = "search" }
    query = { "api-version" = "2026-10-01" }
    proxy = "http://proxy.example.org:3128"   # or "env:NAME", or "none"
    max_tokens_key = "max_tokens"
    timeouts = { connect = 5, silence = 120 }          # seconds
    retries = { times = 4, first_wait = 1, longest_wait = 30 }

    [endpoints.work.facts."gpt-5*"]   # one model, or all whose names begin so
    context_limit = 400000
    sampling = false
    prices = { input = 1.25, output = 10 }    # US dollars for a million tokens

    [tools.weather]              # what models may call; the command gets the arguments as JSON
    description = "The weather in a city."
    parameters = '''{"type": "object", "properties": {"city": {"type": "string"}}}'''
    command = ["weather-now", "--json"]       # no shell; none for a tool that you answer yourself
    consent = "ask"              # or "always"
    offered = true               # whether new sessions offer it
    timeout = 60                 # seconds
    most_output = 100000         # bytes; the rest is cut off

Unknown keys are faults: a misspelled setting that does nothing would be worse.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tui_chat.config.schema import EndpointTable, FactsTable, FileTable, ToolTable, known_keys
from tui_chat.config.toml_file import read_toml
from tui_chat.config.values import Config
from tui_chat.errors import ConfigError
from tui_chat.models.base_url import read_base_url
from tui_chat.models.endpoint import Endpoint, Retries, Timeouts
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.model_facts import ModelFacts, Prices
from tui_chat.models.tool import Tool

_MOST_FAULTS = 5


def read_config_file(path: Path, defaults: Config) -> Config:
    """Read the file over the defaults. Raises ConfigError naming file, key and fault."""
    raw = read_toml(path)
    try:
        found = FileTable.model_validate(raw)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        told = "; ".join(_fault(fault) for fault in faults[:_MOST_FAULTS])
        more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        # No faulty value is repeated: somebody may have put a key there. For the same reason
        # the error behind this one, which knows them, is not kept.
        raise ConfigError(f"{path}: {told}{more}") from None
    endpoints = {endpoint.name: endpoint for endpoint in defaults.endpoints}
    for name, given in found.endpoints.items():
        try:
            endpoints[name] = _laid_over(endpoints.get(name), name, given)
        except _Incomplete as error:
            raise ConfigError(f"{path}: endpoints.{name}.{error}: is missing") from None
        except ValueError as error:
            raise ConfigError(f"{path}: endpoints.{name}.base_url: {error}") from None
    return replace(
        defaults,
        endpoints=tuple(endpoints.values()),
        endpoint=found.endpoint or defaults.endpoint,
        model=found.model or defaults.model,
        theme=found.theme or defaults.theme,
        notify=found.notify or defaults.notify,
        keys=tuple(found.keys.items()),
        tools=tuple(_tool(name, given) for name, given in found.tools.items()),
    )


def _tool(name: str, given: ToolTable) -> Tool:
    parameters = cast("dict[str, Any]", given.parameters)  # as JSON text it was read by then
    return Tool(
        ToolDefinition(name, given.description, parameters),
        command=given.command,
        consent=given.consent,
        offered=given.offered,
        timeout=given.timeout,
        most_output=given.most_output,
    )


def _fault(fault: ErrorDetails) -> str:
    """Put one fault into words: the place, and what is wrong there."""
    steps = [str(step) for step in fault["loc"] if step != "[key]"]
    place = ".".join(step if step.isprintable() else ascii(step) for step in steps)
    if fault["type"] != "extra_forbidden":
        return f"{place}: {fault['msg'].removeprefix('Value error, ')}"
    meant = difflib.get_close_matches(steps[-1], known_keys(), 1)
    return f"{place}: is no setting" + (f"; is “{meant[0]}” meant?" if meant else "")


class _Incomplete(Exception):
    """A new endpoint lacks what no ready-made entry gives it."""


def _laid_over(ready: Endpoint | None, name: str, given: EndpointTable) -> Endpoint:
    """Return the endpoint that the table describes: what it does not say is as `ready` has it.

    Raises _Incomplete, and ValueError for a base URL of another protocol.
    """
    said = given.model_fields_set
    changes: dict[str, Any] = {key: getattr(given, key) for key in said & _AS_THEY_ARE}
    if "headers" in said:
        changes["headers"] = tuple(given.headers.items())
    if "query" in said:
        changes["query"] = tuple(given.query.items())
    if given.timeouts is not None:
        changes["timeouts"] = Timeouts(**given.timeouts.model_dump())
    if given.retries is not None:
        changes["retries"] = Retries(**given.retries.model_dump())
    if "facts" in said:
        own = [(model, _facts(facts)) for model, facts in given.facts.items()]
        changes["facts"] = (*own, *_outdone(ready.facts if ready else (), own))
    protocol = given.protocol or (ready.protocol if ready else None)
    if given.base_url is not None and protocol is not None:
        place = read_base_url(given.base_url, protocol)
        changes["base_url"] = place.url
        if place.query:
            changes["query"] = (*place.query, *changes.get("query", ready.query if ready else ()))
        if place.api_version:
            changes.setdefault("api_version", place.api_version)
    if ready is not None:
        return replace(ready, **{k: v for k, v in changes.items() if v is not None})
    for key in ("protocol", "base_url"):
        if changes.get(key) is None:
            raise _Incomplete(key)
    return Endpoint(name=name, **changes)


_AS_THEY_ARE = frozenset(
    {
        "protocol",
        "base_url",
        "key",
        "auth",
        "api_version",
        "models",
        "proxy",
        "system_fallback",
        "max_tokens_key",
        "max_tokens",
        "provider_keeps",
    }
)
"""Keys whose values mean the same in the file and in `Endpoint`."""


def _outdone(
    facts: tuple[tuple[str, ModelFacts], ...], own: list[tuple[str, ModelFacts]]
) -> list[tuple[str, ModelFacts]]:
    """Return ready-made facts without those that the user's own, for the same models, outdo."""
    left: list[tuple[str, ModelFacts]] = []
    for model, known in facts:
        gone = {
            key
            for pattern, said in own
            if pattern == model or (pattern.endswith("*") and model.startswith(pattern[:-1]))
            for key in FactsTable.model_fields
            if getattr(said, key) is not None
        }
        left.append((model, replace(known, **dict.fromkeys(gone))))
    return left


def _facts(given: FactsTable) -> ModelFacts:
    values = given.model_dump()
    if given.prices is not None:
        values["prices"] = Prices(**given.prices.model_dump())
    return ModelFacts(**values)
