"""Small parts of messages: lines of files."""

from __future__ import annotations

import base64

from tui_chat.models.blocks import MediaBlock
from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.ui.chat.header_footer import footer_rows

PNG = b"\x89PNG\r\n\x1a\n" + bytes(2_000)
IMAGE = MediaBlock("image", "image/png", data=base64.b64encode(PNG).decode())


def footer(*parts: MediaBlock, width: int = 60) -> list[str]:
    of = Entry(Message.of("assistant", "Hi"))
    return [line.text for line in footer_rows(of, parts, "", width)]


def test_a_line_says_what_a_part_is():
    assert footer(
        IMAGE,
        MediaBlock("image", "image/png"),
        MediaBlock("file", "text/plain", text="words", name="notes.txt"),
        MediaBlock("image", url="https://files.example/a.png"),
        MediaBlock("file", "image/svg+xml", data="AAAA", name="a\x1b[2J\nb"),
    ) == [
        "▣ image  image/png · 2 kB · ~765 tokens",
        "▣ image  image/png · damaged",
        "▣ file  notes.txt · 5 B",
        "▣ image  https://files.example/a.png · ~765 tokens",
        "▣ file  a␛[2J b · 3 B · ~2,000 tokens",
    ]
    assert footer(*[IMAGE] * 5_000)[-1] == "▣ … 4,900 more attachments"
    assert all(len(line) <= 20 for line in footer(IMAGE, width=20))
