"""The model that answers with what it was sent.

An author of presets reads here, offline, where each message landed: the order, the roles and the
system text exactly as the provider understood them. It is read off the request body alone;
headers, and the keys in them, are never looked at.
"""

from collections.abc import Iterator

from tui_chat.offline.asked import Asked, Call, Other, Part, Result, Thought, Turn, Words
from tui_chat.offline.markdown import code, fence, opening
from tui_chat.offline.tokens import estimate

_NAMES = {
    "openai_chat": "OpenAI Chat Completions",
    "openai_responses": "OpenAI Responses",
    "anthropic": "Anthropic Messages",
    "gemini": "Gemini generateContent",
}

SYSTEM_MOST = 4_000
"""Characters of one system text that are repeated."""

ENDS = 200
"""Turns listed from each end of a very long conversation."""


def report(asked: Asked) -> str:
    """Return a Markdown description of the request."""
    return "\n\n".join(section for section in _sections(asked) if section)


def _sections(asked: Asked) -> Iterator[str]:
    how = "streamed" if asked.stream else "not streamed"
    yield f"# What I received\n\n**{_NAMES[asked.protocol]}**, model {code(asked.model)}, {how}."
    yield "## System text\n\n" + "\n\n".join(_system(asked))
    yield "## Turns\n\n" + "\n".join(_turns(asked.turns))
    yield "## Tools\n\n" + "\n".join(_tools(asked))
    yield "## Settings\n\n" + "\n".join(_settings(asked))
    yield (
        "## Totals\n\n"
        f"{_count(len(asked.turns), 'turn')}, {_count(asked.characters, 'character')}, "
        f"about {_count(estimate(asked.characters), 'token')}, {_count(asked.size, 'byte')}."
    )


def _system(asked: Asked) -> Iterator[str]:
    none = True
    for number, text in enumerate(asked.system, 1):
        none = False
        yield f"Block {number} of {len(asked.system)}, {_count(len(text), 'character')}:"
        yield fence(_clipped(text))
    for number, turn in enumerate(asked.turns, 1):
        if turn.role in ("system", "developer"):
            none = False
            text = turn.text
            yield f"In turn {number} ({turn.role}), {_count(len(text), 'character')}:"
            yield fence(_clipped(text))
    if none:
        yield "None."


def _turns(turns: tuple[Turn, ...]) -> Iterator[str]:
    hidden = range(ENDS, len(turns) - ENDS)
    for number, turn in enumerate(turns, 1):
        if number - 1 in hidden:
            if number - 1 == hidden.start:
                yield f"\n*… {_count(len(hidden), 'turn')} between …*\n"
            continue
        told = "; ".join(_part(part) for part in turn.parts) or "*(empty)*"
        yield f"{number}. **{turn.role}** {told}"


def _part(part: Part) -> str:
    match part:
        case Words(text):
            return f"{opening(text)} ({_count(len(text), 'character')})"
        case Thought(text):
            return f"[reasoning] {opening(text)}" if text else "[reasoning]"
        case Call(_, name, arguments):
            return f"[calls {code(name)}] {opening(arguments)}"
        case Result(_, name, text):
            of = f" of {code(name)}" if name else ""
            return f"[result{of}] {opening(text)} ({_count(len(text), 'character')})"
        case Other(kind):
            return f"[{kind}]"


def _tools(asked: Asked) -> Iterator[str]:
    for tool in asked.tools:
        about = f": {opening(tool.description)}" if tool.description else ""
        yield f"- {code(tool.name)}{about}"
    if not asked.tools:
        yield "None."
    elif asked.choice.name is not None:
        yield f"\nTo be called: {code(asked.choice.name)}."
    elif asked.choice.mode != "auto":
        yield f"\nChoice: {asked.choice.mode}."


def _settings(asked: Asked) -> Iterator[str]:
    for name, value in asked.settings:
        yield f"- {code(name)} = {opening(value, 200)}"
    if not asked.settings:
        yield "None: the model's defaults."


def _clipped(text: str) -> str:
    if len(text) <= SYSTEM_MOST:
        return text
    return f"{text[:SYSTEM_MOST]}\n… {_count(len(text) - SYSTEM_MOST, 'character')} more"


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
