"""Text whose characters have origins.

1. A `Text` is a run of `Span`s. Its plain string is the spans' texts put together.
2. A span is a verbatim piece of its origin's text: `origin`'s source text, read from
   `start`, begins with `span.text`. Words that have no source (a role name, a separator)
   have the origin kind `glue` and start 0.
3. Empty spans do not exist, and two neighbors that continue each other are one.
4. Nothing here changes characters: to change a text is to make spans of another origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

from tui_chat.lazy_dataclass import dataclass


class OriginKind(StrEnum):
    """The kinds of sources of a character; each has its color in the inspector."""

    SYSTEM = "system"
    """The system prompt of the session's role."""
    PRESET = "preset"
    """A preset message."""
    PROFILE = "profile"
    """The user's profile."""
    LORE = "lore"
    """An entry that a lorebook added."""
    HISTORY = "history"
    """A stored message."""
    DRAFT = "draft"
    """The text in the composer."""
    MACRO = "macro"
    """The result of a macro such as `{{date}}`; `within` is the origin of the text around it."""
    TOOL = "tool"
    """The definition of a tool; its id is the tool's name."""
    SETTING = "setting"
    """A parameter: model, temperature, ...; `within` is the origin of its value, if known."""
    EDIT = "edit"
    """What the user changed in the request by hand; its id is the place as a JSON pointer, `within`
    is the origin of what was there."""
    GLUE = "glue"
    """Text that the protocol requires: keys, role names, separators."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """A source, precise enough to open it. Compared by value."""

    kind: OriginKind
    id: str = ""
    """The id in its domain: message id, preset message id, setting name; `ROLE/FIELD` for a field
    of a character card, `BOOK/ENTRY` for a lore entry."""
    name: str = ""
    """The display name; the id if it has none. Of text in a draft the prompt that it is from."""
    within: Origin | None = None
    """The origin of the text around it, or that it was taken from."""
    note: str = ""
    """More words of its label: where a message was brought from."""

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Origin)
            and self.id == other.id
            and self.kind == other.kind
            and self.name == other.name
            and self.within == other.within
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.id, self.name))

    @property
    def label(self) -> str:
        """One short phrase for the screen: `preset message "Style"`, `draft`."""
        called, words = self.name or self.id, _KIND_WORDS[self.kind]
        if (self.kind, self.id) in _CALLED_ALONE:
            return called
        if self.kind is OriginKind.DRAFT:
            return f"{words}, from {self.name}" if self.name else words
        if self.kind is OriginKind.EDIT:
            return words
        role, _, field = self.id.rpartition("/")
        if self.kind is OriginKind.SYSTEM and role:  # a field of a character card
            words = f"{field} of the character"
        label = f"{words} “{called}”" if called else words
        return f"{label}, {self.note}" if self.note else label

    def lineage(self) -> Iterator[Origin]:
        """Yield this and the origins that it lies in, the innermost first."""
        origin: Origin | None = self
        while origin is not None:
            yield origin
            origin = origin.within

    @property
    def outermost(self) -> Origin:
        """The written text behind a macro's or setting's origin: an entry, not its lorebook."""
        origin = self
        while origin.within is not None and origin.kind is not OriginKind.LORE:
            origin = origin.within
        return origin

    @property
    def lore_entry(self) -> Origin | None:
        """The lore entry that this is, or is in; None for any other text."""
        origin = self.outermost
        return origin if origin.kind is OriginKind.LORE and origin.within is not None else None

    @property
    def preset_message(self) -> Origin | None:
        """The preset message that this is, or is in; None for any other text."""
        return next((each for each in self.lineage() if each.kind is OriginKind.PRESET), None)


_CALLED_ALONE = ((OriginKind.LORE, "author_note"), (OriginKind.SETTING, "body"))
_KIND_WORDS = {
    OriginKind.SYSTEM: "system prompt of role",
    OriginKind.PRESET: "preset message",
    OriginKind.PROFILE: "profile",
    OriginKind.LORE: "lore entry",
    OriginKind.HISTORY: "message",
    OriginKind.DRAFT: "draft",
    OriginKind.MACRO: "macro",
    OriginKind.TOOL: "tool",
    OriginKind.SETTING: "setting",
    OriginKind.EDIT: "edited by hand",
    OriginKind.GLUE: "protocol",
}

GLUE = Origin(OriginKind.GLUE)
"""The origin of text that the protocol requires."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of characters with one origin."""

    text: str
    origin: Origin
    start: int = 0
    """Offset of the first character in the origin's own text, in characters."""


