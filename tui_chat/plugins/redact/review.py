"""What must not be shared of a session, and the session without it.

1. The first pass looks at patterns only. What a pattern knows by its surroundings (a password, the
   user of a home folder) is searched for everywhere in the second pass.
2. A text has the same placeholder wherever it stands. Placeholders of an earlier redaction stay,
   and their numbers are not used again.
3. A text that is kept is left alone as a whole, also where it contains another.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import ReasoningBlock, keys_of
from tui_chat.models.json_text import as_object, as_string, decode_lenient
from tui_chat.models.media import detect_mime_of_base64, format_size
from tui_chat.models.session import SessionTranscript
from tui_chat.plugins.redact.patterns import KINDS, MARK, Match
from tui_chat.plugins.redact.scanner import Scanner, name_words, read_words
from tui_chat.plugins.redact.text_walk import Place, TextWalk

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.store import Store

MOST_EXCERPTS = 3
"""Excerpts of a finding; all its places are counted."""
_AROUND = 60
"""Characters of an excerpt on either side of what was found."""
_CASELESS = ("email", "user", "name", "word")
_SHORTEST_USER = 3
"""Characters of a user name that is searched for outside of paths."""
_WHITE = re.compile(r"\s+")
_PLACEHOLDER = re.compile(rf"{MARK}[A-Z_]+_\d{{1,6}}")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A place of a finding with the text around it."""

    place: Place
    before: str
    """The text before it, blanks and line breaks as one blank."""
    text: str
    """What stands there, which may be encoded."""
    after: str


@dataclass(frozen=True, slots=True)
class SensitiveText:
    """A text that must not be shared, with the places where it stands."""

    kind: str
    """One of `patterns.KINDS`."""
    text: str
    placeholder: str
    count: int
    excerpts: tuple[Excerpt, ...]
    """The first `MOST_EXCERPTS` of its places."""

    @property
    def title(self) -> str:
        """The text itself; of a file, its type and size."""
        if self.kind != "file":
            return self.text
        size = format_size(len(self.text) * 3 // 4)
        return f"{detect_mime_of_base64(self.text) or 'file'}, {size}"


@dataclass(eq=False)
class _Collected:
    """A finding while its places are collected."""

    kind: str
    text: str
    count: int = 0
    excerpts: list[Excerpt] = field(default_factory=list[Excerpt])


class Review:
    """The findings in a transcript, and the transcript without them."""

    def __init__(
        self, transcript: SessionTranscript, words: Mapping[str, str] | None = None
    ) -> None:
        """`words` are the user's words with their kinds; the names of profiles are added."""
        self._transcript = transcript
        self._scanner = Scanner()
        self._collected: dict[str, _Collected] = {}
        self._texts: dict[str, str] = {}
        self._learned: dict[str, str] = {}
        self._users: dict[str, str] = {}
        TextWalk(self._scanner, self._learn).transcript(transcript)
        names = dict.fromkeys(_profile_names(transcript), "name")
        self._scanner.search_for(
            {**self._users, **names, **(words or {})}, self._texts, self._learned
        )
        TextWalk(self._scanner, self._collect).transcript(transcript)
        self.findings = tuple(self._findings())
        self.warning = _warning(transcript)
        """A sentence on what cannot be searched, empty if there is nothing."""

    def redacted(self, kept: frozenset[str] = frozenset()) -> SessionTranscript:
        """Return the transcript with placeholders for what was found, save for those in `kept`."""
        replacements = {
            _key(finding.kind, finding.text): finding.placeholder
            for finding in self.findings
            if finding.placeholder not in kept
        }

        def replace(match: Match, _: str, __: Place) -> str | None:
            return replacements.get(_key(match.kind, match.text))

        return TextWalk(self._scanner, replace).transcript(self._transcript)

    def _learn(self, match: Match, text: str, _: Place) -> None:
        if text.endswith("…") and match.end >= len(text) - 1:
            return  # it may be cut: `Scanner` finds the whole text that it begins
        self._learned.setdefault(match.text, match.kind)
        if match.is_known_by_place:
            if match.kind != "user":
                self._texts[match.text] = match.kind
            elif len(match.text) >= _SHORTEST_USER:
                self._users[match.text.replace("*", "?")] = "user"

    def _collect(self, match: Match, text: str, place: Place) -> None:
        key = _key(match.kind, match.text)
        collected = self._collected.setdefault(key, _Collected(match.kind, match.text))
        collected.count += 1
        if len(collected.excerpts) < MOST_EXCERPTS:
            before = _WHITE.sub(" ", text[max(match.start - _AROUND, 0) : match.start])
            after = _WHITE.sub(" ", text[match.end : match.end + _AROUND])
            there = match.text[:_AROUND] if match.kind == "file" else text[match.start : match.end]
            collected.excerpts.append(Excerpt(place, before, there, after))

    def _findings(self) -> Iterator[SensitiveText]:
        contents = (entry.message.content for entry in self._transcript.entries)
        used = {earlier for text in contents for earlier in _PLACEHOLDER.findall(text)}
        numbers: dict[str, int] = defaultdict(int)
        order = list(KINDS)
        for one in sorted(self._collected.values(), key=lambda one: order.index(one.kind)):
            name = MARK + one.kind.upper().replace("-", "_")
            placeholder = ""
            while not placeholder or placeholder in used:
                numbers[name] += 1
                placeholder = f"{name}_{numbers[name]}"
            yield SensitiveText(one.kind, one.text, placeholder, one.count, tuple(one.excerpts))


def _is_signed(block: ReasoningBlock) -> bool:
    keys = keys_of(block)
    return bool(keys.get("signature") or keys.get("thoughtSignature"))


def _warning(transcript: SessionTranscript) -> str:
    blocks = [entry.message.reasoning for entry in transcript.entries]
    count = sum(any(block.encrypted or _is_signed(block) for block in some) for some in blocks)
    if not count:
        return ""
    messages = "1 message" if count == 1 else f"{count:,} messages"
    return (
        f"{messages} with encrypted or signed reasoning: what only the provider can read is not "
        "searched, and stays in exports that have it."
    )


def _key(kind: str, text: str) -> str:
    return text.casefold() if kind in _CASELESS else text


def _profile_names(transcript: SessionTranscript) -> Iterator[str]:
    """Yield the names of the user, as words that are searched for."""
    yield from name_words(transcript.user)
    for kind, text in transcript.revisions:
        if kind == "profile":
            yield from name_words(as_string(as_object(decode_lenient(text)).get("name")))


async def review_session(
    store: Store, library: Library, folder: Path, session_id: str, *, requests: bool
) -> Review:
    """Review a stored session; `folder` has the user's file of words, `requests` says whether the
    requests are part of the export. Raises InputError and StoreError.
    """
    transcript = await store.transcripts.get(session_id, requests=requests)
    if transcript is None:
        raise InputError("The session has been deleted.")
    if profile := transcript.session.profile:
        with suppress(InputError):  # it is gone or damaged: the user has no name
            transcript = replace(transcript, user=library.profile(profile).name)
    words = dict.fromkeys(name_words(Path.home().name), "user")
    words |= dict.fromkeys(read_words(folder), "word")
    return await asyncio.to_thread(Review, transcript, words)


def without_requests(transcript: SessionTranscript) -> SessionTranscript:
    """Return a transcript as it is shared without requests, presets, profiles and draft."""
    return replace(transcript, requests=(), revisions=(), draft="")
