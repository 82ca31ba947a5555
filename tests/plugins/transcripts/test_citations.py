"""Sources of replies in the exports of other programs."""

from __future__ import annotations

from tests.support.exports import block, chatgpt, claude, claude_message, node
from tests.support.reading import only, shown
from tests.support.replies import cited


def test_chatgpt_keeps_the_pages_behind_its_marks() -> None:
    mark, lost = "\ue200cite\ue202turn0search0\ue201", "\ue200cite\ue202turn0search9\ue201"
    pages = [{"title": "Maps", "url": "https://example.org"}, {"title": "No address"}]
    references = [
        {"matched_text": mark, "alt": "([Maps](https://example.org))", "items": pages},
        {"matched_text": " ", "sources": [{"title": "Footnote", "url": "https://foot.example/"}]},
    ]
    said = node(
        *("a", None, "assistant", f"North {mark}.{lost} Again {mark}"),
        metadata={"content_references": references},
    )
    [message] = shown(only([chatgpt(said)]))
    words = "([Maps](https://example.org))"
    assert message.content == f"North {words}. Again {words}"
    assert cited(message) == [(words, "Maps", "https://example.org")] * 2
    titles = {source.title for source in message.semantics.references.sources}
    assert titles == {"Maps", "Footnote"}


def test_chatgpt_s_older_citations_have_places() -> None:
    page = {"type": "webpage", "title": "Maps", "url": "https://example.org/"}
    citation = {"start_ix": 6, "end_ix": 16, "metadata": page}
    said = node(
        *("a", None, "assistant", "North 【1†source】."), metadata={"citations": [citation, None]}
    )
    [message] = shown(only([chatgpt(said)]))
    assert cited(message) == [("【1†source】", "Maps", "https://example.org/")]


def test_claude_s_citations_are_those_of_the_blocks() -> None:
    url = "https://example.org/"
    told = claude(
        claude_message(
            "m1",
            "assistant",
            block("Red "),
            block("or white.", {"title": "Roses", "url": url}, {"uuid": "x"}),
            block(" Pink.", {"start_index": 1, "end_index": 5, "details": {"url": url}}),
        )
    )
    [message] = shown(only([told]))
    assert message.content == "Red or white. Pink."
    assert cited(message) == [("or white.", "Roses", url), ("Pink", "Roses", url)]
