"""A picture made from a text: a small PNG file, the same for the same text."""

import zlib
from base64 import b64encode
from hashlib import sha256

SIZE = 64
"""Width and height in pixels."""


def draw(text: str) -> str:
    """Return a PNG file in base64, whose colours follow from a text."""
    digest = sha256(text.encode("utf-8", "replace")).digest()
    rows = bytearray()
    for y in range(SIZE):
        rows.append(0)  # the filter of the row: none
        for x in range(SIZE):
            rows += bytes(
                (digest[at] + x * digest[at + 3] // SIZE + y * digest[at + 6] // SIZE) & 255
                for at in range(3)
            )
    size = SIZE.to_bytes(4, "big")
    header = size + size + bytes((8, 2, 0, 0, 0))  # 8 bits of red, green and blue
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b""))
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks))).decode()


def _chunk(chunk: tuple[bytes, bytes]) -> bytes:
    kind, content = chunk
    check = zlib.crc32(kind + content).to_bytes(4, "big")
    return len(content).to_bytes(4, "big") + kind + content + check
