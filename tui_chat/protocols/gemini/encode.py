"""Encode an envelope as a Gemini generateContent request, and read one.

1. `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`; the model is in the URL. Only
   v1beta has the `-latest` aliases, and proxies expect it.
2. All system turns, joined by a blank line, are the one `systemInstruction`; a later one is
   moved there with a note. A captured instruction keeps its parts.
3. A call must follow a user content: the model's turns before it are one content with it, and if
   no user content precedes that, the smallest possible one is added, with a note. So it is if
   there are only system turns.
4. A turn of calls is followed by a content with exactly as many responses, each with its function's
   name. A captured content that held several turns holds them again. Calls need no ids.
5. Gemini 3 refuses a step of the current turn whose first function call has no signature. Calls
   of another model have none; the substitute that Google documents is sent, with a note.
6. Settings are in `generationConfig`, a choice of tools in `toolConfig`.
7. A captured request's keys keep their spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast
from urllib.parse import quote as url_quote

from tui_chat.models.blocks import Extras, Json, JsonObject, form_of, patched
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    Note,
    Parameters,
    RequestTool,
    ToolDefinition,
    Turn,
    with_block,
)
from tui_chat.models.memo import Memo
from tui_chat.models.payload import Arr, Obj, Tree
from tui_chat.models.text import Text
from tui_chat.protocols.base import SYSTEM_SEPARATOR, Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.losses import FILLER, NOTHING_TO_SEND, filler_note
from tui_chat.protocols.common.reading import RequestReader, items_of, objects_at
from tui_chat.protocols.common.request_encoder import (
    RequestedTool,
    RequestEncoder,
    SentTool,
    functions_of,
)
from tui_chat.protocols.common.tools import NAMES_GEMINI, definition_tree, strict_notes
from tui_chat.protocols.common.trees import (
    Word,
    dictionary,
    labelled,
    object_of,
    plain,
    tool_origin,
    with_keys,
)
from tui_chat.protocols.common.turn_fit import merged_text, variant
from tui_chat.protocols.gemini import settings
from tui_chat.protocols.gemini.contents import (
    GEMINI,
    JOINED,
    SentContent,
    instruction_notes,
    read_content,
    read_instruction,
    sent_content,
    write_content,
    write_parts,
)
from tui_chat.protocols.gemini.settings import TABLE, write_function
from tui_chat.protocols.gemini.spelling import Places, camel, spelled

VERSION = "v1beta"
"""The API version in the path, unless the endpoint names another."""
KEY_HEADER = ("x-goog-api-key", "")
_RULES = PairingRules(NAMES_GEMINI, ids=False, named_results=True)
_CAPTURED_RULES = replace(_RULES, captured=True, by_run=True)
_MAX_STOPS = 5
_FILLER = object_of({"role": Word("user"), "parts": [{"text": Word(FILLER)}]})


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    turns = request.block_turns(_CAPTURED_RULES if request.captured else _RULES)
    tools = _sent_tools(request)
    body = _conversation(request, turns) | _tools_key(request, tools)
    body = request.body(request.written(TABLE, lambda: _fitted(request, tools)), body, ())
    if request.captured:
        body = _as_spelled(body, request.envelope.rest)
    name = url_quote(request.model.removeprefix("models/"), safe=":")
    verb = "streamGenerateContent?alt=sse" if request.values.stream else "generateContent"
    path = f"/{endpoint.api_version or VERSION}/models/{name}:{verb}"
    return request.encoded(path, body, key_header=KEY_HEADER)


# --- tools and settings ------------------------------------------------------------------


def _sent_tools(request: RequestEncoder) -> Sequence[SentTool]:
    """Return the tools; models before Gemini 3 accept none of Google's own beside functions."""
    tools = request.sent_tools(tuple(settings.HOSTED.values()))
    functions = functions_of(tools)
    if request.captured:
        return tools
    request.notes += strict_notes(functions, GEMINI)
    if not functions or request.facts.hosted_beside_functions is not False:
        return tools
    for tool in tools:
        if isinstance(tool, RequestedTool):
            why = f"{request.model} accepts either functions or Google's own tools"
            request.leave_tool_out(tool, why)
    return functions


def _tools_key(request: RequestEncoder, tools: Sequence[SentTool]) -> JsonObject:
    """Return the key `tools`: functions in groups, as a captured request has them, else in one."""
    if request.captured:
        known = [tool for tool in tools if not isinstance(tool, RequestedTool)]
        groups = settings.write_groups(list(map(_labelled, known)), _captured_function)
        return request.tools_key(groups)
    declared = [_function(tool) for tool in functions_of(tools)]
    groups: list[Json] = []
    for tool in tools:
        if isinstance(tool, RequestedTool):
            groups.append(labelled(settings.write_hosted(tool.tool), origin=tool.origin))
        elif isinstance(tool, ToolDefinition) and declared:
            groups.append({"functionDeclarations": declared})
            declared = []
    if not groups and request.envelope.tools == () and not request.is_converted:
        groups.append({"functionDeclarations": []})
    return {"tools": groups} if groups else {}


