"""Search: words, phrases, prefixes, scripts without spaces; filters; deleted messages."""

from __future__ import annotations

import json
import random
import sqlite3
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.databases import assert_sound, made_at, plain
from tests.support.messages import make_message, thought
from tests.support.stores import Opener, answer, begin, remove_forever
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.blocks import CallBlock, MediaBlock, OpaqueBlock, TextBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, with_content
from tui_chat.models.role import Role
from tui_chat.models.search import Hit, Query
from tui_chat.models.session import Entry, Session, SessionTranscript
from tui_chat.models.text import clean
from tui_chat.store import Store, index, schema, search
from tui_chat.store.index import row_of
from tui_chat.store.words import CLOSE, OPEN, index_text, match_expression, readable_snippet

FIXED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

TEXTS = {
    "plain": "The quick brown fox jumps over the lazy dog.",
    "twice": "A fox is a fox.",
    "accents": "Le café d'Élodie, naïve œuvre",
    "chinese": "我们去北京大学，看见了一只狐狸。",
    "short": "京",
    "mixed": "用Python写的C++程序，Python最好",
    "japanese": "東京タワーへ行きました",
    "korean": "안녕하세요 세계",
    "wide": "ＡＢＣ１２３",
    "code": "def say_hello(x): return x->y",
    "thai": "สวัสดีครับ",
}


@pytest.fixture
async def filled(store: Store) -> Store:
    session = await store.sessions.create(title="everything")
    for name, text in TEXTS.items():
        await store.messages.add(session.session_id, Message.of("user", text, id=name), None)
    return store


async def ids(store: Store, text: str, **more: Any) -> list[str | None]:
    return [hit.message_id for hit in await store.search.find(Query(text, **more))]


@each_row(
    ("text", "found"),
    [
        ("fox", {"plain", "twice"}),
        ("FOX", {"plain", "twice"}),
        ("fo", set()),
        ("fo*", {"plain", "twice"}),
        ("ox", set()),
        ("quick dog", {"plain"}),
        ("quick cat", set()),
        ('"quick brown"', {"plain"}),
        ('"brown quick"', set()),
        ('"quick bro*"', {"plain"}),
        ('"quick brown', {"plain"}),
        ('"a fox" is', {"twice"}),
        ("cafe", {"accents"}),
        ("CAFÉ", {"accents"}),
        ("elodie", {"accents"}),
        ("naive œuvre", {"accents"}),
        ("北京", {"chinese"}),
        ("京大", {"chinese"}),
        ("北大", set()),
        ("北京大学", {"chinese"}),
        ("我们 狐狸", {"chinese"}),
        ("京", {"chinese", "short", "japanese"}),
        ("狸", {"chinese"}),
        ("狐狸", {"chinese"}),
        ('"北京大学 看见"', {"chinese"}),
        ("東京", {"japanese"}),
        ("タワー", {"japanese"}),
        ("ました", {"japanese"}),
        ("안녕", {"korean"}),
        ("하세", {"korean"}),
        ("세계", {"korean"}),
        ("python", {"mixed"}),
        ("程序 python", {"mixed"}),
        ("用python写", {"mixed"}),
        ("c++程序", {"mixed"}),
        ("abc123", {"wide"}),
        ("abc*", {"wide"}),
        ("say_hello", {"code"}),
        ("hello", {"code"}),
        ("x->y", {"code"}),
        ("สวัสดี", {"thai"}),
        ("ครับ", {"thai"}),
    ],
)
async def test_queries_find_messages(filled: Store, text: str, found: set[str]) -> None:
    hits = await filled.search.find(Query(text))
    assert {hit.message_id for hit in hits} == found
    assert all(hit.marks for hit in hits)


HOSTILE = [
    'fox"',
    '"fox',
    '""fox"',
    "fox OR",
    "fox AND",
    "NOT fox",
    "NEAR(fox dog)",
    "fox -",
    "words : fox",
    "fox) (",
    "{fox}",
    "^fox",
    "fox + dog",
    "fo*x",
    "fox'; DROP TABLE messages; --",
    "fox \0 dog",
    "fox\ud800",
    "\\fox",
    "%fox_",
    "fox " * 300,
    "狐*狸",
]


@each_row("text", HOSTILE)
async def test_no_text_is_a_query_operator(filled: Store, text: str) -> None:
    await filled.search.find(Query(text))
    assert len(await filled.branches.load((await filled.sessions.list())[0].session_id)) == 1


