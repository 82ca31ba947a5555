"""The model that describes the request it received.

It shows the author of a preset, offline, where each message arrived: the order, the roles and the
system text exactly as the provider understood them. It reads the request body alone, never the
headers, which hold keys.

Quoting of untrusted text in Markdown, so that it stays text.
"""

import re
from collections.abc import Iterator

from tui_chat.offline.prompt import (
    PromptOther,
    PromptPart,
    PromptReasoning,
    PromptRequest,
    PromptText,
    PromptToolCall,
    PromptToolResult,
    PromptTurn,
)
from tui_chat.offline.reply import estimate_prompt_tokens

_BACKTICKS = re.compile(r"`+")
MAX_SYSTEM_TEXT = 4_000
"""Characters of one system text that are shown."""

SHOWN_TURNS = 200
"""Turns listed from each end of a very long conversation."""


def fenced(text: str, language: str = "text") -> str:
    """Return the text in a code block that it cannot close."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def inline_code(text: str) -> str:
    """Return the text on one line, as inline code that it cannot close."""
    line = " ".join(text.split())
    if not line:
        return "*(empty)*"
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def excerpt(text: str, length: int = 72) -> str:
    """Return the first `length` characters of a text as inline code; … marks a cut."""
    line = " ".join(text[: length * 4].split())
    if len(line) <= length and len(text) <= length * 4:
        return inline_code(line)
    cut = line[:length]
    return inline_code(cut[: cut.rfind(" ")] if " " in cut[length // 2 :] else cut) + " …"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def describe_request(prompt: PromptRequest) -> str:
    """Return a Markdown description of the request."""
    return "\n\n".join(section for section in _sections(prompt) if section)


def _sections(prompt: PromptRequest) -> Iterator[str]:
    mode = "streamed" if prompt.stream else "not streamed"
    yield (
        "I am a practice model. I cannot answer, so I show what reached me: your request as the "
        "provider understood it."
    )
    yield f"# What I received\n\n**{prompt.protocol}**, model {inline_code(prompt.model)}, {mode}."
    yield "## System text\n\n" + "\n\n".join(_system(prompt))
    yield "## Turns\n\n" + "\n".join(_turns(prompt.turns))
    yield "## Tools\n\n" + "\n".join(_tools(prompt))
    yield "## Settings\n\n" + "\n".join(_settings(prompt))
    tokens = estimate_prompt_tokens(prompt.characters)
    yield (
        "## Totals\n\n"
        f"{_count(len(prompt.turns), 'turn')}, {_count(prompt.characters, 'character')}, "
        f"about {_count(tokens, 'token')}, {_count(prompt.size, 'byte')}.\n\n"
        "For an answer, choose another model."
    )


def _system(prompt: PromptRequest) -> Iterator[str]:
    is_empty = True
    for number, text in enumerate(prompt.system, 1):
        is_empty = False
        yield f"Block {number} of {len(prompt.system)}, {_count(len(text), 'character')}:"
        yield fenced(_clipped(text))
    for number, turn in enumerate(prompt.turns, 1):
        if turn.role in ("system", "developer"):
            is_empty = False
            text = turn.text
            yield f"In turn {number} ({turn.role}), {_count(len(text), 'character')}:"
            yield fenced(_clipped(text))
    if is_empty:
        yield "None."


def _turns(turns: tuple[PromptTurn, ...]) -> Iterator[str]:
    hidden = range(SHOWN_TURNS, len(turns) - SHOWN_TURNS)
    for number, turn in enumerate(turns, 1):
        if number - 1 in hidden:
            if number - 1 == hidden.start:
                yield f"\n*… {_count(len(hidden), 'turn')} between …*\n"
            continue
        parts = "; ".join(_part(part) for part in turn.parts) or "*(empty)*"
        yield f"{number}. **{turn.role}** {parts}"


def _part(part: PromptPart) -> str:
    match part:
        case PromptText(text):
            return f"{excerpt(text)} ({_count(len(text), 'character')})"
        case PromptReasoning(text):
            return f"[reasoning] {excerpt(text)}" if text else "[reasoning]"
        case PromptToolCall(_, name, arguments):
            return f"[calls {inline_code(name)}] {excerpt(arguments)}"
        case PromptToolResult(_, name, text):
            of = f" of {inline_code(name)}" if name else ""
            return f"[result{of}] {excerpt(text)} ({_count(len(text), 'character')})"
        case PromptOther(kind):
            return f"[{kind}]"


def _tools(prompt: PromptRequest) -> Iterator[str]:
    for tool in prompt.tools:
        about = f": {excerpt(tool.description)}" if tool.description else ""
        yield f"- {inline_code(tool.name)}{about}"
    if not prompt.tools:
        yield "None."
    elif prompt.choice.name is not None:
        yield f"\nTo be called: {inline_code(prompt.choice.name)}."
    elif prompt.choice.mode != "auto":
        yield f"\nChoice: {prompt.choice.mode}."


def _settings(prompt: PromptRequest) -> Iterator[str]:
    for name, value in prompt.settings:
        yield f"- {inline_code(name)} = {excerpt(value, 200)}"
    if not prompt.settings:
        yield "None: the model's defaults."


def _clipped(text: str) -> str:
    if len(text) <= MAX_SYSTEM_TEXT:
        return text
    return f"{text[:MAX_SYSTEM_TEXT]}\n… {_count(len(text) - MAX_SYSTEM_TEXT, 'character')} more"


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
