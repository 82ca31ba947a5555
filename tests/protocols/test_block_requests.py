"""What a protocol's reader makes of a request is written as the request that it was.

Recorded requests, where they are at hand, the golden cases, and all of them with odd values.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.protocols.test_mutated_requests import changed, requests
from tests.support.requests import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.blocks import Extras, same_json
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.protocols.anthropic.encode import READER as ANTHROPIC_READER
from tui_chat.protocols.gemini.encode import READER as GEMINI_READER
from tui_chat.protocols.ollama.encode import READER as OLLAMA_READER
from tui_chat.protocols.openai_chat.encode import READER as CHAT_READER
from tui_chat.protocols.openai_responses.encode import READER as RESPONSES_READER

Read = Callable[[dict[str, Any]], ChatEnvelope]
Write = Callable[[ChatEnvelope], dict[str, Any]]
READERS: list[tuple[Protocol, Read, Write]] = [
    (CHAT, CHAT_READER.read, CHAT_READER.write),
    (ANTHROPIC, ANTHROPIC_READER.read, ANTHROPIC_READER.write),
    (RESPONSES, RESPONSES_READER.read, RESPONSES_READER.write),
    (OLLAMA, OLLAMA_READER.read, OLLAMA_READER.write),
    (GEMINI, GEMINI_READER.read, GEMINI_READER.write),
]
CONVERSATIONS = ("messages", "input", "contents")
MUTANTS = 2_000
LONGEST_CHANGE = 100
"""Characters of a value that a recorded message has otherwise than we write it. A longer one is
kept twice, and an edit of what is in it would be lost."""


@each_row(("protocol", "read", "write"), READERS, ids=[protocol for protocol, _, _ in READERS])
def test_a_request_comes_back_from_its_blocks(protocol: Protocol, read: Read, write: Write) -> None:
    for body in bodies_of(protocol):
        request = read(body)
        assert same_json(write(request), body)
        rest = request.rest.changes if request.rest is not None and request.turns else ()
        assert not any(change.path[0] in CONVERSATIONS for change in rest), "the turns have it"
        for extras in message_extras(request):
            long = [c for c in extras.changes if len(json.dumps(c.value)) > LONGEST_CHANGE]
            assert not long


@each_row(("protocol", "read", "write"), READERS, ids=[protocol for protocol, _, _ in READERS])
def test_a_request_with_odd_values_comes_back_from_its_blocks(
    protocol: Protocol, read: Read, write: Write
) -> None:
    chance, pool = random.Random(7), list(bodies_of(protocol))
    wrong: list[str] = []
    for _ in range(MUTANTS):
        body = changed(chance.choice(pool), chance)
        try:
            request = read(body)
        except InputError:
            continue
        if not same_json(write(request), body):
            wrong.append(json.dumps(body)[:1_500])
    assert not wrong, "\n".join([f"{len(wrong)} of {MUTANTS}", *wrong[:5]])


def bodies_of(protocol: Protocol) -> Iterator[dict[str, Any]]:
    for source, body in requests():
        if source is protocol and isinstance(body, dict):
            yield body


def message_extras(request: ChatEnvelope) -> Iterator[Extras]:
    for turn in request.turns:
        holders = (turn.extras, *(block.extras for block in turn.blocks))
        yield from (extras for extras in holders if extras is not None)
