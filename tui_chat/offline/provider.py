"""The provider: an HTTP request in, an `Answer` out, and no I/O between.

It remembers two things, for as long as it lives: how often each failing model was asked, so that
`flaky-429:2` can give in at the third time, and the last responses of the Responses protocol, so
that `previous_response_id` works.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import assert_never

from tui_chat.offline.answer import Answer, Step
from tui_chat.offline.asked import Asked, Call, Part, Turn, Words
from tui_chat.offline.house import Addressed, Headers, House, Voice
from tui_chat.offline.meter import meter
from tui_chat.offline.models import find
from tui_chat.offline.node import compact, parse
from tui_chat.offline.pieces import (
    Cut,
    Failure,
    Finish,
    Metered,
    Reasoning,
    Said,
    Stall,
    Text,
    ToolCall,
    Wait,
)
from tui_chat.offline.problems import NoModel, Problem, Refused, TooLarge
from tui_chat.offline.received import Received
from tui_chat.offline.routes import (
    GEMINI,
    GEMINI_ARRAY,
    MESSAGES,
    RESPONSES,
    Count,
    List,
    Reply,
    house_of,
    route,
)
from tui_chat.offline.tokens import estimate
from tui_chat.offline.world import World

MAX_BODY = 64 * 1024 * 1024
"""Bytes of request body that are taken."""

_REMEMBERED = 256
"""Responses kept for `previous_response_id`; the oldest goes first."""


class Provider:
    """Four protocols, one set of models."""

    def __init__(
        self, world: World | None = None, on_request: Callable[[Received], None] | None = None
    ) -> None:
        self.world = world or World()
        self._on_request = on_request
        self._asked_for: Counter[str] = Counter()
        self._responses: OrderedDict[str, tuple[Turn, ...]] = OrderedDict()

    def answer(self, received: Received) -> Answer:
        """Return what to send back. Never raises for anything a client can send."""
        if self._on_request is not None:
            self._on_request(received)
        house = house_of(received)
        id = house.request_id(self.world)
        try:
            if len(received.body) > MAX_BODY:
                raise Refused(TooLarge(MAX_BODY))
            match route(received):
                case Reply() as reply:
                    return self._reply(received, reply, id)
                case Count() as count:
                    return self._count(received, count, id)
                case List(model):
                    return self._list(received, house, model, id)
                case _ as never:
                    assert_never(never)
        except Refused as refused:
            return self.refuse(house, refused.problem, id)

    def refuse(self, house: House, problem: Problem, id: str | None = None) -> Answer:
        """Return the answer for a problem, in a house's manner."""
        id = house.request_id(self.world) if id is None else id
        complaint = house.complain(problem, id, self.world)
        said = {name for name, _ in complaint.headers}
        usual = [(k, v) for k, v in house.headers(id, self.world) if k not in said]
        headers = (*usual, *complaint.headers)
        return _whole(house, complaint.status, complaint.body, headers)

    def _reply(self, received: Received, reply: Reply, id: str) -> Answer:
        dialect = reply.dialect
        addressed = Addressed(
            len(received.body), reply.model, reply.stream, recall=self._responses.get
        )
        asked = dialect.hear(parse(received.body), addressed)
        behaviour = find(asked.model)
        if behaviour is None:
            raise Refused(NoModel(asked.model, reply.version))
        self._asked_for[asked.model] += 1
        reply_pieces = behaviour(asked, self._asked_for[asked.model])
        pieces = meter(reply_pieces, asked.limit, asked.stops, self.world.token)
        voice = dialect.voice(asked, self.world)
        if dialect is RESPONSES and asked.body.get("store") is not False:
            pieces = self._remembering(pieces, asked, voice.id)
        headers = dialect.house.headers(id, self.world)
        if not asked.stream:
            return _collected(pieces, voice, dialect.house, headers)
        first = next(pieces)
        if isinstance(first, Failure):
            raise Refused(first.problem)
        kind = dialect.house.json_type if dialect is GEMINI_ARRAY else dialect.house.stream_type
        headers = (("content-type", kind), ("cache-control", "no-cache"), *headers)
        return Answer(200, headers, _streamed(chain((first,), pieces), voice))

    def _remembering(self, pieces: Iterator[Metered], asked: Asked, id: str) -> Iterator[Metered]:
        """Pass the pieces on; once they have all been said, the response can be referred to."""
        parts: list[Part] = []
        text: list[str] = []
        for piece in pieces:
            match piece:
                case Text(words):
                    text.append(words)
                case ToolCall(name, arguments, call):
                    parts.append(Call(f"call_{call}", name, arguments))
                case Finish():
                    words = [Words("".join(text))] if text else []
                    said = (Turn("assistant", (*words, *parts)),) if words or parts else ()
                    self._responses[id] = (*asked.turns, *said)
                    while len(self._responses) > _REMEMBERED:
                        self._responses.popitem(last=False)
                case _:
                    pass
            yield piece

    def _count(self, received: Received, count: Count, id: str) -> Answer:
        house = count.dialect.house
        addressed = Addressed(len(received.body), count.model, counting=True)
        body = parse(received.body)
        if count.dialect is GEMINI:
            body = body.get("generateContentRequest", "generate_content_request") or body
        asked = count.dialect.hear(body, addressed)
        if find(asked.model) is None:
            raise Refused(NoModel(asked.model, count.version))
        number = estimate(asked.characters)
        said = {"input_tokens": number} if count.dialect is MESSAGES else {"totalTokens": number}
        return _whole(house, 200, compact(said).encode(), house.headers(id, self.world))

    def _list(self, received: Received, house: House, model: str | None, id: str) -> Answer:
        body = house.catalogue() if model is None else house.entry(model)
        if body is None:
            raise Refused(NoModel(model or "", received.path.split("/")[1]))
        return _whole(house, 200, body, house.headers(id, self.world))


def _streamed(pieces: Iterable[Metered], voice: Voice) -> Iterator[Step]:
    yield from _some(voice.begin())
    for piece in pieces:
        match piece:
            case Text() | Reasoning() | ToolCall():
                yield from _some(voice.say(piece))
            case Wait() | Stall() | Cut():
                yield piece
            case Failure(problem):
                yield from _some(voice.fail(problem))
            case Finish():
                yield from _some(voice.end(piece))
            case _:
                assert_never(piece)


def _some(data: bytes) -> Iterator[Step]:
    if data:
        yield data


def _collected(pieces: Iterable[Metered], voice: Voice, house: House, headers: Headers) -> Answer:
    """Return the answer that is not streamed: all its waiting comes before the status line."""
    said: list[Said] = []
    seconds = 0.0
    stalls = False
    finish = Finish("stop", None, 0, 0)
    cut = False
    for piece in pieces:
        match piece:
            case Text() | Reasoning() | ToolCall():
                said.append(piece)
            case Wait(more):
                seconds += more
            case Stall():
                stalls = True
            case Cut():
                cut = True
            case Failure(problem):
                raise Refused(problem)
            case Finish():
                finish = piece
            case _:
                assert_never(piece)
    body = voice.whole(said, finish)
    before = (*((Wait(seconds),) if seconds else ()), *((Stall(),) if stalls else ()))
    answer = _whole(house, 200, body, headers)
    steps: tuple[Step, ...] = (body[: len(body) // 2], Cut()) if cut else (body,)
    return replace(answer, steps=steps, before=before)


def _whole(house: House, status: int, body: bytes, headers: Headers) -> Answer:
    described = (("content-type", house.json_type), ("content-length", str(len(body))))
    return Answer(status, (*described, *headers), (body,))
