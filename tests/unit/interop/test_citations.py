"""Sources and citations in exports, and in the files of other programs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.support.tables import each_row
from tests.support.transcripts import references as any_references
from tests.unit.interop.test_readable import reply
from tui_chat.errors import InputError
from tui_chat.interop.markdown import markdown
from tui_chat.interop.messages import message_lines, read_history
from tui_chat.models.citations import Citation, References, Source
from tui_chat.models.message import Message
from tui_chat.models.semantics import MessageSemantics

TEXT = "It is **330 m.** So."
REFERENCES = References(
    (Source("Tower [1]", "https://tower.example/a_(b)"), Source("", "", "<b>notes</b>.txt")),
    (Citation(0, 0, 16, "330 metres", "page 2"), Citation(1, 0, 20)),
    ("how <tall>",),
    ("A web search failed: x.",),
    len(TEXT),
    True,
)
CITED = MessageSemantics(references=REFERENCES)


def cited(message: Message) -> list[tuple[str, str, str]]:
    """The cited stretches of text, with the title and address of the source of each."""
    found = message.semantics.references
    assert found.fits(message.content)
    return [
        (message.content[each.start : each.end], source.title, source.url)
        for each in found.citations
        if (source := found.sources[each.source])
    ]


def test_markdown_links_marks_and_lists_sources() -> None:
    url = "https://tower.example/a_%28b%29"
    text = "".join(markdown(reply(TEXT, semantics=CITED)))
    assert f"It is **330 m.**[\\[1\\]]({url}) So.\\[2\\]\n" in text
    assert text.endswith(
        "\n<details><summary>Sources (2)</summary>\n\n"
        f"1. [Tower \\[1\\]]({url}) · tower.example\n"
        "2. \\<b\\>notes\\</b\\>.txt\n\n"
        "There were more sources; the first ones are kept.\n\n"
        "Searched for “how \\<tall\\>”.\n\n"
        "A web search failed: x.\n\n</details>\n"
    )


def test_an_edited_text_is_exported_without_marks() -> None:
    text = "".join(markdown(reply("Another.", semantics=CITED)))
    assert "\nAnother.\n" in text
    assert "Sources (2)" in text


@given(any_references)
def test_json_lines_are_read_back(references: References) -> None:
    semantics = MessageSemantics(references=references)
    lines = "".join(message_lines(reply(TEXT, semantics=semantics)))
    [message] = read_history(lines, "f")
    assert message.semantics.references == references


@each_row(
    ("value", "fault"),
    [
        (5, r"f: \$\[0\]\.references must be an object"),
        ({"sources": [{"url": "file:///x"}]}, r"sources\[0\]\.url must be a web address"),
        ({"citations": [{"source": 3}]}, r"citations\[0\]\.source must be the index"),
        ({"sources": [{"title": 5}]}, r"references\.sources\[0\]\.title"),
    ],
)
def test_invalid_references_name_their_place(value: object, fault: str) -> None:
    message = {"role": "assistant", "content": "x", "references": value}
    with pytest.raises(InputError, match=fault):
        read_history(json.dumps([message]), "f")
