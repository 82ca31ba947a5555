"""A forecast, before sending, of how much of a request a provider's prompt cache can serve.

1. A cache serves a prefix of a prompt, token for token, that the provider has processed before.
   `common` is the common prefix of this request and the last one.
2. OpenAI and Gemini cache prefixes automatically. Anthropic caches up to the marks
   (`cache_control`) of the earlier request, and looks for one at most `LOOK_BACK` blocks before a
   mark of this one. `served` takes that into account.
3. Both are upper bounds: a cache expires after minutes, rounds down, and has a minimum size.
4. Every model and endpoint has its own cache.
5. Where the provider keeps earlier turns, a request does not have the whole prompt, so that
   nothing can be said of it.

After the reply, the usage that it reports says how much of the cache was lost, and the comparison
with the request before says why.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Literal

from tui_chat.analysis.prompt import Prompt, leaves, prompt_of
from tui_chat.compose import Composed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.endpoint import Protocol
from tui_chat.models.payload import Arr, Obj, Str, Tree, body_of
from tui_chat.models.prices import Prices
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.models.usage import CacheLoss, Usage, lost_cost
from tui_chat.tokens import REQUEST_OVERHEAD, Counter

LOOK_BACK = 20
"""Blocks before a mark in which Anthropic looks for a cached prefix.

https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
"""

BreakKind = Literal["first", "model", "kept", "grown", "moved", "changed", "added", "gone", "other"]
_SENTENCES: dict[BreakKind, str] = {
    "first": "There is no earlier request of this session to compare with.",
    "model": "The last request went to another model or endpoint, which has its own cache.",
    "kept": "The provider keeps earlier messages, so that what its cache serves is not known.",
    "grown": "It begins with the whole last request.",
    "moved": "{what} has moved.",
    "changed": "{what} has changed.",
    "added": "{what} was added.",
    "gone": "{what} was removed.",
    "other": "{what} and the following text differ.",
}


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """The first difference of a request from the last one."""

    kind: BreakKind
    """`first`: there is no last request. `model`: it went to another model or endpoint. `kept`:
    the provider keeps earlier messages of one of them. `grown`: this request starts with all of the
    last one. `moved`, `changed`, `added`, `gone`: what happened to `origin`. `other`: several
    differences."""
    origin: Origin | None = None
    """The origin of the first difference."""

    @property
    def sentence(self) -> str:
        """What happened."""
        origin, what = self.origin, "the following text"
        if origin is not None:
            what = f"the {origin.label}" if origin.kind is OriginKind.DRAFT else origin.label
            if origin.kind is OriginKind.MACRO and origin.within is not None:
                what = f"{what} in {origin.outermost.label}"
        return _SENTENCES[self.kind].format(what=what[:1].upper() + what[1:])


@dataclass(frozen=True, slots=True)
class Forecast:
    """The tokens of a request that a prompt cache can serve."""

    total: int
    """The whole prompt as its budget counts it, including the framing of the request; without a
    budget, the tokens of the body. All figures are in this measure."""
    common: int
    """The common prefix with the last request."""
    served: int
    """The part of it that the provider's cache can serve at most."""
    after: int
    """The tokens after the first difference, which are not cached; without the framing."""
    at: CacheBreak
    last: int = 0
    """The tokens of the whole last request; 0 if there is none."""

    @property
    def compares(self) -> bool:
        """True if the request could be compared with the last one."""
        return self.at.kind not in ("first", "model", "kept")

    @property
    def lost(self) -> int:
        """The tokens of the last request before a changed place, which must be read again."""
        is_whole = not self.compares or self.at.kind == "grown"
        return 0 if is_whole else max(0, self.last - self.common)

    def calibrated(self, total: int) -> Forecast:
        """Return the forecast with figures that fit another total."""
        ratio = total / self.total if self.total else 1.0
        figures = (self.common, self.served, self.after, self.last)
        common, served, after, last = (round(tokens * ratio) for tokens in figures)
        return Forecast(total, common, served, after, self.at, last)

    @property
    def sentence(self) -> str:
        """What happened, and how much is not cached because of it."""
        happened = self.at.sentence
        if not self.compares or self.at.kind == "grown":
            return happened
        if not self.after:
            return f"{happened[:-1]}; the rest is unchanged."
        where = "after it" if self.at.kind in ("moved", "gone") else "from there on"
        tokens = f"{self.after:,} token{'s' * (self.after != 1)}"
        return f"{happened[:-1]}: {tokens} {where} are not cached."


def forecast_cache(last: Composed | None, now: Composed, counter: Counter) -> Forecast:
    """Return the forecast for a request; `last` is the last request sent, if any."""
    prompt, budget = prompt_of(now, counter), now.envelope.budget
    total = prompt.total if budget is None else budget.total
    whole = prompt.total if budget is None else max(budget.total - REQUEST_OVERHEAD, 0)
    kind = _incomparable(last, now)
    if last is None or kind is not None:
        return Forecast(total, 0, 0, whole, CacheBreak(kind or "first"))
    was = prompt_of(last, counter)
    equal = _equal_segments(was, prompt)
    parting = _part(was.segments[equal:], prompt.segments[equal:], counter.uncorrected)
    common = prompt.before(equal) + counter.scaled(parting.tokens)
    served = _served(was, prompt, common) if now.protocol is Protocol.ANTHROPIC else common
    common, served = (min(_in_budget(n, was, last, now), whole) for n in (common, served))
    cache_break = _cache_break((last, was), (now, prompt), parting)
    last_total = _in_budget(was.total, was, last, now)
    return Forecast(total, common, served, whole - common, cache_break, last_total)


