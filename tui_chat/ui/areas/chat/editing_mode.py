"""A way of editing the composer's text with keys of its own, such as Vim's, which a plugin adds."""

from __future__ import annotations

from typing import Protocol

from tui_chat.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text after a key. Places are indices of characters."""

    text: str
    cursor: int
    selected_from: int | None = None
    """The other end of the selection, which includes the cursor's character; None for none."""
    recall: int = 0
    """-1 to bring back an earlier prompt instead, 1 a later one."""


class EditingMode(Protocol):
    """Decides what keys do to the text of the composer."""

    @property
    def label(self) -> str:
        """The name of its present mode, which the composer shows; empty while text is typed."""
        ...

    def reset(self, text: str) -> None:
        """Begin with another text, which no undo leads back from."""
        ...

    def insert(self) -> None:
        """Let what follows be typed as text."""
        ...

    def press(self, key: str, character: str | None, text: str, cursor: int) -> EditedText | None:
        """Return what a key makes of a text; None for the composer's own meaning of the key."""
        ...
