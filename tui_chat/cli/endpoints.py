"""`tui-chat endpoints`: list and test endpoints, and print facts about their models; `tui-chat
loopback`: serve the offline one.

A test checks three things, one after the other:

1. The key is where its reference says.
2. The server answers and lists its models, among them the chosen one.
3. A tiny chat arrives complete, and as a stream, with its token counts.

Each check reports what it found and what to do about it. A check that depends on a failed one is
skipped. Nothing is retried.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from dataclasses import asdict, fields, replace
from time import monotonic
from typing import Any, Literal, cast

from tui_chat.cli.app import open_http_client
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import Styled, write_json, write_line
from tui_chat.compose import Composed, compose
from tui_chat.config import LOOPBACK_URL, standard_endpoint
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError, Refused, TuiChatError, Unreachable
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Retries
from tui_chat.models.media import describe
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.preset import Preset
from tui_chat.models.prices import prices_json
from tui_chat.models.reply import Reply
from tui_chat.models.sanitize import one_line
from tui_chat.protocols.registry import detect_protocol
from tui_chat.providers import HttpClient, discover_endpoints, list_models, merge_discovered
from tui_chat.providers.keys import describe_key_reference, resolve_key
from tui_chat.send import receive

_SIGNS = {"ok": "ok", "warning": "!!", "failed": "NO", "skipped": "--"}
_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "bright_black"}


def run_list(common: CommonOptions, *, as_json: bool, look: bool) -> None:
    """Print all endpoints; with `look` also servers on this machine. Raises ConfigError."""
    endpoints = common.config().endpoints
    found: tuple[Endpoint, ...] = ()
    if look:
        found = asyncio.run(_discover(endpoints))
        endpoints = merge_discovered(endpoints, found)
    running = {endpoint.base_url for endpoint in found}
    if as_json:
        rows = [_endpoint_json(endpoint, endpoint.base_url in running) for endpoint in endpoints]
        write_json(rows)
        return
    table = [("NAME", "PROTOCOL", "KEY", "MODELS", "BASE URL")]
    for endpoint in endpoints:
        url = endpoint.base_url
        models = ", ".join(endpoint.models[:2]) + (" …" if len(endpoint.models) > 2 else "")
        here = "  (running)" if url in running else ""
        where = "built in" if url.startswith(LOOPBACK_URL) else url + here
        table.append((endpoint.name, endpoint.protocol, _key(endpoint), models or "-", where))
    widths = [max(len(one_line(row[column])) for row in table) for column in range(4)]
    for row in table:
        cells = [one_line(cell).ljust(width) for cell, width in zip(row, widths, strict=False)]
        write_line("  ".join((*cells, row[4])))
    if look and not found:
        write_line("\nNo server on this machine answers at the addresses above.")


async def _discover(endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    async with open_http_client() as client:
        return await discover_endpoints(endpoints, client)


def _endpoint_json(endpoint: Endpoint, running: bool) -> dict[str, Any]:
    return {
        "name": endpoint.name,
        "protocol": endpoint.protocol.value,
        "base_url": endpoint.base_url,
        "key": _key(endpoint),
        "models": list(endpoint.models),
        "facts": {
            name: _known(facts)
            for name, facts in (
                *endpoint.server_facts,
                *endpoint.facts_anywhere,
                *endpoint.facts,
                *((model, endpoint.facts_of(model)) for model in endpoint.models),
            )
        },
        "running": running,
    }


def _known(facts: ModelFacts) -> dict[str, Any]:
    known = {each.name: getattr(facts, each.name) for each in fields(facts)}
    if facts.prices is not None:
        known["prices"] = prices_json(facts.prices)
    return {key: value for key, value in known.items() if value is not None}


def run_facts(common: CommonOptions, name: str, models: tuple[str, ...], *, as_json: bool) -> None:
    """Print what is known of models at an endpoint, and which source says it. Raises ConfigError.

    The text has the form of `config.toml`, so that a line can be copied there and changed.
    """
    config = common.config()
    offering = [each.name for each in config.endpoints if name in each.models]
    is_endpoint = name in [each.name for each in config.endpoints]
    if not is_endpoint and not offering and (protocol := detect_protocol(name)) is not None:
        both = f"{standard_endpoint(protocol)} {one_line(name, 80)}"
        raise InputError(
            f"There is no endpoint “{one_line(name, 80)}”.",
            advice=f"If it is a model, name both: `tui-chat endpoints facts {both}`.",
        )
    if offering and not is_endpoint:
        raise InputError(
            f"“{one_line(name, 80)}” is a model, not an endpoint.",
            advice=f"Name both: `tui-chat endpoints facts {offering[0]} {one_line(name, 80)}`.",
        )
    endpoint = config.endpoint_named(name)
    models = models or endpoint.models
    if as_json:
        write_json({model: _known(endpoint.facts_of(model)) for model in models})
        return
    if not models:
        write_line(f"“{name}” has no models of its own; name one.")
    for number, model in enumerate(models):
        if number:
            write_line("")
        write_line(one_line(f"[endpoints.{_toml_key(name)}.facts.{_toml_key(model)}]"))
        known = _known(endpoint.facts_of(model))
        sources = tuple(endpoint.facts_by_source(model))
        if not known:
            write_line("# Nothing is known of it.")
        for key, value in known.items():
            text = f"{key} = {_toml(value)}"
            source = next(name for name, facts in sources if getattr(facts, key) is not None)
            write_line(f"{text:<50}  # {source}")


def _toml_key(name: str) -> str:
    is_bare = re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None
    return name if is_bare else json.dumps(name, ensure_ascii=False)


def _toml(value: Any) -> str:
    """Return a fact's value as TOML."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        inner = (
            f"{key} = {each if key in ('from', 'until') else _toml(each)}" for key, each in items
        )
        return f"{{ {', '.join(inner)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, cast('list[Any]', value)))}]"
    return json.dumps(value)


