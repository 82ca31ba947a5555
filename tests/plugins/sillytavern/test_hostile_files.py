"""Cards and presets of SillyTavern with values of a wrong type, and hostile pictures: a clear error
or a field that counts as empty, and nothing that takes long.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from tests.plugins.sillytavern.test_character_cards import chunk
from tests.support import golden
from tests.support.contexts import ENDPOINT
from tests.support.counted_calls import count_calls
from tests.support.reading import read
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.errors import InputError
from tui_chat.library.presets import dump_preset
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.role import Role
from tui_chat.plugins.sillytavern.card_files import SIGNATURE, read_card
from tui_chat.plugins.sillytavern.cards import card_of_role, role_of_card
from tui_chat.plugins.sillytavern.preset_export import export_preset
from tui_chat.plugins.sillytavern.presets import parse_sillytavern_preset
from tui_chat.plugins.sillytavern.user_settings import read_user_settings

WRONG: tuple[object, ...] = (
    *(None, True, -1, 1.5, 1e308, 10**400, float("nan"), "", "{{", "\ud800", "1e999", [], {}),
    *([None], [[]], {"a": None}, [{"identifier": []}]),
)
_DATA = golden.read(Path(__file__).parent / "data" / "hostile_files.json")
CARD = _DATA["CARD"]
PRESET = _DATA["PRESET"]
SETTINGS = _DATA["SETTINGS"]
CHAT = _DATA["CHAT"]
HISTORY = (Message.of("user", "a", "1"), Message.of("assistant", "b", "2"))


def damaged(whole: dict[str, Any], every: int) -> Iterator[str]:
    """The JSON of a value with one value in it wrong, each place with some of the wrong ones."""
    numbers = count()

    def places(value: Any, at: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        if at:
            yield at
        keys: Any = ()
        if isinstance(value, dict | list):
            keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from places(value[key], (*at, key))

    for place in tuple(places(whole, ())):
        for wrong in WRONG:
            if next(numbers) % every:
                continue
            copy: Any = deepcopy(whole)
            inner = copy
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = wrong
            yield json.dumps(copy)


def use(preset: Preset, role: Role | None = None) -> None:
    book = role.character.book if role is not None and role.character is not None else None
    books = (book,) if book is not None else ()
    inputs = Inputs(ENDPOINT, preset, HISTORY, "hi a", role=role, lorebooks=books)
    json.loads(compose(inputs).payload.body)


def read_and_send_card(text: str) -> None:
    role = role_of_card(read_card(text.encode(), "card"), "r", "card")
    use(parse_sillytavern_preset(json.dumps(PRESET), "file", "p").preset, role)
    json.dumps(card_of_role(role).json)


def read_send_and_write_preset(text: str) -> None:
    preset = parse_sillytavern_preset(text, "file", "p").preset
    use(preset)
    export_preset(preset)
    dump_preset(preset)


def read_chat(text: str) -> None:
    lines = json.loads(text)
    read("\n".join(json.dumps(lines[name]) for name in ("header", "line")).encode())


@pytest.mark.slow
@each_row(
    ("whole", "every", "run"),
    [
        (CARD, 4, read_and_send_card),
        (PRESET, 4, read_send_and_write_preset),
        (SETTINGS, 3, lambda text: read_user_settings(json.loads(text))),
        (CHAT, 3, read_chat),
    ],
)
def test_a_wrong_value_is_named_or_counts_as_empty(whole: Any, every: int, run: Any) -> None:
    errors: list[str] = []
    for text in damaged(whole, every):
        try:
            run(text)
        except InputError as error:
            errors.append(str(error))
    run(json.dumps(whole))
    assert errors or whole in (SETTINGS, CHAT)
    assert all(error.startswith(("card", "file")) for error in errors)


@each_row(
    "content",
    [
        SIGNATURE + pack(">I", 2**32 - 1) + b"tEXtchara\0",
        SIGNATURE + chunk(b"tEXt", b"a\0b") * 100_001,
        SIGNATURE + bytes(2_000_000),
        SIGNATURE + chunk(b"tEXt", b"chara\0!!!"),
        b'{"spec":"chara_card_v2","data":' + b'{"a":' * 50_000,
        b"[" * 100_000,
    ],
    ids=["length", "chunks", "zeros", "base64", "objects", "lists"],
)
def test_bombs_are_refused_with_little_work(content: bytes) -> None:
    def read() -> None:
        with pytest.raises(InputError):
            read_card(content, "card")

    assert count_calls(read) < 3_000_000
