"""Encode an envelope as an Anthropic Messages request, and read one.

1. `POST /v1/messages`; `model`, `max_tokens` and `messages` are required.
2. Tool calls are answered in the user message that follows, whose results come first. Ids
   have letters, digits, `_` and `-`, and no two calls share one.
3. Leading system turns are text blocks of the top-level `system`. A later one stays in place
   if the model accepts that and it follows a user turn and precedes an assistant turn or nothing;
   else it is moved to the top or becomes a user turn, with a note.
4. All results of a turn are in one user message. A captured message that held several turns holds
   them again.
5. A conversation must end with something to answer. If a blank user turn was left out at its end,
   if there are only system turns, or if the model does not continue an assistant turn, the smallest
   possible user message is added, with a note.
6. A final assistant text must not end in white space, so that is cut, with a note.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tui_chat.models.blocks import Json, JsonObject, OpaqueBlock, form_of
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ChatEnvelope, Level, Note, ToolDefinition, Turn
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import is_newer_claude
from tui_chat.models.payload import Arr, Obj, Str, Tree
from tui_chat.protocols.anthropic.messages import (
    ANTHROPIC,
    JOINED,
    SYSTEM,
    SentTurn,
    framed,
    read_message,
    read_system,
    sent_turn,
    trimmed_message,
    write_content,
    write_message,
)
from tui_chat.protocols.anthropic.settings import (
    HOSTED,
    SEARCH_OPTIONS,
    TABLE,
    fitted,
    read_function,
    read_hosted,
    write_function,
    write_hosted,
)
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.losses import (
    FILLER,
    NOTHING_TO_SEND,
    begins_reply,
    filler_note,
    reason_note,
)
from tui_chat.protocols.common.reading import RequestReader, objects_at, string
from tui_chat.protocols.common.request_encoder import (
    RequestedTool,
    RequestEncoder,
    SentTool,
    functions_of,
    written_tool,
)
from tui_chat.protocols.common.tools import NAMES_128, definition_tree, object_schema
from tui_chat.protocols.common.trees import Word, dictionary, object_of, plain
from tui_chat.protocols.common.turn_fit import variant

VERSION = "2026-10-21"
"""The `anthropic-version` that the official SDK (2.x) sends."""

_RULES = PairingRules(NAMES_128, unique_ids=True, id_forbidden=re.compile(r"[^A-Za-z0-9_-]"))
_CAPTURED_RULES = replace(_RULES, captured=True, by_run=True)
_FILLER = object_of({"role": Word("user"), "content": Word(FILLER)})


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    # Only presets, and requests of other protocols, have cache marks that Anthropic might refuse.
    doubtful = bool(envelope.cache_marks) or request.is_converted
    rules = _CAPTURED_RULES if request.captured else _RULES
    conversation = _Conversation(request, request.block_turns(rules, limits_marks=doubtful))
    body = conversation.written()
    tools = request.sent_tools(tuple(HOSTED), SEARCH_OPTIONS)
    written = _written_tools(request, tools)
    begun, has_tools = conversation.unthinking_beginning(), bool(written)
    settings = request.written(TABLE, lambda: fitted(request, tools, begun, has_tools=has_tools))
    body = request.body(settings, body | request.tools_key(written), ("model", "max_tokens"))
    return request.encoded("/v1/messages", body, headers=version_header(endpoint))


def version_header(endpoint: Endpoint) -> tuple[tuple[str, str], ...]:
    """Return the `anthropic-version` header, which every request to the API needs."""
    return (("anthropic-version", endpoint.api_version or VERSION),)


def _written_tools(request: RequestEncoder, tools: Sequence[SentTool]) -> list[Json]:
    """Return the tools. Of those that Anthropic runs none may have the name of a function."""
    functions = {tool.name for tool in functions_of(tools)}
    written: list[Json] = []
    for tool in tools:
        if isinstance(tool, RequestedTool):
            search = tool.tool.search
            if tool.tool.kind in functions:
                request.leave_tool_out(tool, "a function has its name")
                continue
            if search.allowed_domains and search.blocked_domains:
                request.leave_tool_out(tool, "Anthropic accepts one list of sites")
                continue
        written.append(written_tool(tool, lambda f: _function(f, request.captured), write_hosted))
    return written


@Memo
def _function(tool: ToolDefinition, captured: bool) -> Obj:
    if not captured:
        tool = replace(tool, parameters=object_schema(tool))
    return definition_tree(write_function(tool), tool, ANTHROPIC)


# --- the conversation --------------------------------------------------------------------


class _Conversation:
    """The turns of a request in their places."""

    def __init__(self, request: RequestEncoder, turns: Sequence[Turn]) -> None:
        self._request = request
        self._system: list[Turn] = []
        self._runs: list[list[Turn]] = []
        """The turns of each message."""
        self._ends_blank = False
        """True if the last turn was a user's and was left out."""
        self._is_filled = False
        """True if a user message is added at the end."""
        self._has_turns = bool(turns)
        model, facts = request.model, request.facts
        self._why_no_prefill = ""
        """The reason why it may not end with a message of the model; empty if it may."""
        if facts.prefill is False:
            self._why_no_prefill = f"{model} does not continue an assistant message"
        elif facts.prefill is None and is_newer_claude(model):
            self._why_no_prefill = (
                f"it is not known whether {model} continues an assistant message, and the newest "
                "known Claude models do not"
            )
        if self._why_no_prefill and request.envelope.source is None:
            turns = self._without_prefill(turns)
        for index, turn in enumerate(turns):
            is_own = turn.captured_from(ANTHROPIC)
            is_elsewhere = is_own and form_of(turn, ANTHROPIC) != SYSTEM
            if turn.role == "system" and len(self._system) == index and not is_elsewhere:
                self._system.append(turn)
            elif turn.role == "system" and not (is_own or self._may_stay(turns, index)):
                self._move(turn)
            else:
                self._add(turn)

    def _without_prefill(self, turns: Sequence[Turn]) -> Sequence[Turn]:
        """Return the turns with the beginning of the reply as the user's, with notes on it: as a
        user message it still steers the reply. The model's own last message stays its own.
        """
        first = len(turns)
        while first and begins_reply(turns[first - 1]):
            first -= 1
        for turn in turns[first:]:
            sentence = f"The beginning of the reply ({turn.origin.label}) is sent as a user "
            sentence += f"message: {self._why_no_prefill}."
            note = Note(Level.WARNING, "prefill-as-user", sentence, turn.origin)
            self._request.notes.append(note)
        return [*turns[:first], *(variant(turn, "as user", _as_user) for turn in turns[first:])]

    def _may_stay(self, turns: Sequence[Turn], index: int) -> bool:
        """Return True if a later system turn is where the API accepts one."""
        before = next((t.role for t in reversed(turns[:index]) if t.role != "system"), "")
        after = next((t.role for t in turns[index:] if t.role != "system"), "assistant")
        is_between = before in ("user", "tool") and after == "assistant"
        return is_between and self._request.facts.mid_history_system is True

    def _move(self, turn: Turn) -> None:
        """Add a later system turn at another place, or as the user's."""
        is_known = self._request.facts.mid_history_system is not None
        why = (
            "this model accepts none there"
            if is_known
            else "it is unknown if the model accepts one"
        )
        is_hoisted = self._request.endpoint.system_fallback == "hoist"
        what = "moved to the top" if is_hoisted else "sent as a user message"
        sentence = f"A later system message is {what}: {why}."
        self._request.notes.append(Note(Level.WARNING, "system-moved", sentence, turn.origin))
        if is_hoisted:
            self._system.append(turn)
        else:
            self._add(variant(turn, "as user", _as_user))

    def _add(self, turn: Turn) -> None:
        """Add a turn to the messages, if anything of it is sent."""
        sent = sent_turn(turn)
        self._request.notes += sent.notes
        self._ends_blank = sent.message is None and turn.role == "user"
        if sent.message is None:
            self._request.notes.append(reason_note("message", turn.origin, ANTHROPIC))
        elif self._runs and _joins(self._runs[-1][-1], turn):
            self._runs[-1].append(turn)
        else:
            self._runs.append([turn])

    def written(self) -> JsonObject:
        """Return `system`, if there is one, and `messages`, whose end is valid."""
        messages: list[Tree] = []
        for first, *others in self._runs:
            message = sent_turn(first).message
            if others:
                message = _joined_message(first, *map(sent_turn, (first, *others)))
            assert message is not None
            messages.append(message)
        last, why = (self._runs[-1][-1] if self._runs else None), ""
        if last is None:
            why = "Anthropic requires a message to answer" if self._has_turns else ""
            self._request.notes += [] if why else [NOTHING_TO_SEND]
        elif self._ends_blank:
            why = "the last message is blank, and blank text is refused"
        elif last.role == "assistant" and not _is_paused(last):
            why = self._why_no_prefill
            if not why and (trimmed := trimmed_message(last)) is not None:
                messages[-1] = trimmed
                sentence = (
                    "Final white space of the last assistant message is refused, so it is removed."
                )
                note = Note(Level.INFO, "space-cut", sentence, last.origin)
                self._request.notes.append(note)
        if why:
            self._is_filled = True
            messages.append(_FILLER)
            self._request.notes.append(filler_note(why))
        system = self._written_system()
        return {**({} if system is None else {"system": system}), "messages": Arr(tuple(messages))}

    def _written_system(self) -> Tree | None:
        """Return the top-level `system`; None if there is none."""
        if len(self._system) == 1 and self._system[0].captured_from(ANTHROPIC):
            message = sent_turn(self._system[0]).message
            content = message.get("content") if message is not None else None
            if isinstance(content, Str):
                return content
        blocks: list[Tree] = []
        for turn in self._system:
            sent = sent_turn(turn)
            self._request.notes += sent.notes
            if not sent.blocks:
                self._request.notes.append(reason_note("message", turn.origin, ANTHROPIC))
            blocks += sent.blocks
        return Arr(tuple(blocks)) if blocks else None

    def unthinking_beginning(self) -> str:
        """Return what the model's last turn begins with, if the request goes on with that turn and
        it does not begin with thinking; empty if it does, or if the user's turn is next.

        A turn lasts from call to call, and user messages with results are a part of it: “Expected
        `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final
        `assistant` message must start with a thinking block” [I: opencode#3077, llm-functions#222].
        """
        begun, answered, has_results = "", self._is_filled, False
        for run in reversed(self._runs):
            if run[0].role in ("user", "tool"):
                answered = True
                has_results = has_results or any(turn.role == "tool" for turn in run)
            elif run[0].role == "assistant":
                if answered and not has_results:
                    break
                blocks = sent_turn(run[0]).blocks
                kind = string(dictionary(plain(blocks[0])), "type") if blocks else ""
                begun = {"text": "a text", "tool_use": "a call"}.get(kind, "")
                if not begun:
                    break
                answered = has_results = False
        return begun


