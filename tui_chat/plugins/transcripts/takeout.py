"""Google Takeout's activity of Gemini Apps: `My Activity/Gemini Apps/MyActivity.json`.

A record is one prompt with its answer in HTML; what conversation it was of is not kept, so each
becomes a session. The title has the prompt behind a word that depends on the account's language.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from tui_chat.interop.formats import ObjectFormat, Reading
from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.interop.transcript_builder import TranscriptBuilder
from tui_chat.models.json_text import JsonObject, as_array, as_object, as_string
from tui_chat.models.message import Message

_PROMPTED = re.compile(r"Prompted[\s\xa0]+")
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
_BLOCKS = frozenset({
    "p", "div", "ul", "ol", "table", "tr", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6",
    "li", "hr",
})  # fmt: skip
_ATTACHED = ("imageFile", "attachedFiles", "audioFiles", "subtitles")


def _is_activity(data: JsonObject) -> bool:
    return all(isinstance(data.get(key), str) for key in ("header", "title", "time")) and (
        isinstance(data.get("products"), list)
    )


def _is_prompt(data: JsonObject) -> bool:
    if not _is_activity(data) or "Gemini" not in as_string(data.get("header")):
        return False
    return bool(as_array(data.get("safeHtmlItem"))) or bool(
        _PROMPTED.match(as_string(data.get("title")))
    )


def _read(data: JsonObject) -> Reading:
    title, time = as_string(data.get("title")), as_string(data.get("time"))
    prompt = _PROMPTED.sub("", title, count=1).strip() if _PROMPTED.match(title) else title
    tree = TranscriptBuilder("takeout", time, title)
    sent = parse_timestamp(data.get("time"))
    head = tree.add(Message("user", prompt, tree.id_of("prompt"), timestamp=sent), None)
    pages = [as_string(as_object(item).get("html")) for item in as_array(data.get("safeHtmlItem"))]
    if answer := "\n\n".join(filter(None, map(text_of_html, pages))):
        reply = Message("assistant", answer, tree.id_of("answer"), timestamp=sent)
        head = tree.add(reply, head)
    if any(key in data for key in _ATTACHED):
        tree.notes.append("Files of a prompt are not in the activity, and are left out.")
    return tree.transcript(title="", head_id=head, created=sent), tree.notes


FORMATS = (ObjectFormat(_is_prompt, _read), ObjectFormat(_is_activity, None))


class _Text(HTMLParser):
    """Collects the text of a page as Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._lists: list[int | None] = []
        """The last number of each open list; None for one without numbers."""
        self._is_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "pre":
            self.pieces.append("\n\n```\n")
            self._is_code = True
        elif tag == "br":
            self.pieces.append("\n")
        elif tag in ("ul", "ol"):
            self.pieces.append("\n" if self._lists else "\n\n")
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            number = self._lists[-1] if self._lists else None
            if number is not None:
                self._lists[-1] = number = number + 1
            indent = "  " * (len(self._lists) - 1)
            self.pieces.append(f"\n{indent}{'-' if number is None else f'{number}.'} ")
        elif tag[:1] == "h" and tag[1:].isdigit():
            self.pieces.append(f"\n\n{'#' * int(tag[1:])} ")
        elif tag in ("td", "th"):
            self.pieces.append(" | ")
        elif tag in _BLOCKS:
            if not self._lists:
                self.pieces.append("\n" if tag == "tr" else "\n\n")
        elif tag in _MARKS and not self._is_code:
            self.pieces.append(_MARKS[tag])

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self.pieces.append("\n```\n\n")
            self._is_code = False
        elif tag in ("ul", "ol"):
            del self._lists[-1:]
            self.pieces.append("" if self._lists else "\n\n")
        elif tag in _BLOCKS:
            self.pieces.append("" if self._lists or tag == "tr" else "\n\n")
        elif tag in _MARKS and not self._is_code:
            self.pieces.append(_MARKS[tag])

    def handle_data(self, data: str) -> None:
        self.pieces.append(data if self._is_code else re.sub(r"\s+", " ", data))


def text_of_html(page: str) -> str:
    """Return the text of a page of HTML as Markdown."""
    parser = _Text()
    parser.feed(page)
    parser.close()
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ ]+\n", "\n", "".join(parser.pieces))).strip()
