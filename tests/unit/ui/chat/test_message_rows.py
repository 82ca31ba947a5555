"""Small parts of messages: rates, lines of files, hits over the ends of rows, the column."""

from __future__ import annotations

import base64

from tests.support.tables import each_row
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.models.usage import Timing
from tui_chat.ui.chat.header_footer import footer_rows, token_rate
from tui_chat.ui.chat.rows import indented, safe, wrap
from tui_chat.ui.chat.search import find_spans, word_pattern

PNG = b"\x89PNG\r\n\x1a\n" + bytes(2_000)
IMAGE = MediaBlock("image", "image/png", data=base64.b64encode(PNG).decode())


@each_row(
    ("timing", "words"),
    [
        (Timing(0.61, 0.6, 58, exact=True), ""),  # all at once, when it was complete
        (Timing(9.0, 8.99, 58, exact=True), ""),
        (Timing(0.4, 0.0, 2_000, exact=True), ""),
        (Timing(1.6, 0.6, 50, exact=True), "50 tokens/s"),
        (Timing(1.6, 0.6, 50), "≈ 50 tokens/s"),
        (Timing(0.9, None, 50, exact=True), ""),
        (Timing(2.0, None, 50, exact=True), "25 tokens/s"),
    ],
)
def test_a_rate_is_shown_only_where_meaningful(timing: Timing, words: str):
    assert token_rate(timing) == words


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


def test_a_hit_goes_over_the_end_of_a_wrapped_line():
    lines = indented(wrap(safe("the quick brown fox"), 10), safe("> "))
    wanted = word_pattern(["QUICK  brown"])
    assert wanted is not None
    assert find_spans(wanted, lines) == {0: [(6, 11)], 1: [(2, 7)]}