@each_row("text", ["", " ", '"', '""', "*", "…", "+-", "。", "\0"])
async def test_a_query_without_words_is_an_error(filled: Store, text: str) -> None:
    with pytest.raises(InputError, match="no word"):
        await filled.search.find(Query(text))


@pytest.fixture
def found_in() -> Callable[[str, str], tuple[str, list[str]] | None]:
    """What a query finds in a text: the snippet and its marked parts; None if nothing."""

    def find(text: str, query: str) -> tuple[str, list[str]] | None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(TEXTS_TABLE)
            connection.execute("INSERT INTO texts (text) VALUES (?)", (index_text(text),))
            row = connection.execute(
                "SELECT snippet(texts, 0, ?, ?, '…', 30) FROM texts WHERE texts MATCH ?",
                (OPEN, CLOSE, match_expression(query)),
            ).fetchone()
        if row is None:
            return None
        snippet, marks = readable_snippet(row[0], query)
        assert all(0 <= start < stop <= len(snippet) for start, stop in marks)
        return snippet, [snippet[start:stop] for start, stop in marks]

    return find


Find = Callable[[str, str], "tuple[str, list[str]] | None"]
TEXTS_TABLE = next(
    sql for sql in schema.migrations()[19].up.split(";") if "VIRTUAL TABLE texts" in sql
)


@FIXED
@given(
    st.lists(st.sampled_from([*"aE1_ éね食べ한，。“ﬁｱﾅโ\u2061\u2064", "e\u0301", "か\u3099", "ﾊﾞ"]))
)
def test_every_text_finds_itself(found_in: Find, letters: list[str]) -> None:
    text = "".join(letters).strip()
    if any(map(str.isalnum, normalize("NFKC", text))):
        assert found_in(text, f'"{text}"') is not None


@FIXED
@given(st.text("北京大学a b，é", min_size=1, max_size=30), st.data())
def test_every_substring_is_found_at_its_place(
    found_in: Find, text: str, data: st.DataObject
) -> None:
    dense = [part for part in "".join(c if c in "北京大学" else " " for c in text).split() if part]
    if not dense:
        return
    run = data.draw(st.sampled_from(dense))
    start = data.draw(st.integers(0, len(run) - 1))
    stretch = run[start : data.draw(st.integers(start + 1, len(run)))]
    found = found_in(text, stretch)
    assert found is not None
    assert found[0] == " ".join(text.split())
    assert set(found[1]) == {stretch}


@each_row(
    ("text", "query", "snippet", "marked"),
    [
        ("A fox.", "fox", "A fox.", ["fox"]),
        ("A\n fox\tand\r\nfoxes", "fox*", "A fox and foxes", ["fox", "foxes"]),
        ("去北京大学", "京大", "去北京大学", ["京大"]),
        ("Élodie et le café", "elodie cafe", "Élodie et le café", ["Élodie", "café"]),
        ("Straße", "strasse", "Straße", ["Straße"]),
        ("Strasse", "straße", "Strasse", ["Strasse"]),
        ("e\u0301lan vital", "elan", "élan vital", ["élan"]),
        ("ＡＢＣ ok", "abc", "ABC ok", ["ABC"]),
        ("等等…，去北京（大学）。", "大学", "等等…，去北京（大学）。", ["大学"]),
        ("“去”：北京，OK", "北京 ok", "“去”：北京，OK", ["北京", "OK"]),
        ("用Python写的程序", "python写", "用Python写的程序", ["Python", "写"]),
        ("say  hello", '"say hello"', "say hello", ["say hello"]),
        ("[bold]fox[/]\x1b[0m", "fox", "[bold]fox[/]\x1b[0m", ["fox"]),
        ("हिन्दी भाषा", "हिन्दी", "हिन्दी भाषा", ["हिन्दी"]),
        ("ﾊﾞﾅﾅ", "バナナ", "バナナ", ["バナナ"]),
    ],
)
def test_snippets_mark_the_terms(
    found_in: Find, text: str, query: str, snippet: str, marked: list[str]
) -> None:
    assert found_in(text, query) == (snippet, marked)


def test_a_very_long_word_is_cut(found_in: Find) -> None:
    found = found_in("x" * 100_000 + " fox " + "y" * 100_000, "fox")
    assert found is not None
    assert len(found[0]) < 300
    assert found[1] == ["fox"]


