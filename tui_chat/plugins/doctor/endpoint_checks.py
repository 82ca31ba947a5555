"""The checks of an endpoint, for `tui-chat endpoints test` and `doctor`.

A test checks three things, one after the other:

1. The key is where its reference says.
2. The server answers and lists its models, among them the chosen one.
3. A tiny chat arrives complete, and as a stream, with its token counts.

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
from tui_chat.models.media import describe
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
    server, models = await check_server(endpoint, client)
    yield server
    if models is None:
        return
    chosen = _check_model(endpoint, model, models)
    yield chosen
    if chosen.result == "failed":
        return
    model_used = model or _default_model(endpoint, models)
    for stream in (False, True):
        yield await _check_chat(endpoint, model_used, client, stream=stream)


async def _check_key(endpoint: Endpoint) -> Check:
    if endpoint.key_header(("", "")) is None:
        return Check("key", "ok", "No key is needed.")
    try:
        await resolve_key(endpoint.key, os.environ, owner=endpoint.name)
    except InputError as error:
        return Check("key", "failed", str(error), error.advice)
    return Check("key", "ok", f"Found: {describe_key_reference(endpoint.key)}.")


async def check_server(
    endpoint: Endpoint, client: HttpClient
) -> tuple[Check, tuple[str, ...] | None]:
    """Ask a server for its models. Return the check and the models; None if it is unreachable."""
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
    names = f": {some}." if models else "."
    sentence = f"{endpoint.base_url} has {counted(len(models), 'model')}{names}"
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
    limit = f"{facts.context_limit:,} tokens" if facts.context_limit else "unknown"
    about = f"its context limit is {limit}"
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


async def _check_chat(endpoint: Endpoint, model: str, client: HttpClient, *, stream: bool) -> Check:
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
        return Check(name, "failed", str(error), error.advice)
    seconds = monotonic() - began
    reply = replies[-1]
    words, usage = _reply_excerpt(reply), reply.usage
    if usage.output is None:
        advice = "tui-chat counts tokens itself; a limit may be reached earlier than shown."
        return Check(name, "warning", f"A reply arrived without token counts: {words}.", advice)
    words += f", {usage.input} tokens in and {usage.output} out"
    if not stream:
        return Check(name, "ok", f"A complete reply arrived: {words}.", seconds=seconds)
    if len(replies) == 1:
        sentence = f"The reply arrived at once, although a stream was requested: {words}."
        return Check(name, "warning", sentence, "Replies work, but do not appear gradually.")
    sentence = f"A reply was streamed, starting after {first[0] if first else seconds:.2f} s: "
    return Check(name, "ok", f"{sentence}{words}.", seconds=seconds)


def _reply_excerpt(reply: Reply) -> str:
    text = " ".join(reply.text.split())
    if text:
        return f"“{text if len(text) <= 40 else text[:39] + '…'}”"
    if reply.finish is not None and reply.finish.reason == "length":
        return "no text, because thinking used up the output limit of this test"
    if reply.parts:
        return f"no text, but {one_line(describe(reply.parts[0]), 40)}"
    return "reasoning without text" if reply.reasoning else "no text"
