r"""Masking of a request's keys where the provider repeats them.

1. Complete data (a body, an event, an error) is searched for a key as it is and as JSON may spell
   it: any character as `\u002d`, a slash as `\/`, and both again inside JSON that is a string in
   JSON.
2. Streamed text brings a key in pieces, so the end of a piece is held back as long as it may be the
   beginning of a key, and no other part of the reply follows.
3. At the end of a stream, a held beginning of at least half the key is masked too.
4. An error is also searched for `PART` characters of a key and more in a row: a provider that cuts
   its message at some length, or shows most of a key, has them.
5. Tokens with their probabilities are held back in the same way; those that spell a key become one
   token without alternatives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, AnyStr, TypeAlias

from tui_chat.models.endpoint import CREDENTIAL_MASK
from tui_chat.models.stream_events import (
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    StreamEvent,
    TextDelta,
    TokensReported,
    ToolCallDelta,
)
from tui_chat.models.token_probabilities import (
    LOWEST,
    TokenProbability,
    pack_tokens,
    unpack_tokens,
)

MASK = CREDENTIAL_MASK
"""Replaces a key."""

PART = 8
"""Characters of the shortest part of a key that is masked in an error."""
_SHORTEST = 6
"""Characters of the shortest key that is masked; shorter strings occur by chance."""
_MAX_BACKSLASHES = 8
"""Backslashes before an escape, in JSON nested in JSON strings."""

_Delta: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta | ToolCallDelta


class KeyMasks:
    """Masks keys in the response to the request that carried them."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys: dict[str, None] = {}
        self._held = ""
        """Text that may be the beginning of a key."""
        self._part: tuple[Any, int] = (TextDelta, 0)
        """The part of the reply that it is of: the type of its events, and its number."""
        self._piece = ""
        """The id of the piece of text that has begun."""
        self._tokens: list[TokenProbability] = []
        """Tokens that may be the beginning of a key."""
        self.found = False
        """True if the server repeated a key."""
        self.found_part = False
        """True if an error had a part of a key."""
        self.was_split = False
        """True if a key came in pieces; they are still in the raw body."""
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Mask another key."""
        self._keys[key] = None
        keys = sorted((key for key in self._keys if len(key) >= _SHORTEST), key=len, reverse=True)
        self._plain = re.compile("|".join(map(re.escape, keys))) if keys else None
        in_json = "|".join(map(_spellings, keys))
        self._in_json = re.compile(in_json)
        self._in_bytes = re.compile(in_json.encode())
        self._secrets = keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def mask_text(self, text: str) -> str:
        """Return JSON, or any other text, without the keys."""
        return "".join(self._pieces(self._in_json, text, MASK)) if self._is_active else text

    def mask_bytes(self, body: bytes) -> bytes:
        """Return bytes without the keys."""
        if not self._is_active:
            return body
        return b"".join(self._pieces(self._in_bytes, body, MASK.encode()))

    def mask_error(self, text: str) -> str:
        """Return the text of an error without the keys and long parts of them."""
        return self.mask_error_bytes(text.encode("utf-8", "surrogatepass")).decode(
            "utf-8", "surrogatepass"
        )

    def mask_error_bytes(self, body: bytes) -> bytes:
        """Return the body of an error without the keys and long parts of them."""
        body = self.mask_bytes(body)
        for key in self._keys:
            masked = _without_parts(body, key.encode("utf-8", "surrogatepass"))
            self.found_part |= masked != body
            body = masked
        return body

    def mask_events(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """Yield the events of a stream without the keys; a possible beginning is held back."""
        for event in events:
            match event:
                case _ if not self._is_active:
                    yield event
                case TextDelta() | RefusalDelta() | ReasoningDelta() | ToolCallDelta():
                    yield from self._mask_delta(event)
                case TokensReported():
                    if tokens := tuple(self._mask_tokens(event.tokens)):
                        yield TokensReported(tokens)
                case Restarted():
                    yield from self._release()
                    self._tokens.clear()
                    yield event
                case _:
                    yield event

    def close(self) -> Iterator[StreamEvent]:
        """Yield what is held back, at the end of the reply, however it ended."""
        self._held = self._without_most(self._held)
        yield from self._release()
        held, self._tokens = self._tokens, []
        if held and self._without_most(text := _joined(held)) == text:
            yield TokensReported(tuple(held))

    def mask_tokens(self, packed: str) -> str:
        """Return the packed tokens of a whole reply without the keys."""
        if not packed or not self._is_active:
            return packed
        events = [*self.mask_events((TokensReported(unpack_tokens(packed)),)), *self.close()]
        return "".join(pack_tokens(e.tokens) for e in events if isinstance(e, TokensReported))

    @property
    def _is_active(self) -> bool:
        return bool(self._keys) and self._plain is not None

    def _pieces(self, pattern: re.Pattern[AnyStr], text: AnyStr, mask: AnyStr) -> list[AnyStr]:
        """Return a text in pieces, with a mask in place of each key."""
        longest = len(self._secrets[0]) * (_MAX_BACKSLASHES + 5)
        pieces: list[AnyStr] = []
        done = 0
        for start, end in _matches(pattern, text, longest):
            pieces += (text[done:start], mask)
            done = end
        self.found |= done > 0
        return [*pieces, text[done:]]

    def _mask_delta(self, event: _Delta) -> Iterator[StreamEvent]:
        """Yield a piece of the reply without the keys, and before it what another part held."""
        part = self._part
        if not self._continues(event):
            yield from self._release(part)
        text = event.arguments if isinstance(event, ToolCallDelta) else event.text
        shown, held = self._split(self._held + text)
        if isinstance(event, TextDelta) and event.signature:
            # A signed piece stands alone: the rest of a key cannot follow in a later one.
            shown, held = shown + held, ""
        self._held = held
        if shown or not text or not isinstance(event, TextDelta) or event.id:
            yield (
                replace(event, arguments=shown)
                if isinstance(event, ToolCallDelta)
                else replace(event, text=shown)
            )

    def _split(self, text: str) -> tuple[str, str]:
        """Return a text without the keys: what can be shown, and what may begin a key."""
        assert self._plain is not None
        for match in self._plain.finditer(text):
            self.found = True
            self.was_split |= match.start() < len(self._held)
        text = self._plain.sub(MASK, text)
        start = self._key_start(text)
        return text[:start], text[start:]

    def _continues(self, event: _Delta) -> bool:
        """Return True if an event is of the part of the reply that was the last one."""
        before = self._part, self._piece
        if isinstance(event, ReasoningDelta | ToolCallDelta):
            self._part = type(event), event.index
        else:
            self._part = type(event), 0
        if isinstance(event, TextDelta):
            self._piece = event.id or self._piece
            if event.signature:
                return False
        return before == (self._part, self._piece)

    def _release(self, part: tuple[Any, int] | None = None) -> Iterator[StreamEvent]:
        """Yield the text held back, of a part or of the last one."""
        held, self._held = self._held, ""
        kind, index = part or self._part
        if held and kind is ToolCallDelta:
            yield ToolCallDelta(index, arguments=held)
        elif held:
            yield ReasoningDelta(index, held) if kind is ReasoningDelta else kind(held)

    def _without_most(self, text: str) -> str:
        """Return the end of a stream, masked if it is at least half of a key."""
        if not text or not any(
            key.startswith(text) and 2 * len(text) >= len(key) for key in self._secrets
        ):
            return text
        self.found = self.was_split = True
        return MASK

    def _mask_tokens(self, tokens: Iterable[TokenProbability]) -> Iterator[TokenProbability]:
        """Yield the tokens that are not part of a key, and those of a key as one."""
        assert self._plain is not None
        held = self._tokens
        for token in tokens:
            held.append(token)
            text = _joined(held)
            if self._plain.search(text):
                self.found = self.was_split = True
                text = self._plain.sub(MASK, text)
                held[:] = [TokenProbability(text, max(LOWEST, sum(t.logprob for t in held)))]
            key_start = self._key_start(text)
            while held and len(held[0].text) <= key_start:
                key_start -= len(held[0].text)
                yield held.pop(0)

    def _key_start(self, text: str) -> int:
        """Return the offset at which the end of a text may begin a key; its length if nowhere."""
        firsts = {key[0] for key in self._secrets}
        for index in range(max(0, len(text) - len(self._secrets[0])), len(text)):
            if text[index] in firsts and any(k.startswith(text[index:]) for k in self._secrets):
                return index
        return len(text)


def _joined(tokens: Iterable[TokenProbability]) -> str:
    return "".join(token.text for token in tokens)


_WINDOW = 64 * 1024
"""Characters searched in one call: `re` holds the GIL while it searches, for a second or more in an
event of 16 MB."""


def _matches(pattern: re.Pattern[AnyStr], text: AnyStr, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each match; `longest` is the maximum length of a match."""
    position, size = 0, len(text)
    while position < size:
        match = pattern.search(text, position, min(position + _WINDOW + longest, size))
        if match is None or match.start() >= position + _WINDOW:
            position += _WINDOW
        else:
            yield match.span()
            position = match.end()