async def test_a_snippet_shows_the_place_in_a_long_text(store: Store) -> None:
    session = await store.sessions.create(title="t")
    text = "word " * 5000 + "needle " + "word " * 5000
    await store.messages.add(session.session_id, Message.of("user", text), None)
    (hit,) = await store.search.find(Query("needle"))
    assert len(hit.snippet) < 300
    assert hit.snippet.startswith("…word")
    assert hit.snippet.endswith("…")
    assert [hit.snippet[a:b] for a, b in hit.marks] == ["needle"]


# What is found besides, and what is not


async def test_sessions_are_found_by_title_and_by_role(store: Store) -> None:
    async def found(text: str) -> list[tuple[str, str | None]]:
        hits = await store.search.find(Query(text))
        assert all(hit.marks for hit in hits)
        return [(hit.snippet, hit.message_id) for hit in hits]

    await store.roles.save(Role("r", "Sea Pirate"))
    await store.sessions.create(title="talk", role_id="r")
    by_title = await store.sessions.create(title="About pirate ships")
    await store.messages.add(by_title.session_id, Message.of("user", "A pirate!", id="a"), None)
    *sessions, message = await found("pirate")
    assert message == ("A pirate!", "a")
    assert sorted(sessions) == [("About pirate ships", None), ("Sea Pirate", None)]
    await store.sessions.update(by_title.session_id, title="About ships")
    await store.roles.save(Role("r", "Sailor"))
    assert await found("pirate") == [("A pirate!", "a")]
    assert await found("ships") == [("About ships", None)]
    assert await found("sailor") == [("Sailor", None)]


async def test_reused_rows_are_not_confused(store: Store) -> None:
    session = await store.sessions.create(title="old")
    await store.messages.add(session.session_id, Message.of("user", "fox 狐狸", id="a"), None)
    await remove_forever(store, session.session_id)
    other = await store.sessions.create(title="new")
    await store.messages.add(other.session_id, Message.of("user", "dog", id="b"), None)
    assert await ids(store, "fox") == await ids(store, "狐狸") == await ids(store, "old") == []
    assert await ids(store, "dog") == ["b"]


async def test_an_interrupted_reply_is_found(open_store: Opener) -> None:
    store = await open_store()
    session = await store.sessions.create(title="t")
    reply = (await begin(store, session.session_id)).reply.message
    await store.replies.flush(reply.id, with_content(reply, "so far"))
    await store.close()
    assert await ids(await open_store(), "far") == [reply.id]


# Order and filters


async def test_hits_are_sorted_by_rank_or_time(store: Store) -> None:
    session = await store.sessions.create(title="t")
    for name, text in (
        ("often", "fox fox fox"),
        ("once", "a fox and " + "other words " * 50),
        ("late", "other words " * 60 + "fox"),
    ):
        await store.messages.add(session.session_id, Message.of("user", text, id=name), None)
    assert await ids(store, "fox") == ["often", "once", "late"]
    assert await ids(store, "fox", order="newest") == ["late", "once", "often"]
    assert await ids(store, "fox", order="newest", limit=1) == ["late"]


# Few matches are all looked at, of many those among the newest messages first. The same is found;
# the numbers are made small, since a store of that many messages takes too long to fill.
either_way = each_row("few", [(5_000, 10_000), (2, 5), (0, 0)], ids=["few", "some", "many"])


@either_way
async def test_newest_first_uses_the_message_time_even_for_common_words(
    tmp_path: Path, open_store: Opener, monkeypatch: pytest.MonkeyPatch, few: tuple[int, int]
) -> None:
    monkeypatch.setattr(search, "MOST_RANKED", few[0])
    monkeypatch.setattr(search, "NEWEST", few[1])
    store = await open_store(tmp_path / "chat.db")

    def talk(name: str, start: float) -> SessionTranscript:
        entries = tuple(
            Entry(Message.of("user", f"fox {n} {'owl' * (n % 10 == 0)}", id=f"{name}{n:02}",
                          timestamp=start + n))
            for n in range(60)
        )  # fmt: skip
        return SessionTranscript(Session(name, name, created=start, updated=start + 60), entries)

    await store.transcripts.add_many([talk("new", 5000.0), talk("old", 1000.0)])
    late = [f"new{n:02}" for n in range(59, -1, -1)]
    assert await ids(store, "fox", order="newest", limit=20) == late[:20]
    assert await ids(store, "fox 7", order="newest") == ["new07", "old07"]
    assert await ids(store, "fo*", order="newest", limit=3, until=1050.0) == [
        *("old49", "old48", "old47")
    ]
    assert set(await ids(store, "owl*", limit=99)) == {
        f"{name}{n:02}" for name in ("new", "old") for n in range(0, 60, 10)
    }


