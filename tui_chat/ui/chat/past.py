"""What was said before, for the arrow keys to bring back."""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.model.session import Entry


class Past:
    """Texts of the shown branch and of this run, the newest last; walked with `step`."""

    def __init__(self) -> None:
        self._entries: Sequence[Entry] = ()
        self._said: list[str] = []
        self._texts: list[str] | None = None
        """Gathered when they are first asked for."""
        self._at = 0
        """Steps back from the draft; 0 is the draft itself."""
        self._draft = ""

    def show(self, entries: Sequence[Entry]) -> None:
        """Take the texts of another branch."""
        if entries is not self._entries:
            self._entries = entries
            self.leave()

    def said(self, text: str) -> None:
        """Remember a text that was sent, or a command that was run."""
        self._said.append(text)
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
            self._texts = self._gathered()
        at = self._at - by
        if not 0 <= at <= len(self._texts):
            return None
        if self._at == 0:
            self._draft = shown
        self._at = at
        return self._texts[-at] if at else self._draft

    def _gathered(self) -> list[str]:
        branch = [e.message.content for e in self._entries if e.message.role == "user"]
        known = set(branch)
        texts: list[str] = []
        for text in (*branch, *(text for text in self._said if text not in known)):
            if text and (not texts or texts[-1] != text):
                texts.append(text)
        return texts
