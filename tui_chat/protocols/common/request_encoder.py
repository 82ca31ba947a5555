"""A request that is being encoded: what the encoders of all protocols ask of it, and its notes.

1. In the protocol that it was captured from, a request is sent as it was: its settings, its tools,
   and the keys that only this protocol has. Sampling settings only if it is for the same model. A
   value in the protocol's namespace wins over the unified one.
2. A setting that the model or the protocol refuses, or a value out of range, is left out, with a
   note, so that the request is answered. So are sampling settings that the model is known, or
   likely, to refuse at the reasoning effort that is sent.

Tools that the provider runs and that several protocols have, under different names
1. What restricts a search (sites, no access to the web itself) and cannot be expressed takes the
   tool with it: a restricted search must not become a free one.
2. What only limits its cost, and the user's place, is left out with a note.
3. A tool of a captured request is sent to its own protocol as it was, and this is not asked.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import JsonObject
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    Note,
    Parameters,
    Sourced,
    ToolDefinition,
)
from tui_chat.models.flat.turns import blocks_of
from tui_chat.models.json_tree import Arr, Obj, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import is_newer_claude
from tui_chat.models.semantics import UNSET, HostedTool, HostedToolKind
from tui_chat.models.settings import ToolChoice, WebSearch
from tui_chat.models.text import GLUE
from tui_chat.protocols.base import BEARER, Encoded
from tui_chat.protocols.common.cache_marks import limit_cache_marks, without_mark_notes
from tui_chat.protocols.common.call_pairing import PairingRules, pair_calls
from tui_chat.protocols.common.encoding import (
    Items,
    captured_origin,
    is_same_model,
    setting_value,
    tool_origin,
)
from tui_chat.protocols.common.loss_notes import (
    default_note,
    envelope_notes,
    missing_notes,
    setting_changed_note,
    setting_note,
    with_key,
)
from tui_chat.protocols.common.openai_tools import with_functions
from tui_chat.protocols.common.setting_rows import Row, Table
from tui_chat.protocols.common.tools import tool_tree
from tui_chat.protocols.common.trees import labelled


def _is_object(tool: ToolDefinition) -> bool:
    return tool.parameters.get("type") in ("object", _OBJECT[tool.dialect])


_OBJECT = {"json": "object", "gemini": "OBJECT"}
"""The type of an object by the dialect of the schema."""


@Memo
def _with_object(tool: ToolDefinition) -> ToolDefinition:
    """Return a tool whose schema says that it is one of an object."""
    return replace(tool, parameters={**tool.parameters, "type": _OBJECT[tool.dialect]})


class RequestEncoder:
    """A request being encoded for an endpoint. Methods return what is sent, and note the rest."""

    def __init__(self, envelope: ChatEnvelope, endpoint: Endpoint) -> None:
        self.notes: list[Note] = []
        if envelope.semantics.source not in (None, endpoint.protocol):
            envelope, self.notes = with_functions(envelope)
        self.envelope = envelope
        self.endpoint = endpoint
        self.protocol = endpoint.protocol
        self.parameters = envelope.parameters
        self.model = envelope.parameters.model.value
        self.facts = endpoint.facts_of(self.model)
        source = envelope.semantics.source
        self.is_converted = source not in (None, self.protocol)
        """True if the request was captured from another protocol."""
        self.captured = source is self.protocol
        """True if it was captured from this protocol: then it is sent as it was."""
        self.unchanged = is_same_model(envelope, self.protocol)
        """True if it was, and its model was not replaced."""
        self.aliases: dict[str, str] = {}
        """The tool names that were changed, and their aliases."""

    def encoded(
        self,
        path: str,
        body: Obj,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        key_header: tuple[str, str] = BEARER,
    ) -> Encoded:
        """Return the request with its notes."""
        aliases = tuple(self.aliases.items())
        return Encoded(path, body, headers, key_header, tuple(self.notes), aliases)

    # --- notes ---------------------------------------------------------------------------

    def leave_out(
        self, setting: Sourced[Any], name: str, why: str, level: Level = Level.WARNING
    ) -> None:
        """Add the note on a setting that is not sent."""
        self.notes.append(setting_note(setting, name, why, level))

    def note_change(
        self, setting: Sourced[Any], sentence: str, level: Level = Level.WARNING
    ) -> None:
        """Add the note on a setting that is sent as another value."""
        self.notes.append(setting_changed_note(setting, sentence, level))

    def note_missing(self, *names: str) -> None:
        """Add notes on the parameters, by their names, that the protocol does not have."""
        self.notes += missing_notes(self.protocol, self.parameters, *names)

    # --- turns ---------------------------------------------------------------------------

    def block_turns(
        self, rules: PairingRules, shared: Collection[str] = (), *, limits_marks: bool = False
    ) -> Sequence[BlockTurn]:
        """Return the turns with calls and results as the rules demand. Adds the notes on the turns
        and on what the envelope loses, except the `shared` settings; see `envelope_notes`.

        `limits_marks`: cache marks are sent, as many as the protocol takes.
        """
        envelope = self.envelope
        turns: Sequence[BlockTurn] = [blocks_of(turn) for turn in envelope.turns]
        general = list(envelope_notes(envelope, self.protocol, shared))
        if limits_marks:
            turns, marked = limit_cache_marks(turns, self.protocol)
            self.notes += marked
            general = without_mark_notes(general)
        names = [tool.name for tool in envelope.tools or ()]
        paired = pair_calls(turns, rules, names, envelope.semantics.tools.alias_map)
        self.aliases = paired.aliases
        self.notes += [*paired.notes, *general]
        return paired.turns

    # --- settings ------------------------------------------------------------------------

    def model_items(self) -> Items:
        """Return the model; a captured request may have none in its body."""
        if not (self.model or not self.captured):
            return []
        return [("model", setting_value(self.parameters.model))]

    def accepted(self, parameters: Parameters, rows: Table) -> Parameters:
        """Return parameters without the settings of a table that are out of range, and without the
        sampling settings if the model refuses them.
        """
        refused = "" if self.unchanged else self._sampling_refused(parameters)
        left_out: dict[str, None] = {}
        for row in rows:
            value: Sourced[Any] | None = getattr(parameters, row.setting)
            if value is None or row.setting in left_out:
                continue
            name = row.path[-1]
            if row.is_sampling and refused:
                sentence = f"{with_key(name, value.origin)} is not sent: {refused}."
                self.notes.append(Note(Level.INFO, "sampling-left-out", sentence, value.origin))
                left_out[row.setting] = None
            elif not (
                _is_within(row, value.value)
                or (self.unchanged if row.is_sampling else self.captured)
            ):
                why = f"{value.value} is not within {row.low:g} and {row.high:g}"
                self.leave_out(value, name, why)
                left_out[row.setting] = None
        return replace(parameters, **left_out)

    def _sampling_refused(self, parameters: Parameters) -> str:
        """Return why the model gets no sampling settings; empty if it gets them."""
        model, facts = self.model, self.facts
        if facts.sampling is not None:
            return "" if facts.sampling else f"{model} accepts no sampling settings"
        if facts.sampling_efforts is not None:
            if (parameters.effort.value if parameters.effort else "") in facts.sampling_efforts:
                return ""
            return f"{model} accepts sampling settings only at the reasoning effort “none”"
        if is_newer_claude(model):
            why = f"it is not known whether {model} accepts sampling settings"
            return f"{why}, and the newest known Claude models refuse them"
        return ""

    def reply_limit(self) -> Sourced[int] | None:
        """Return the reply limit, at most the model's maximum; None if it would allow no reply."""
        limit = self.parameters.max_tokens
        if limit is None or self.captured:
            return limit
        if limit.value <= 0:
            self.leave_out(limit, "max_tokens", f"{limit.value} allows no reply")
            return None
        most = self.facts.max_output
        if most is None or limit.value <= most:
            return limit
        name = with_key(f"The reply limit of {limit.value:,} tokens", limit.origin)
        self.note_change(limit, f"{name} is lowered to {most:,}, the maximum of {self.model}.")
        return Sourced(most, limit.origin)

    def stop_sequences(self, most: int, *, blank: bool = True) -> Sourced[tuple[str, ...]] | None:
        """Return the stop sequences that may be sent: the first, blank ones only if `blank`."""
        stop = self.parameters.stop
        if stop is None or self.captured:
            return stop
        accepted = [text for text in stop.value if blank or text.strip()]
        refused = [repr(text) for text in stop.value if not (blank or text.strip())]
        if refused:
            why = "a stop sequence of white space alone is refused"
            self.leave_out(stop, f"stop {', '.join(refused)}", why)
        if len(accepted) > most:
            surplus = ", ".join(map(repr, accepted[most:]))
            why = (
                f"at most {most} stop sequences are accepted" if most else "the model accepts none"
            )
            self.leave_out(stop, f"stop {surplus}", why)
        sent = tuple(accepted[:most])
        return Sourced(sent, stop.origin) if sent else None

    def service_tier(self, words: Mapping[str, str]) -> Sourced[str] | None:
        """Return the service tier in the protocol's words, by OpenAI's. A tier that it does not
        have is left out: nobody is given one that costs more. An empty word is its default. A
        captured one stays in its protocol.
        """
        tier = self.parameters.service_tier
        if tier is None or self.captured:
            return tier
        word = words.get(tier.value)
        name = with_key(f"service_tier “{tier.value}”", tier.origin)
        if not word:
            why = (
                "has no such tier" if word is None else "chooses the tier itself where none is set"
            )
            self.leave_out(tier, name, f"{self.protocol.label} {why}", Level.INFO)
        elif tier.value in _FAST and word != tier.value:
            self.note_change(tier, f"{name} is sent as “{word}”.", Level.INFO)
        return Sourced(word, tier.origin) if word else None

    # --- what only this protocol has -----------------------------------------------------

    def captured_keys(self, skip: Collection[str] = ()) -> JsonObject:
        """Return the keys of a captured request that only its protocol has, word for word, save the
        fields of `skip`. They are sent over what is written of the parameters.
        """
        semantics, written = self.envelope.semantics, JsonObject()
        namespace = semantics.settings
        if not self.captured or namespace is None:
            return written
        for field in dataclasses.fields(namespace):
            value = getattr(namespace, field.name)
            if value is not UNSET and field.name not in (*skip, *namespace.form_only):
                written[namespace.keys.get(field.name, field.name)] = value
        written |= semantics.provider_extras.get(self.protocol, {})
        return {key: labelled(v, origin=captured_origin(key)) for key, v in written.items()}

    # --- tools ---------------------------------------------------------------------------

    def functions(self) -> list[ToolDefinition]:
        """Return the functions under the names that are sent, with the schema of an object. A
        captured request keeps them all in its own protocol, as they are; elsewhere a second one of
        a name is left out.
        """
        sent: dict[str, ToolDefinition] = {}
        functions: list[ToolDefinition] = []
        for tool in self.envelope.tools or ():
            if not self.captured and sent.setdefault(tool.name, tool) is not tool:
                sentence = f"The tool “{tool.name}” is defined twice; the second one is left out."
                self.notes.append(Note(Level.WARNING, "tool-twice", sentence, GLUE))
                continue
            if not self.captured and tool.parameters and not _is_object(tool):
                sentence = f"The schema of the tool “{tool.name}” is sent with the type “object”, "
                sentence += "which providers require."
                self.notes.append(default_note(tool_origin(tool.name), sentence))
                tool = _with_object(tool)
            alias = self.aliases.get(tool.name)
            functions.append(tool if alias is None else replace(tool, name=alias))
        return functions

    def with_native_tools(self, functions: Sequence[Tree]) -> tuple[Tree, ...]:
        """Return functions and the protocol's own tools of a captured request in their order."""
        written = list(functions)
        for tool in sorted(self.envelope.semantics.tools.native, key=lambda tool: tool.position):
            if tool.protocol is self.protocol and tool.item is None:
                written.insert(tool.position, tool_tree(json.loads(tool.data)))
        return tuple(written)

    def tools_items(self, tools: Sequence[Tree]) -> Items:
        """Return `tools`. An empty list is sent if ours or a captured request has one."""
        is_listed = self.envelope.tools is not None and not self.is_converted
        return [("tools", Arr(tuple(tools)))] if tools or is_listed else []

    @property
    def has_own_choice(self) -> bool:
        """True if the namespace has the `tool_choice` of a captured request, in its own form."""
        settings = self.envelope.semantics.settings
        return self.captured and getattr(settings, "tool_choice", UNSET) is not UNSET

    def tool_choice(self, functions: Sequence[ToolDefinition]) -> Sourced[ToolChoice] | None:
        """Return the tool choice for the sent functions; a captured one stays in its protocol."""
        choice, aliases = self.parameters.tool_choice, self.aliases
        if choice is None or (self.captured and not aliases):
            return choice
        sent = {function.name for function in functions}
        if not sent:
            # A choice of none takes nothing away where there are no tools.
            level = Level.INFO if choice.value.mode == "none" else Level.WARNING
            self.leave_out(choice, "tool_choice", "no tools are sent", level)
            return None
        if not choice.value.names or choice.value.mode == "none":
            return choice
        names = tuple(aliases.get(name, name) for name in choice.value.names)
        sent_names = tuple(name for name in names if name in sent)
        if sent_names != names:
            missing = ", ".join(name for name in names if name not in sent)
            self.leave_out(choice, f"tool_choice {missing}", "no such tool is sent")
            if not sent_names:
                return None
        if len(sent_names) > 1 and set(sent_names) == sent:
            sent_names = ()  # all there are
        return Sourced(ToolChoice(choice.value.mode, sent_names), choice.origin)

    def hosted_tools(
        self, accepted: Collection[HostedToolKind], options: Collection[str] = ()
    ) -> list[Sourced[HostedTool]]:
        """Return the tools that the provider is to run: those of the `accepted` kinds. `options`
        are the fields of `WebSearch` that the protocol has.
        """
        hosted_tools = self.parameters.hosted_tools
        if hosted_tools is None or self.captured:
            return []
        sent: list[Sourced[HostedTool]] = []
        label = self.protocol.label
        for hosted in hosted_tools.value:
            tool = Sourced(hosted, hosted_tools.origin)
            if hosted.kind not in accepted:
                self.leave_tool_out(tool, f"{label} has no such tool")
                continue
            lost = [
                restriction
                for name, restriction in _RESTRICTIONS.items()
                if name not in options and _is_set(hosted.search, name)
            ]
            if lost:
                self.leave_tool_out(tool, f"{label} has no setting for {' and '.join(lost)}")
                continue
            for name, (option, level) in _OPTIONS.items():
                if name not in options and _is_set(hosted.search, name):
                    why = f"{label} has no such setting"
                    self.leave_out(hosted_tools, f"{option} of the web search", why, level)
            sent.append(tool)
        return sent

    def leave_tool_out(self, tool: Sourced[HostedTool], why: str) -> None:
        """Add the note on a tool that the provider is not asked to run."""
        name, origin = _HOSTED[tool.value.kind], tool.origin
        name = name if origin.id == "tools" else with_key(name, origin)
        sentence = f"The provider's {name} is not asked for: {why}."
        self.notes.append(Note(Level.WARNING, "tool-left-out", sentence, origin))


_FAST = frozenset({"fast", "ultrafast"})
"""Tiers of OpenAI whose nearest elsewhere is another word; `default` is only called otherwise."""
_HOSTED: Mapping[HostedToolKind, str] = {
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


def _is_within(row: Row, value: Any) -> bool:
    return not isinstance(value, int | float) or row.low <= value <= row.high


def _is_set(search: WebSearch, name: str) -> bool:
    value = getattr(search, name)
    return value is False if name == "live" else bool(value)


def with_hosted(
    functions: Sequence[Tree], hosted: Sequence[tuple[Sourced[HostedTool], Tree]]
) -> list[Tree]:
    """Return functions and hosted tools, as they are written, in the order of the request."""
    tools = list(functions)
    for tool, written in hosted:
        position = tool.value.position
        tools.insert(len(tools) if position is None else position, written)
    return tools
