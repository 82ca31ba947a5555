"""The model that describes the request it received.

It shows, offline, where each message arrived: the order, the roles and the system text. It reads
the body alone, never the headers, which hold keys. Untrusted text is quoted, so that it stays text.
"""

import re
from collections.abc import Iterator

from tui_chat.models.envelope import Turn
from tui_chat.models.json_text import to_json
from tui_chat.offline.prompt import Prompt

_CONVERSATION = (
    *("model", "messages", "input", "contents", "system", "instructions", "systemInstruction"),
    *("system_instruction", "tools", "stream"),
)
"""The fields of a body that are not settings."""
_SYSTEM_TEXT, _SHOWN_TURNS = 4_000, 200
"""Characters of a system text, and turns from each end of a long conversation, that are shown."""


def fenced(text: str) -> str:
    """Return the text in a code block that it cannot close."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}text\n{text}\n{ticks}"


def inline_code(text: str) -> str:
    """Return the text on one line, as inline code that it cannot close."""
    line = " ".join(text.split())
    if not line:
        return "*(empty)*"
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _excerpt(text: str, length: int = 72) -> str:
    """Return the first words of a text, as inline code; … marks a cut."""
    line = " ".join(text[: length * 4].split())
    if len(line) <= length and len(text) <= length * 4:
        return inline_code(line)
    return inline_code(line[:length].rpartition(" ")[0] or line[:length]) + " …"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall(r"`+", text)), default=0)


def describe_request(prompt: Prompt) -> str:
    """Return a Markdown description of the request."""
    turns = prompt.envelope.turns
    mode = "streamed" if prompt.envelope.parameters.values.stream else "not streamed"
    characters = sum(len(turn.text.plain) for turn in turns)
    system = [
        f"In turn {number} (system), {_count(len(text), 'character')}:\n\n"
        + fenced(text[:_SYSTEM_TEXT] + "\n…" * (len(text) > _SYSTEM_TEXT))
        for number, text in enumerate((turn.text.plain for turn in turns), 1)
        if turns[number - 1].role == "system"
    ]
    tools = [
        f"- {inline_code(tool.name)}" + f": {_excerpt(tool.description)}" * bool(tool.description)
        for tool in prompt.envelope.functions
    ]
    settings = [
        f"- {inline_code(name)} = {_excerpt(to_json(value), 200)}"
        for name, value in prompt.body.items()
        if name not in _CONVERSATION
    ]
    sections = (
        "I am a practice model. I cannot answer, so I show what reached me: your request as the "
        "provider understood it.",
        f"# What I received\n\n**{prompt.title}**, model {inline_code(prompt.model)}, {mode}.",
        "## System text\n\n" + ("\n\n".join(system) or "None."),
        "## Turns\n\n" + "\n".join(_turns(turns)),
        "## Tools\n\n" + ("\n".join(tools) or "None."),
        "## Settings\n\n" + ("\n".join(settings) or "None: the model's defaults."),
        f"## Totals\n\n{_count(len(turns), 'turn')}, {_count(characters, 'character')}, "
        f"about {_count(prompt.tokens, 'token')}, {_count(prompt.size, 'byte')}.\n\n"
        "For an answer, choose another model.",
    )
    return "\n\n".join(sections)


def _turns(turns: tuple[Turn, ...]) -> Iterator[str]:
    hidden = range(_SHOWN_TURNS, len(turns) - _SHOWN_TURNS)
    for number, turn in enumerate(turns):
        if number not in hidden:
            yield f"{number + 1}. **{turn.role}** {'; '.join(_parts(turn)) or '*(empty)*'}"
        elif number == hidden.start:
            yield f"\n*… {_count(len(hidden), 'turn')} between …*\n"


def _parts(turn: Turn) -> Iterator[str]:
    text = turn.text.plain
    for block in turn.reasoning:
        yield f"[reasoning] {_excerpt(block.text)}" if block.text else "[reasoning]"
    if turn.role == "tool":
        name = f" of {inline_code(turn.tool_name)}" if turn.tool_name else ""
        yield f"[result{name}] {_excerpt(text)} ({_count(len(text), 'character')})"
    elif text:
        yield f"{_excerpt(text)} ({_count(len(text), 'character')})"
    yield from (f"[{part.media}]" for part in turn.parts)
    for call in turn.tool_calls:
        yield f"[calls {inline_code(call.name)}] {_excerpt(call.arguments)}"


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
