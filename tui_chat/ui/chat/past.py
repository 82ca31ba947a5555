"""The prompt history: texts that were typed before, for the arrow keys to bring back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tui_chat.models.session import Entry


class Past:
    """What was typed before, walked with `step`.

    1. The active session comes first: what was sent in it since the program started, then the
       user messages of the branch, then those of its other branches. Other sessions follow.
    2. Each of these has its newest text first, and a text that occurs again counts where it is
       met first. Commands are not in it.
    """

    def __init__(self) -> None:
        self._session_id: str | None = None
        self._entries: Sequence[Entry] = ()
        self._sent: list[tuple[str | None, str]] = []
        """Session and text of what was sent since the program started, oldest first. The session
        is None while it is not stored."""
        self._stored: Sequence[tuple[str, str]] = ()
        self._texts: list[str] | None = None
        """The newest first; gathered when the first is asked for."""
        self._at = 0
        """Steps back from the draft; 0 is the draft itself."""
        self._draft = ""

    def show(self, entries: Sequence[Entry], session_id: str | None = None) -> None:
        """Take another branch as the active one; `session_id` is None for a chat not yet begun."""
        if self._session_id is None and session_id is not None:
            # The chat may just have been stored, with the text that began it.
            typed = {entry.message.content for entry in entries}
            self._sent = [
                (session_id if at is None and text in typed else at, text)
                for at, text in self._sent
            ]
        if entries is not self._entries or session_id != self._session_id:
            self._entries, self._session_id = entries, session_id
            self.leave()

    def remember(self, text: str) -> None:
        """Remember a text that was sent in the active session."""
        self._sent.append((self._session_id, text))
        self.leave()

    def recall(self, stored: Sequence[tuple[str, str]]) -> None:
        """Take what was typed before the program started: session and text, newest first."""
        self._stored = stored
        if not self.is_walking:
            self.leave()

    def leave(self) -> None:
        """Begin again from the draft: what is typed now is it."""
        self._at = 0
        self._texts = None

    @property
    def is_walking(self) -> bool:
        """Whether an earlier text is shown in the draft's place."""
        return self._at > 0

    def step(self, by: int, shown: str) -> str | None:
        """Return the text one step back (-1) or forth (1); None where there is none."""
        if self._texts is None:
            self._texts = list(dict.fromkeys(filter(None, self._gathered())))
        at = self._at - by
        if not 0 <= at <= len(self._texts):
            return None
        if self._at == 0:
            self._draft = shown
        self._at = at
        return self._texts[at - 1] if at else self._draft

    def _gathered(self) -> Iterator[str]:
        branch = [e.message.content for e in reversed(self._entries) if e.message.role == "user"]
        sent = self._sent[::-1]
        yield from _of(self._session_id, sent, is_own=True)
        yield from branch
        yield from _of(self._session_id, self._stored, is_own=True)
        yield from _of(self._session_id, sent, is_own=False)
        yield from _of(self._session_id, self._stored, is_own=False)


def _of(
    session_id: str | None, texts: Iterable[tuple[str | None, str]], *, is_own: bool
) -> Iterator[str]:
    """Yield the texts of a session, or those of all others."""
    return (text for at, text in texts if (at == session_id) is is_own)
