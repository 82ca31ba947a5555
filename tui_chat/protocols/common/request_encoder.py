"""A request that is being encoded: what the encoders of all protocols ask of it, and its notes.

1. In the protocol that it was captured from, a request is sent as it was. If a setting of it was
   replaced, such as the model, its settings are fitted, and its turns and tools are not.
2. A setting that the model or the protocol refuses, or a value out of range, is left out, with a
   note, so that the request is answered. So are sampling settings that the model is known, or
   likely, to refuse at the reasoning effort that is sent.
3. What only the protocol of a captured request knows is put on what is written; see
   `models.blocks`. A setting that was replaced counts.

Tools that the provider runs and that several protocols have, under different names
1. What restricts a search (sites, no access to the web itself) and cannot be expressed takes the
   tool with it: a restricted search must not become a free one.
2. What only limits its cost, and the user's place, is left out with a note.
3. A tool of a captured request is sent to its own protocol as it was, and this is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Json, JsonObject, patched
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    HostedTool,
    HostedToolKind,
    Level,
    NativeTool,
    Note,
    Parameters,
    ToolDefinition,
    Turn,
)
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import is_newer_claude
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.models.text import GLUE, Origin
from tui_chat.protocols.base import BEARER, Encoded
from tui_chat.protocols.common.cache_marks import limit_cache_marks
from tui_chat.protocols.common.call_pairing import PairingRules, pair_calls
from tui_chat.protocols.common.losses import (
    default_note,
    envelope_notes,
    setting_losses,
    setting_note,
    with_key,
)
from tui_chat.protocols.common.openai_tools import with_functions
from tui_chat.protocols.common.setting_rows import Table, read_settings, write_settings
from tui_chat.protocols.common.tools import NAMES_64, json_schema, tool_tree
from tui_chat.protocols.common.trees import (
    captured_origin,
    is_captured,
    labelled,
    object_of,
    plain,
    tool_origin,
)


@dataclass(frozen=True, slots=True)
class RequestedTool:
    """A tool that the provider is asked to run."""

    tool: HostedTool
    origin: Origin
    """The setting that asks for it, or the tools of a captured request."""


SentTool = ToolDefinition | NativeTool | RequestedTool
"""A tool as it is sent: a function, one of this protocol's own, or one that several have."""


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
        if envelope.source not in (None, endpoint.protocol):
            envelope, self.notes = with_functions(envelope)
        self.envelope = envelope
        self.endpoint = endpoint
        self.protocol = endpoint.protocol
        self.parameters = envelope.parameters
        self.values = envelope.parameters.values
        self.model = self.values.model
        self.facts = endpoint.facts_of(self.model)
        self.is_converted = envelope.source not in (None, self.protocol)
        """True if the request was captured from another protocol."""
        self.captured = envelope.source is self.protocol
        """True if it was captured from this protocol: then it is sent as it was."""
        self.fits = not (self.captured and all(map(is_captured, self.parameters.origins.values())))
        """True if its settings are fitted: they are not those of a request of this protocol."""
        self.aliases: dict[str, str] = {}
        """The tool names that were changed, and their aliases."""

    def encoded(
        self,
        path: str,
        body: JsonObject,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        key_header: tuple[str, str] = BEARER,
    ) -> Encoded:
        """Return the request with its notes."""
        notes, aliases = tuple(self.notes), tuple(self.aliases.items())
        return Encoded(path, object_of(body), headers, key_header, notes, aliases)

    def body(
        self, settings: JsonObject, conversation: JsonObject, first: Sequence[str] = ("model",)
    ) -> JsonObject:
        """Return a body: the `first` settings, the conversation, the others, and what only this
        protocol knows of a captured request.
        """
        body = {key: settings[key] for key in first if key in settings} | conversation | settings
        rest = self.envelope.rest if self.captured else None
        if rest is None:
            return body

        def named(value: Any, key: str) -> Json:
            return labelled(value, origin=captured_origin(key))

        keys = {key: named(value, key) for key, value in rest.keys.items()}
        changes = (
            replace(change, value=tuple(named(value, change.path[0]) for value in change.value))
            for change in rest.changes
        )
        return patched(body, replace(rest, keys=keys, changes=tuple(changes)), plain)

    # --- notes ---------------------------------------------------------------------------

    def leave_out(self, setting: str, name: str, why: str, level: Level = Level.WARNING) -> None:
        """Add the note on a setting that is not sent. `name` is what the note calls it."""
        self.notes.append(setting_note(name, why, self.parameters.origin(setting), level))

    def note_change(self, setting: str, sentence: str, level: Level = Level.WARNING) -> None:
        """Add the note on a setting that is sent as another value."""
        origin = self.parameters.origin(setting)
        self.notes.append(Note(level, "setting-changed", sentence, origin))

    def named(self, setting: str, label: str) -> str:
        """Return a setting's label, with its key unless the label names it."""
        return with_key(label, self.parameters.origin(setting))

    def written(
        self, table: Table, fitted: Callable[[], Parameters], skip: Container[str] = ()
    ) -> JsonObject:
        """Return the keys of all settings, without the rows of `skip`, and add the notes on those
        that are not heard in what is written. `fitted` returns them as model and protocol accept
        them; it is not asked if a captured request is sent as it was.
        """
        if not self.fits:
            return write_settings(self.parameters, table)
        settings = write_settings(fitted(), table, skip)
        heard = read_settings(plain(settings), table)
        told = {note.origin for note in self.notes if note.origin is not None}
        self.notes += setting_losses(self.parameters, heard, self.protocol, told)
        return settings

    # --- turns ---------------------------------------------------------------------------

    def block_turns(
        self, rules: PairingRules, shared: Collection[str] = (), *, limits_marks: bool = False
    ) -> Sequence[Turn]:
        """Return the turns with calls and results as the rules demand. Adds the notes on the turns
        and on what the envelope loses, except the `shared` settings; see `envelope_notes`.

        `limits_marks`: cache marks are sent, as many as Anthropic takes.
        """
        turns: Sequence[Turn] = self.envelope.turns
        general = list(envelope_notes(self.envelope, self.protocol, shared))
        if limits_marks:
            turns, marked = limit_cache_marks(turns)
            self.notes += marked
        names = [tool.name for tool in self.envelope.functions]
        turns, self.aliases = pair_calls(turns, rules, names, self.notes)
        self.notes += general
        return turns

    # --- settings ------------------------------------------------------------------------

    def accepted(self, parameters: Parameters, rows: Table) -> Parameters:
        """Return parameters without the settings of a table that are out of range, and without the
        sampling settings if the model refuses them.
        """
        refused = self._sampling_refused(parameters)
        left_out: dict[str, None] = {}
        for row in rows:
            value, origin = getattr(parameters.values, row.setting), parameters.origin(row.setting)
            name, is_number = row.path[-1], isinstance(value, int | float)
            if value is None or row.setting in left_out:
                continue
            if row.is_sampling and refused:
                sentence = f"{with_key(name, origin)} is not sent: {refused}."
                self.notes.append(Note(Level.INFO, "sampling-left-out", sentence, origin))
            elif is_number and not row.low <= value <= row.high:
                why = f"{value} is not within {row.low:g} and {row.high:g}"
                self.leave_out(row.setting, name, why)
            else:
                continue
            left_out[row.setting] = None
        return parameters.with_values(**left_out)

    def _sampling_refused(self, parameters: Parameters) -> str:
        """Return why the model gets no sampling settings; empty if it gets them."""
        model, facts = self.model, self.facts
        if facts.sampling is not None:
            return "" if facts.sampling else f"{model} accepts no sampling settings"
        if facts.sampling_efforts is not None:
            is_accepted = (parameters.values.effort or "") in facts.sampling_efforts
            why = f"{model} accepts sampling settings only at the reasoning effort “none”"
            return "" if is_accepted else why
        if is_newer_claude(model):
            why = f"it is not known whether {model} accepts sampling settings"
            return f"{why}, and the newest known Claude models refuse them"
        return ""

    def reply_limit(self) -> int | None:
        """Return the reply limit, at most the model's maximum; None if it would allow no reply."""
        limit, most = self.values.max_tokens, self.facts.max_output
        if limit is not None and limit <= 0:
            self.leave_out("max_tokens", "max_tokens", f"{limit} allows no reply")
            return None
        if limit is None or most is None or limit <= most:
            return limit
        name = self.named("max_tokens", f"The reply limit of {limit:,} tokens")
        sentence = f"{name} is lowered to {most:,}, the maximum of {self.model}."
        self.note_change("max_tokens", sentence)
        return most

    def stop_sequences(self, most: int, *, blank: bool = True) -> tuple[str, ...] | None:
        """Return the stop sequences that may be sent: the first, blank ones only if `blank`."""
        stop = self.values.stop or ()
        if self.captured and most:
            return stop
        refused = [text for text in stop if not (blank or text.strip())]
        accepted = [text for text in stop if blank or text.strip()]
        limit = f"at most {most} stop sequences are accepted" if most else "the model accepts none"
        for texts, why in (
            (refused, "a stop sequence of white space alone is refused"),
            (accepted[most:], limit),
        ):
            if texts:
                self.leave_out("stop", f"stop {', '.join(map(repr, texts))}", why)
        return tuple(accepted[:most]) or None

    def service_tier(self, words: Mapping[str, str]) -> str | None:
        """Return the service tier, in OpenAI's words, that takes the place of one. A tier that the
        protocol does not have is left out: nobody is given one that costs more. An empty word is
        its default. A captured one stays in its protocol.
        """
        tier = self.values.service_tier
        if tier is None or self.captured:
            return tier
        word = words.get(tier)
        name = self.named("service_tier", f"service_tier “{tier}”")
        if not word:
            why = f"{self.protocol.label} chooses the tier itself where none is set"
            if word is None:
                why = f"{self.protocol.label} has no such tier"
            self.leave_out("service_tier", name, why, Level.INFO)
        elif word != tier:
            self.note_change("service_tier", f"{name} is sent as “{word}”.", Level.INFO)
        return word or None

    # --- the format of a reply -----------------------------------------------------------

    def _format(self) -> ResponseFormat | None:
        """Return the reply's format; None for plain text, which every protocol sends anyway."""
        form = self.values.response_format
        if form is not None and form.kind == "text" and not self.captured:
            why = "a reply is plain text anyway"
            self._leave_format_out("the response format “text”", why, Level.INFO)
            return None
        return form

    def _leave_format_out(self, name: str, why: str, level: Level = Level.WARNING) -> None:
        self.leave_out("response_format", name, why, level)

    def openai_format(self) -> ResponseFormat | None:
        """Return the reply's format as OpenAI accepts it."""
        form = self._format()
        if form is None or form.kind == "text":
            return form
        if form.kind == "json":
            if any("json" in turn.text.plain.lower() for turn in self.envelope.turns):
                return form
            why = "OpenAI requires the word “json” in the messages for it"
            self._leave_format_out("the response format “json”", why)
            return None
        schema = json_schema(form.schema or {}, form.dialect)
        form = replace(form, schema=schema, dialect="json")
        if not form.name:
            title = schema.get("title")
            is_name = isinstance(title, str) and NAMES_64.allows(title)
            form = replace(form, name=title if is_name else "reply")
            sentence = f"OpenAI requires a name for the reply's schema: “{form.name}” is sent."
            self.notes.append(default_note(self.parameters.origin("response_format"), sentence))
        return form

    def schema_only_format(self) -> ResponseFormat | None:
        """Return the reply's format for a protocol that has only the schema, and enforces it."""
        form, label = self._format(), self.protocol.label
        if form is None:
            return None
        why = f"{label} has no field for it"
        if form.description:
            self._leave_format_out("the description of the reply's schema", why)
        if form.name:
            self._leave_format_out("the name of the reply's schema", why, Level.INFO)
        if form.strict is False or (form.strict and self.protocol is Protocol.GEMINI):
            word, level = ("true", Level.INFO) if form.strict else ("false", Level.WARNING)
            sentence = f"{label} has no “strict” for the reply's schema and always enforces it; "
            sentence += f"“strict: {word}” is left out."
            self.note_change("response_format", sentence, level)
        if form.kind == "schema" and not form.schema:
            sentence = f"The reply's schema is empty; {label} may send any JSON."
            self.note_change("response_format", sentence)
        return form

    # --- tools ---------------------------------------------------------------------------

    def sent_tools(
        self, accepted: Collection[HostedToolKind] = (), options: Collection[str] = ()
    ) -> list[SentTool]:
        """Return the tools in their order: functions under the names that are sent, and tools that
        the provider runs, of the `accepted` kinds. `options` are the fields of `WebSearch` that the
        protocol has.

        A captured request keeps them all in its own protocol, as they are. Elsewhere a function
        gets the schema of an object, and a second one of a name is left out.
        """
        sent: list[SentTool] = []
        names: set[str] = set()
        for tool in self.envelope.tools or ():
            if isinstance(tool, ToolDefinition):
                sent += self._function(tool, names)
            elif tool.protocol is self.protocol:
                sent.append(tool)
            elif tool.hosted is not None:
                asked = RequestedTool(tool.hosted, captured_origin("tools"))
                sent += self._hosted(asked, accepted, options)
        search = self.values.web_search
        if search is not None and search.enabled and self.fits:
            origin = self.parameters.origin("web_search")
            asked = RequestedTool(HostedTool("web_search", search), origin)
            sent += self._hosted(asked, accepted, options)
        return sent

    def _function(self, tool: ToolDefinition, names: set[str]) -> Iterator[ToolDefinition]:
        """Yield a function as it is sent, if it is. `names` are those of the functions before."""
        if not self.captured and tool.name in names:
            sentence = f"The tool “{tool.name}” is defined twice; the second one is left out."
            self.notes.append(Note(Level.WARNING, "tool-twice", sentence, GLUE))
            return
        names.add(tool.name)
        kinds = ("object", _OBJECT[tool.dialect])
        if not self.captured and tool.parameters and tool.parameters.get("type") not in kinds:
            sentence = f"The schema of the tool “{tool.name}” is sent with the type “object”, "
            sentence += "which providers require."
            self.notes.append(default_note(tool_origin(tool.name), sentence))
            tool = _with_object(tool)
        alias = self.aliases.get(tool.name)
        yield tool if alias is None else replace(tool, name=alias)

    def _hosted(
        self, asked: RequestedTool, accepted: Collection[HostedToolKind], options: Collection[str]
    ) -> Iterator[RequestedTool]:
        """Yield a tool that the provider runs, if the protocol can express what restricts it."""
        tool, label = asked.tool, self.protocol.label
        values = {name: getattr(tool.search, name) for name in (*_RESTRICTIONS, *_OPTIONS)}
        missing = [
            name
            for name, value in values.items()
            if (value is False if name == "live" else value) and name not in options
        ]
        lost = [_RESTRICTIONS[name] for name in missing if name in _RESTRICTIONS]
        if tool.kind not in accepted:
            self.leave_tool_out(asked, f"{label} has no such tool")
        elif lost:
            self.leave_tool_out(asked, f"{label} has no setting for {' and '.join(lost)}")
        else:
            for option, level in (_OPTIONS[name] for name in missing):
                why, name = f"{label} has no such setting", f"{option} of the web search"
                self.notes.append(setting_note(name, why, asked.origin, level))
            yield asked

    def leave_tool_out(self, asked: RequestedTool, why: str) -> None:
        """Add the note on a tool that the provider is not asked to run."""
        name, origin = _HOSTED[asked.tool.kind], asked.origin
        name = name if origin.id == "tools" else with_key(name, origin)
        sentence = f"The provider's {name} is not asked for: {why}."
        self.notes.append(Note(Level.WARNING, "tool-left-out", sentence, origin))

    def tools_key(self, tools: Sequence[Json]) -> JsonObject:
        """Return `tools`. An empty list is sent if ours or a captured request has one."""
        is_listed = self.envelope.tools == () and not self.is_converted
        return {"tools": list(tools)} if tools or is_listed else {}

    def tool_choice(self, tools: Sequence[SentTool]) -> ToolChoice | None:
        """Return the tool choice for the tools that are sent."""
        choice, aliases = self.values.tool_choice, self.aliases
        sent = {tool.name for tool in tools if isinstance(tool, ToolDefinition)}
        if choice is None or (self.captured and not aliases):
            return choice
        if not sent:
            # A choice of none takes nothing away where there are no tools.
            level = Level.INFO if choice.mode == "none" else Level.WARNING
            self.leave_out("tool_choice", "tool_choice", "no tools are sent", level)
            return None
        if not choice.names or choice.mode == "none":
            return choice
        names = tuple(aliases.get(name, name) for name in choice.names)
        sent_names = tuple(name for name in names if name in sent)
        if sent_names != names:
            missing = ", ".join(name for name in names if name not in sent)
            self.leave_out("tool_choice", f"tool_choice {missing}", "no such tool is sent")
            if not sent_names:
                return None
        if len(sent_names) > 1 and set(sent_names) == sent:
            sent_names = ()  # all there are
        return ToolChoice(choice.mode, sent_names)


def written_tool(
    tool: SentTool,
    function: Callable[[ToolDefinition], Json],
    hosted: Callable[[HostedTool], JsonObject] = lambda tool: {},
) -> Json:
    """Return a tool as it is written, by the writers of a protocol."""
    match tool:
        case ToolDefinition():
            return function(tool)
        case NativeTool():
            return tool_tree(tool.value)
        case RequestedTool():
            return labelled(hosted(tool.tool), origin=tool.origin)


def functions_of(tools: Sequence[SentTool]) -> list[ToolDefinition]:
    """Return the functions among tools."""
    return [tool for tool in tools if isinstance(tool, ToolDefinition)]


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
