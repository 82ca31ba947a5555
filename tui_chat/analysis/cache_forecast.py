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
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Literal

from tui_chat.analysis.prompt import UNREAD, Prompt, cost, prompt_of
from tui_chat.compose import Composed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_tree import Arr, Obj, Str, Tree, body_of
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.tokens import REQUEST_OVERHEAD, Counter

LOOK_BACK = 20
"""Blocks before a mark in which Anthropic looks for a cached prefix.

https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
"""

BreakKind = Literal["first", "model", "kept", "grown", "moved", "changed", "added", "gone", "other"]


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
    return composed.envelope.semantics.is_continuation or isinstance(previous, Str)


class Forecaster:
    """Forecasts successive requests against the last one sent.

    The cost follows what changed since the previous call, not the length of the prompt.
    """

    def __init__(self) -> None:
        self._last: tuple[Composed, Prompt] | None = None
        self._now: Prompt | None = None
        self._equal = 0
        """The number of leading segments that `_now` and `_last` have in common."""

    def __call__(self, last: Composed | None, now: Composed, counter: Counter) -> Forecast:
        """Return the forecast for `now`; `last` is the last request sent, if any."""
        prompt = prompt_of(now, counter, self._now)
        kind = _incomparable(last, now)
        if last is None or kind is not None:
            self._now, self._last = prompt, None
            first_break = CacheBreak(kind or "first")
            return Forecast(_total(now, prompt), 0, 0, _read_tokens(now, prompt), first_break)
        is_same = self._last is not None and self._last[0] is last and self._now is not None
        if self._last is None or not is_same or self._last[1].counter is not counter:
            self._last = last, prompt_of(last, counter, prompt)
            self._now, self._equal = None, 0
        was = self._last[1]
        same = common_prefix(self._now.segments, prompt.segments) if self._now else 0
        self._equal = _equal_segments(was, prompt, min(self._equal, same))
        self._now = prompt
        return _forecast(last, was, now, prompt, self._equal)


def _equal_segments(was: Prompt, now: Prompt, equal: int) -> int:
    """Return the number of equal leading segments, at least `known`."""
    ends = min(len(was.segments), len(now.segments))
    count = equal + common_prefix(was.segments[equal:], now.segments[equal:])
    while count < ends:
        one, other = was.segments[count], now.segments[count]
        if one is not other and not _are_equal(one, other):
            break
        count += 1
    return count


