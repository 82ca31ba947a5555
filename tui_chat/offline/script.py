"""The model that plays a script: replies and tool calls from a file, turn by turn.

    [
      "Hello.",
      {"reasoning": "I need it.", "tool_calls": [{"name": "Read", "arguments": {"path": "a"}}]},
      {"fail": [529, 429], "text": "Done."}
    ]

1. The n-th reply answers the request that holds n - 1 earlier replies. So several conversations
   play at the same time, and a retry gets the same reply.
2. Several scripts in one file: `{"scripts": [{"when": "TEXT", "replies": [...]}, ...]}`. A request
   plays the first one whose `when` is in its system prompt or its first user message; one without
   `when` fits all.
3. `fail` are statuses (429, 500, 529) that the reply's first requests get instead. `end` breaks a
   reply after its text: `cut` drops the connection, `stall` stops sending, `error` fails inside the
   stream. `speed` is in tokens per second.
4. After the last reply, a sentence says so.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Check, InvalidValue, Path, read
from tui_chat.offline.prompt import PromptRequest, fields_of, parse_body, rows_of
from tui_chat.offline.reply import (
    Disconnect,
    Failure,
    Piece,
    Problem,
    ReasoningPiece,
    Refusal,
    Speed,
    Stall,
    TextPiece,
    ToolCallPiece,
)

NAME = "script"
"""The name of the model."""
_FAULTS: Mapping[int, Problem] = {
    429: Problem("rate_limited", seconds=1),
    500: Problem("failed"),
    529: Problem("overloaded"),
}
_ENDS: Mapping[str, Piece] = {
    "cut": Disconnect(),
    "stall": Stall(),
    "error": Failure(Problem("overloaded")),
}


def _not_empty(value: Any) -> Any:
    if not value:
        raise ValueError("must not be empty")
    return value


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call of a reply."""

    name: Annotated[str, Check(_not_empty)]
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One reply."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    fail: tuple[Literal[429, 500, 529], ...] = ()
    end: Literal["", "cut", "stall", "error"] = ""
    speed: int = 0
    """0 for as fast as it is read."""


@dataclass(frozen=True, slots=True)
class _Part:
    replies: Annotated[tuple[ScriptedReply, ...], Check(_not_empty)]
    when: str = ""


class Script:
    """Scripts of a file."""

    def __init__(self, parts: tuple[_Part, ...]) -> None:
        self._parts = parts
        self._failed: Counter[tuple[int, int]] = Counter()
        """The failures of a reply so far, by script and number."""

    def reply(self, prompt: PromptRequest, _attempt: int) -> Iterator[Piece]:
        """Yield the reply to a request."""
        number = sum(
            turn.role in ("assistant", "model")
            and (index == 0 or prompt.turns[index - 1].role not in ("assistant", "model"))
            for index, turn in enumerate(prompt.turns)
        )
        for index, part in enumerate(self._parts):
            if part.when in _beginning(prompt):
                if number >= len(part.replies):
                    yield TextPiece("The script has no more replies.")
                    return
                yield from self._play(part.replies[number], (index, number))
                return
        yield TextPiece("No script fits this conversation.")

    def _play(self, reply: ScriptedReply, place: tuple[int, int]) -> Iterator[Piece]:
        if (attempt := self._failed[place]) < len(reply.fail):
            self._failed[place] += 1
            yield Failure(_FAULTS[reply.fail[attempt]])
            return
        yield Speed(max(0, reply.speed) or None)
        if reply.reasoning:
            yield ReasoningPiece(reply.reasoning)
        if reply.text:
            yield TextPiece(reply.text)
        for call in reply.tool_calls:
            arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
            yield ToolCallPiece(call.name, arguments)
        if reply.end:
            yield _ENDS[reply.end]


def _beginning(prompt: PromptRequest) -> str:
    first = next((turn.text for turn in prompt.turns if turn.role == "user"), "")
    systems = [turn.text for turn in prompt.turns if turn.role in ("system", "developer")]
    return "\n".join((*prompt.system, *systems, first))


def read_script(data: bytes) -> Script:
    """Return the script of a file. Raises ValueError with the place and the fault."""
    try:
        body = data if data.lstrip()[:1] == b"{" else b'{"replies":' + data + b"}"
        fields = parse_body(body)
    except Refusal as refused:
        raise ValueError(refused.fault.message.replace("The request's body", "it")) from refused
    if "scripts" not in fields:
        return Script((_part(fields, ()),))
    scripts = rows_of(fields["scripts"])
    if not scripts:
        raise ValueError("scripts: must be a list of scripts")
    return Script(tuple(_part(part, ("scripts", n)) for n, part in enumerate(scripts)))


def _part(value: Any, place: Path) -> _Part:
    """Return a script, in which a reply may be a text alone; `place` is its place in the file."""
    if replies := rows_of(fields_of(value).get("replies")):
        texts = [{"text": reply} if isinstance(reply, str) else reply for reply in replies]
        value = {**value, "replies": texts}
    try:
        return read(_Part, value)
    except InvalidValue as error:
        fault = error.faults[0]
        steps = (*place, *fault.path)
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
        raise ValueError(f"{path.lstrip('.')}: {fault.sentence}") from error
