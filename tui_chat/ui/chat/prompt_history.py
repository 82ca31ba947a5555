"""The prompt history: texts that the user sent, for the arrow keys to bring back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_chat.models.session import Entry


class PromptHistory:
    """The texts that were sent, walked with `step`.

    1. The active session comes first: what was sent in it since the program started, then the
       user messages of the branch, then those of its other branches. Other sessions follow.
    2. Each of these has its newest text first. A repeated text counts where it is met first.
       Commands are left out.
    """

    def __init__(self) -> None:
        self._session_id: str | None = None
        self._entries: Sequence[Entry] = ()
        self._sent: list[tuple[str | None, str]] = []
        """Session and text of what was sent since the program started, oldest first. The session is
        None while it is not stored."""
        self._stored: Sequence[tuple[str, str]] = ()
        self._texts: list[str] | None = None
        """The newest first; collected with the first step."""
        self._steps = 0
        """Steps back from the draft; 0 is the draft itself."""
        self._draft = ""

    def show(self, entries: Sequence[Entry], session_id: str | None = None) -> None:
        """Set the active branch; `session_id` is None for a session that is not stored yet."""
        if self._session_id is None and session_id is not None:
            # The session may just have been stored, with the text that began it.
            stored = {entry.message.content for entry in entries}
            self._sent = [
                (session_id if at is None and text in stored else at, text)
                for at, text in self._sent
            ]
        if entries is not self._entries or session_id != self._session_id:
            is_other = session_id != self._session_id
            self._entries, self._session_id = entries, session_id
            if is_other:
                self.leave()
            else:
                self._read_again()

    def remember(self, text: str) -> None:
        """Remember a text that was sent in the active session."""
        self._sent.append((self._session_id, text))
        self.leave()

    def recall(self, stored: Sequence[tuple[str, str]]) -> None:
        """Set what was sent before the program started: session and text, newest first."""
        self._stored = stored
        self._read_again()

    def _read_again(self) -> None:
        """Collect the texts again, and stay at the one that is shown if it is still there."""
        shown = self._texts[self._steps - 1] if self._texts and self._steps else None
        self._texts = None
        if shown is None:
            self._steps = 0
            return
        texts = self._all_texts()
        self._steps = texts.index(shown) + 1 if shown in texts else 0

    def leave(self) -> None:
        """Return to the draft: what is typed now is the draft."""
        self._steps = 0
        self._texts = None

    @property
    def is_browsing(self) -> bool:
        """True while an earlier text is shown in the draft's place."""
        return self._steps > 0

    def step(self, by: int, shown: str) -> str | None:
        """Return the text one step back (-1) or forward (1), or None.

        `shown` is the text in the composer, which is kept as the draft with the first step back.
        """
        texts = self._all_texts()
        steps = self._steps - by
        if not 0 <= steps <= len(texts):
            return None
        if self._steps == 0:
            self._draft = shown
        self._steps = steps
        return texts[steps - 1] if steps else self._draft

    def texts(self) -> tuple[str, ...]:
        """Return what was sent, the likeliest first."""
        return tuple(self._all_texts())

    def _all_texts(self) -> list[str]:
        if self._texts is None:
            self._texts = list(dict.fromkeys(filter(None, self._collect())))
        return self._texts

    def _collect(self) -> Iterator[str]:
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
    """Yield the texts of a session, or with `is_own` False those of all others."""
    return (text for at, text in texts if (at == session_id) is is_own)
