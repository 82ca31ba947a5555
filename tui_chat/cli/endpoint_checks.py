"""Does an endpoint work? One check after the other, each with what to do about it.

1. The key is where its reference says.
2. The server answers, and lists its models; the one that is asked is among them.
3. A tiny real chat comes whole, and as a stream, with the tokens it took.

Every check says what it found. What cannot be tried because something before it failed is
skipped, and says so. Nothing is tried twice: this is to show troubles, not to wait for their end.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal

from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, Settings
from tui_chat.errors import InputError, Refused, TuiChatError, Unreachable
from tui_chat.models.endpoint import Endpoint, Retries
from tui_chat.models.preset import Preset
from tui_chat.models.reply import Reply
from tui_chat.providers import HttpClient, list_models
from tui_chat.providers.keys import describe_key_reference, resolve_key
from tui_chat.send import receive

PROMPT = "Reply with the single word: ok"
REPLY_LIMIT = 256
"""Tokens: enough for a model to think a little before its one word."""

_SILENCE = 90.0
"""Seconds that a check waits at most, where the endpoint's own patience is longer."""

Result = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found."""

    name: str
    result: Result
    sentence: str
    advice: str = ""
    seconds: float | None = None
    """How long it took, where that tells something."""


async def check_endpoint(
    endpoint: Endpoint, model: str, client: HttpClient
) -> AsyncIterator[Check]:
    """Yield the checks as they are done. `model` may be empty: then one that is there is asked."""
    limits = replace(endpoint.timeouts, silence=min(endpoint.timeouts.silence, _SILENCE))
    endpoint = replace(endpoint, timeouts=limits, retries=Retries(times=0))
    key = await _key(endpoint)
    yield key
    if key.result == "failed":
        for name in ("server", "model", "chat", "stream", "usage"):
            yield Check(name, "skipped", "There is no key to try it with.")
        return
    server, models = await _server(endpoint, client)
    yield server
    if server.result == "failed" and models is None:
        for name in ("model", "chat", "stream", "usage"):
            yield Check(name, "skipped", "The server cannot be reached.")
        return
    chosen = _model(endpoint, model, models or ())
    yield chosen
    if chosen.result == "failed":
        for name in ("chat", "stream", "usage"):
            yield Check(name, "skipped", "There is no model to ask.")
        return
    asked = model or _default(endpoint, models or ())
    whole, whole_reply = await _chat(endpoint, asked, client, stream=False)
    yield whole
    streamed, stream_reply = await _chat(endpoint, asked, client, stream=True)
    yield streamed
    yield _usage(whole_reply, stream_reply)


async def _key(endpoint: Endpoint) -> Check:
    if endpoint.key_header(("", "")) is None:
        return Check("key", "ok", "None is needed.")
    try:
        await resolve_key(endpoint.key, os.environ)
    except InputError as error:
        return Check("key", "failed", str(error), error.advice)
    return Check("key", "ok", f"Found: {describe_key_reference(endpoint.key)}.")


async def _server(endpoint: Endpoint, client: HttpClient) -> tuple[Check, tuple[str, ...] | None]:
    """Return what the list of models told; None for a server that is not there."""
    began = monotonic()
    try:
        models = await list_models(endpoint, client)
    except Unreachable as error:
        return Check("server", "failed", str(error), error.advice), None
    except Refused as error:
        if error.status in (401, 403):
            return Check("server", "failed", str(error), error.advice), ()
        sentence = f"It answers, but lists no models: {error}"
        return Check("server", "warning", sentence, "Chatting may work all the same."), ()
    except TuiChatError as error:
        sentence = f"It answers, but lists no models: {error}"
        return Check("server", "warning", sentence, error.advice), ()
    some = ", ".join(models[:4]) + (" …" if len(models) > 4 else "")
    count = f"{len(models)} model{'s' * (len(models) != 1)}"
    sentence = f"{endpoint.base_url} has {count}" + (f": {some}." if models else ".")
    return Check("server", "ok", sentence, seconds=monotonic() - began), models


def _default(endpoint: Endpoint, models: tuple[str, ...]) -> str:
    there = (model for model in endpoint.models if not models or model in models)
    return next(there, None) or next(iter(models), "")


def _model(endpoint: Endpoint, model: str, models: tuple[str, ...]) -> Check:
    asked = model or _default(endpoint, models)
    if not asked:
        advice = "Name one with --model, or list some in `models` of the endpoint."
        return Check("model", "failed", "None is configured, and the server lists none.", advice)
    facts = endpoint.facts_of(asked)
    known = f"{facts.context_limit:,} tokens" if facts.context_limit else "not known"
    about = f"its context limit is {known}"
    if not models:
        return Check("model", "ok", f"{asked} will be asked; {about}.")
    if asked in models:
        return Check("model", "ok", f"{asked} is there; {about}.")
    advice = "Providers take names that they do not list; the chat below shows whether this one."
    return Check("model", "warning", f"{asked} is not among the models listed; {about}.", advice)


def tiny_chat(endpoint: Endpoint, model: str, *, stream: bool) -> Composed:
    """Return the tiny chat that the checks send. `model` is empty for the endpoint's first."""
    settings = Settings(model=model, max_tokens=REPLY_LIMIT)
    preset = Preset("test")
    return compose(Inputs(endpoint, preset, draft=PROMPT, settings=settings, stream=stream))