def _without_parts(body: bytes, key: bytes) -> bytes:
    """Return a body in which everything is masked that is `PART` or more bytes of a key."""
    spans: list[tuple[int, int]] = []
    for part in {key[at : at + PART] for at in range(len(key) - PART + 1)}:
        start = body.find(part)
        while start >= 0:
            spans.append((start, start + PART))
            start = body.find(part, start + 1)
    pieces: list[bytes] = []
    done, masked_to = 0, -1
    for start, end in sorted(spans):
        if start > masked_to:
            pieces += (body[done:start], MASK.encode())
        done = masked_to = max(masked_to, end)
    return b"".join((*pieces, body[done:]))


_ESCAPED = '/"\\'
"""Characters that JSON may spell with a backslash in front."""
_ESCAPES = ("b", "f", "n", "r", "t", "u", *_ESCAPED)
"""Characters that may follow a backslash in JSON."""


def _spellings(key: str) -> str:
    """Return a pattern for a key in any JSON spelling."""
    # In JSON, “n” after a single backslash is a line break and cannot begin the key.
    return r"(?<!(?<!\\)\\)" * (key[:1] in _ESCAPES) + "".join(map(_spellings_of_char, key))


def _spellings_of_char(char: str) -> str:
    digits = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{ord(char):04x}")
    slashes = rf"\\{{1,{_MAX_BACKSLASHES}}}"
    plain = re.escape(char)
    escaped = f"|{slashes}{plain}" if char in _ESCAPED else ""
    return f"(?:{plain}|{slashes}u{digits}{escaped})"
