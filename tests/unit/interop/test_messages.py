"""Images and files in a history."""

from __future__ import annotations

import json

import pytest

from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.interop.messages import read_history

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def test_parts_are_read_in_their_order() -> None:
    content = [{"type": "text", "text": "a"}, PICTURE, {"type": "text", "text": "b"}]
    [message] = read_history(json.dumps([{"role": "user", "content": content}]), "f")
    assert message.content == "ab"
    assert [(part.kind, part.mime, part.data) for part in message.parts] == [
        ("image", "image/png", "AA==")
    ]
    layout = message.semantics.layout
    assert layout is not None
    assert [piece.kind for piece in layout.pieces] == ["text", "part", "text"]


@each_row("part", [{"type": "video_url"}, {"type": "image_url"}, 5])
def test_invalid_parts_name_their_place(part: object) -> None:
    with pytest.raises(InputError, match=r"f: \$\[0\]\.content"):
        read_history(json.dumps([{"role": "user", "content": [part]}]), "f")


def test_a_number_too_long_for_python_is_an_error() -> None:
    with pytest.raises(InputError, match=r"f: line 2 is not JSON: .*thousands of digits"):
        read_history('{"role": "user", "content": "a"}\n{"role": ' + "9" * 5000 + "}", "f")
