"""Moving through a conversation: by lines, messages and questions, and from hit to hit."""

from __future__ import annotations

from textual.actions import SkipAction

from tui_chat.models.session import Entry
from tui_chat.ui.chat import posted
from tui_chat.ui.chat.copying import Copying
from tui_chat.ui.chat.search import Hit
from tui_chat.ui.chat.viewport import START


class Moving(Copying):
    """A conversation that one goes about in."""

    FindRequested = posted.FindRequested
    Found = posted.Found

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._find_from = START
        self._opened: tuple[int, str] | None = None
        """What typing has unfolded, in which message; the next letter may be found elsewhere."""

    @property
    def current(self) -> Entry | None:
        """The entry that keys act on."""
        index = self._current
        return None if index is None else self.entries[index]

    # Moving

    def action_move(self, lines: int) -> None:
        """Scroll by lines."""
        self.move(lines)

    def action_page(self, direction: int) -> None:
        """Scroll by a screen, less two lines to find one's place."""
        self.move(direction * max(self._viewport.height - 2, 1))

    def action_begin(self) -> None:
        """Go to the first message."""
        if self.entries:
            self._viewport.reveal(0)
            self.cursor = None
            self._publish()

    def action_end(self) -> None:
        """Go to the end, and follow it."""
        self.go_to_end()

    def action_message(self, step: int) -> None:
        """Put the cursor on the previous or next message."""
        current = self._current
        if current is None:
            return
        top = self._viewport.top
        if self.cursor is None and step < 0 and (top.message, top.part) != (current, 0):
            self.go_to(current)
        elif current + step >= len(self.entries):
            self.go_to_end()
        else:
            self.go_to(max(current + step, 0))

    def action_question(self, step: int) -> None:
        """Put the cursor on the previous or next message of the user."""
        index = self._current
        if index is None:
            return
        index += step
        while 0 <= index < len(self.entries) and self.entries[index].message.role != "user":
            index += step
        if index >= len(self.entries):
            self.go_to_end()
        elif index >= 0:
            self.go_to(index)

    def show_message(self, message_id: str, words: tuple[str, ...] = ()) -> bool:
        """Go to a message, and mark these words in it; False where it is not shown here."""
        index = next((i for i, e in enumerate(self.entries) if e.message.id == message_id), None)
        if index is None:
            return False
        self._search.find(words)
        self.go_to(index)
        if words and (hit := self._search.in_message(index)):
            self._show_hit(hit)
        self.tell_found()
        return True

    # Finding

    def find(self, words: str) -> None:
        """Find words in the conversation, from where it is shown; no words end it."""
        if not self._search.is_on:
            self._find_from = self._viewport.top
        if self._opened and self._opened[0] < len(self.entries):
            self._layouts.unfolded.discard(self._opened[1])
            self._refold(self._opened[0])
        self._opened = None
        self._search.find((words,))
        hit = self._search.first_from(self._find_from) if self.entries else None
        if hit:
            self._show_hit(hit)
        self.tell_found()
        self.refresh()

    def action_find(self) -> None:
        """Ask for words to find."""
        self.post_message(self.FindRequested())

    def action_hit(self, direction: int) -> None:
        """Go to the next hit, or the one before."""
        if hit := self._search.step(direction):
            self._show_hit(hit)
            self._opened = None
            self.tell_found()
        else:
            self.refuse("Nothing is found; / finds words in this conversation.")

    def action_leave(self) -> None:
        """Stop finding, or let go of what is selected."""
        if self._search.is_on:
            self.find("")
        elif self.text_selection:
            self.screen.clear_selection()
        else:
            raise SkipAction

    def _show_hit(self, hit: Hit) -> None:
        """Show a hit; one in what is folded is unfolded."""
        place = hit[0]
        if key := self._search.fold_at(place):
            self._opened = place.message, key
            self._layouts.unfolded.add(key)
            self._refold(place.message)
            place = (self._search.go_on_from(place) or hit)[0]
        self._viewport.show(place)
        self.cursor = place.message
        self._publish()

    def tell_found(self) -> None:
        """Tell how many hits there are, and which is shown."""
        self.post_message(self.Found(self._search.number, self._search.count, self._search.is_on))