async def test_filters(store: Store, clock: Callable[[], float]) -> None:
    await store.roles.save(Role("r", "Pirate"))
    one = await store.sessions.create(title="one", role_id="r", model="m-0", endpoint="e-1")
    two = await store.sessions.create(title="two", tags=("work", "C#"))
    await store.messages.add(one.session_id, Message.of("user", "fox q", id="q"), None)
    reply = (await answer(store, one.session_id, "fox a")).message.id
    await store.messages.add(two.session_id, Message.of("user", "fox t", id="t"), None)
    middle = clock()
    await store.messages.add(two.session_id, Message.of("assistant", "fox u", id="u"), "t")
    for more, found in (
        ({"role_name": "pirate"}, {"q", reply}),
        ({"role_name": "baker"}, set()),
        ({"model": "m-0"}, {"q"}),
        ({"model": "m-1"}, {reply}),
        ({"endpoint": "home"}, {reply}),
        ({"message_role": "user"}, {"q", "t"}),
        ({"tag": "C#"}, {"t", "u"}),
        ({"tag": "C"}, set()),
        ({"session_id": one.session_id}, {"q", reply}),
        ({"since": middle}, {"u"}),
        ({"until": middle}, {"q", reply, "t"}),
        ({"tag": "work", "message_role": "assistant", "since": middle}, {"u"}),
    ):
        assert set(await ids(store, "fox", **more)) == found, more
        assert set(await ids(store, "", **more)) == found, more
    assert await ids(store, "", since=0.0) == ["u", "t", reply, "q"], "newest first"
    assert await ids(store, " ", since=0.0, limit=1) == ["u"]
    (hit,) = await store.search.find(Query("one", role_name="Pirate"))
    assert hit.session_id == one.session_id
    assert await store.search.find(Query("one", tag="work")) == ()
    assert await store.search.find(Query("one", message_role="user")) == ()


def in_a_place(text: str, chance: random.Random) -> Message:
    """A message that has a text as its own, as reasoning, or in a file; its name is that text."""
    in_file = make_message("user", "", parts=(MediaBlock("file", text=text, name="a.txt"),))
    return replace(chance.choice([thinking(text), thinking("", text), in_file]), name=text)


def fits(query: str, text: str) -> bool:
    """True if a text of `_SAID` has what `_ASKED` asks for."""
    words = text.split()
    if query == '"the water"':
        return query.strip('"') in text and ("the", "water") in pairwise(words)
    return all(
        any(word.startswith(term[:-1]) for word in words) if term.endswith("*")
        else term in (text if term in "北京狐狸" else words)
        for term in query.split()
    )  # fmt: skip


_SAID = ("the", "water", "these", "狐狸", "北京", "北方")
_ASKED = ("the", "the*", '"the water"', "the 狐狸", "北", "北京")
_FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"role_name": "Pirate"},
    {"tag": "work"},
    {"model": "m-1"},
    {"endpoint": "e-0"},
    {"message_role": "user"},
    {"message_role": "tool"},
    {"message_role": "tool", "model": "m-1"},
    {"message_role": "system"},
    {"model": "never"},
    {"model": "m-0", "endpoint": "e-2", "since": 20.0},
    {"since": 30.0},
    {"since": 12.0, "until": 70.0},
    {"role_name": "Pirate", "until": 50.0, "message_role": "assistant"},
    {"tag": "work", "model": "m-0"},
    {"session_id": "s2"},
)