class Text:
    """An immutable string whose characters have origins."""

    __slots__ = ("__weakref__", "plain", "spans")

    plain: str
    """The characters without their origins."""
    spans: tuple[Span, ...]
    """The runs of characters of one origin each."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self.spans = spans = tuple(_joined(spans))
        self.plain = spans[0].text if len(spans) == 1 else "".join(s.text for s in spans)

    @classmethod
    def of(cls, text: str, origin: Origin, start: int = 0) -> Text:
        """Make a text of one origin; an empty string gives the empty text."""
        made = cls.__new__(cls)
        made.plain = text
        made.spans = (Span(text, origin, start),) if text else ()
        return made

    @classmethod
    def glue(cls, text: str) -> Text:
        """Make a text that the protocol requires."""
        return cls.of(text, GLUE)

    @classmethod
    def join(cls, separator: str, texts: Iterable[Text]) -> Text:
        """Join texts with a glue separator."""
        between = (Span(separator, GLUE),)
        pieces = (
            span
            for index, text in enumerate(texts)
            for span in ((*between, *text.spans) if index else text.spans)
        )
        return cls(pieces)

    def __add__(self, other: Text) -> Text:
        return Text((*self.spans, *other.spans))

    def __getitem__(self, part: slice) -> Text:
        """Slice; spans keep their source positions. Steps are not supported."""
        start, stop, step = part.indices(len(self.plain))
        if step != 1:
            raise ValueError("a Text can only be cut in steps of one")
        cut: list[Span] = []
        offset = 0
        for span in self.spans:
            low, high = max(start - offset, 0), min(stop - offset, len(span.text))
            if low < high:
                cut.append(Span(span.text[low:high], span.origin, span.start + low))
            offset += len(span.text)
        return Text(cut)

    def stripped(self) -> Text:
        """Return the text without white space at its ends."""
        plain = self.plain
        return self[len(plain) - len(plain.lstrip()) : len(plain.rstrip())]

    def span_at(self, offset: int) -> Span:
        """Return the span that the character at `offset` belongs to; IndexError outside."""
        if not 0 <= offset < len(self.plain):
            raise IndexError(f"offset {offset} is outside a text of {len(self.plain)}")
        for span in self.spans:
            if offset < len(span.text):
                return span
            offset -= len(span.text)
        raise AssertionError("the spans are as long as the text")

    def __len__(self) -> int:
        return len(self.plain)

    def __str__(self) -> str:
        return self.plain

    def __repr__(self) -> str:
        return f"Text({list(self.spans)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and self.spans == other.spans

    def __hash__(self) -> int:
        return hash(self.spans)


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Drop empty spans and join neighbors that continue each other in one source."""
    run: list[Span] = []
    for span in spans:
        if not span.text:
            continue
        if run:
            last = run[-1]
            follows = last.start + len(last.text) == span.start
            if last.origin != span.origin or not (follows or last.origin.kind is OriginKind.GLUE):
                yield _as_one(run)
                run = []
        run.append(span)
    if run:
        yield _as_one(run)


def _as_one(run: list[Span]) -> Span:
    first = run[0]
    return first if len(run) == 1 else Span("".join(s.text for s in run), first.origin, first.start)


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Make text fit for JSON in UTF-8: each lone surrogate becomes U+FFFD.

    Called where text enters (a paste, a file, a provider's reply), so that the rest of the
    program can encode without fear. Returns the same object when there is nothing to do.
    """
    if text.isascii():
        return text
    # Surrogate pairs that a JSON reader left apart are joined first: they are one character.
    try:
        text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return _LONE_SURROGATE.sub("\ufffd", paired)
    return text
