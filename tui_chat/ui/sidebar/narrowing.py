"""Narrowing the list: which sessions have what was typed.

All words must be there, in title, role, model or folder; `#word` must begin a tag.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.models.session import SessionSummary


class Narrowing:
    """Finds sessions by words; what is searched is made when something is first typed."""

    def __init__(self, summaries: Sequence[SessionSummary] = ()) -> None:
        self._summaries = summaries
        self._texts: list[str] | None = None
        self._last: tuple[list[str], Sequence[int]] | None = None

    def __call__(self, typed: str) -> Sequence[SessionSummary]:
        """Return the sessions that fit, in their order."""
        words = typed.casefold().split()
        words = [f"\n{word}" if word.startswith("#") else word for word in words if word != "#"]
        if not words:
            return self._summaries
        texts = self.prepare()
        fitting = self._before(words)
        for word in words:
            fitting = [index for index in fitting if word in texts[index]]
        self._last = words, fitting
        return [self._summaries[index] for index in fitting]

    def prepare(self) -> Sequence[str]:
        """Make what is searched, if it is not there yet, and return it."""
        if self._texts is None:
            self._texts = [_text(summary) for summary in self._summaries]
        return self._texts

    def _before(self, words: list[str]) -> Sequence[int]:
        """Return where to look: one more letter can only leave out more."""
        if self._last is not None:
            before, found = self._last
            if len(before) <= len(words) and all(
                old in new for old, new in zip(before, words, strict=False)
            ):
                return found
        return range(len(self._summaries))


def _text(summary: SessionSummary) -> str:
    tags = "\n#" + "\n#".join(summary.tags) if summary.tags else ""
    text = f"{summary.title}\n{summary.role_name}\n{summary.model}\n{summary.folder}{tags}"
    return text.casefold()
