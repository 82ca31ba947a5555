"""The sources of a reply below it, and their marks in its text. No screen."""

from __future__ import annotations

from rich.cells import cell_len

from tests.support.messages import make_message
from tests.support.tables import each_row
from tui_chat.models.citations import Citation, References, Source
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, with_content
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import advance
from tui_chat.models.session import Entry
from tui_chat.models.stream_events import Cited, Finished, SourceFound, TextDelta
from tui_chat.ui.chat.message import MessageLayout, ReplyProgress
from tui_chat.ui.chat.rows import TextRun, runs_of

PAGE = Source("The Eiffel Tower, its height and its history", "https://www.tower.example/height")
FILE = Source("", "", "notes.txt")
TEXT = "It is **330 m.** tall.\n\n- `so` it is\n\nEnd."


def entry(text: str, *sources: Source, **more: object) -> Entry:
    citations = (Citation(0, 0, 14), Citation(1, 24, 37), Citation(0, 24, 37))
    citations = tuple(each for each in citations if each.source < len(sources))
    references = References(sources, **more)  # pyright: ignore[reportArgumentType]
    message = make_message("assistant", TEXT, "a", citations=citations, references=references)
    return Entry(with_content(message, text))


def layout(of: Entry, width: int = 60, *unfolded: str) -> MessageLayout:
    return MessageLayout(of, width, unfolded={f"a/{key}" for key in unfolded})


def texts(laid_out: MessageLayout) -> list[str]:
    return [line.text.rstrip() for line in laid_out.rows]


def runs(laid_out: MessageLayout) -> list[TextRun]:
    lines = laid_out.rows
    return [run for line in lines for run in runs_of(line.content)]


def test_marks_stand_where_citations_end_and_lead_to_the_source() -> None:
    found = layout(entry(TEXT, PAGE, FILE))
    assert texts(found)[2:] == [
        "It is 330 m.[1] tall.",
        "",
        "• so it is[1][2]",
        "",
        "End.",
        "",
        "[1] The Eiffel Tower, its height and its his…  tower.example",
        "[2] notes.txt",
    ]
    marks = [(run.text, run.link) for run in runs(found) if "citation" in run.styles]
    assert marks[:3] == [("[1]", PAGE.url), ("[1]", PAGE.url), ("[2]", "")]
    # The text before the mark keeps its style, also where it ends in punctuation.
    assert TextRun("330 m.", ("strong",), "") in runs(found)
    assert found.entry.message.content == TEXT


def test_an_edited_text_keeps_the_list_and_loses_the_marks() -> None:
    found = texts(layout(entry("It is taller.", PAGE, FILE)))
    assert found[2] == "It is taller."
    assert found[-1] == "[2] notes.txt"


def test_many_sources_are_folded_to_a_line() -> None:
    sources = [Source(f"Title {i}", f"https://{i}.example/x") for i in range(12)]
    of = entry(TEXT, *sources, queries=("how tall", "since when"))
    folded = layout(of)
    assert texts(folded)[-1].startswith("▸ 12 sources: 0.example, 1.example, ")
    assert [*folded.folds.values()] == ["a/sources"]
    opened = layout(of, 60, "sources")
    assert [*opened.folds.values()] == ["a/sources"]
    lines = texts(opened)
    at = next(i for i, line in enumerate(lines) if line.startswith("▾ 12 sources"))
    assert lines[at + 1] == "[1]  Title 0  0.example"
    assert lines[at + 12 :] == [
        "[12] Title 11  11.example",
        "Searched for “how tall”, “since when”",
    ]


def test_failed_searches_are_told() -> None:
    of = entry(TEXT, failures=("A web search failed: max_uses_exceeded.",))
    assert texts(layout(of))[-1] == "! A web search failed: max_uses_exceeded."


@each_row("width", [10, 24, 80])
def test_lines_fit_and_hostile_titles_are_shown(width: int) -> None:
    hostile = Source("\x1b[31m\u202e" + "x" * 300, "https://" + "a" * 200 + ".example/")
    sources = [hostile, Source("中文" * 100, "https://b.example/")] * 5
    found = layout(entry(TEXT, *sources, failures=("\x1b]0;" * 40,), cut=True), width, "sources")
    for line in found.rows:
        assert cell_len(line.text) <= width
        assert "\x1b" not in line.text
        assert "\u202e" not in line.text


def test_no_text_can_pretend_to_be_a_mark() -> None:
    text = "⁅1⁆ [1] ⁅�⁆"
    found = layout(Entry(Message.of("assistant", text, id="a")))
    assert texts(found)[-1] == text
    assert not [run for run in runs(found) if run.link or "citation" in run.styles]


def test_marks_come_when_a_streamed_reply_is_complete() -> None:
    reply = advance(advance(Reply(), TextDelta("So it is.")), SourceFound(0, PAGE))
    reply = advance(reply, Cited(Citation(0, 0, 9)))
    streaming = Entry(Message("assistant", id="a"), status="streaming")
    growing = MessageLayout(streaming, 60, progress=ReplyProgress(0, Reply()))
    growing = MessageLayout(streaming, 60, progress=ReplyProgress(0, reply), before=growing)
    assert texts(growing)[-1] == "So it is."
    reply = advance(reply, Finished("stop", "stop"))
    done = Entry(reply.message(Protocol.GEMINI, id="a"))
    taken = MessageLayout(done, 60, before=growing)
    assert texts(taken)[2] == "So it is.[1]"
    assert texts(taken) == texts(MessageLayout(done, 60))
