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
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.offline.prompt import PromptRequest, parse_body
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
_KEYS = ("text", "reasoning", "tool_calls", "fail", "end", "speed")

T = TypeVar("T", str, dict[str, Any], list[Any], int)


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
        return Script((_part(fields, ""),))
    scripts = _value(fields, "scripts", list, "", True)
    return Script(tuple(_part(part, f"scripts[{n}]") for n, part in enumerate(scripts)))


def _value(fields: Any, key: str, kind: type[T], place: str, is_required: bool = False) -> T:
    """Return the value of a key, empty if it is absent. Raises ValueError."""
    place = f"{place}.{key}" if place else key
    if not isinstance(fields, dict):
        raise ValueError(f"{place.rpartition('.')[0]}: an object, not {_kind(fields)}")
    value = cast("dict[str, Any]", fields).get(key)
    if value is None and not is_required:
        return kind()
    if type(value) is not kind or (is_required and not value):
        raise ValueError(f"{place}: {_KINDS[kind]}, not {_kind(value)}")
    return cast("T", value)


_KINDS: Mapping[type, str] = {
    str: "a string",
    dict: "an object",
    list: "an array",
    int: "a whole number",
}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__) if value else "nothing"


def _part(fields: Any, place: str) -> _Part:
    replies = _value(fields, "replies", list, place, True)
    inside = f"{place}.replies" if place else "replies"
    read = (_reply(reply, f"{inside}[{n}]") for n, reply in enumerate(replies))
    return _Part(_value(fields, "when", str, place), tuple(read))


def _reply(fields: Any, place: str) -> ScriptedReply:
    if isinstance(fields, str):
        return ScriptedReply(fields)
    calls = _value(fields, "tool_calls", list, place)
    fail, end = _value(fields, "fail", list, place), _value(fields, "end", str, place)
    for key in fields:
        if key not in _KEYS:
            raise ValueError(f"{place}: {key[:40]!r} is not a key of a reply; these are {_KEYS}")
    for n, status in enumerate(fail):
        if status not in _FAULTS:
            raise ValueError(f"{place}.fail[{n}]: {status} is none of {_listed(_FAULTS)}")
    if end not in ("", *_ENDS):
        raise ValueError(f"{place}.end: {end[:40]!r} is none of {_listed(_ENDS)}")
    return ScriptedReply(
        _value(fields, "text", str, place),
        _value(fields, "reasoning", str, place),
        tuple(_call(call, f"{place}.tool_calls[{n}]") for n, call in enumerate(calls)),
        tuple(fail),
        end,
        max(0, _value(fields, "speed", int, place)) or None,
    )


def _call(fields: Any, place: str) -> tuple[str, str]:
    arguments = _value(fields, "arguments", dict, place)
    return _value(fields, "name", str, place, True), json.dumps(arguments, ensure_ascii=False)


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, names))