@either_way
async def test_search_finds_the_same_as_a_full_scan(
    tmp_path: Path, open_store: Opener, monkeypatch: pytest.MonkeyPatch, few: tuple[int, int]
) -> None:
    monkeypatch.setattr(search, "MOST_RANKED", few[0])
    monkeypatch.setattr(search, "NEWEST", few[1])
    store = await open_store(tmp_path / "chat.db")
    assert await store.search.writers() == ()
    chance = random.Random(5)
    said: list[tuple[Session, Entry]] = []
    for number in range(5):
        pirate = Role("r", "Pirate") if number % 2 else None
        session = Session(
            f"s{number}", "!", role_id="r" if pirate else None, model=f"m-{number % 3}",
            tags=("work",) if number < 2 else (), created=1.0, updated=100.0,
        )  # fmt: skip
        entries = tuple(
            Entry(
                replace(
                    in_a_place(" ".join(chance.choices(_SAID, k=3)), chance),
                    role=("user", "assistant", "tool", "assistant")[place % 4],
                    id=f"{number}-{place}",
                    timestamp=float(chance.randrange(100)),
                ),
                model=f"m-{place % 2}" if place % 2 else "",
                endpoint=f"e-{place % 3}" if place % 2 else "",
            )
            for place in range(0 if number == 4 else 12)
        )
        said += [(session, entry) for entry in entries]
        await store.transcripts.add_many([SessionTranscript(session, entries, pirate)])

    wrote = {(entry.endpoint, entry.model) for _, entry in said} - {("", "")}
    assert await store.search.writers() == tuple(sorted(wrote))

    def passes(session: Session, entry: Entry, wanted: dict[str, object]) -> bool:
        stamp = entry.message.timestamp or 0.0
        facts: dict[str, object] = {
            "role_name": "Pirate" if session.role_id else "",
            "model": entry.model or session.model,
            "endpoint": entry.endpoint or session.endpoint,
            "message_role": entry.message.role,
            "session_id": session.session_id,
        }
        return all(
            value in session.tags if name == "tag"
            else stamp >= cast("float", value) if name == "since"
            else stamp < cast("float", value) if name == "until"
            else facts[name] == value
            for name, value in wanted.items()
        )  # fmt: skip

    for text in _ASKED:
        for wanted in _FILTERS:
            fitting = {
                entry.message.id: entry.message.timestamp or 0.0
                for session, entry in said
                if fits(text, entry.message.name) and passes(session, entry, wanted)
            }
            assert set(await ids(store, text, **wanted)) == fitting.keys(), (text, wanted)
            newest = await store.search.find(Query(text, order="newest", limit=4, **wanted))
            assert [hit.created for hit in newest] == sorted(fitting.values(), reverse=True)[:4]


async def test_a_hit_has_its_place(store: Store) -> None:
    session = await store.sessions.create(title="zoo")
    entry = await store.messages.add(session.session_id, Message.of("user", "fox"), None)
    (hit,) = await store.search.find(Query("fox"))
    assert hit == Hit(
        session.session_id, entry.message.id, "zoo", "user", "fox", ((0, 3),), hit.created
    )
    assert hit.created > session.created


def thinking(text: str, words: str = "", refusal: str = "", *calls: CallBlock) -> Message:
    blocks = (thought(Protocol.GEMINI, words, signature="sig"),) if words else ()
    return make_message("assistant", text, tool_calls=calls, reasoning=blocks, refusal=refusal)


def with_file(name: str, text: str = "", **fields: str) -> Message:
    kind = "file" if text or fields else "image"
    return make_message("user", "See.", parts=(MediaBlock(kind, text=text, name=name, **fields),))


def coded(text: str) -> str:
    return b64encode(text.encode()).decode()


CALL = CallBlock("c", "feed", r'{"animal": "fox\nvixen", "where": ["K\u00f6ln", 7], "raw": null}')
LONG = "padding " * 10_000 + "\nthe fox, 一只狐狸, is late"
IN_PLACES = {
    "text": ("text", thinking("A fox.")),
    "thought": ("reasoning", thinking("So.", "The fox, 一只狐狸, is in the garden.")),
    "call": ("call", thinking("", "", "", CALL, CallBlock("d", "wash", "{cut off fox"))),
    "refusal": ("refusal", thinking("", "", "No fox for you.")),
    "twice": ("text", thinking("A fox again", "fox fox fox")),
    "file": ("attachment", with_file("report.txt", LONG)),
    "image": ("attachment", with_file("fox.png")),
}