def _are_equal(one: Tree, other: Tree) -> bool:
    return [leaf.key for leaf in _leaves(one)] == [leaf.key for leaf in _leaves(other)]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value without values of its own, as a model reads it."""

    key: tuple[str, bytes]
    """Its name in the object and its JSON."""
    node: Tree

    @property
    def text(self) -> str:
        """The words of the leaf that may be common in part."""
        is_read = isinstance(self.node, Str) and self.key[0] not in UNREAD
        return self.node.text.plain if is_read and isinstance(self.node, Str) else ""


def _leaves(node: Tree, name: str = "") -> Iterator[_Leaf]:
    """Yield the leaves of a segment in the order in which they are read, without cache marks. A
    text block is its text: a block of its own may only exist to carry a mark.
    """
    match node:
        case Obj() if node.items:
            is_text = [key for key, _ in node.items if key != "cache_control"] == ["type", "text"]
            for key, value in node.items:
                if key == "cache_control" or (is_text and key == "type"):
                    continue
                yield from _leaves(value, name if is_text else key)
        case Arr() if node.items:
            for item in node.items:
                yield from _leaves(item, name)
        case _:
            yield _Leaf((name, body_of(node)), node)


def _forecast(last: Composed, was: Prompt, now: Composed, prompt: Prompt, equal: int) -> Forecast:
    common = prompt.before(equal)
    one = was.segments[equal] if equal < len(was.segments) else None
    other = prompt.segments[equal] if equal < len(prompt.segments) else None
    parting = None
    if one is not None and other is not None:
        parting = _diverge(one, other, prompt.counter.uncorrected)
        common += prompt.counter.scaled(parting.tokens)
    served = _served(now.protocol, was, prompt, common)
    is_last = equal == len(was.segments) - 1
    cache_break = _break((last, was), (now, prompt), one, other, parting, is_last=is_last)
    measure = _Measure(last, was, now)
    whole = _read_tokens(now, prompt)
    common, served = (min(measure(tokens), whole) for tokens in (common, served))
    total, last_total = _total(now, prompt), measure(was.total)
    return Forecast(total, common, served, whole - common, cache_break, last_total)


class _Measure:
    """Converts tokens of the last prompt's body to the measure of budgets, so that a whole request
    has the figure that is shown of it elsewhere. Tools are converted apart: they are counted
    otherwise than text.
    """

    def __init__(self, last: Composed, was: Prompt, now: Composed) -> None:
        self._tools, self._total = was.before(was.tools), was.total
        budget, current = last.envelope.budget, now.envelope.budget
        self._as_budget = budget is not None and current is not None
        self._budget_tools = self._budget_total = 0.0
        if budget is not None and current is not None:
            ratio = current.ratio / budget.ratio
            self._budget_total = (budget.total - REQUEST_OVERHEAD) * ratio
            self._budget_tools = sum(cost for _, cost in budget.tools) * ratio

    def __call__(self, tokens: int) -> int:
        """Return the place in a budget of a place in the prompt."""
        tokens = min(tokens, self._total)
        if not self._as_budget:
            return tokens
        if tokens <= self._tools:
            return round(self._budget_tools * tokens / max(self._tools, 1))
        rest = (tokens - self._tools) / (self._total - self._tools)
        tools = self._budget_tools if self._tools else 0.0
        return round(tools + (self._budget_total - tools) * rest)


def _total(now: Composed, prompt: Prompt) -> int:
    budget = now.envelope.budget
    return prompt.total if budget is None else budget.total


def _read_tokens(now: Composed, prompt: Prompt) -> int:
    """Return the tokens of the prompt without the framing of the request, which is not cached."""
    budget = now.envelope.budget
    return prompt.total if budget is None else max(budget.total - REQUEST_OVERHEAD, 0)


def _served(protocol: Protocol, was: Prompt, now: Prompt, common: int) -> int:
    if protocol is not Protocol.ANTHROPIC:
        return common
    return max(
        (
            kept.tokens
            for kept in was.marks
            if kept.tokens <= common
            and any(0 <= mark.block - kept.block <= LOOK_BACK for mark in now.marks)
        ),
        default=0,
    )


@dataclass(frozen=True, slots=True)
class _Divergence:
    """Where two segments part."""

    tokens: int
    """The tokens before it that they have in common."""
    was: Origin | None
    now: Origin | None
    """The origins of the first difference, in the last request and in this one; None past the end
    of a segment."""
    is_ended: bool
    """True if the earlier segment ends where the difference begins."""


def _diverge(one: Tree, other: Tree, counter: Counter) -> _Divergence:
    """Compare two segments that differ."""
    leaves, other_leaves = list(_leaves(one)), list(_leaves(other))
    same = common_prefix([x.key for x in leaves], [x.key for x in other_leaves])
    tokens = sum(cost(leaf.key[0], leaf.node, counter) for leaf in leaves[:same])
    was, now = (next(iter(each[same:]), None) for each in (leaves, other_leaves))
    if was is None or now is None or was.key[0] != now.key[0] or not was.text or not now.text:
        origins = (leaf and _origin(leaf.node) for leaf in (was, now))
        return _Divergence(tokens, *origins, is_ended=was is None)
    end = common_prefix(was.text, now.text)
    return _Divergence(
        tokens + counter.alike(was.text, now.text),
        _at(was.node, end),
        _at(now.node, end),
        is_ended=end == len(was.text) and same + 1 == len(leaves),
    )


def _at(node: Tree, offset: int) -> Origin | None:
    """Return the origin of a character of a string; None for an empty one."""
    if not isinstance(node, Str) or not node.text.plain:
        return None
    return node.text.span_at(min(offset, len(node.text.plain) - 1)).origin


def _origin(node: Tree) -> Origin:
    """Return the origin of a node; for mere structure, the origin of its first text."""
    if isinstance(node, Str):
        return _at(node, 0) or GLUE
    if node.origin is not GLUE or not isinstance(node, Obj | Arr):
        return node.origin
    children = [value for _, value in node.items] if isinstance(node, Obj) else node.items
    return next((o for o in map(_origin, children) if o is not GLUE), GLUE)


def _break(
    last: _Request,
    now: _Request,
    one: Tree | None,
    other: Tree | None,
    parting: _Divergence | None,
    *,
    is_last: bool,
) -> CacheBreak:
    """Return what happened to the first segment that differs; `is_last`: it ended the request."""
    if one is None:
        return CacheBreak("grown", _origin(other) if other is not None else None)
    if other is None or parting is None:
        return CacheBreak("gone", _origin(one).outermost)
    was_what = _named(parting.was, one)
    now_what = _named(parting.now, other)
    was_origin, now_origin = was_what.outermost, now_what.outermost
    if _owner(was_origin) == _owner(now_origin):
        return CacheBreak("changed", now_what)
    stays, came = _has(now, was_origin), not _has(last, now_origin)
    if stays and not came:
        mover = was_origin if now_origin.kind is OriginKind.HISTORY else now_origin
        return CacheBreak("moved", mover)
    if stays:
        return CacheBreak("added", now_origin)
    if was_origin.kind is OriginKind.DRAFT:  # now a message of the history
        if parting.is_ended and is_last:
            return CacheBreak("grown", now_origin)
        return CacheBreak("added" if came else "moved", now_origin)
    return CacheBreak("gone" if not came else "other", was_origin)


def _named(origin: Origin | None, segment: Tree) -> Origin:
    """Return the origin of the difference; for mere structure, that of its segment."""
    return _origin(segment) if origin is None or origin is GLUE else origin


_Request = tuple[Composed, Prompt]


def _owner(origin: Origin) -> tuple[OriginKind, str]:
    return origin.kind, origin.id


def _has(request: _Request, origin: Origin) -> bool:
    """Return True if a request has a tool, or text of a turn, of this origin."""
    composed, prompt = request
    tools = map(_origin, prompt.segments[: prompt.tools])
    pieces = (piece for turn in composed.envelope.turns for piece in turn.pieces or (turn,))
    origins = chain(tools, (piece.origin for piece in pieces))
    return any(other.id == origin.id and other.kind is origin.kind for other in origins)
