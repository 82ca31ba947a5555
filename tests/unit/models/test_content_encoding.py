"""Content encodings, decoded whole and in pieces, within a limit."""

from __future__ import annotations

import gzip
import random
import zlib

import brotli
import pytest
from backports import zstd

from tests.support.tables import each_row
from tui_chat.models.content_encoding import ContentDecoder, EncodingFault, decode_body

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
