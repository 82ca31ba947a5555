"""The replies of all protocols: what they have in common.

A protocol's writer turns each piece into the bytes of its events, and all of them into one body.
Providers whose reply is made of blocks (Anthropic, OpenAI's Responses) open a block at its first
piece and close it before another kind; see `BlockWriter`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any, ClassVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import to_json
from tui_chat.offline.prompt import Prompt, Refusal
from tui_chat.offline.provider import OfflineDependencies, ReplyWriter
from tui_chat.offline.reply import Finish, Piece, split_tokens
from tui_chat.plugins.practice.probabilities import Token, tokens_of

Faults = Mapping[str, tuple[int, str, str]]
"""Status, type and message by kind of fault; the faults of a client bring their own message."""


def client_faults(kind: str, missing: str, too_large: tuple[int, str]) -> Faults:
    """Return the faults of a client, by their types."""
    return {
        "invalid": (400, kind, ""),
        "too_large": (*too_large, ""),
        **dict.fromkeys(("unknown_model", "not_found"), (404, missing, "")),
    }


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Tokens of a prompt that its provider's cache served, or took."""

    read: int = 0
    written: int = 0
    """Kept for five minutes."""
    written_1h: int = 0
    """Kept for an hour."""


class PracticeWriter(ReplyWriter):
    """Writes one reply."""

    title: ClassVar[str]
    """The protocol's name, as its provider calls it."""
    faults: ClassVar[Faults]
    waits_in_header: ClassVar[bool] = True
    """True if a rate limit says its wait in `retry-after`."""
    reply_id: ClassVar[tuple[str, int]] = ("", 0)
    """The beginning of a reply's id, and the number of characters after it."""
    id_header: ClassVar[str] = ""
    """The header with the request's id; empty for none."""
    reasons: ClassVar[tuple[str, str, str, str]]
    """The finish reasons: the end, a stop sequence, the limit, calls."""

    def __init__(self, prompt: Prompt, dependencies: OfflineDependencies) -> None:
        super().__init__(prompt, dependencies)
        self.random_id = dependencies.random_id
        self.id = self.reply_id[0] + self.random_id(self.reply_id[1])
        self.now, self.began = int(dependencies.now()), dependencies.monotonic()
        self.cache = CacheUse()
        self.stop: str | None = None
        """The stop sequence that was met."""
        self.calls = self.reasoning = self.call_tokens = 0
        self.cited = ""
        """The text so far."""
        self.sources: list[tuple[Piece, int, int]] = []
        """The sources so far, each with the range of text that rests on it."""

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes of one piece."""
        raise NotImplementedError

    def end(self, finish: Finish) -> bytes:
        """Return the bytes of the end."""
        raise NotImplementedError

    def write(self, piece: Piece | Finish) -> bytes:
        if isinstance(piece, Finish):
            return self.end(self.finished(piece))
        self.count(piece)
        return self.piece(piece)

    def whole(self, pieces: list[Piece], finish: Finish) -> bytes:
        for piece in pieces:
            self.count(piece)
        return to_json(self.body(list(joined(pieces)), self.finished(finish))).encode()

    def body(self, pieces: list[Piece], finish: Finish) -> dict[str, Any]:
        """Return the reply as one body, from its joined pieces."""
        raise NotImplementedError

    def count(self, piece: Piece) -> None:
        """Take note of a piece."""
        tokens = len(list(split_tokens(piece.text)))
        match piece.kind:
            case "text":
                self.cited += piece.text
            case "source":
                start = self.sources[-1][2] if self.sources else 0
                self.sources.append((piece, start, len(self.cited)))
            case "reasoning":
                self.reasoning += tokens
            case "call":
                self.calls += 1
                self.call_tokens += tokens + len(list(split_tokens(piece.name)))
            case _:
                pass

    def finished(self, finish: Finish) -> Finish:
        """Return the end with the tokens of the calls, and the stop sequence."""
        return replace(finish, output=finish.output + self.call_tokens, stop=self.stop)

    def reason(self, finish: Finish) -> str:
        """Return the finish reason, in the protocol's words."""
        end, stop, limit, calls = self.reasons
        if finish.reason == "length":
            return limit
        return stop if self.stop else calls if self.calls else end

    def tokens(self, text: str) -> list[Token]:
        """Return the tokens of a text with their probabilities, if the request asks for them."""
        alternatives = self.prompt.envelope.parameters.values.logprobs
        return tokens_of(text, alternatives) if alternatives is not None else []

    @classmethod
    def refuse(cls, refusal: Refusal) -> tuple[int, dict[str, str], dict[str, Any]]:
        status, kind, words = cls.faults[refusal.kind]
        error = cls.fault(status, kind, refusal.message or words.format(s=refusal.seconds), refusal)
        is_told = cls.waits_in_header and refusal.seconds
        return status, {"retry-after": str(refusal.seconds)} if is_told else {}, error

    @classmethod
    def fault(cls, status: int, kind: str, message: str, refusal: Refusal) -> dict[str, Any]:
        """Return the body of an error."""
        raise NotImplementedError

    @classmethod
    def models(cls, names: Iterable[str]) -> dict[str, Any]:
        """Return the body of a list of models."""
        raise NotImplementedError

    @classmethod
    def model(cls, name: str) -> dict[str, Any]:
        """Return the body of one model."""
        return cls.models([name])["data"][0]

    @classmethod
    def count_body(cls, tokens: int) -> dict[str, Any]:
        """Return the answer to the question for a prompt's size."""
        return {"input_tokens": tokens}


class BlockWriter(PracticeWriter):
    """Writes a reply made of blocks."""

    block: Piece | None = None
    """The open block, with its text so far."""

    def piece(self, piece: Piece) -> bytes:
        kind = "text" if piece.kind == "source" else piece.kind
        out = b""
        if self.block is None or self.block.kind != kind or kind in ("call", "picture"):
            out = self.close()
            self.block = replace(piece, kind=kind, text="")
            out += self.opened(self.block)
        if piece.kind == "source":
            return out + self.cite(piece)
        self.block = replace(self.block, text=self.block.text + piece.text)
        texts = split_tokens(piece.text) if kind == "call" else (piece.text,)
        return out + b"".join(map(self.grown, texts))

    def close(self, status: str = "completed") -> bytes:
        """Return the bytes of the end of the open block."""
        block, self.block = self.block, None
        return self.closed(block, status) if block is not None else b""

    def opened(self, block: Piece) -> bytes:
        """Return the bytes of the start of a block."""
        raise NotImplementedError

    def grown(self, text: str) -> bytes:
        """Return the bytes of more text of the open block."""
        raise NotImplementedError

    def cite(self, source: Piece) -> bytes:
        """Return the bytes of a source of the open block's text."""
        raise NotImplementedError

    def closed(self, block: Piece, status: str) -> bytes:
        """Return the bytes of the end of a block."""
        raise NotImplementedError


def joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces in which neighbors of text or reasoning are one."""
    for is_split, group in groupby(pieces, lambda piece: piece.kind in ("text", "reasoning")):
        for _, same in groupby(group, (lambda piece: piece.kind) if is_split else id):
            first, *others = same
            yield replace(first, text=first.text + "".join(piece.text for piece in others))


def text_of(pieces: Iterable[Piece], kind: str = "text") -> str:
    """Return the texts of the pieces of a kind."""
    return "".join(piece.text for piece in pieces if piece.kind == kind)


def event(kind: str, **fields: Any) -> bytes:
    """Return a named event, whose name is repeated inside."""
    return f"event: {kind}\ndata: {to_json({'type': kind, **fields})}\n\n".encode()
