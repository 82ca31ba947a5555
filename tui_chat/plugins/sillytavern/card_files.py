"""Character card files of SillyTavern and its like: JSON, PNG with the JSON in a text, and CharX.

1. V1 is a flat object; V2 (https://github.com/malfoyslastname/character-card-spec-v2) and V3
   (https://github.com/kwaroran/character-card-spec-v3) keep the fields in `data`, often with copies
   beside it; `data` wins.
2. A PNG has the card as base64 in `chara` (V2) and `ccv3` (V3); the latter wins.
3. CharX is a ZIP archive with `card.json`.
4. The whole JSON is kept, so that a card can be written back with what is unknown here.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import NamedTuple, cast

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.foreign_files import NoCard
from tui_chat.models.json_text import JsonObject, as_object, as_string, parse_json

LARGEST_CARD = 64 * 2**20
"""Bytes of a card file."""
_LARGEST_JSON = 16 * 2**20
_KEYWORDS = ("ccv3", "chara")
_ZIP = b"PK\x03\x04"
_V1 = ("description", "personality", "scenario", "first_mes", "mes_example")
PYGMALION = {
    "name": "char_name",
    "description": "char_persona",
    "scenario": "world_scenario",
    "first_mes": "char_greeting",
    "mes_example": "example_dialogue",
}
"""V1 names by those of Pygmalion's older files."""


@dataclass(frozen=True, slots=True)
class CardFile:
    """A character card as its file has it."""

    json: JsonObject
    """The whole JSON."""
    picture: bytes = b""
    """The PNG without the card; empty if the file has no picture."""

    @property
    def fields(self) -> JsonObject:
        """The card's fields by their V2 names, whatever its version."""
        if "char_name" in self.json and "name" not in self.json:
            return {name: self.json.get(old, "") for name, old in PYGMALION.items()}
        data = as_object(self.json.get("data"))
        return {**self.json, **data} if as_string(self.json.get("spec")) else self.json

    @property
    def name(self) -> str:
        """The name, which `{{char}}` is even where a V3 card has a nickname, as in SillyTavern."""
        return as_string(self.fields.get("name")).strip()


def is_card(value: object) -> bool:
    """Return True if parsed JSON is a character card."""
    found = as_object(value)
    if as_string(found.get("spec")).startswith("chara_card_v"):
        return True
    if "char_name" in found:
        return "char_persona" in found or "char_greeting" in found
    return isinstance(found.get("name"), str) and sum(key in found for key in _V1) >= 2


def is_card_file(content: bytes) -> bool:
    """Return True if the bytes may be a card: a picture, a CharX archive, or a card's JSON."""
    if content.startswith((SIGNATURE, _ZIP)):
        return True
    try:
        return is_card(json.loads(content))
    except (ValueError, RecursionError):
        return False


def holds_card(content: bytes) -> bool:
    """Return True if the bytes are a character card that `read_card` would try to read."""
    if not content.startswith((SIGNATURE, _ZIP)):
        return is_card_file(content)
    try:
        read_card(content, "")
    except InputError:
        return False  # another reader says what is wrong with it
    return True


def read_card(content: bytes, source: str) -> CardFile:
    """Read a card; `source` names the file in errors. Raises InputError; NoCard for other files."""
    if content.startswith(SIGNATURE):
        return _from_png(content, source)
    text = _from_archive(content, source) if content.startswith(_ZIP) else content
    return CardFile(_parsed(text, source))


def dump_json(card: CardFile) -> str:
    """Return a card as JSON text."""
    return json.dumps(card.json, indent=2, ensure_ascii=False) + "\n"


def dump_png(card: CardFile) -> bytes:
    """Return a card as PNG, a V3 card also as V2. Raises InputError without a picture."""
    if not card.picture:
        raise InputError(
            f"The card of “{card.name}” has no picture.", advice="Export it as JSON, or add one."
        )
    texts = {"chara": _encoded(card.json)}
    if card.json.get("spec") == "chara_card_v3":
        older = {**card.json, "spec": "chara_card_v2", "spec_version": "2.0"}
        texts = {"chara": _encoded(older), "ccv3": _encoded(card.json)}
    return with_texts(card.picture, texts)


def _encoded(card: JsonObject) -> str:
    return base64.b64encode(json.dumps(card, ensure_ascii=False).encode()).decode("ascii")