@Memo
def _function(tool: ToolDefinition) -> Obj:
    return definition_tree(write_function(tool), tool, GEMINI)


def _captured_function(tool: ToolDefinition) -> JsonObject:
    written, origin = with_keys(write_function(tool), tool, GEMINI), tool_origin(tool.name)
    return {key: labelled(value, origin=origin) for key, value in written.items()}


def _labelled(tool: RequestTool) -> RequestTool:
    """Return one of Google's own tools with origins on its values."""
    if isinstance(tool, ToolDefinition) or not (value := dictionary(tool.value)):
        return tool
    named = {key: labelled(inner, origin=tool_origin(key)) for key, inner in value.items()}
    return replace(tool, value=named)


_TIERS = {tier: tier for tier in ("default", "flex", "priority")} | {"auto": "", "fast": "priority"}


def _fitted(request: RequestEncoder, tools: Sequence[SentTool]) -> Parameters:
    """Return the parameters as the model accepts them. In its own protocol a request reasons as it
    did where the model accepts that.
    """
    choice, tier = request.tool_choice(tools), request.service_tier(_TIERS)
    limit, stop = request.reply_limit(), request.stop_sequences(_MAX_STOPS)
    fitted = request.parameters.with_values(
        tool_choice=choice, service_tier=tier, max_tokens=limit, stop=stop
    )
    fitted = request.accepted(fitted, TABLE)
    fitted = fitted.with_values(response_format=request.schema_only_format())
    notes: list[Note] = []
    thinking = settings.with_thinking(fitted, request.facts, notes, by_budget=request.captured)
    if request.captured and all(note.level is Level.INFO for note in notes):
        return fitted
    request.notes += notes
    return thinking


# --- the conversation --------------------------------------------------------------------


def _conversation(request: RequestEncoder, turns: Sequence[Turn]) -> JsonObject:
    """Return `systemInstruction`, if there is one, and `contents`."""
    spoken = [turn for turn in turns if turn.role != "system"]
    system = [turn for turn in turns if turn.role == "system"]
    for place, turn in enumerate(system):
        if turn is not turns[place]:
            sentence = "A later system message is moved to the system instruction: Gemini accepts "
            sentence += "none between other messages."
            request.notes.append(Note(Level.WARNING, "system-moved", sentence, turn.origin))
    contents = list(_contents(request, spoken))
    if _begins_with_call(spoken):
        contents.insert(0, _FILLER)
        request.notes.append(filler_note("Gemini accepts no tool call as the first content"))
    if not contents and system:
        contents.append(_FILLER)
        request.notes.append(filler_note("Gemini requires a message to answer"))
    elif not contents:
        request.notes.append(NOTHING_TO_SEND)
    instruction = _instruction(request, system)
    written = {} if instruction is None else {"systemInstruction": instruction}
    return {**written, "contents": Arr(tuple(contents))}


def _instruction(request: RequestEncoder, turns: Sequence[Turn]) -> Json:
    """Return the `systemInstruction`; None if there is none."""
    if len(turns) == 1 and turns[0].captured_from(GEMINI):
        sent = sent_content(turns[0], False)
        return write_content(turns[0], Arr(sent.parts, turns[0].origin))
    for turn in turns:
        request.notes += instruction_notes(turn)
    text = Text.join(SYSTEM_SEPARATOR, map(merged_text, turns))
    return {"parts": [{"text": text}]} if text.plain else None


def _begins_with_call(spoken: Sequence[Turn]) -> bool:
    """Return True if the first content has a tool call, and was not captured so."""
    for index, turn in enumerate(spoken):
        if turn.role != "assistant" or turn.captured_from(GEMINI):
            return False
        if turn.tool_calls:
            return index == 0 or _joins(spoken[index - 1 : index], turn)
    return False


def _contents(request: RequestEncoder, spoken: Sequence[Turn]) -> Iterator[Tree]:
    """Yield the contents, each of one turn or of several that are joined."""
    # From here on the first call of a turn must have a signature.
    signed = len(spoken)
    if "gemini-3" in request.model and not request.captured:
        users = (index for index, turn in enumerate(spoken) if turn.role == "user")
        signed = max(users, default=-1) + 1
    run: list[Turn] = []
    sent: list[SentContent] = []
    for index, turn in enumerate(spoken):
        if turn.role == "tool":
            turn = _named(spoken, index)
        content = sent_content(turn, index >= signed)
        if content.notes:
            request.notes += content.notes
        if run and not _joins(run, turn):
            yield _content_of(run, sent)
            run, sent = [], []
        run.append(turn)
        sent.append(content)
    if run:
        yield _content_of(run, sent)