def _key(endpoint: Endpoint) -> str:
    """Describe where the key is, without the key. Only the environment is checked: a keyring may
    ask for a password, and a command may do anything.
    """
    if endpoint.key_header(("", "")) is None:
        return "none needed"
    kind, _, name = endpoint.key.partition(":")
    missing = kind == "env" and not os.environ.get(name, "").strip()
    return describe_key_reference(endpoint.key) + (" (not set)" if missing else "")


def run_test(common: CommonOptions, name: str, model: str, *, as_json: bool) -> bool:
    """Print the checks of an endpoint; return True if none failed. Raises ConfigError."""
    endpoint = common.config().endpoint_named(name)
    checks = asyncio.run(_test(endpoint, model, show=not as_json))
    failed = [check.name for check in checks if check.result == "failed"]
    if as_json:
        body = {
            "endpoint": name,
            "url": _chat_url(endpoint, model),
            "works": not failed,
            "checks": [asdict(c) for c in checks],
        }
        write_json(body)
    elif failed:
        write_line(f"\n“{name}” does not work: {', '.join(failed)}.")
    else:
        write_line(f"\n“{name}” works.")
    return not failed


async def _test(endpoint: Endpoint, model: str, *, show: bool) -> list[Check]:
    checks: list[Check] = []
    if show:
        write_line(f"{endpoint.name}: {endpoint.protocol.label} at {endpoint.base_url}")
        write_line(f"Requests go to {_chat_url(endpoint, model)}\n")
    async with open_http_client() as client:
        async for check in check_endpoint(endpoint, model, client):
            checks.append(check)
            if show:
                show_check(check)
    return checks


def _chat_url(endpoint: Endpoint, model: str) -> str:
    """Return the URL of a chat request: the parsed base URL and the protocol's path."""
    model = model or ("" if endpoint.models else "MODEL")
    return tiny_chat(endpoint, model, stream=True).shown_url


