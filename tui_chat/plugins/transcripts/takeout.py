"""Google Takeout's activity of Gemini Apps: `My Activity/Gemini Apps/MyActivity.json`.

A record is one prompt with its answer in HTML; what conversation it was of is not kept, so each
becomes a session. The title has the prompt behind a word that depends on the account's language.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from tui_chat.interop.formats import ObjectFormat, Reading
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.models.json_text import JsonObject, as_array, as_object, as_string
from tui_chat.models.message import Message

_PROMPTED = re.compile(r"Prompted[\s\xa0]+")
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
_BLOCKS = dict.fromkeys(("p", "div", "table", "blockquote", "li", "hr"), "\n\n")
_HEADINGS = {f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)}
_CELLS = {"tr": "\n", "td": " | ", "th": " | "}
_BEGINS = {**_MARKS, **_BLOCKS, **_HEADINGS, **_CELLS, "pre": "\n\n```\n", "br": "\n"}
_ENDS = {**_MARKS, **_BLOCKS, **dict.fromkeys(_HEADINGS, "\n\n"), "pre": "\n```\n\n"}
"""The marks for the beginning and the end of an element."""
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
    head = tree.add(Message.of("user", prompt, tree.id_of("prompt"), timestamp=sent), None)
    pages = [as_string(as_object(item).get("html")) for item in as_array(data.get("safeHtmlItem"))]
    if answer := "\n\n".join(filter(None, map(text_of_html, pages))):
        reply = Message.of("assistant", answer, tree.id_of("answer"), timestamp=sent)
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
        if tag in ("ul", "ol"):
            self.pieces.append("\n" if self._lists else "\n\n")
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li" and self._lists:
            number = self._lists[-1]
            if number is not None:
                self._lists[-1] = number = number + 1
            indent = "  " * (len(self._lists) - 1)
            self.pieces.append(f"\n{indent}{'-' if number is None else f'{number}.'} ")
        else:
            self._put(tag, _BEGINS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            del self._lists[-1:]
            self.pieces.append("" if self._lists else "\n\n")
        else:
            self._put(tag, _ENDS.get(tag, ""))

    def _put(self, tag: str, text: str) -> None:
        if tag == "pre":
            self._is_code = not self._is_code
        elif (self._is_code and tag in _MARKS) or (self._lists and tag in _BLOCKS):
            return
        self.pieces.append(text)

    def handle_data(self, data: str) -> None:
        self.pieces.append(data if self._is_code else re.sub(r"\s+", " ", data))


def text_of_html(page: str) -> str:
    """Return the text of a page of HTML as Markdown."""
    parser = _Text()
    parser.feed(page)
    parser.close()
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ ]+\n", "\n", "".join(parser.pieces))).strip()
