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
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.offline.json_reader import (
    JsonNode,
    Reader,
    array,
    dotted,
    integer,
    json_object,
    one_of,
    parse_body,
    string,
)
from tui_chat.offline.prompt_request import PromptRequest
from tui_chat.offline.reply_pieces import (
    Disconnect,
    Failure,
    Piece,
    ReasoningPiece,
    Speed,
    Stall,
    TextPiece,
    ToolCallPiece,
)
from tui_chat.offline.request_errors import (
    InvalidJson,
    Overloaded,
    ProviderFault,
    RateLimited,
    RequestRefused,
    ServerFailure,
)

NAME = "script"
"""The name of the model."""
_FAULTS: Mapping[int, ProviderFault] = {
    429: RateLimited(1),
    500: ServerFailure(),
    529: Overloaded(),
}
_KEYS = ("text", "reasoning", "tool_calls", "fail", "end", "speed")


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One reply."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Names and arguments of tool calls; the arguments are JSON as text."""
    fail: tuple[int, ...] = ()
    end: str = ""
    speed: int | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    when: str
    replies: tuple[ScriptedReply, ...]


class Script:
    """Scripts of a file."""

    def __init__(self, parts: tuple[_Part, ...]) -> None:
        self._parts = parts
        self._failed: Counter[tuple[int, int]] = Counter()
        """How often a reply failed, by script and number."""

    def reply(self, prompt: PromptRequest, _attempt: int) -> Iterator[Piece]:
        """Yield the reply to a request."""
        number = sum(
            turn.role in ("assistant", "model")
            and (at == 0 or prompt.turns[at - 1].role not in ("assistant", "model"))
            for at, turn in enumerate(prompt.turns)
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
        yield Speed(reply.speed)
        if reply.reasoning:
            yield ReasoningPiece(reply.reasoning)
        if reply.text:
            yield TextPiece(reply.text)
        for name, arguments in reply.calls:
            yield ToolCallPiece(name, arguments)
        match reply.end:
            case "cut":
                yield Disconnect()
            case "stall":
                yield Stall()
            case "error":
                yield Failure(Overloaded())
            case _:
                pass


def _beginning(prompt: PromptRequest) -> str:
    first = next((turn.text for turn in prompt.turns if turn.role == "user"), "")
    systems = [turn.text for turn in prompt.turns if turn.role in ("system", "developer")]
    return "\n".join((*prompt.system, *systems, first))


def read_script(data: bytes) -> Script:
    """Return the script of a file. Raises ValueError with the place and the fault."""
    try:
        body = data if data.lstrip()[:1] == b"{" else b'{"replies":' + data + b"}"
        node = parse_body(body)
        scripts = node.child("scripts")
        parts = [_part(node)] if scripts is None else array(_part, at_least=1)(scripts)
        return Script(tuple(parts))
    except RequestRefused as refused:
        raise ValueError(_fault(refused)) from refused


def _part(node: JsonNode) -> _Part:
    replies = node.required("replies", array(_reply, at_least=1))
    return _Part(node.optional("when", string, ""), tuple(replies))


def _reply(node: JsonNode) -> ScriptedReply:
    if isinstance(node.value, str):
        return ScriptedReply(node.value)
    for key in json_object(node):
        if key not in _KEYS:
            raise node.invalid(f"{key[:40]!r} is not a key of a reply; these are {_KEYS}")
    return ScriptedReply(
        node.optional("text", string, ""),
        node.optional("reasoning", string, ""),
        tuple(node.optional("tool_calls", array(_call), [])),
        tuple(node.optional("fail", array(_status), [])),
        node.optional("end", one_of("cut", "stall", "error"), ""),
        node.optional("speed", integer(1)),
    )


def _call(node: JsonNode) -> tuple[str, str]:
    arguments: Any = node.optional("arguments", json_object, {})
    return node.required("name", string), json.dumps(arguments, ensure_ascii=False)


_status: Reader[int] = lambda node: _known_status(integer(1)(node), node)  # noqa: E731


def _known_status(status: int, node: JsonNode) -> int:
    if status not in _FAULTS:
        raise node.invalid(f"{status} is none of {', '.join(map(str, _FAULTS))}")
    return status


def _fault(refused: RequestRefused) -> str:
    error = refused.error
    if isinstance(error, InvalidJson):
        return f"it is not JSON: {error.reason}"
    place = dotted(getattr(error, "path", ()))
    details = [
        str(value)
        for name in ("message", "expected", "got", "bound")
        if (value := getattr(error, name, None)) is not None
    ]
    words = " ".join(type(error).__name__.split())
    return f"{place}: {', not '.join(details) if details else words}"
