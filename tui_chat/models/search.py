"""Full-text search: the query and its hits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import MessageRole


@dataclass(frozen=True, slots=True)
class Query:
    """A search query. All words must occur; an empty filter matches everything.

    Looked through are titles, role names and the text of messages, results of tools among them;
    then reasoning, tool calls with their arguments, and refusals; then attached files, their names
    and what is in those of text. In each, all words must be in that of one message.

    In `text`, words in "quotes" must follow each other, and `word*` finds what begins so.
    Languages written without spaces are found by any part of a word. Anything else is taken
    as it is: no text is wrong.
    """

    text: str
    role_name: str = ""
    """The name of the session's role; case does not matter."""
    model: str = ""
    """That wrote the message."""
    endpoint: str = ""
    """That was asked for the message."""
    message_role: MessageRole | None = None
    tag: str = ""
    """A tag of the session."""
    since: float | None = None
    """Seconds since the epoch, UTC; the first moment that counts."""
    until: float | None = None
    """The first moment that counts no more."""
    session_id: str = ""
    order: Literal["rank", "newest"] = "rank"
    """Best first, or newest first; without words always newest first."""
    limit: int = 50

    @property
    def narrows(self) -> bool:
        """True if a filter is set; then no words are needed, and every passing message is found."""
        dates = self.since is not None or self.until is not None
        names = self.role_name or self.model or self.endpoint or self.tag or self.session_id
        return dates or self.message_role is not None or bool(names)


HitPlace = Literal["text", "reasoning", "call", "refusal", "attachment"]
"""The part of a message with the words: `call` is the name of a tool or its arguments, `attachment`
the name of a file or its text."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found, or a session found by its title or role name."""

    session_id: str
    message_id: str | None
    """None if the session's title or role matched."""
    title: str
    """The title of the session."""
    message_role: MessageRole | None
    snippet: str
    """The words around what was found, on one line; of a session, its title or role."""
    marks: tuple[tuple[int, int], ...]
    """The start and end (exclusive) of each searched word in the snippet."""
    created: float
    """Seconds since the epoch, UTC."""
    place: HitPlace = "text"
    """The part of the message with the words."""


class Hits(tuple[Hit, ...]):
    """The hits of a query, in their order."""

    is_ranked: bool
    """False if too many messages have the words to be ranked, so that the newest come first."""

    def __new__(cls, hits: Iterable[Hit] = (), *, is_ranked: bool = True) -> Self:
        made = super().__new__(cls, hits)
        made.is_ranked = is_ranked
        return made
