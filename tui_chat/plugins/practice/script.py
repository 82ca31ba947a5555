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
from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise
from typing import Annotated, Any, Literal

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Check, InvalidValue, Path, read
from tui_chat.models.json_text import as_array, as_object, parse_json
from tui_chat.offline.models import at_speed
from tui_chat.offline.prompt import Prompt
from tui_chat.offline.reply import Piece, Pieces
from tui_chat.plugins.practice.models import ENDS, FAULTS

NAME = "script"
"""The name of the model."""


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

    def reply(self, prompt: Prompt) -> Pieces:
        """Yield the reply to a request."""
        roles = ["", *(turn.role for turn in prompt.envelope.turns)]
        number = sum(role == "assistant" != before for before, role in pairwise(roles))
        for index, part in enumerate(self._parts):
            if part.when in _beginning(prompt):
                if number >= len(part.replies):
                    yield Piece("The script has no more replies.")
                    return
                yield from self._play(part.replies[number], (index, number), prompt)
                return
        yield Piece("No script fits this conversation.")

    def _play(self, reply: ScriptedReply, place: tuple[int, int], prompt: Prompt) -> Pieces:
        if (attempt := self._failed[place]) < len(reply.fail):
            self._failed[place] += 1
            raise FAULTS[str(reply.fail[attempt])]()
        yield from at_speed(lambda _: _pieces(reply), max(0, reply.speed) or None)(prompt)
        if reply.end:
            yield from ENDS[reply.end]()


def _pieces(reply: ScriptedReply) -> Pieces:
    if reply.reasoning:
        yield Piece(reply.reasoning, "reasoning")
    if reply.text:
        yield Piece(reply.text)
    for call in reply.tool_calls:
        yield Piece(json.dumps(dict(call.arguments), ensure_ascii=False), "call", call.name)


def _beginning(prompt: Prompt) -> str:
    turns = prompt.envelope.turns
    first = next((turn.text.plain for turn in turns if turn.role == "user"), "")
    return "\n".join((*(turn.text.plain for turn in turns if turn.role == "system"), first))


def read_script(data: bytes) -> Script:
    """Return the script of a file. Raises ValueError with the place and the fault."""
    try:
        value = parse_json(data.decode(), "script")
    except InputError as error:
        raise ValueError(str(error)) from error
    replies = as_array(value)
    fields = {"replies": replies} if replies else as_object(value)
    if "scripts" not in fields:
        return Script((_part(fields, ()),))
    if not (scripts := as_array(fields["scripts"])):
        raise ValueError("scripts: must be a list of scripts")
    return Script(tuple(_part(part, ("scripts", n)) for n, part in enumerate(scripts)))


def _part(value: Any, place: Path) -> _Part:
    """Return a script, in which a reply may be a text alone; `place` is its place in the file."""
    if replies := as_array(as_object(value).get("replies")):
        texts = [{"text": reply} if isinstance(reply, str) else reply for reply in replies]
        value = {**value, "replies": texts}
    try:
        return read(_Part, value)
    except InvalidValue as error:
        fault = error.faults[0]
        steps = (*place, *fault.path)
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
        raise ValueError(f"{path.lstrip('.')}: {fault.sentence}") from error