async def test_all_of_a_message_is_found_with_its_place(store: Store) -> None:
    session = (await store.sessions.create(title="zoo", model="m")).session_id
    otters = coded("Füchse und otters")
    others = {
        "coded": with_file("notes.md", mime="text/markdown", data=otters),
        "bytes": with_file("paper.pdf", mime="application/pdf", data=otters),
        "odd": thinking(
            "", "a \x1e thought", "", CallBlock("c", "dice", r'{"x": "six \u001e \ud800"}')
        ),
    }
    messages = {name: message for name, (_, message) in IN_PLACES.items()} | others
    for name, message in messages.items():
        await store.messages.add(session, replace(message, id=name), None)
    hits = await store.search.find(Query("fox"))
    assert {hit.message_id: hit.place for hit in hits} == {
        name: place for name, (place, _) in IN_PLACES.items()
    }
    assert {hit.message_id for hit in hits[:2]} == {"text", "twice"}
    assert {hit.message_id for hit in hits[-2:]} == {"file", "image"}
    for hit in hits:
        assert {hit.snippet[begin:end].lower() for begin, end in hit.marks} == {"fox"}
    assert await ids(store, "fox", order="newest") == [*reversed(IN_PLACES)]
    assert set(await ids(store, "fox", limit=2)) == {"text", "twice"}
    for text, found in {
        "vixen": ["call"],
        "köln": ["call"],
        "wash": ["call"],
        "feed off": ["call"],
        "garden": ["thought"],
        '"in the gar*"': ["thought"],
        '"is late"': ["file"],
        "report late": ["file"],
        "see late": ["file"],
        "fuchse otters": ["coded"],
        "paper": ["bytes"],
        "six": ["odd"],
        "sig": [],
        "gemini": [],
        "reasoning": [],
        "arguments": [],
        "markdown": [],
        otters[:8]: [],
    }.items():
        assert await ids(store, text) == found, text
    assert set(await ids(store, "狐狸")) == {"thought", "file"}
    assert await ids(store, "fox", message_role="user") == ["image", "file"]
    assert await ids(store, "vixen", model="m") == ["call"]
    (hit,) = await store.search.find(Query("six"))
    assert hit.snippet.encode()
    assert_sound(store.path)


@each_row(
    ("make", "word"),
    [
        (lambda word: thinking(word), "text"),
        (lambda word: thinking("So.", word), "reasoning"),
        (lambda word: thinking("", "", word), "refusal"),
        (lambda word: thinking("", "", "", CallBlock("c", "feed", f'["{word}"]')), "call"),
        (lambda word: replace(with_file("a.txt", word), role="assistant"), "attachment"),
        (lambda word: replace(with_file(f"{word}.png"), role="assistant"), "name"),
    ],
    ids=["text", "reasoning", "refusal", "call", "attachment", "name"],
)
async def test_whatever_becomes_of_a_message_only_what_is_there_is_found(
    tmp_path: Path, open_store: Opener, make: Callable[[str], Message], word: str
) -> None:
    store = await open_store(tmp_path / "chat.db")
    session = (await store.sessions.create(title="zoo")).session_id
    await store.messages.add(session, replace(make("fox"), id="a"), None)
    await store.messages.add(session, replace(make("fox"), id="b"), "a")
    fork = await store.branches.fork("b")
    assert len(await ids(store, "fox")) == 4
    growing = (await begin(store, session, None, below="a")).reply.message.id
    await store.replies.flush(growing, make("badger"))
    assert await ids(store, "badger") == []
    for animal in ("badger", "otter"):
        await store.replies.end(growing, message=make(animal), status="complete")
    assert await ids(store, "badger") == []
    assert await ids(store, "otter") == [growing]
    await store.messages.delete("a")
    assert {hit.session_id for hit in await store.search.find(Query("fox"))} == {fork.session_id}
    assert await ids(store, "otter") == []
    await store.messages.restore("a")
    assert len(await ids(store, "fox")) == 4
    await store.sessions.delete([session])
    assert {hit.session_id for hit in await store.search.find(Query("fox"))} == {fork.session_id}
    assert [hit.session_id for hit in await store.search.find(Query("zoo"))] == [fork.session_id]
    await store.sessions.restore([session])
    assert len(await ids(store, "fox")) == 4
    await remove_forever(store, fork.session_id)
    assert set(await ids(store, "fox")) == {"a", "b"}
    await store.messages.delete("b")
    assert await store.sessions.purge_trash(-9.0) == 0
    assert await ids(store, "fox") == ["a"]
    imported = (Entry(replace(make("fox"), id="i")),)
    await store.transcripts.add(SessionTranscript(Session("i", "Imported"), imported))
    await remove_forever(store, session)
    assert await ids(store, "fox") == ["i"]
    assert_sound(store.path)