def show_check(check: Check, *, width: int = 7) -> None:
    """Print a check; `width` is that of the column with its name."""
    sign = Styled(_SIGNS[check.result], _COLOURS[check.result])
    took = f"  ({check.seconds:.2f} s)" if check.seconds is not None else ""
    write_line("  ", sign, f"  {check.name:<{width}} {check.sentence}{took}")
    if check.advice:
        write_line(f"{'':{width + 7}}{check.advice}")


PROMPT = "Reply with the single word: ok"
REPLY_LIMIT = 256
"""Tokens; enough for a model to think a little before its one word."""

_SILENCE = 90.0
"""Maximum seconds without data during a check; the endpoint's own limit if that is lower."""

Result = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    result: Result
    sentence: str
    advice: str = ""
    seconds: float | None = None
    """Its duration, if that is informative."""


async def check_endpoint(
    endpoint: Endpoint, model: str, client: HttpClient
) -> AsyncIterator[Check]:
    """Yield the checks as they end. For an empty `model` one that the server lists is used."""
    limits = replace(endpoint.timeouts, silence=min(endpoint.timeouts.silence, _SILENCE))
    endpoint = replace(endpoint, timeouts=limits, retries=Retries(times=0))
    key = await _check_key(endpoint)
    yield key
    if key.result == "failed":
        for name in ("server", "model", "chat", "stream", "usage"):
            yield Check(name, "skipped", "Not tried without a key.")
        return
    server, models = await check_server(endpoint, client)
    yield server
    if server.result == "failed" and models is None:
        for name in ("model", "chat", "stream", "usage"):
            yield Check(name, "skipped", "The server cannot be reached.")
        return
    chosen = _check_model(endpoint, model, models or ())
    yield chosen
    if chosen.result == "failed":
        for name in ("chat", "stream", "usage"):
            yield Check(name, "skipped", "Not tried without a model.")
        return
    model_used = model or _default_model(endpoint, models or ())
    whole, whole_reply = await _check_chat(endpoint, model_used, client, stream=False)
    yield whole
    streamed, stream_reply = await _check_chat(endpoint, model_used, client, stream=True)
    yield streamed
    yield _check_usage(whole_reply, stream_reply)


async def _check_key(endpoint: Endpoint) -> Check:
    if endpoint.key_header(("", "")) is None:
        return Check("key", "ok", "No key is needed.")
    try:
        await resolve_key(endpoint.key, os.environ)
    except InputError as error:
        return Check("key", "failed", str(error), error.advice)
    return Check("key", "ok", f"Found: {describe_key_reference(endpoint.key)}.")


async def check_server(
    endpoint: Endpoint, client: HttpClient
) -> tuple[Check, tuple[str, ...] | None]:
    """Ask a server for its models. Return the check, and the models; None if the server cannot be
    reached.
    """
    began = monotonic()
    try:
        models = await list_models(endpoint, client)
    except Unreachable as error:
        return Check("server", "failed", str(error), error.advice), None
    except Refused as error:
        if error.status in (401, 403):
            return Check("server", "failed", str(error), error.advice), ()
        sentence = f"The server answers, but lists no models: {error}"
        return Check("server", "warning", sentence, "Chats may still work."), ()
    except TuiChatError as error:
        sentence = f"The server answers, but lists no models: {error}"
        return Check("server", "warning", sentence, error.advice), ()
    some = ", ".join(models[:4]) + (" …" if len(models) > 4 else "")
    count = f"{len(models)} model{'s' * (len(models) != 1)}"
    sentence = f"{endpoint.base_url} has {count}" + (f": {some}." if models else ".")
    return Check("server", "ok", sentence, seconds=monotonic() - began), models