def _incomparable(last: Composed | None, now: Composed) -> BreakKind | None:
    """Return why two requests cannot be compared; None if they can."""
    if last is None:
        return "first"
    if (last.endpoint.name, last.model) != (now.endpoint.name, now.model):
        return "model"
    return "kept" if _is_continuation(last) or _is_continuation(now) else None


def _is_continuation(composed: Composed) -> bool:
    """Return True if the provider keeps earlier turns of a request."""
    previous = composed.encoded.tree.get("previous_response_id")
    return composed.envelope.is_continuation or isinstance(previous, Str)


def _equal_segments(was: Prompt, now: Prompt) -> int:
    """Return the number of equal leading segments."""
    count = common_prefix(was.segments, now.segments)
    for one, other in zip(was.segments[count:], now.segments[count:], strict=False):
        if body_of(one) != body_of(other) and _keys(one) != _keys(other):
            break
        count += 1
    return count


def _keys(segment: Tree) -> list[tuple[str, bytes]]:
    return [leaf.key for leaf in leaves(segment)]


def _in_budget(tokens: int, was: Prompt, last: Composed, now: Composed) -> int:
    """Return a place in the last prompt, given in tokens of its body, in the measure of budgets, so
    that a whole request has the figure that is shown of it elsewhere. Tools are converted apart:
    they are counted otherwise than text.
    """
    tokens = min(tokens, was.total)
    budget, current = last.envelope.budget, now.envelope.budget
    if budget is None or current is None:
        return tokens
    ratio, tools = current.ratio / budget.ratio, was.before(was.tools)
    total = (budget.total - REQUEST_OVERHEAD) * ratio
    budget_tools = sum(cost for _, cost in budget.tools) * ratio if tools else 0.0
    if tokens <= tools:
        return round(budget_tools * tokens / max(tools, 1))
    return round(budget_tools + (total - budget_tools) * (tokens - tools) / (was.total - tools))


def _served(was: Prompt, now: Prompt, common: int) -> int:
    """Return the tokens up to the last mark of an earlier prompt that Anthropic finds."""
    return max(
        (
            tokens
            for tokens, block in was.marks
            if tokens <= common and any(0 <= marked - block <= LOOK_BACK for _, marked in now.marks)
        ),
        default=0,
    )


@dataclass(frozen=True, slots=True)
class _Parting:
    """Where two prompts part."""

    tokens: int
    """The tokens before it in its segment that they have in common."""
    was: Origin | None
    now: Origin | None
    """The origins of the first difference, in the last prompt and in this one; None past the end
    of a prompt."""
    is_ended: bool
    """True if the earlier prompt ends where the difference begins."""


def _part(was: tuple[Tree, ...], now: tuple[Tree, ...], counter: Counter) -> _Parting:
    """Compare what two prompts have after their equal segments."""
    if not was or not now:
        ends = (_origin(rest[0]) if rest else None for rest in (was, now))
        return _Parting(0, *ends, is_ended=not was)
    pair = list(leaves(was[0])), list(leaves(now[0]))
    same = common_prefix(*([leaf.key for leaf in side] for side in pair))
    tokens = sum(leaf.tokens(counter) for leaf in pair[0][:same])
    one, other = (next(iter(side[same:]), None) for side in pair)
    is_last, end = len(was) == 1, 0
    is_ended = one is None
    if one is not None and other is not None and one.name == other.name:
        end = common_prefix(one.words, other.words)
        if one.words and other.words:
            tokens += counter.alike(one.words, other.words)
            is_ended = end == len(one.words) and same + 1 == len(pair[0])
    places = ((one, was[0]), (other, now[0]))
    origins = (_origin(segment if leaf is None else leaf.node, end) for leaf, segment in places)
    named = (
        _origin(segment) if origin is GLUE else origin
        for origin, (_, segment) in zip(origins, places, strict=True)
    )
    return _Parting(tokens, *named, is_ended=is_ended and is_last)


def _origin(node: Tree, offset: int = 0) -> Origin:
    """Return the origin of a node, of a string at an offset; for mere structure, the origin of its
    first text.
    """
    if isinstance(node, Str):
        length = len(node.text.plain)
        return node.text.span_at(min(offset, length - 1)).origin if length else GLUE
    if node.origin is not GLUE or not isinstance(node, Obj | Arr):
        return node.origin
    children = [value for _, value in node.items] if isinstance(node, Obj) else node.items
    return next((o for o in map(_origin, children) if o is not GLUE), GLUE)


