"""Names for tools that a protocol forbids, and the way back.

1. A forbidden name gets an alias: every forbidden character becomes `_`, the rest is kept.
2. Two tools never share a name: an alias that is taken gets a number.
3. Aliases depend on the names alone, in the order given, so the same request gives the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tui_chat.models.envelope import Level, Note, ToolDefinition
from tui_chat.models.message import Message
from tui_chat.models.text import GLUE


@dataclass(frozen=True, slots=True)
class NameRule:
    """Which tool names a protocol takes."""

    pattern: re.Pattern[str]
    """What a whole name must match."""
    forbidden: re.Pattern[str]
    """A character no name may have."""
    longest: int
    start: str = ""
    """What is put in front of an alias that may not begin as it does."""

    def allows(self, name: str) -> bool:
        """Return True if a name can be sent as it is."""
        return self.pattern.fullmatch(name) is not None


NAMES_64 = NameRule(re.compile(r"[A-Za-z0-9_-]{1,64}"), re.compile(r"[^A-Za-z0-9_-]"), 64)
NAMES_128 = NameRule(re.compile(r"[A-Za-z0-9_-]{1,128}"), re.compile(r"[^A-Za-z0-9_-]"), 128)
NAMES_GEMINI = NameRule(
    re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"), re.compile(r"[^A-Za-z0-9_.:-]"), 128, "_"
)


def aliases_for(
    names: Iterable[str], rule: NameRule, known: Sequence[tuple[str, str]] = ()
) -> dict[str, str]:
    """Return the alias of every name that the rule forbids; `known` ones stay as they are."""
    asked = list(dict.fromkeys(names))
    taken = {name for name in asked if rule.allows(name)}
    given = {ours: alias for ours, alias in known if rule.allows(alias)}
    aliases: dict[str, str] = {}
    for name in asked:
        if name in taken and rule.allows(name):
            continue
        alias = given.get(name)
        if alias is None or alias in taken:
            alias = _unique(_sanitize(name, rule), taken, rule)
        taken.add(alias)
        aliases[name] = alias
    return aliases


def _sanitize(name: str, rule: NameRule) -> str:
    alias = rule.forbidden.sub("_", name)[: rule.longest] or "_"
    return alias if rule.allows(alias) else (rule.start + alias)[: rule.longest]


def _unique(alias: str, taken: set[str], rule: NameRule) -> str:
    free, number = alias, 2
    while free in taken:
        ending = f"_{number}"
        free = alias[: rule.longest - len(ending)] + ending
        number += 1
    return free


def unique_tools(tools: Sequence[ToolDefinition], notes: list[Note]) -> tuple[ToolDefinition, ...]:
    """Return the tools, of those with one name the first: providers refuse a second."""
    first = {tool.name: tool for tool in reversed(tools)}
    for tool in tools:
        if first[tool.name] is not tool:
            sentence = f"The tool “{tool.name}” is defined twice; the second one is left out."
            notes.append(Note(Level.WARNING, "tool-twice", sentence, GLUE))
    return tuple(tool for tool in tools if first[tool.name] is tool)


def rename_tool(tool: ToolDefinition, aliases: dict[str, str]) -> ToolDefinition:
    """Return a tool under its name on the wire."""
    alias = aliases.get(tool.name)
    return tool if alias is None else replace(tool, name=alias)


def restore_names(message: Message, aliases: Sequence[tuple[str, str]]) -> Message:
    """Give the tool calls of a reply their own names back; `aliases` is `Encoded.aliases`."""
    if not aliases or not message.tool_calls:
        return message
    ours = {alias: name for name, alias in aliases}
    calls = tuple(replace(call, name=ours.get(call.name, call.name)) for call in message.tool_calls)
    return message if calls == message.tool_calls else replace(message, tool_calls=calls)