def _default_model(endpoint: Endpoint, models: tuple[str, ...]) -> str:
    there = (model for model in endpoint.models if not models or model in models)
    return next(there, None) or next(iter(models), "")


def _check_model(endpoint: Endpoint, model: str, models: tuple[str, ...]) -> Check:
    model_used = model or _default_model(endpoint, models)
    if not model_used:
        advice = "Set --model, or `models` of the endpoint."
        return Check(
            "model", "failed", "No model is configured, and the server lists none.", advice
        )
    facts = endpoint.facts_of(model_used)
    known = f"{facts.context_limit:,} tokens" if facts.context_limit else "unknown"
    about = f"its context limit is {known}"
    if not models:
        return Check("model", "ok", f"{model_used} is used; {about}.")
    if model_used in models:
        return Check("model", "ok", f"{model_used} exists; {about}.")
    advice = "Providers accept some unlisted names; the chat below shows if this one is."
    return Check("model", "warning", f"{model_used} is not listed; {about}.", advice)


def tiny_chat(endpoint: Endpoint, model: str, *, stream: bool) -> Composed:
    """Return the request that the checks send; an empty `model` is the endpoint's first."""
    settings = SessionSettings(model=model, max_tokens=REPLY_LIMIT)
    preset = Preset("test")
    return compose(Inputs(endpoint, preset, draft=PROMPT, settings=settings, stream=stream))


async def _check_chat(
    endpoint: Endpoint, model: str, client: HttpClient, *, stream: bool
) -> tuple[Check, Reply | None]:
    name = "stream" if stream else "chat"
    composed = tiny_chat(endpoint, model, stream=stream)
    replies: list[Reply] = []
    began = monotonic()
    first: list[float] = []

    def on_reply(reply: Reply, _: int) -> None:
        replies.append(reply)
        if not first and not reply.is_empty:
            first.append(monotonic() - began)

    try:
        await receive(composed, client, on_reply, lambda _pause: None)
    except TuiChatError as error:
        partial = replies[-1] if replies else None
        return Check(name, "failed", str(error), error.advice), partial
    seconds = monotonic() - began
    reply = replies[-1]
    words = _reply_excerpt(reply)
    if not stream:
        return Check(name, "ok", f"A complete reply arrived: {words}.", seconds=seconds), reply
    if len(replies) == 1:
        sentence = f"The reply arrived at once, although a stream was requested: {words}."
        return Check(name, "warning", sentence, "Replies work, but do not appear gradually."), reply
    sentence = f"A reply was streamed, starting after {first[0] if first else seconds:.2f} s: "
    return Check(name, "ok", f"{sentence}{words}.", seconds=seconds), reply


def _reply_excerpt(reply: Reply) -> str:
    text = " ".join(reply.text.split())
    if text:
        return f"“{text if len(text) <= 40 else text[:39] + '…'}”"
    if reply.finish is not None and reply.finish.reason == "length":
        return "no text, because thinking used up the output limit of this test"
    if reply.parts:
        return f"no text, but {one_line(describe(reply.parts[0]), 40)}"
    return "reasoning without text" if reply.reasoning else "no text"


def _check_usage(whole: Reply | None, streamed: Reply | None) -> Check:
    reported = [
        f"{reply.usage.input} in and {reply.usage.output} out {how}"
        for how, reply in (("complete", whole), ("streamed", streamed))
        if reply is not None and reply.usage.output is not None
    ]
    replies = [reply for reply in (whole, streamed) if reply is not None]
    if not replies:
        return Check("usage", "skipped", "No reply arrived.")
    if len(reported) == len(replies):
        return Check("usage", "ok", f"Token counts are reported: {', '.join(reported)}.")
    advice = "tui-chat counts tokens itself; a limit may be reached earlier than shown."
    missing = f"Token counts are {'partly' if reported else 'not'} reported"
    return Check(
        "usage", "warning", f"{missing}{': ' + ', '.join(reported) if reported else ''}.", advice
    )
