"""What SillyTavern's rules search for the keys of lore entries.

1. Messages are searched with their scripts applied, each after the sign U+0001 and, if the session
   says so, the name of its speaker. The texts of the card, the profile and the author's note, and
   the content of entries, are searched with their macros expanded.
2. Most keys cannot match across two texts. Patterns that depend on where a text begins or ends, or
   that may match line breaks, are searched for in all texts of an entry together, newest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.environment import MacroEnvironment
from tui_chat.context.macros.expander import expand
from tui_chat.context.macros.syntax import has_macros, parse
from tui_chat.context.scripts import apply_scripts, scripts_for
from tui_chat.models.chat_settings import TextScript
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import Message
from tui_chat.models.text import GLUE, Origin, OriginKind, Text

MARK = "\x01"
"""What each searched text begins with."""
_ACROSS = re.compile(r"\^|\$|\\[nrWDSxupP]|\[\^|\(\?<?!|\\s[*+?]?(?:\Z|[|)])|(?:^|[|(])\\s")


def spans_texts(source: str, flags: str) -> bool:
    """True if a pattern is to be searched for in all texts together."""
    return _ACROSS.search(source) is not None or ("s" in flags and "." in source)


def joined(texts: Iterable[str]) -> str:
    """Return texts as they are searched together."""
    return "\n".join(texts)


def named_text(text: str, role: str, name: str, names: tuple[str, str] | None) -> str:
    """Return a message's text as it is searched with the name of its speaker."""
    if names is None:
        return text
    speaker = name or (names[0] if role == "user" else names[1])
    return f"{MARK}{speaker}: {text}"


class SearchedTexts:
    """The texts of one request as they are searched."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._environment: MacroEnvironment | None = None
        self._contents: dict[int, str] = {}
        """The expanded content of entries, by their identity."""

    def expanded(self, text: str, *, is_card: bool = False) -> str:
        """Return a text with its macros expanded; what it sets holds for later ones."""
        aliases = self._inputs.preset.policies.expand_history
        if not has_macros(text, aliases):
            return text
        if self._environment is None:
            self._environment = MacroEnvironment(self._inputs)
        return expand(
            text, parse(text, aliases), _LORE, self._environment, is_card=is_card
        ).text.plain

    def content(self, entry: LorebookEntry) -> str:
        """Return the content of an entry, expanded once for a request."""
        if id(entry) not in self._contents:
            self._contents[id(entry)] = self.expanded(entry.content)
        return self._contents[id(entry)]


_LORE = Origin(OriginKind.LORE, "lore", "lore")


def scripted(text: str, role: str, scripts: tuple[TextScript, ...], depth: int) -> str:
    """Return the text of a message after its scripts; `depth` messages follow it."""
    if not scripts:
        return text
    return apply_scripts(Text.of(text, GLUE), scripts_for(scripts, role, depth)).plain


@recent_memo(8)
def newest_texts(
    history: tuple[Message, ...],
    depth: int,
    names: tuple[str, str] | None,
    scripts: tuple[TextScript, ...],
    follow: int,
) -> tuple[str, ...]:
    """Return the newest messages as they are searched together, newest first; `follow` messages
    follow the last one.
    """
    newest = history[len(history) - depth :] if depth < len(history) else history
    return tuple(
        marked(
            scripted(message.content, message.role, scripts, follow + place),
            *(message.role, message.name, names),
        )
        for place, message in enumerate(reversed(newest))
    )


def marked(text: str, role: str, name: str, names: tuple[str, str] | None) -> str:
    """Return a message's text as it is searched together with others."""
    return MARK + named_text(text, role, name, names).removeprefix(MARK).strip()
