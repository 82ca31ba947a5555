"""The checks of an endpoint, for `tui-chat endpoints test`.

1. The key is where its reference says.
2. The server answers and lists its models.
3. A tiny chat arrives as a stream.

Each check reports what it found and what to do about it. What depends on a failed check is not
tried. Nothing is retried.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from time import monotonic
from typing import Literal

from tui_chat.cli.output import Styled, counted, write_line
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError, Refused, TuiChatError, Unreachable
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Retries
from tui_chat.models.preset import Preset
from tui_chat.models.reply import Reply
from tui_chat.models.sanitize import one_line
from tui_chat.providers.client import HttpClient
from tui_chat.providers.discovery import list_models
from tui_chat.providers.keys import describe_key_reference, resolve_key
from tui_chat.send import receive

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


_SIGNS = {"ok": "ok", "warning": "!!", "failed": "NO", "skipped": "--"}
_COLORS = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "bright_black"}


def show_check(check: Check, *, width: int = 7) -> None:
    """Print a check; `width` is that of the column with its name."""
    sign = Styled(_SIGNS[check.result], _COLORS[check.result])
    took = f"  ({check.seconds:.2f} s)" if check.seconds is not None else ""
    write_line("  ", sign, f"  {check.name:<{width}} {check.sentence}{took}")
    if check.advice:
        write_line(f"{'':{width + 7}}{check.advice}")


async def check_endpoint(
    endpoint: Endpoint, model: str, client: HttpClient
) -> AsyncIterator[Check]:
    """Yield the checks as they end. For an empty `model` one that the server lists is used."""
    limits = replace(endpoint.timeouts, silence=min(endpoint.timeouts.silence, _SILENCE))
    endpoint = replace(endpoint, timeouts=limits, retries=Retries(times=0))
    key = await _check_key(endpoint)
    yield key
    if key.result == "failed":
        return
    server, models = await _check_server(endpoint, client)
    yield server
    if models is None:
        return
    listed = (name for name in endpoint.models if not models or name in models)
    if model := model or next(listed, "") or next(iter(models), ""):
        yield await _check_chat(endpoint, model, client)
    else:
        sentence = "No model is configured, and the server lists none."
        yield Check("chat", "failed", sentence, "Set --model, or `models` of the endpoint.")


async def _check_key(endpoint: Endpoint) -> Check:
    if endpoint.key_header(("", "")) is None:
        return Check("key", "ok", "No key is needed.")
    try:
        await resolve_key(endpoint.key, os.environ, owner=endpoint.name)
    except InputError as error:
        return Check("key", "failed", str(error), error.advice)
    return Check("key", "ok", f"Found: {describe_key_reference(endpoint.key)}.")


async def _check_server(
    endpoint: Endpoint, client: HttpClient
) -> tuple[Check, tuple[str, ...] | None]:
    """Ask a server for its models. Return the check and the models; None if it is unreachable."""
    began = monotonic()
    try:
        models = await list_models(endpoint, client)
    except Unreachable as error:
        return Check("server", "failed", str(error), error.advice), None
    except TuiChatError as error:
        result = (
            "failed" if isinstance(error, Refused) and error.status in (401, 403) else "warning"
        )
        sentence = f"The server lists no models: {error}"
        return Check("server", result, sentence, error.advice), ()
    some = ", ".join(models[:4]) + (" …" if len(models) > 4 else "")
    sentence = f"{endpoint.base_url} has {counted(len(models), 'model')}: {some}".rstrip(": ")
    return Check("server", "ok", f"{sentence}.", seconds=monotonic() - began), models


def tiny_chat(endpoint: Endpoint, model: str) -> Composed:
    """Return the request that the check sends; an empty `model` is the endpoint's first."""
    settings = SessionSettings(model=model, max_tokens=REPLY_LIMIT)
    preset = Preset("test")
    return compose(Inputs(endpoint, preset, draft=PROMPT, settings=settings))


async def _check_chat(endpoint: Endpoint, model: str, client: HttpClient) -> Check:
    replies: list[Reply] = []
    began = monotonic()
    try:
        composed = tiny_chat(endpoint, model)
        await receive(composed, client, lambda reply, _: replies.append(reply), lambda _: None)
    except TuiChatError as error:
        return Check("chat", "failed", str(error), error.advice)
    seconds = monotonic() - began
    words, usage = one_line(replies[-1].text, 40) or "no text", replies[-1].usage
    if usage.output is not None:
        words += f", {usage.input} tokens in and {usage.output} out"
    return Check("chat", "ok", f"{model} replied: {words}.", seconds=seconds)
