"""The prompt history: texts that the user sent, for the arrow keys to bring back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_chat.models.session import Entry


class PromptHistory:
    """The texts that were sent, walked with `step`: the user's messages of the branch, then what
    else was sent, each the newest first. A repeated text counts where it is met first.
    """

    def __init__(self) -> None:
        self._session_id: str | None = None
        self._branch: Sequence[Entry] = ()
        self._sent: list[str] = []
        """What was sent since the program started, the oldest first."""
        self._stored: Sequence[str] = ()
        """What was sent before, the newest first."""
        self._texts: list[str] = []
        """Those that are walked, the newest first."""
        self._steps = 0
        """Steps back from the draft; 0 is the draft itself."""
        self._draft = ""

    def show(self, entries: Sequence[Entry], session_id: str | None = None) -> None:
        """Set the active branch; `session_id` is None for a session that is not stored yet."""
        if session_id != self._session_id:
            self.leave()
        self._branch, self._session_id = entries, session_id

    def remember(self, text: str) -> None:
        """Remember a text that was sent."""
        self._sent.append(text)
        self.leave()

    def recall(self, stored: Sequence[str]) -> None:
        """Set what was sent before the program started, the newest first."""
        self._stored = stored
        self._texts = self.texts()  # the others come first: the shown one stays where it is

    def leave(self) -> None:
        """Return to the draft: what is typed now is the draft."""
        self._steps = 0

    @property
    def is_browsing(self) -> bool:
        """True while an earlier text is shown in the draft's place."""
        return self._steps > 0

    def step(self, by: int, shown: str) -> str | None:
        """Return the text one step back (-1) or forward (1), or None.

        `shown` is the text in the composer, which is kept as the draft with the first step back.
        """
        if not self.is_browsing:
            self._texts, self._draft = self.texts(), shown
        steps = self._steps - by
        if not 0 <= steps <= len(self._texts):
            return None
        self._steps = steps
        return self._texts[steps - 1] if steps else self._draft

    def texts(self) -> list[str]:
        """Return what was sent, the likeliest first."""
        branch = [e.message.content for e in reversed(self._branch) if e.message.role == "user"]
        return list(dict.fromkeys(filter(None, (*branch, *reversed(self._sent), *self._stored))))