def _cache_break(last: _Request, now: _Request, parting: _Parting) -> CacheBreak:
    """Return what happened at the first difference."""
    if parting.was is None:
        return CacheBreak("grown", parting.now)
    was = parting.was.outermost
    if parting.now is None:
        return CacheBreak("gone", was)
    new = parting.now.outermost
    if (was.kind, was.id) == (new.kind, new.id):
        return CacheBreak("changed", parting.now)
    stays, came = _has(now, was), not _has(last, new)
    if stays:
        mover = was if new.kind is OriginKind.HISTORY else new
        return CacheBreak("added", new) if came else CacheBreak("moved", mover)
    if was.kind is OriginKind.DRAFT:  # now a message of the history
        if parting.is_ended:
            return CacheBreak("grown", new)
        return CacheBreak("added" if came else "moved", new)
    return CacheBreak("other" if came else "gone", was)


_Request = tuple[Composed, Prompt]


def _has(request: _Request, origin: Origin) -> bool:
    """Return True if a request has a tool, or text of a turn, of this origin."""
    composed, prompt = request
    tools = map(_origin, prompt.segments[: prompt.tools])
    pieces = (piece for turn in composed.envelope.turns for piece in turn.pieces or (turn,))
    origins = chain(tools, (piece.origin for piece in pieces))
    return any(other.id == origin.id and other.kind is origin.kind for other in origins)


# --- what was lost ---------------------------------------------------------------------------

LEAST_CACHED = 1024
"""Tokens from which prompts are cached automatically."""
_STEP = 128
"""The steps, in tokens, in which they are cached."""
CACHE_SECONDS = {
    Protocol.ANTHROPIC: 300.0,
    Protocol.OPENAI_CHAT: 600.0,
    Protocol.OPENAI_RESPONSES: 600.0,
}
"""Seconds of idle time after which a provider's prompt cache is gone, by their documentation:
https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
https://platform.openai.com/docs/guides/prompt-caching
"""


def cache_seconds(protocol: Protocol, body: bytes) -> float | None:
    """Return the idle seconds after which a request's cache is gone; None if that is unknown."""
    if protocol is Protocol.ANTHROPIC and b'"ttl":"1h"' in body.replace(b" ", b""):
        return 3600.0
    return CACHE_SECONDS.get(protocol)


def reported_loss(protocol: Protocol, before: Usage, now: Usage) -> int | None:
    """Return the cached tokens that a request could not use; None if usage does not say, 0 if they
    are fewer than the steps in which providers cache. `before` is the usage of the request before,
    which succeeded.
    """
    held, cached = _cached_after(protocol, before), now.cached
    if protocol is Protocol.GEMINI and before.cached and cached is None:
        cached = 0  # it leaves out a count of 0
    if held is None or cached is None:
        return None
    lost = held - cached
    return lost if lost >= _STEP else 0


def _cached_after(protocol: Protocol, usage: Usage) -> int | None:
    """Return how many tokens of a prompt were cached when it had been processed; None if that is
    not reported. Only Anthropic reports what it writes; the others cache what is long enough.
    """
    if protocol is Protocol.ANTHROPIC:
        if usage.cached is None and usage.cache_write is None:
            return None
        return (usage.cached or 0) + (usage.cache_write or 0)
    if usage.input is None or usage.cached is None:
        return None
    return usage.input if usage.input >= LEAST_CACHED else 0


@dataclass(frozen=True, slots=True)
class Idle:
    """The time between the end of a response and the next request."""

    seconds: float
    expires: float | None
    """Seconds after which the cache is gone; None if unknown."""

    @property
    def is_expired(self) -> bool:
        """True if the cache is gone because of this time."""
        return self.expires is not None and self.seconds > self.expires


def cache_loss(
    forecast: Forecast,
    protocol: Protocol,
    before: Usage,
    now: Usage,
    prices: Prices | None,
    idle: Idle,
) -> CacheLoss | None:
    """Return what a request lost of the cache that the one before had filled; None for nothing.

    Reported usage says how much; without it, the forecast does. `before` is the usage of the
    request before, which succeeded.
    """
    lost, at = reported_loss(protocol, before, now), forecast.at
    origin = None if at.origin is None else _storable(at.origin)
    cause = CacheLoss(0, at.sentence, kind=at.kind, origin=origin)
    if lost is None:
        cost = lost_cost(forecast.lost, forecast.total, prices)
        return replace(cause, tokens=forecast.lost, cost=cost) if forecast.lost else None
    if not forecast.lost and at.kind != "model":
        # Caches round down, and a part of them may be missing.
        if lost < max(LEAST_CACHED, (lost + (now.cached or 0)) // 4):
            return None
        if idle.is_expired:
            cause = CacheLoss(0, "The cache had expired since the last request.", kind="expired")
        elif at.kind != "kept":
            cause = CacheLoss(0, _UNUSED, kind="unused")
    cost = lost_cost(lost, now.input or lost, prices)
    return replace(cause, tokens=lost, cost=cost) if lost else None


_UNUSED = "The request begins with the whole last one, but the provider did not reuse it."


def _storable(origin: Origin) -> Origin:
    """Return an origin that holds no message."""
    within = None if origin.within is None else _storable(origin.within)
    return Origin(origin.kind, origin.id, origin.name, within)
