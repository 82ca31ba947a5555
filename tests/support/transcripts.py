"""Hypothesis strategies for complete sessions."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256

from hypothesis import strategies as st

from tests.support.strategies import any_settings, any_text
from tui_chat.models.citations import Citation, References, found_source
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import MESSAGE_ROLES, NOT_MUTED, Message, Muted, Part, ToolCall
from tui_chat.models.request import RequestRecord, StoredRequest
from tui_chat.models.role import Role
from tui_chat.models.semantics import (
    KeptReply,
    Layout,
    LayoutPiece,
    MessageSemantics,
    ReasoningBlock,
    WireForm,
)
from tui_chat.models.session import Entry, Session
from tui_chat.models.token_probabilities import (
    LOWEST,
    TokenAlternative,
    TokenProbability,
    pack_tokens,
)
from tui_chat.models.transcript import SessionTranscript
from tui_chat.models.usage import Usage

short = st.text("aé好😀 \n\x1b\u202e", max_size=6)
words = st.one_of(short, any_text)
protocols = st.sampled_from(list(Protocol))
moments = st.floats(0, 4e9)
counts = st.none() | st.integers(0, 2**40)
objects = st.sampled_from(["", "{}", '{"type":"x","é":[1]}'])

parts = st.builds(
    lambda kind, mime, source, value, protocol, name, detail: replace(
        Part(kind, mime, protocol=protocol, name=name, detail=detail), **{source: value}
    ),
    st.sampled_from(["image", "audio", "video", "file"]),
    st.sampled_from(["", "image/png"]),
    st.sampled_from(["data", "url", "file_id", "text"]),
    words,
    st.none() | protocols,
    short,
    st.sampled_from(["", "high"]),
)
pieces = st.builds(
    LayoutPiece,
    st.sampled_from(["reasoning", "text", "call", "other", "part", "refusal", "result"]),
    length=st.integers(0, 99),
    signature=short,
    id=short,
    phase=st.sampled_from(["", "commentary"]),
    name=short,
    data=objects,
    cache=objects,
    extras=objects,
    spelled=st.lists(short, max_size=2).map(tuple),
)
references = st.builds(
    lambda sources, places, queries, failures, length, cut: References(
        tuple(found_source(*each) for each in sources),
        tuple(
            Citation(number % len(sources), start, start + size, quote, where)
            for number, start, size, quote, where in places
            if sources
        ),
        queries,
        failures,
        length,
        cut,
    ),
    st.lists(
        st.tuples(words, st.sampled_from(["", "https://a.example/x?y=1", "ftp://b"]), short),
        max_size=3,
    ),
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), words, short), max_size=3
    ),
    st.lists(words, max_size=2).map(tuple),
    st.lists(words, max_size=2).map(tuple),
    st.integers(0, 99),
    st.booleans(),
)
token_texts, logprobs = words.filter(bool), st.floats(LOWEST, 0)
tokens = st.lists(
    st.builds(
        TokenProbability,
        token_texts,
        logprobs,
        st.lists(st.builds(TokenAlternative, token_texts, logprobs), max_size=2).map(tuple),
    ),
    max_size=3,
).map(pack_tokens)
semantics = st.builds(
    MessageSemantics,
    reasoning=st.lists(
        st.builds(ReasoningBlock, protocols, words, short, short, short, short), max_size=2
    ).map(tuple),
    refusal=short,
    layout=st.none()
    | st.builds(Layout, protocols, st.lists(pieces, min_size=1, max_size=3).map(tuple)),
    failed=st.none() | st.booleans(),
    wire=st.none()
    | st.builds(
        WireForm,
        protocols,
        st.sampled_from(["", "string", "parts", "null", "absent"]),
        st.booleans(),
        short,
        short,
        objects,
    ),
    kept_as=st.none() | st.builds(KeptReply, short, short),
    replaced=st.lists(words, max_size=2).map(tuple),
    references=references,
    tokens=tokens,
)
messages = st.builds(
    Message,
    st.sampled_from(MESSAGE_ROLES),
    words,
    tool_calls=st.lists(st.builds(ToolCall, short, short, words), max_size=2).map(tuple),
    tool_call_id=short,
    name=short,
    timestamp=st.none() | moments,
    pinned=st.booleans(),
    muted=st.just(NOT_MUTED)
    | st.builds(Muted, st.booleans(), st.booleans(), st.sampled_from([(), (1,)])),
    semantics=st.just(MessageSemantics()) | semantics,
    parts=st.lists(parts, max_size=2).map(tuple),
)
entries = st.builds(
    Entry,
    messages,
    status=st.sampled_from(["complete", "stopped", "failed", "interrupted"]),
    error=short,
    advice=short,
    model=short,
    endpoint=short,
    usage=st.builds(Usage, counts, counts, counts, counts, counts),
    finish=short,
    seconds=st.none() | st.floats(0, 1e6),
    first=st.none() | st.floats(0, 1e6),
)
names = st.lists(st.text("ab好", min_size=1, max_size=4), max_size=2, unique=True).map(tuple)


@st.composite
def transcripts(draw: st.DrawFn, ids: st.SearchStrategy[str] | None = None) -> SessionTranscript:
    """A session with a tree of messages, and perhaps a role."""
    tag = draw(ids or st.text("0123456789abcdef", min_size=8, max_size=8))
    told: list[Entry] = []
    for index, entry in enumerate(draw(st.lists(entries, max_size=8))):
        parent = draw(st.integers(-1, index - 1))
        parent_id = f"{tag}-{parent}" if parent >= 0 else None
        message = replace(entry.message, id=f"{tag}-{index}")
        told.append(replace(entry, message=message, parent_id=parent_id))
    role = draw(
        st.none()
        | st.builds(
            Role,
            st.just(f"role-{tag}"),
            st.text("ab好", min_size=1, max_size=5),
            words,
            short,
            any_settings,
            short,
            st.sampled_from(["enabled", "disabled"]),
        )
    )
    session = Session(
        f"session-{tag}",
        draw(st.text("ab好 ", min_size=1, max_size=8)),
        role.role_id if role else None,
        *(draw(short) for _ in range(4)),
        head_id=told[draw(st.integers(0, len(told) - 1))].message.id if told else None,
        settings=draw(any_settings),
        pinned=draw(st.booleans()),
        archived=draw(st.booleans()),
        folder=draw(short),
        tags=draw(names),
        lorebooks=draw(names),
        lost_role="" if role else draw(short),
        created=draw(st.floats(1, 4e9)),
        updated=draw(st.floats(1, 4e9)),
    )
    variables = tuple(sorted(draw(st.dictionaries(short, words, max_size=2)).items()))
    revisions = tuple(
        (kind, f'{{"{kind}":{json.dumps(name)}}}')  # a text says what kind it is of
        for kind, name in draw(
            st.lists(st.tuples(st.sampled_from(["preset", "profile"]), words), max_size=2,
                     unique_by=lambda each: each[1])
        )
    )  # fmt: skip
    hashes = {sha256(text.encode()).hexdigest(): each for each in revisions for text in each[1:]}
    revisions = tuple(hashes[name] for name in sorted(hashes))
    recipe = {"format": 1, "lorebooks": sorted(hashes), "variables": {"é": draw(words)}}
    sent = tuple(
        StoredRequest(each.message.id, RequestRecord("e", draw(protocols), "POST", "https://x.example/v1",
             sha256(body or b"").hexdigest(), recipe, body, created=draw(moments)))
        for each in told if draw(st.booleans())
        for body in [draw(st.none() | words.map(str.encode) | st.binary(max_size=9))]
    )  # fmt: skip
    revisions = revisions if sent else ()
    return SessionTranscript(session, tuple(told), role, variables, sent, revisions, draw(words))