def _as_user(turn: Turn) -> Turn:
    return replace(turn, role="user", extras=None)


def _joins(before: Turn, turn: Turn) -> bool:
    """Return True if a turn belongs to the message of the turn before it."""
    if turn.captured_from(ANTHROPIC):
        return form_of(turn, ANTHROPIC) == JOINED and before.role in ("user", "tool")
    return turn.role == "tool" == before.role


@Memo
def _joined_message(first: Turn, *sent: SentTurn) -> Obj:
    blocks = [block for each in sent for block in each.blocks]
    return object_of(framed(first, blocks), first.origin)


def _is_paused(turn: Turn) -> bool:
    """Return True if Anthropic paused the final turn of the model."""
    return any(isinstance(b, OpaqueBlock) and b.protocol is ANTHROPIC for b in turn.blocks)


# --- reading -----------------------------------------------------------------------------


def _read_turns(body: JsonObject) -> list[Turn]:
    turns = list(read_system(body.get("system")))
    for place, wire in enumerate(objects_at(body, "messages")):
        turns += read_message(wire, place, len(turns) + 1)
    return turns


def _write_turns(turns: Sequence[Turn]) -> JsonObject:
    system: list[tuple[list[Json], Json]] = []
    runs: list[list[Turn]] = []
    for turn in turns:
        if form_of(turn, ANTHROPIC) == SYSTEM:
            system.append(write_content(turn))
        elif form_of(turn, ANTHROPIC) == JOINED:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    content = [block for blocks, _ in system for block in blocks]
    written = {"system": system[0][1] if len(system) == 1 else content} if system else {}
    return {**written, "messages": [write_message(run) for run in runs]}


_KNOWN = frozenset(
    (
        *("image", "document", "search_result", "thinking", "redacted_thinking", "tool_use"),
        *("tool_result", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result"),
        *("code_execution_tool_result", "bash_code_execution_tool_result", "mcp_tool_use"),
        *("text_editor_code_execution_tool_result", "mcp_tool_result", "container_upload"),
        *("tool_search_tool_result", "tool_reference", "compaction", "fallback"),
        *("advisor_tool_result",),
    )
)
"""Types of content that the protocol has beside those of the blocks."""

READER = RequestReader(
    ANTHROPIC,
    TABLE,
    _read_turns,
    _write_turns,
    read_function,
    write_function,
    read_hosted,
    write_hosted,
    known=_KNOWN,
)