@each_row("version", [3, 8, 15])
async def test_what_is_from_before_an_index_is_found(
    tmp_path: Path, open_store: Opener, version: int
) -> None:
    """Version 4 indexed texts, version 9 what else is in a message, version 16 files."""
    path = tmp_path / "chat.db"
    session, text = "s", "a fox 狐狸"
    columns = (
        '[{"id":"c","name":"dice","arguments":"[6]"}]',
        '{"reasoning":[{"protocol":"gemini","text":"a bear","signature":"sig"}]}',
        '[{"kind":"file","text":"a wolf","name":"a.txt"}]',
    )
    made_at(path, version)
    with plain(path) as connection:
        connection.execute(
            "INSERT INTO sessions (session_id, title, touched, created, updated) "
            "VALUES ('s', 'old talk', 1, 1, 1)"
        )
        for number in range(5):
            connection.execute(
                "INSERT INTO messages (message_id, session_id, message_role, created, content, "
                "tool_calls, semantics, parts) VALUES (?, 's', 'assistant', 1, ?, ?, ?, ?)",
                (f"m{number}", text, *columns),
            )
        if version > 3:
            connection.execute("INSERT INTO unindexed_messages SELECT seq FROM messages")
            connection.execute("INSERT INTO unindexed_sessions SELECT seq FROM sessions")
        if version > 8:
            connection.execute("INSERT INTO unindexed_asides SELECT seq FROM messages")
    store = await open_store(path)
    await store.sessions.update(session, title="new talk")
    await store.messages.delete("m1")
    await store.sessions.purge_trash(-9.0)
    await store.messages.add(session, Message.of("user", "fox too", id="new"), "m0")
    kept = {"m0", "m2", "m3", "m4"}
    assert set(await ids(store, "fox")) == kept | {"new"}
    assert set(await ids(store, "狐狸")) == kept
    assert set(await ids(store, "bear dice")) == kept
    assert set(await ids(store, "wolf")) == kept
    assert await ids(store, "new talk") == [None]
    assert await ids(store, "old") == []
    assert_sound(path)


async def test_the_text_of_an_attachment_is_indexed_up_to_a_limit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAX_ATTACHMENT", 8)
    session = (await store.sessions.create(title="long")).session_id
    await store.messages.add(session, replace(with_file("a.txt", "the fox is"), id="a"), None)
    assert await ids(store, "fox") == ["a"]
    assert await ids(store, "is") == []
    assert_sound(store.path)


@given(st.text(), st.text(), st.text())
def test_texts_of_any_blocks(text: str, arguments: str, data: str) -> None:
    blocks = (
        TextBlock(text),
        CallBlock("c", text, arguments),
        MediaBlock("file", "text/plain", data=data),
        OpaqueBlock(Protocol.GEMINI, text, [data]),
    )
    row = row_of(1, blocks)
    assert len(row) == 6
    assert (row[2], row[4]) == ("", "")


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_texts_of_any_arguments(arguments: object) -> None:
    call = CallBlock("c", "f", json.dumps(arguments))
    row = row_of(1, (call,))
    if isinstance(arguments, str):
        assert index_text(clean(arguments)).strip() in row[3]


async def test_the_rest_of_a_large_database_is_indexed_by_the_first_search(
    tmp_path: Path, open_store: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "INDEXED_AT_ONCE", 5)
    monkeypatch.setattr(index, "BATCH", 3)
    path = tmp_path / "chat.db"
    made_at(path, 19)
    with plain(path) as connection:
        connection.execute(
            "INSERT INTO sessions (session_id, title, touched, created, updated) "
            "VALUES ('s', 'old talk', 1, 1, 1)"
        )
        connection.executemany(
            "INSERT INTO messages (message_id, session_id, message_role, created, content) "
            "VALUES (?, 's', 'user', ?, 'a fox')",
            [(f"m{number:02}", float(number)) for number in range(20)],
        )
    store = await open_store(path)
    assert_sound(path)
    await store.messages.delete("m03")
    await store.sessions.purge_trash(-9.0)
    assert set(await ids(store, "fox")) == {f"m{number:02}" for number in range(20)} - {"m03"}
    assert_sound(path)


async def test_a_result_says_if_it_is_ranked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_RANKED", 2)
    session = (await store.sessions.create(title="t")).session_id
    for number, text in enumerate(("fox fox owl", "fox owl", "a fox")):
        await store.messages.add(session, Message.of("user", text, id=f"{number}"), None)
    assert not (await store.search.find(Query("fox"))).is_ranked
    assert (await store.search.find(Query("owl"))).is_ranked
    assert await ids(store, "fox") == ["2", "1", "0"]