async def _chat(
    endpoint: Endpoint, model: str, client: HttpClient, *, stream: bool
) -> tuple[Check, Reply | None]:
    name = "stream" if stream else "chat"
    composed = tiny_chat(endpoint, model, stream=stream)
    replies: list[Reply] = []
    began = monotonic()
    first: list[float] = []

    def grown(reply: Reply, _: int) -> None:
        replies.append(reply)
        if not first and not reply.is_empty:
            first.append(monotonic() - began)

    try:
        await receive(composed, client, grown, lambda _pause: None)
    except TuiChatError as error:
        came = replies[-1] if replies else None
        return Check(name, "failed", str(error), error.advice), came
    seconds = monotonic() - began
    reply = replies[-1]
    words = _words(reply)
    if not stream:
        return Check(name, "ok", f"A whole reply came: {words}.", seconds=seconds), reply
    if len(replies) == 1:
        sentence = f"A reply came whole, though a stream was asked for: {words}."
        return Check(name, "warning", sentence, "It works, without words as they come."), reply
    sentence = f"A reply came in pieces, the first after {first[0] if first else seconds:.2f} s: "
    return Check(name, "ok", f"{sentence}{words}.", seconds=seconds), reply


def _words(reply: Reply) -> str:
    text = " ".join(reply.text.split())
    if text:
        return f"“{text if len(text) <= 40 else text[:39] + '…'}”"
    if reply.finish is not None and reply.finish.reason == "length":
        return "no words yet, the reply limit of this test was spent on thinking"
    return "reasoning without words" if reply.reasoning else "without words"


def _usage(whole: Reply | None, streamed: Reply | None) -> Check:
    told = [
        f"{reply.usage.input} in and {reply.usage.output} out {how}"
        for how, reply in (("whole", whole), ("streamed", streamed))
        if reply is not None and reply.usage.output is not None
    ]
    replies = [reply for reply in (whole, streamed) if reply is not None]
    if not replies:
        return Check("usage", "skipped", "No reply came.")
    if len(told) == len(replies):
        return Check("usage", "ok", f"Tokens are told: {', '.join(told)}.")
    advice = "Tokens will be counted here instead; a limit may be met earlier than shown."
    missing = "Tokens are told only in part" if told else "Tokens are not told"
    return Check("usage", "warning", f"{missing}{': ' + ', '.join(told) if told else ''}.", advice)
