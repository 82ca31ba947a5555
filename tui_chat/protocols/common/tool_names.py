"""Aliases for tool names that a protocol forbids.

1. A forbidden name gets an alias: every forbidden character becomes `_`, the rest is kept.
2. Two tools never share a name: an alias that is taken gets a number.
3. Aliases depend on nothing but the names and their order: the same request has the same aliases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, ToolDefinition
from tui_chat.models.message import Message
from tui_chat.models.text import GLUE


@dataclass(frozen=True, slots=True)
class NameRule:
    """The tool names that a protocol accepts."""

    pattern: re.Pattern[str]
    """The pattern that a whole name must match."""
    forbidden: re.Pattern[str]
    """A character that names must not contain."""
    longest: int
    start: str = ""
    """The prefix for an alias that would begin with a forbidden character."""

    def allows(self, name: str) -> bool:
        """Return True if a name can be sent as it is."""
        return self.pattern.fullmatch(name) is not None


NAMES_ANY = NameRule(re.compile(r".*", re.DOTALL), re.compile(r"(?!)"), 10_000)
NAMES_64 = NameRule(re.compile(r"[A-Za-z0-9_-]{1,64}"), re.compile(r"[^A-Za-z0-9_-]"), 64)
NAMES_128 = NameRule(re.compile(r"[A-Za-z0-9_-]{1,128}"), re.compile(r"[^A-Za-z0-9_-]"), 128)
NAMES_GEMINI = NameRule(
    re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"), re.compile(r"[^A-Za-z0-9_.:-]"), 128, "_"
)


def aliases_for(
    names: Iterable[str], rule: NameRule, known: Sequence[tuple[str, str]] = ()
) -> dict[str, str]:
    """Return the alias of every name that the rule forbids; `known` ones stay as they are."""
    distinct = list(dict.fromkeys(names))
    taken = {name for name in distinct if rule.allows(name)}
    given = {ours: alias for ours, alias in known if rule.allows(alias)}
    aliases: dict[str, str] = {}
    for name in distinct:
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


def sent_tools(
    envelope: ChatEnvelope, protocol: Protocol, aliases: Mapping[str, str], notes: list[Note]
) -> list[ToolDefinition]:
    """Return the tools under the names that are sent. A captured request keeps them all in its own
    protocol; elsewhere a second tool of a name is left out.
    """
    captured = envelope.semantics.source is protocol
    sent: dict[str, ToolDefinition] = {}
    functions: list[ToolDefinition] = []
    for tool in envelope.tools or ():
        if not captured and sent.setdefault(tool.name, tool) is not tool:
            sentence = f"The tool “{tool.name}” is defined twice; the second one is left out."
            notes.append(Note(Level.WARNING, "tool-twice", sentence, GLUE))
            continue
        alias = aliases.get(tool.name)
        functions.append(tool if alias is None else replace(tool, name=alias))
    return functions


def restore_names(message: Message, aliases: Sequence[tuple[str, str]]) -> Message:
    """Return a reply whose tool calls have their own names; `aliases` is `Encoded.aliases`."""
    if not aliases or not message.tool_calls:
        return message
    ours = {alias: name for name, alias in aliases}
    calls = tuple(replace(call, name=ours.get(call.name, call.name)) for call in message.tool_calls)
    return message if calls == message.tool_calls else replace(message, tool_calls=calls)
