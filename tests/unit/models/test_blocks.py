"""Blocks of messages: media, payloads, and the encoding of contents."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import wave
import zlib
from dataclasses import replace
from typing import Any

import brotli
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.regions import regions
from tests.support.strategies import sources, trees
from tests.support.tables import each_row
from tui_chat.models.blocks import (
    Change,
    Extras,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    difference,
    extras_of,
    own,
    patched,
    same_json,
)
from tui_chat.models.content_encoding import ContentDecoder, EncodingFault, decode_body
from tui_chat.models.endpoint import Protocol
from tui_chat.models.media import as_text, detect_mime, file_of, kind_of, size_of
from tui_chat.models.payload import Obj, Str, plain, render, tree_of
from tui_chat.models.text import GLUE, Origin, OriginKind, Text

CHAT = Protocol.OPENAI_CHAT
KEYS = st.sampled_from("abc")
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, "", "x", "1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)


@settings(max_examples=1_000)
@given(OBJECTS, OBJECTS)
def test_what_was_read_is_what_we_write_and_the_difference(
    read: dict[str, Any], written: dict[str, Any]
) -> None:
    before = repr((read, written))
    assert same_json(patched(written, extras_of(CHAT, read, written)), read)
    assert repr((read, written)) == before


@given(OBJECTS)
def test_equal_objects_have_no_difference(value: dict[str, Any]) -> None:
    assert difference(value, value) == ({}, ())


def test_json_tells_numbers_and_booleans_apart() -> None:
    assert not same_json(1, 1.0)
    assert not same_json(1, True)
    assert not same_json({"a": [0]}, {"a": [False]})
    assert same_json({"a": [None, "x"]}, {"a": (None, "x")})


def test_keys_are_added_only_where_we_write_none() -> None:
    extras = extras_of(CHAT, {"a": {"b": 1, "c": 2}}, {"a": {"b": 1}})
    assert patched({"a": {"b": 3}}, extras) == {"a": {"b": 3, "c": 2}}
    assert patched({"a": {"b": 1, "c": 4}}, extras) == {"a": {"b": 1, "c": 4}}


def test_an_edit_wins_over_a_captured_value() -> None:
    extras = extras_of(CHAT, {"stop": "END"}, {"stop": ["END"], "type": "x"})
    assert patched({"stop": ["END"], "type": "x"}, extras) == {"stop": "END"}
    assert patched({"stop": ["NO"], "type": "y"}, extras) == {"stop": ["NO"], "type": "y"}


def test_extras_are_read_by_their_own_protocol_alone() -> None:
    block = replace(TextBlock("x"), extras=extras_of(CHAT, {"a": 1}, {}))
    assert own(block, CHAT) is block.extras
    assert own(block, Protocol.GEMINI) is None


@each_row("key", ["data", "encrypted_content", "reasoning_opaque"])
def test_reasoning_that_only_its_provider_can_read(key: str) -> None:
    assert ReasoningBlock("", Extras(CHAT, "", {key: "RU5D", "id": "r"})).encrypted == "RU5D"
    assert ReasoningBlock("", Extras(CHAT, "", {key: 1})).encrypted == ""
    assert ReasoningBlock("Hm.", Extras(CHAT, "", {"signature": "U0lH"})).encrypted == ""
    assert ReasoningBlock("Hm.").encrypted == ""


def test_an_object_in_place_of_another_value_is_a_change() -> None:
    for read, written in (({"a": {"b": 1}}, {"a": "b"}), ({"a": "b"}, {"a": {"b": 1}})):
        keys, changes = difference(read, written)
        assert keys == {}
        assert changes == (Change(("a",), (written["a"],), (read["a"],)),)


def test_a_change_within_an_object_that_is_gone_is_left_out() -> None:
    extras = extras_of(CHAT, {"a": {"b": 1}}, {"a": {"b": 2}})
    assert patched({"a": {"b": 2}}, extras) == {"a": {"b": 1}}
    assert patched({"a": "x"}, extras) == {"a": "x"}
    assert patched({}, extras) == {}


# --- Types of parts, and their bytes as files ---------------------------------------------


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


@each_row(
    ("part", "name"),
    [
        (MediaBlock("image", "image/png", data="AAAA"), "image-3.png"),
        (MediaBlock("image", "image/png", data="AAAA", name="cat.png"), "cat.png"),
        (MediaBlock("image", "image/jpeg", data="AAAA", name="cat.jpeg"), "cat.jpeg"),
        (
            MediaBlock("image", "image/png", data="AAAA", name="../../etc/pass wd"),
            "etc-pass-wd.png",
        ),
        (MediaBlock("image", "image/png", data="AAAA", name="run.sh"), "run.sh.png"),
        (MediaBlock("file", "text/html", data="AAAA"), "file-3.bin"),
        (MediaBlock("file", "text/plain", text="x", name="notes.txt"), "notes.txt"),
        (MediaBlock("file", "", text="x", name=".bashrc"), "bashrc.txt"),
    ],
)
def test_a_file_name_is_safe_and_fits_the_type(part: MediaBlock, name: str) -> None:
    found = file_of(part, 3)
    assert found is not None
    assert found[0] == name


@each_row("data", ["", "AAA", "…", "A===="])
def test_what_is_not_base64_is_no_file(data: str) -> None:
    assert file_of(MediaBlock("image", "image/png", data=data), 1) is None
    assert file_of(MediaBlock("audio", "audio/pcm", data=data), 1) is None


@each_row(("mime", "rate"), [("audio/L16;codec=pcm;rate=16000", 16_000), ("audio/pcm", 24_000)])
def test_pcm_becomes_a_wav_file(mime: str, rate: int) -> None:
    found = file_of(MediaBlock("audio", mime, data=base64_of(bytes(range(200)))), 1)
    assert found is not None
    assert found[0] == "audio-1.wav"
    with wave.open(io.BytesIO(found[1])) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (rate, 1, 2)
        assert file.readframes(1_000) == bytes(range(200))


@each_row("size", range(7))
def test_the_size_is_that_of_the_bytes(size: int) -> None:
    assert size_of(MediaBlock("image", data=base64_of(bytes(size)))) == size


def test_types() -> None:
    assert [
        kind_of(mime) for mime in ("IMAGE/PNG", "audio/L16; rate=8000", "image/svg+xml", "")
    ] == [*("image", "audio", "file", "file")]
    assert detect_mime(b"RIFF\0\0\0\0WAVEfmt ") == "audio/wav"
    assert detect_mime(b"<svg onload=x>") == ""
    document = MediaBlock("file", "text/csv", data=base64_of("ä,b".encode()))
    assert as_text(document).text == "ä,b"
    assert as_text(MediaBlock("file", "text/csv", data="/w==")).text == ""


# --- Content encodings, decoded whole and in pieces, within a limit -----------------------


BODY = random.Random(1).randbytes(100) * 30 + b"x" * 100_000
ENCODED = [
    ("", BODY, BODY),
    ("identity", BODY, BODY),
    ("gzip", gzip.compress(BODY), BODY),
    ("GZIP ", gzip.compress(BODY) + gzip.compress(b"more"), BODY + b"more"),
    ("deflate", zlib.compress(BODY), BODY),
    ("deflate", zlib.compress(BODY)[2:-4], BODY),
    ("br", brotli.compress(BODY, quality=3), BODY),
    ("zstd", zstd.compress(BODY), BODY),
    ("zstd", zstd.compress(BODY) + zstd.compress(b"more"), BODY + b"more"),
    ("gzip, zstd", zstd.compress(gzip.compress(BODY)), BODY),
]


@each_row(("encoding", "encoded", "body"), ENCODED, ids=range(len(ENCODED)))
@each_row("size", [0, 7, 4096])
def test_a_body_decodes_whole_and_in_pieces(encoding: str, encoded: bytes, body: bytes, size: int):
    if not size:
        assert decode_body(encoded, encoding, len(body)) == body
        return
    if len(encoded) > 10_000:
        size *= 100
    decoder = ContentDecoder(encoding, len(body))
    pieces = [encoded[at : at + size] for at in range(0, len(encoded), size)]
    assert b"".join(map(decoder.decode, pieces)) == body
    assert not decoder.exceeded


@each_row(("encoding", "encoded", "body"), ENCODED[:-1], ids=range(9))
def test_no_more_than_the_limit_is_produced(encoding: str, encoded: bytes, body: bytes):
    decoder = ContentDecoder(encoding, 5000)
    assert decoder.decode(encoded) == body[:5000]
    assert decoder.exceeded
    assert decoder.decode(encoded) == b""
    with pytest.raises(EncodingFault, match="more than 5,000 bytes"):
        decode_body(encoded, encoding, 5000)


@each_row("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_damaged_body_is_a_fault(encoding: str):
    with pytest.raises(EncodingFault):
        decode_body(b"{} is not encoded at all" * 10, encoding, 5000)


@each_row("encoding", ["lz77", "gzip, gzip, gzip, gzip, gzip"])
def test_an_unknown_encoding_is_a_fault(encoding: str):
    with pytest.raises(EncodingFault):
        ContentDecoder(encoding, 5000)


# ---  -------------------------------------------------------------------------------------


DRAFT = Origin(OriginKind.DRAFT, "draft")


@pytest.mark.slow
@given(st.data())
def test_the_body_and_the_pretty_text_are_the_same_json(data: st.DataObject):
    tree = data.draw(trees(data.draw(sources)))
    payload = render(tree)
    assert payload.text == json.dumps(plain(tree), indent=2, ensure_ascii=False)
    assert json.loads(payload.text) == json.loads(payload.body) == plain(tree)
    assert (
        payload.body == json.dumps(plain(tree), ensure_ascii=False, separators=(",", ":")).encode()
    )


@pytest.mark.slow
@given(st.data())
def test_the_characters_of_a_region_come_from_its_origin(data: st.DataObject):
    source = data.draw(sources)
    payload = render(data.draw(trees(source)))
    lines = payload.text.split("\n")
    for region in regions(payload):
        shown = region.piece.text
        assert lines[region.line][region.column : region.column + len(shown)] == shown
        if region.piece.start is not None:
            said = json.loads(f'"{shown}"')
            start = region.piece.start
            assert source[region.piece.origin.id][start : start + len(said)] == said


@pytest.mark.slow
@given(st.data())
def test_regions_cover_the_body_without_a_gap(data: st.DataObject):
    payload = render(data.draw(trees(data.draw(sources))))
    at = 0
    for region in regions(payload):
        is_colon = region.piece.text == ": " and region.piece.start is None
        shown = ":" if is_colon and not region.piece.is_key else region.piece.text
        assert region.byte == at
        assert payload.body[at : at + len(shown.encode())] == shown.encode()
        at += len(shown.encode())
    assert at == len(payload.body)


@pytest.mark.slow
@given(st.data())
def test_a_slice_of_lines_equals_the_slice_of_the_text(data: st.DataObject):
    payload = render(data.draw(trees(data.draw(sources))))
    lines = payload.text.split("\n")
    start = data.draw(st.integers(0, len(lines)))
    stop = data.draw(st.integers(0, len(lines)))
    assert len(payload.lines) == len(lines)
    assert [line.text for line in payload.lines[start:stop]] == lines[start:stop]
    if start < len(lines):
        assert payload.lines[start].text == lines[start]


@each_row("number", [float("nan"), float("inf"), float("-inf")])
def test_values_outside_json_are_refused(number: float):
    with pytest.raises(ValueError, match="not a JSON number"):
        tree_of({"temperature": number})


def test_a_lone_surrogate_cannot_break_the_body():
    assert render(tree_of({"text": "a\ud800b"}, GLUE)).body == '{"text":"a\ufffdb"}'.encode()


def test_a_written_colon_keeps_its_space() -> None:
    text = Text.of("Ada", Origin(OriginKind.MACRO, "char")) + Text.of(
        ": ", Origin(OriginKind.DRAFT)
    )
    payload = render(Obj((("content", Str(text + Text.glue("!"))),)))
    last = next(region for region in regions(payload) if region.piece.text == "!")
    assert payload.body[last.byte :] == b'!"}'
