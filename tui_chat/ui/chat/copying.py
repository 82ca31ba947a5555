"""Copying from a conversation, and opening its links."""

from __future__ import annotations

from tui_chat.models.session import Entry
from tui_chat.ui.chat import posted
from tui_chat.ui.chat.selecting import Selecting
from tui_chat.ui.chat.viewport import Place


class Copying(Selecting):
    """A conversation from which messages, code and all of it can be copied."""

    CopyRequested = posted.CopyRequested
    LinkClicked = posted.LinkClicked
    Refused = posted.Refused

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._last_code: tuple[str, int] = "", -1
        self._last_link: tuple[str, int] = "", -1

    def refuse(self, why: str) -> None:
        """Tell why a key does nothing."""
        self.post_message(self.Refused(why))

    def action_copy(self) -> None:
        """Copy what is selected, else the message."""
        chosen = self.screen.get_selected_text() if self.text_selection else None
        current = self._current
        if chosen:
            self.post_message(self.CopyRequested(chosen, "selection"))
        elif current is not None:
            self.post_message(self.CopyRequested(self._layouts.source(current), "message"))
        else:
            self.refuse("There is nothing to copy yet.")

    def action_copy_code(self) -> None:
        """Copy the message's code; pressed again, its next block."""
        current = self._current
        codes = self._layouts(current).codes if current is not None else []
        if current is None or not codes:
            self.refuse("There is no code block in this message.")
            return
        entry_id = self.entries[current].message.id
        known, last = self._last_code
        self._copy_code(current, (last + 1) % len(codes) if known == entry_id else 0)

    def action_copy_all(self) -> None:
        """Copy the whole conversation, each message under the name of its speaker."""
        if self.entries:
            said = [f"{_speaker(e)}:\n\n{e.message.content}" for e in self.entries]
            self.post_message(self.CopyRequested("\n\n".join(said), "conversation"))
        else:
            self.refuse("There is nothing to copy yet.")

    def action_open_link(self) -> None:
        """Open the message's link; pressed again, its next one."""
        current = self._current
        urls = list(
            dict.fromkeys(
                piece.link
                for lines in (self._all_lines(current) if current is not None else ())
                for line in lines
                for piece in line.runs
                if piece.link
            )
        )
        if current is None or not urls:
            self.refuse("There is no link in this message.")
            return
        entry_id = self.entries[current].message.id
        known, last = self._last_link
        index = (last + 1) % len(urls) if known == entry_id else 0
        self._last_link = entry_id, index
        self.post_message(self.LinkClicked(urls[index]))

    def _copy_code(self, message: int, index: int) -> None:
        codes = self._layouts(message).codes
        code = codes[index]
        self._last_code = self.entries[message].message.id, index
        which = f"code block {index + 1} of {len(codes)}" if len(codes) > 1 else "code block"
        self._viewport.show(Place(message, code.part, 0))
        self.cursor = message
        self._publish()
        self.post_message(self.CopyRequested(code.source, which))

    def copy_code_at(self, place: Place, number: str) -> None:
        """Copy the code that begins in a part, where it has that number."""
        for index, code in enumerate(self._layouts(place.message).codes):
            if (code.part, str(code.number)) == (place.part, number):
                self._copy_code(place.message, index)


def _speaker(entry: Entry) -> str:
    message = entry.message
    if message.role == "assistant":
        return entry.model or message.name or "Assistant"
    return message.name or message.role.title()