def _from_png(content: bytes, source: str) -> CardFile:
    try:
        texts = read_texts(content)
    except InputError as error:
        raise InputError(f"{source}: {error}", advice=error.advice) from error
    keyword = next((each for each in _KEYWORDS if each in texts), None)
    if keyword is None:
        raise NoCard(
            f"{source} is a picture without a character card.",
            advice="Cards lose it when a program converts the picture; download the original.",
        )
    try:
        text = base64.b64decode(texts[keyword])
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{source}: the card in “{keyword}” is not base64: {error}.") from error
    picture = with_texts(content, dict.fromkeys(_KEYWORDS, ""))
    return CardFile(_parsed(text, f"{source}, {keyword}"), picture)


def _from_archive(content: bytes, source: str) -> bytes:
    import zipfile  # few cards are archives

    try:
        with zipfile.ZipFile(BytesIO(content)) as archive, archive.open("card.json") as member:
            text = member.read(_LARGEST_JSON + 1)
    except KeyError:
        raise NoCard(f"{source} has no “card.json”, so it is not a CharX card.") from None
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError) as error:
        raise InputError(f"{source} is a damaged archive: {error}.") from error
    return text


def _parsed(content: bytes, source: str) -> JsonObject:
    if len(content) > _LARGEST_JSON:
        raise InputError(f"{source}: the card is larger than {_LARGEST_JSON // 2**20} MB.")
    found = parse_json(content.decode("utf-8-sig", "replace"), source)
    if not is_card(found):
        raise NoCard(f"{source} is not a character card.")
    card = CardFile(cast("JsonObject", found))
    if not card.name:
        raise InputError(f"{source}: $.data.name must be the character's name.")
    return card.json


SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_TEXT = 16 * 2**20
"""Bytes of one text."""
_MOST_CHUNKS = 100_000
_TEXT = b"tEXt"


class _Chunk(NamedTuple):
    kind: bytes
    content: memoryview

    @property
    def keyword(self) -> str:
        """The keyword of a text, in lower case; empty for another chunk."""
        is_text = self.kind == _TEXT
        return bytes(self.content[:80]).partition(b"\0")[0].decode("latin-1").lower() * is_text


def read_texts(png: bytes) -> dict[str, str]:
    """Return the texts (`tEXt`) of a PNG file by their keywords in lower case; of two with the same
    keyword the first. A file that breaks off yields the texts before that place. Raises InputError
    if it is no PNG file, or a text is too long.
    """
    texts: dict[str, str] = {}
    for chunk in _chunks(png):
        if keyword := chunk.keyword:
            if len(chunk.content) > MOST_TEXT:
                most = MOST_TEXT // 2**20
                raise InputError(f"The text “{keyword}” of the PNG file is longer than {most} MB.")
            text = bytes(chunk.content[len(keyword) + 1 :]).decode("latin-1")
            texts.setdefault(keyword, text)
    return texts


def with_texts(png: bytes, texts: Mapping[str, str]) -> bytes:
    """Return a PNG file with these texts (ASCII) in place of those with the same keywords; an empty
    one is left out. Raises InputError if it is no whole PNG file.
    """
    pieces: list[bytes | memoryview] = [SIGNATURE]
    has_end = False
    for chunk in _chunks(png):
        if chunk.keyword in texts:
            continue
        if chunk.kind == b"IEND":
            has_end = True
            for keyword, text in texts.items():
                content = keyword.encode("latin-1") + b"\0" + text.encode("ascii")
                pieces += _written(_TEXT, content) if text else ()
        pieces += _written(chunk.kind, chunk.content)
    if not has_end and any(texts.values()):
        raise InputError("The PNG file is incomplete: its end is missing.")
    return b"".join(pieces)


def _written(kind: bytes, content: bytes | memoryview) -> tuple[bytes | memoryview, ...]:
    checksum = zlib.crc32(content, zlib.crc32(kind))
    return len(content).to_bytes(4, "big"), kind, content, checksum.to_bytes(4, "big")


def _chunks(png: bytes) -> Iterator[_Chunk]:
    """Yield the chunks up to the end of the picture, or to where the file breaks off."""
    if not png.startswith(SIGNATURE):
        raise InputError("It is not a PNG file.")
    view = memoryview(png)
    at = len(SIGNATURE)
    for _ in range(_MOST_CHUNKS):
        length = int.from_bytes(view[at : at + 4], "big")
        kind = bytes(view[at + 4 : at + 8])
        end = at + 8 + length
        if len(kind) < 4 or end > len(view):
            return
        yield _Chunk(kind, view[at + 8 : end])
        if kind == b"IEND":
            return
        at = end + 4
    raise InputError(f"The PNG file has more than {_MOST_CHUNKS:,} chunks.")
