"""Tools that the provider runs and that several protocols have, under different names.

1. What restricts a search (sites, no access to the web itself) and cannot be expressed takes the
   tool with it: a restricted search must not become a free one.
2. What only limits its cost, and the user's place, is left out with a note.
3. A tool of a captured request is sent to its own protocol as it was, and this is not asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced
from tui_chat.models.json_text import as_object, as_string
from tui_chat.models.semantics import HostedTool, HostedToolKind
from tui_chat.models.settings import SearchLocation, WebSearch
from tui_chat.models.text import Origin
from tui_chat.protocols.common.loss_notes import setting_note, with_key
from tui_chat.protocols.common.request_fields import Fields

NAMES: Mapping[HostedToolKind, str] = {
    "web_search": "web search",
    "web_fetch": "web fetch",
    "code_execution": "code execution",
}
_RESTRICTIONS = {
    "allowed_domains": "the sites it may search",
    "blocked_domains": "the sites it may not search",
    "live": "a search without access to the web itself",
}
_OPTIONS = {
    "context_size": ("search_context_size", Level.INFO),
    "location": ("user_location", Level.WARNING),
    "max_uses": ("max_uses", Level.INFO),
}


def sent_hosted_tools(
    envelope: ChatEnvelope,
    protocol: Protocol,
    accepted: Collection[HostedToolKind],
    options: Collection[str],
    notes: list[Note],
) -> list[Sourced[HostedTool]]:
    """Return the tools to send: those of the `accepted` kinds. `options` are the fields of
    `WebSearch` that the protocol has.
    """
    asked = envelope.parameters.hosted_tools
    if asked is None or envelope.semantics.source is protocol:
        return []
    sent: list[Sourced[HostedTool]] = []
    for tool in asked.value:
        if tool.kind not in accepted:
            why = f"{protocol.label} has no such tool"
            notes.append(tool_left_out(tool, why, asked.origin))
            continue
        lost = [
            what
            for name, what in _RESTRICTIONS.items()
            if name not in options and _is_set(tool.search, name)
        ]
        if lost:
            why = f"{protocol.label} has no setting for {' and '.join(lost)}"
            notes.append(tool_left_out(tool, why, asked.origin))
            continue
        for name, (label, level) in _OPTIONS.items():
            if name not in options and _is_set(tool.search, name):
                why = f"{protocol.label} has no such setting"
                notes.append(setting_note(asked, f"{label} of the web search", why, level))
        sent.append(Sourced(tool, asked.origin))
    return sent


def tool_left_out(tool: HostedTool, why: str, origin: Origin) -> Note:
    """Return the note on a tool that is not sent."""
    name = NAMES[tool.kind] if origin.id == "tools" else with_key(NAMES[tool.kind], origin)
    sentence = f"The provider's {name} is not asked for: {why}."
    return Note(Level.WARNING, "tool-left-out", sentence, origin)


def with_hosted(
    functions: Sequence[Any], hosted: Sequence[tuple[Sourced[HostedTool], Any]]
) -> tuple[Any, ...]:
    """Return functions and hosted tools, as they are written, in the order of the request."""
    tools = list(functions)
    for tool, written in hosted:
        position = tool.value.position
        tools.insert(len(tools) if position is None else position, written)
    return tuple(tools)


def _is_set(search: WebSearch, name: str) -> bool:
    value = getattr(search, name)
    return value is False if name == "live" else bool(value)


_PLACE = ("city", "country", "region", "timezone")


def read_location(value: object) -> SearchLocation | None:
    """Return what `user_location` means; None if it is anything else than an approximate place."""
    fields = as_object(value)
    if fields.get("type") != "approximate":
        return None
    inner = as_object(fields.get("approximate")) or fields
    known = {key: as_string(inner.get(key)) for key in _PLACE}
    kept = {key: value for key, value in inner.items() if value is not None and key != "type"}
    if kept != {key: text for key, text in known.items() if text}:
        return None
    return SearchLocation(**known)


def write_location(place: SearchLocation) -> dict[str, Any]:
    """Return the keys of a place as all protocols that have it call them."""
    return {key: text for key in _PLACE if (text := getattr(place, key))}


def take_location(fields: Fields) -> SearchLocation | None:
    """Take `user_location`, if its meaning is known."""
    place = read_location(fields.remaining.get("user_location"))
    if place is not None:
        del fields.remaining["user_location"]
    return place


def take_domains(fields: Fields, key: str) -> tuple[str, ...]:
    """Take a list of domains."""
    if fields.remaining.get(key) == []:
        del fields.remaining[key]
    return fields.take_strings(key)


def search_fields(search: WebSearch, *, nested: bool) -> dict[str, Any]:
    """Return size and place of a search as OpenAI writes them. In Chat the place is in an inner
    object (`nested`).
    """
    fields: dict[str, Any] = {}
    if search.context_size:
        fields["search_context_size"] = search.context_size
    if search.location is not None:
        place = write_location(search.location)
        fields["user_location"] = {
            "type": "approximate",
            **({"approximate": place} if nested else place),
        }
    return fields


def take_search(fields: Fields) -> WebSearch:
    """Take size and place of a search as OpenAI writes them."""
    size = fields.remaining.get("search_context_size")
    known = size if size in ("low", "medium", "high") else ""
    if known:
        del fields.remaining["search_context_size"]
    return WebSearch(cast("str", known), take_location(fields))
