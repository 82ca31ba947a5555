"""How text becomes lines: sections, Markdown, wrapping, hostile characters. No screen."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.support.counted_calls import count_calls
from tests.support.message_lines import drawn
from tests.support.messages import make_message
from tests.support.tables import each_row
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.message import Message
from tui_chat.models.reply import ReasoningDelta, Reply, TextDelta, ToolCallDelta, advance
from tui_chat.models.sanitize import sanitize
from tui_chat.models.session import Entry, SpeakerNames
from tui_chat.models.usage import Usage
from tui_chat.ui.chat.header_footer import header_rows
from tui_chat.ui.chat.markdown import section_rows
from tui_chat.ui.chat.message import MessageLayout, ReplyProgress
from tui_chat.ui.chat.sections import SIZE, SectionSplitter


@each_row(
    ("source", "lines"),
    [
        ("plain words", ["plain words"]),
        ("one\ntwo", ["one", "two"]),
        ("one\n\ntwo", ["one", "", "two"]),
        ("# Title\ntext", ["Title", "", "text"]),
        ("**bold** _it_ ~~no~~ `x`", ["bold it no x"]),
        ("a <b>bold</b> tag", ["a <b>bold</b> tag"]),
        ("<script>alert(1)</script>", ["<script>alert(1)</script>"]),
        ("- a\n- b\n  - c\n    - d", ["• a", "• b", "  ◦ c", "    ▪ d"]),
        ("- a\n\n- b", ["• a", "", "• b"]),
        ("- one\n  and *more*\n- b", ["• one", "  and more", "• b"]),
        ("- one  \n  two\n- a\nb", ["• one", "  two", "• a", "  b"]),
        ("text\n- a", ["text", "• a"]),
        ("9. nine\n10. ten", [" 9. nine", "10. ten"]),
        ("- [x] done\n- [ ] not", ["• ☑ done", "• ☐ not"]),
        ("> said\n> so", ["▎ said", "▎ so"]),
        ("> - deep", ["▎ • deep"]),
        ("a\n\n---\n\nb", ["a", "", "─" * 30, "", "b"]),
        ("```py\nx = 1\n```", [" py                      copy", " x = 1"]),
        (
            "```\n  two\n\nlines\n```\nafter",
            ["                         copy", "   two", "", " lines", "", "after"],
        ),
        ("```py\nnot closed", [" py                      copy", " not closed"]),
        (
            "- a\n  ```\n  code\n  ```\n- b",
            ["• a", "", "                         copy", "   code", "• b"],
        ),
        ("[t](http://x.y)", ["t (http://x.y)"]),
        ("see http://x.y/z.", ["see http://x.y/z."]),
        ("![alt](http://x.y/i.png)", ["image: alt (http://x.y/i.png)"]),
        ("[a]: http://x.y", ["[a]: http://x.y"]),
        (
            "| a | b |\n|:--|--:|\n| 1 | 22 |\n| 333 | 4 |",
            ["a     b", "───  ──", "1    22", "333   4"],
        ),
        ("[not bold]**", ["[not bold]**"]),
        ("[red]markup[/red]", ["[red]markup[/red]"]),
        ("a" * 35, ["a" * 30, "a" * 5]),
        ("word " * 8, ["word word word word word word", "word word"]),
        ("一二三四五六七八九十一二三四五，六", ["一二三四五六七八九十一二三四", "五，六"]),
        ("esc \x1b[31m", ["esc ␛[31m"]),
        ("&#x1b;[31m &#x202e;", ["�[31m \\u202e"]),
        ("", []),
        ("   \n\n", []),
        ("a\r\nb\rc", ["a", "b␍c"]),
    ],
)
def test_markdown_is_drawn_as_it_is_meant(source: str, lines: list[str]) -> None:
    assert drawn(source) == lines


def test_a_table_that_does_not_fit_becomes_lists_of_its_cells() -> None:
    head = "|" + "|".join(f"c{n}" for n in range(9)) + "|\n" + "|--" * 9 + "|\n"
    lines = drawn(head + "|" + "|".join(f"v{n}-long" for n in range(9)) + "|", 20)
    assert lines[0] == "c0: v0-long"
    assert all(cell_len(line) <= 20 for line in lines)


_ENGLAND = "🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"


@each_row(
    ("text", "shown"),
    [
        ("plain, Ünïcödé, 中文, 🙂", "plain, Ünïcödé, 中文, 🙂"),
        ("\x00\x07\x1b\x7f\x9b", "␀␇␛␡\\x9b"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("\u200b" * 5000, "\\u200b×5000"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("❤\ufe0f 1\ufe0f\u20e3 ☺\ufe0e", "❤\ufe0f 1\ufe0f\u20e3 ☺\ufe0e"),
        ("🧑\U0001f3fd\u200d🚀 🏳\ufe0f\u200d🌈", "🧑\U0001f3fd\u200d🚀 🏳\ufe0f\u200d🌈"),
        ("👁\ufe0f\u200d🗨\ufe0f", "👁\ufe0f\u200d🗨\ufe0f"),
        (_ENGLAND, _ENGLAND),
        ("🏴\U000e0061\U000e0062", "🏴\\U000e0061×2"),
        ("a\ufe0fb\ufe00c", "a\\ufe0fb\\ufe00c"),  # text can be hidden so
        ("❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"),
        ("∩\ufe00", "∩\ufe00"),
        ("🔥" + "\u200d🔥" * 9, "🔥" + "\u200d🔥" * 5 + "\\u200d🔥" + "\u200d🔥" * 3),
        ("👩\u200d\u202e💻", "👩\\u200d\\u202e💻"),
        ("a\u200db", "a\\u200db"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("e\u0301", "e\u0301"),
        ("e" + "\u0301" * 100, "e" + "\u0301" * 4 + "[+96 marks]"),
        ("\U000e0041\U000e0042", "\\U000e0041×2"),
        ("\ud800", "\\ud800"),
        ("\u2028", "\\u2028"),
        ("line\n\ttab", "line\n\ttab"),
    ],
)
def test_invisible_characters_are_shown(text: str, shown: str) -> None:
    assert sanitize(text) == shown


_FORBIDDEN = set(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x200B, 0x2028, 0xFEFF])) | set(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_PIECES = st.sampled_from(
    [
        *("# ", "- ", "  - ", "1. ", "> ", "```", "~~~", "`", "**", "_", "|", "|--|--|", "["),
        *("](", ")", "\n", "\n\n", "    ", "\t", "word ", "中文", "🙂", "e\u0301", "\x1b[2J"),
        *("\u202e", "\x9b", "http://a.b/c", "<b>", "&#27;", "---", "\r", "\r\n", "\u200d"),
        *("\ufe0f", "❤", "1\ufe0f\u20e3", "👩\u200d💻", "x" * 90),
    ]
)
SOURCES = st.one_of(st.lists(_PIECES, max_size=60).map("".join), st.text(max_size=300))


@given(SOURCES, st.integers(2, 60), st.booleans())
@example("- " * 40 + "deep", 8, False)
@example("> " * 40 + "deep", 8, False)
@example("👩\u200d👩\u200d👧\u200d👦" * 9, 5, False)
def test_nothing_hostile_is_ever_drawn(source: str, width: int, verbatim: bool) -> None:
    for section in SectionSplitter(source).all():
        for line in section_rows(section, width, verbatim=verbatim):
            assert not _FORBIDDEN & set(line.text)


@given(SOURCES, st.integers(20, 60))
def test_lines_fit(source: str, width: int) -> None:
    for section in SectionSplitter(source).all():
        for line in section_rows(section, width):
            assert cell_len(line.text.rstrip()) <= width, line


def test_many_pieces_are_listed_up_to_a_number() -> None:
    calls = tuple(CallBlock(f"c{number}", "f", "{}") for number in range(10_000))
    files = tuple(MediaBlock("file", name=f"f{number}") for number in range(10_000))
    message = make_message(
        "assistant",
        "",
        id="m",
        tool_calls=calls,
        parts=files,
        refusal="no " * 1_000_000,
    )
    shown: list[str] = []
    assert count_calls(lambda: shown.extend(texts(MessageLayout(Entry(message), 100)))) < 1_000_000
    assert any("… 9,800 more calls" in line for line in shown)
    assert any("… 9,900 more attachments" in line for line in shown)
    assert any("… 2,980,000 more characters" in line for line in shown)


@given(SOURCES)
def test_sections_lose_no_word(source: str) -> None:
    kept = "".join(f"{s.lead}{s.source}" for s in SectionSplitter(source).all())
    for word in ("word", "中文", "🙂", "x" * 90):
        assert kept.count(word) >= source.count(word)


def test_a_long_list_goes_on_counting() -> None:
    sections = SectionSplitter("".join(f"{n}. item\n" for n in range(1, 101))).all()
    lines = [line.text.strip() for s in sections for line in section_rows(s, 40)]
    assert lines == [f"{n}. item" for n in range(1, 101)]
    assert len(sections) > 1


def assistant(text: str, **more: object) -> Entry:
    return Entry(Message.of("assistant", text, id="a"), **more)  # pyright: ignore[reportArgumentType]


def texts(layout: MessageLayout) -> list[str]:
    return [line.text.rstrip() for line in layout.rows]


HUGE = (
    "x" * 300_000,
    "word " * 60_000,
    "a line\n" * 40_000,
    "```\n" + "y" * 200_000,
    "> " * 100_000,
    "|a|b|\n|--|--|\n" + "|1|2|\n" * 20_000,
    "".join("  " * level + "- x\n" for level in range(500)),
    "\u200b" * 200_000,
)


@each_row("source", HUGE, ids=lambda source: source[:6])
def test_a_huge_message_is_laid_out_in_sections(source: str) -> None:
    layout = MessageLayout(assistant(source), 100)
    assert all(cell_len(row.text) <= 100 for row in layout.rows)
    assert max(len(section.source) for section in SectionSplitter(source).all()) <= 3 * SIZE


@given(SOURCES, SOURCES, st.lists(st.integers(1, 40), max_size=12), st.booleans())
def test_a_streamed_reply_ends_as_the_finished_message(
    content: str, thought: str, cuts: list[int], unfold: bool
) -> None:
    unfolded = {"a/thought"} if unfold else set[str]()
    entry = assistant("", status="streaming", model="m")
    reply, growing = Reply(), None
    for index, piece in enumerate((*_sliced(thought, cuts), None, *_sliced(content, cuts))):
        if piece is not None:
            early = index < len(_sliced(thought, cuts))
            reply = advance(reply, ReasoningDelta(0, piece) if early else TextDelta(piece))
        progress = ReplyProgress(0, reply)
        growing = MessageLayout(entry, 50, unfolded=unfolded, progress=progress, before=growing)
    done = Entry(reply.message("anthropic", id="a"), model="m")  # pyright: ignore[reportArgumentType]
    whole = MessageLayout(done, 50, unfolded=unfolded)
    taken = MessageLayout(done, 50, unfolded=unfolded, before=growing)
    assert texts(taken) == texts(whole)


def _sliced(text: str, cuts: list[int]) -> list[str]:
    pieces: list[str] = []
    at = 0
    for cut in cuts:
        pieces.append(text[at : at + cut])
        at += cut
    return [*pieces, text[at:]]


@each_row(
    ("entry", "said"),
    [
        (assistant("hi", model="gpt-x", usage=Usage(12, 3456), seconds=75), "12 → 3,456 tokens"),
        (assistant("hi", status="stopped"), "Stopped by you; the text received is kept."),
        (assistant("hi", status="interrupted"), "The program ended before the reply did"),
        (assistant("", status="failed", error="No key.", advice="Set it."), "✗ No key."),
        (assistant("", status="failed", error="No key.", advice="Set it."), "Set it."),
        (assistant("hi", finish="length"), "Cut short: the reply reached its token limit."),
        (assistant("hi", finish="SAFETY"), "Ended by the provider's filter (SAFETY)."),
        (assistant("hi", finish="odd\x1b"), "Ended with “odd␛”."),
        (Entry(make_message("tool", "42", name="sum")), "Result of sum"),
        (Entry(Message.of("user", "hi", name="Ada")), "Ada"),
        (
            Entry(make_message("assistant", tool_calls=(CallBlock("1", "sum", '{"a": 1}'),))),
            '▸ calls sum  {"a": 1}',
        ),
    ],
)
def test_a_message_shows_its_status(entry: Entry, said: str) -> None:
    assert any(said in line for line in texts(MessageLayout(entry, 70)))


def test_user_text_is_shown_as_it_was_typed() -> None:
    typed = "__init__ and *args\n# no heading\n\n    indented"
    shown = texts(MessageLayout(Entry(Message.of("user", typed, id="u")), 60))
    assert shown[2:] == ["__init__ and *args", "# no heading", "", "    indented"]


def test_tool_calls_arrive_while_they_are_written() -> None:
    reply = advance(Reply(), ToolCallDelta(0, "c1", "look", '{"q":'))
    layout = MessageLayout(assistant("", status="streaming"), 50, progress=ReplyProgress(3, reply))
    assert texts(layout)[-1] == '▸ calls look  {"q":'


@each_row(
    ("message", "model", "speakers", "name"),
    [
        (Message.of("user", "x"), "", SpeakerNames(), "you"),
        (Message.of("user", "x"), "", SpeakerNames("Kim", "Ada"), "Kim"),
        (Message.of("user", "x", name="Zoë"), "", SpeakerNames("Kim", "Ada"), "Zoë"),
        (Message.of("assistant", "x"), "model-x", SpeakerNames("Kim"), "model-x"),
        (Message.of("assistant", "x"), "model-x", SpeakerNames("Kim", "Ada"), "Ada"),
        (Message.of("assistant", "x", name="Tomas"), "", SpeakerNames("Kim", "Ada"), "Tomas"),
        (Message.of("assistant", "x"), "", SpeakerNames(), "Assistant"),
        (Message.of("system", "x"), "", SpeakerNames("Kim", "Ada"), "System"),
        (Message.of("system", "x", name="Narrator"), "", SpeakerNames("Kim", "Ada"), "Narrator"),
    ],
)
def test_a_message_is_headed_by_its_speaker(
    message: Message, model: str, speakers: SpeakerNames, name: str
) -> None:
    lines = header_rows(Entry(message, model=model), 60, None, speakers)
    assert lines[-1].text.startswith(name)
    assert not model or model in lines[-1].text, "the model stays among the facts"


@each_row(
    ("status", "last"),
    [("failed", "[ Regenerate ]  [ Switch model ]"), ("interrupted", "[ Regenerate ]")],
)
def test_a_reply_that_broke_off_ends_with_what_regenerates_it(status: Any, last: str) -> None:
    layout = MessageLayout(assistant("So.", status=status, error="Gone."), 60)
    row = layout.rows[-1]
    assert row.text.rstrip() == last
    assert row.action is not None
    assert row.action.name == "retry"
    assert layout.can_retry
