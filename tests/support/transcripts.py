"""Hypothesis strategies for complete sessions."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256

from hypothesis import strategies as st

from tests.support.strategies import any_settings, any_text
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Change,
    Extras,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import (
    MESSAGE_ROLES,
    NOT_MUTED,
    NOTHING_ABOUT,
    About,
    Message,
    Muted,
    References,
    found_source,
)
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, RequestRecord, Session, SessionTranscript, StoredRequest
from tui_chat.models.token_probabilities import (
    LOWEST,
    TokenAlternative,
    TokenProbability,
    pack_tokens,
)
from tui_chat.models.usage import Usage

short = st.text("aé好😀 \n\x1b\u202e", max_size=6)
words = st.one_of(short, any_text)
protocols = st.sampled_from(list(Protocol))
moments = st.floats(0, 4e9)
counts = st.none() | st.integers(0, 2**40)
values = st.sampled_from([None, 1, 1.5, True, "", "é", [1, "x"], {"a": {"b": None}}])
keys = st.dictionaries(short, values, max_size=2)
changes = st.lists(
    st.builds(
        Change,
        st.lists(short, min_size=1, max_size=2).map(tuple),
        st.lists(values, min_size=1, max_size=1).map(tuple),
        st.lists(values, max_size=1).map(tuple),
    ),
    max_size=1,
).map(tuple)
extras = st.none() | st.builds(
    Extras, protocols, st.sampled_from(["", "joined", "message"]), keys, changes
)
caches = st.sampled_from(["", "default", "1h"])
results = st.builds(ResultBlock, short, short, st.none() | st.booleans(), caches, extras)
media = st.builds(
    lambda kind, mime, source, value, owner, name, detail, more: replace(
        MediaBlock(kind, mime, owner=owner, name=name, detail=detail, extras=more),
        **{source: value},
    ),
    st.sampled_from(["image", "audio", "video", "file"]),
    st.sampled_from(["", "image/png"]),
    st.sampled_from(["data", "url", "file_id", "text"]),
    words,
    st.none() | protocols,
    short,
    st.sampled_from(["", "high"]),
    extras,
)
blocks = st.one_of(
    st.builds(TextBlock, words, st.booleans(), caches, extras=extras),
    st.builds(TextBlock, words.filter(bool)),
    st.builds(ReasoningBlock, words, extras),
    st.builds(CallBlock, short, short, words, caches, extras),
    media,
    st.builds(OpaqueBlock, protocols, short, values),
)
references = st.builds(
    lambda sources: References(tuple(found_source(*each) for each in sources)),
    st.lists(
        st.tuples(words, st.sampled_from(["", "https://a.example/x?y=1", "ftp://b"]), short),
        max_size=3,
    ),
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
abouts = st.builds(
    About,
    references=references,
    tokens=tokens,
)


@st.composite
def drawn_messages(draw: st.DrawFn) -> Message:
    role = draw(st.sampled_from(MESSAGE_ROLES))
    listed: list[Block] = draw(st.lists(blocks, max_size=4))
    if role == "tool":
        listed.insert(0, draw(results))
    about = draw(st.just(NOTHING_ABOUT) | abouts)
    indices = st.integers(0, max(len(listed) - 1, 0))
    mutes = st.builds(Muted, st.booleans(), st.sets(indices).map(sorted).map(tuple))
    return Message(
        role,
        tuple(listed),
        name=draw(short),
        timestamp=draw(st.none() | moments),
        pinned=draw(st.booleans()),
        muted=draw(mutes) if listed else NOT_MUTED,
        about=about,
        extras=draw(extras),
    )


messages = drawn_messages()
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