def _content_of(run: Sequence[Turn], sent: Sequence[SentContent]) -> Tree:
    return sent[0].content if len(run) == 1 else _joined_content(run[0], *sent)


@Memo
def _joined_content(first: Turn, *sent: SentContent) -> Obj:
    parts = [part for each in sent for part in each.parts]
    return object_of(write_content(first, parts), first.origin)


def _joins(run: Sequence[Turn], turn: Turn) -> bool:
    """Return True if a turn belongs to the content of the turns before it."""
    before = run[-1]
    if turn.captured_from(GEMINI):
        # The turn that it was joined to may be muted, or comes later in a session.
        is_moved = turn.role == "tool" and form_of(run[0], GEMINI) == JOINED
        if not is_moved:
            return form_of(turn, GEMINI) == JOINED and before.role != "assistant"
    if turn.role == "assistant":
        return before.role == "assistant" and not before.tool_calls
    return turn.role == "tool" and before.role == "tool"


def _named(spoken: Sequence[Turn], index: int) -> Turn:
    """Return a result with the name of the call that it answers; any other turn as it is."""
    turn = spoken[index]
    head = turn.result
    if head is None or head.name or turn.captured_from(GEMINI):
        return turn
    before = (spoken[place].tool_calls for place in range(index - 1, -1, -1))
    calls = next(filter(None, before), ())
    name = {call.id: call.name for call in calls}.get(head.call_id)
    if not name:
        return turn
    return variant(turn, ("named", name), lambda old: with_block(old, 0, replace(head, name=name)))


# --- reading -----------------------------------------------------------------------------

_PLACES: Places = {
    "systemInstruction": {},
    "generationConfig": {"thinkingConfig": {}},
    "toolConfig": {"functionCallingConfig": {}},
}
"""The objects of a request whose keys are the protocol's."""
_BARE = "bare"
"""The word of the form of a request whose `tools` is one group and no list."""


class _Reader(RequestReader):
    """Reads keys in snake_case too, and functions in their groups."""

    __slots__ = ()

    def read(self, body: JsonObject) -> ChatEnvelope:
        wire, form = camel(body, _PLACES)
        if group := dictionary(wire.get("tools")):
            wire, form = {**wire, "tools": [group]}, f"{form} {_BARE}".strip()
        request = RequestReader.read(self, wire)
        rest = request.rest
        return request if rest is None else replace(request, rest=replace(rest, form=form))

    def write(self, envelope: ChatEnvelope) -> JsonObject:
        return _as_spelled(RequestReader.write(self, envelope), envelope.rest)

    def read_tools(self, listed: Json) -> Iterator[RequestTool]:
        groups = items_of(listed)
        return (tool for group in groups for tool in settings.read_group(group, self.native))

    def write_tools(self, tools: Sequence[RequestTool]) -> list[Json]:
        def write(tool: ToolDefinition) -> JsonObject:
            return patched(plain(write_function(tool)), tool.extras)

        return settings.write_groups(tools, write)


def _as_spelled(body: JsonObject, rest: Extras | None) -> JsonObject:
    """Return a body with the keys in snake_case that a captured request has so."""
    words = rest.form.split() if rest is not None else []
    groups = body.get("tools")
    if _BARE in words and isinstance(groups, list) and len(cast("list[Json]", groups)) == 1:
        body = {**body, "tools": groups[0]}
    return spelled(body, words, _PLACES)


def _read_turns(body: JsonObject) -> list[Turn]:
    instruction = read_instruction(dictionary(body.get("systemInstruction")))
    turns = [instruction] if instruction is not None else []
    for index, content in enumerate(objects_at(body, "contents")):
        turns += read_content(content, len(turns) + 1, f"contents[{index}]")
    return turns


def _write_turns(turns: Sequence[Turn]) -> JsonObject:
    body: JsonObject = {}
    runs: list[tuple[Turn, list[Json]]] = []
    for turn in turns:
        if turn.role == "system":
            body["systemInstruction"] = write_content(turn, write_parts(turn))
        elif runs and form_of(turn, GEMINI) == JOINED:
            runs[-1][1].extend(write_parts(turn))
        else:
            runs.append((turn, write_parts(turn)))
    return {**body, "contents": [write_content(first, parts) for first, parts in runs]}


_KNOWN = frozenset(
    (
        *("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"),
        *("functionCall", "function_call", "functionResponse", "function_response"),
        *("inlineData", "inline_data", "fileData", "file_data"),
        *("toolCall", "tool_call", "toolResponse", "tool_response"),
    )
)
"""Types of content that the protocol has beside those of the blocks."""

READER = _Reader(
    GEMINI,
    TABLE,
    _read_turns,
    _write_turns,
    settings.read_function,
    write_function,
    settings.read_hosted,
    settings.write_hosted,
    conversation="contents",
    known=_KNOWN,
)
