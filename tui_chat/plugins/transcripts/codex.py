"""Codex's rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`.

The format is internal to the program; this was read from files of its versions 0.46 to 0.169.

1. Everything is there twice: as `response_item`, which the model saw and said, and as `event_msg`
   for the screen. Items are read; of the events only roll-backs, aborts, names and counts.
2. What stands between two texts of the model is one answer: reasoning, calls and their results,
   which come in any order. A report of tokens, or reasoning after results, ends an answer too.
3. User messages that the program puts in are not messages. Newer versions mark them; in older ones
   no `user_message` event follows them.
4. A file is linear. `thread_rolled_back` takes user turns back: they stay as a branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from tui_chat.interop.formats import FoundConversation, ImportSource, LinesFormat
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp, stable_id
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock, ReasoningBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import JsonObject, as_array, as_count, as_object, as_string, to_json
from tui_chat.models.usage import Usage
from tui_chat.plugins.transcripts.steps import (
    SUBAGENT,
    Result,
    Step,
    add_steps,
    found_conversation,
    joined,
    parsed,
    pictures_of,
    reasoning,
    result_text,
    texts_of,
    unknown_content,
)

_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_INSERTED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|skills_instructions|permissions|"
    r"collaboration_mode|turn_aborted|INSTRUCTIONS|personality_spec|subagent_notification)|"
    r"# AGENTS\.md instructions)"
)
"""The beginning of a user message that the program put in."""
_IMAGE_TAG = re.compile(r"\s*(?:<image(?: name=[^<>]{0,200})?>|</image>)\s*")
"""A text before or after a picture of the user's."""
_WRAPPED = re.compile(r"\s*# (?:Context from my IDE setup|Files mentioned by the user):")
_REQUEST = "## My request for Codex:"
"""The heading above the user's own words where an editor puts in what is open there."""
_HOSTED = {
    "web_search_call": "web_search",
    "image_generation_call": "image_generation",
    "tool_search_call": "tool_search",
}
"""Calls that the provider runs, and their names here."""
_ARGUMENTS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
}
"""The keys of the arguments of calls."""
_CONTENT = frozenset({"input_text", "output_text", "text", "input_image"})
"""Types of content that are read, of messages and of outputs."""


def _is_record(data: JsonObject) -> bool:
    return isinstance(data.get("payload"), dict) and as_string(data.get("type")) in _TYPES


@dataclass(slots=True)
class _RolloutReader:
    source: ImportSource
    meta: JsonObject = field(default_factory=dict[str, object])
    title: str = ""
    model: str = ""
    steps: list[Step] = field(default_factory=list[Step])
    answer: Step | None = None
    """The answer that is not complete yet."""
    before: Step | None = None
    """The last step of the active path."""
    turns: list[Step] = field(default_factory=list[Step])
    """The user's messages of the active path."""
    by_call: dict[str, Step] = field(default_factory=dict[str, Step])
    notes: list[str] = field(default_factory=list[str])
    timestamp: float | None = None
    has_events: bool = False
    """True if user messages are repeated as events."""
    maybe_inserted: list[Step] = field(default_factory=list[Step])
    """User messages without a mark and, so far, without an event."""

    def take(self, data: JsonObject) -> str:
        """Take in a record; return why it cannot be used, empty if it can."""
        kind = data.get("type")
        self.timestamp = parse_timestamp(data.get("timestamp")) or self.timestamp
        if not isinstance(kind, str):
            return "has no type"
        if kind in _TYPES and not isinstance(data.get("payload"), dict):
            return f"must have a payload, as a record of type {kind}"
        payload = as_object(data.get("payload"))
        match kind:
            case "session_meta":
                if not self.meta:
                    self.meta = payload
            case "response_item":
                self._item(payload)
            case "event_msg":
                self._event(payload)
            case "turn_context":
                self.model = as_string(payload.get("model")) or self.model
            case "compacted":
                self._compacted(payload)
            case _:
                pass  # a type of a newer version
        return ""

    def _add(self, role: str) -> Step:
        key, sender = str(len(self.steps)), "user" if role == "user" else "assistant"
        step = Step(key, sender, self.before, timestamp=self.timestamp)
        self.steps.append(step)
        self.before = step
        return step

    def _current(self) -> Step:
        """Return the answer that calls and reasoning belong to."""
        if self.answer is None:
            self.answer = self._add("assistant")
            self.answer.model = self.model
        return self.answer

    def _item(self, item: JsonObject) -> None:
        match as_string(item.get("type")):
            case "message":
                self._message(item)
            case "reasoning":
                self._reasoning(item)
            case "function_call" | "custom_tool_call" | "local_shell_call" as kind:
                name = as_string(item.get("name")) or "shell"
                self._call(as_string(item.get("call_id")), name, item.get(_ARGUMENTS[kind]))
            case "function_call_output" | "custom_tool_call_output":
                self._output(item)
            case kind if kind in _HOSTED:
                self._call("", _HOSTED[kind], as_object(item.get("action")))
            case _:
                pass

    def _message(self, item: JsonObject) -> None:
        role = as_string(item.get("role"))
        if role in ("user", "assistant"):
            self._note_unknown(item.get("content"))
        texts = list(filter(None, texts_of(item.get("content"))))
        if role == "assistant":
            answer = self._current()
            if answer.calls or answer.results:
                self.answer = None
                answer = self._current()
            answer.texts += texts
        elif role == "user":
            self._user(item, texts)

    def _user(self, item: JsonObject, texts: list[str]) -> None:
        mark = as_object(item.get("internal_chat_message_metadata_passthrough"))
        kinds = as_array(mark.get("content_item_kinds"))
        own = [kind for kind in kinds if isinstance(kind, str) and kind.startswith("user.")]
        if (kinds and not own) or (not kinds and texts and _INSERTED.match(texts[0])):
            return
        self.answer = None
        step = self._add("user")
        own_texts = (_own_words(text) for text in texts if not _IMAGE_TAG.fullmatch(text))
        step.texts = list(own_texts)
        step.parts = pictures_of(item.get("content"), self.notes)
        self.turns.append(step)
        if not kinds:
            self.maybe_inserted.append(step)

    def _reasoning(self, item: JsonObject) -> None:
        if self.answer is not None and self.answer.results:
            self.answer = None
        answer, item_id = self._current(), as_string(item.get("id"))
        parts: list[ReasoningBlock] = []
        for key in ("summary", "content"):
            for text in filter(None, texts_of(item.get(key))):
                is_more = bool(parts and item_id)  # a part of the same item
                form = f"{'more ' * is_more}{'content' * (key == 'content')}".strip()
                identity = "" if is_more else item_id
                parts.append(reasoning(Protocol.OPENAI_RESPONSES, text, form, id=identity))
        hidden = as_string(item.get("encrypted_content"))
        if hidden and not parts:
            keys = {"id": item_id, "encrypted_content": hidden}
            parts = [reasoning(Protocol.OPENAI_RESPONSES, "", **keys)]
        answer.reasoning += parts

    def _call(self, call_id: str, name: str, arguments: object) -> None:
        answer = self._current()
        call_id = call_id or f"call_{answer.key}_{len(answer.calls)}"
        self.by_call[answer.call(call_id, name, arguments)] = answer

    def _output(self, item: JsonObject) -> None:
        call_id = as_string(item.get("call_id"))
        text, parts, failed = self._output_content(item.get("output"))
        owner = self.by_call.get(call_id)
        if owner is None:
            self.answer = None
            owner = self._add("assistant")
        owner.results.append(Result(call_id, text, "", failed, parts, self.timestamp))

    def _output_content(self, output: object) -> tuple[str, list[MediaBlock], bool]:
        if isinstance(output, str):
            text, code = _unwrapped(as_string(output))
            return text, [], bool(code)
        blocks = as_array(output)
        if not blocks:
            fields = as_object(output)
            text = fields.get("content", output)
            return result_text(text), [], fields.get("success") is False
        self._note_unknown(output)
        return joined(texts_of(output)), pictures_of(output, self.notes), False

    def _note_unknown(self, blocks: object) -> None:
        for block in map(as_object, as_array(blocks)):
            if as_string(block.get("type")) not in _CONTENT:
                self.notes.append(unknown_content(block))

    def _compacted(self, payload: JsonObject) -> None:
        self.answer = None
        text = as_string(payload.get("message"))
        if not text:  # newer versions keep the summary in the history that replaces the old one
            history = as_array(payload.get("replacement_history"))
            text = joined(texts_of(as_object(history[-1]).get("content"))) if history else ""
        if text:
            step = self._add("user")
            step.texts, step.is_summary = [text], True

    def _event(self, event: JsonObject) -> None:
        match as_string(event.get("type")):
            case "user_message":
                self.has_events = True
                if self.turns and self.maybe_inserted[-1:] == self.turns[-1:]:
                    self.maybe_inserted.pop()
            case "thread_rolled_back":
                self.answer = None
                for _ in range(min(as_count(event.get("num_turns")) or 0, len(self.turns))):
                    self.before = self.turns.pop().parent
            case "turn_aborted":
                answer = self.answer  # a text is stored only when it is complete
                if answer is not None and len(answer.results) < len(answer.calls):
                    answer.status = "stopped"
            case "thread_name_updated":
                self.title = as_string(event.get("thread_name")) or as_string(event.get("name"))
            case "token_count":
                self._count(as_object(as_object(event.get("info")).get("last_token_usage")))
            case _:
                pass

    def _count(self, counts: JsonObject) -> None:
        """Set the usage of the answer, which ends with it."""
        answer, self.answer = self.answer, None
        if answer is not None and counts:
            answer.usage = Usage(
                as_count(counts.get("input_tokens")),
                as_count(counts.get("output_tokens")),
                as_count(counts.get("cached_input_tokens")),
                reasoning=as_count(counts.get("reasoning_output_tokens")),
            )

    def conversations(self) -> Iterator[FoundConversation]:
        """Yield the conversation."""
        if self.has_events:  # those without one were put in by the program
            for step in self.maybe_inserted:
                step.texts, step.parts = [], []
        name = as_string(self.meta.get("id")) or self.source.name
        tree = TranscriptBuilder("codex", name or to_json([s.texts for s in self.steps[:2]]))
        ends = add_steps(tree, self.steps)
        origin = as_object(as_object(self.meta.get("source")).get("subagent"))
        parent = as_string(as_object(origin.get("thread_spawn")).get("parent_thread_id"))
        transcript = tree.transcript(
            title=self.title,
            head_id=ends.get(self.before),
            created=parse_timestamp(self.meta.get("timestamp")),
            model=self.model,
            tags=(SUBAGENT,) if origin else (),
        )
        yield found_conversation(
            "",
            transcript,
            self.notes,
            parent_id=stable_id("codex", parent) if parent else "",
            project=as_string(self.meta.get("cwd")),
        )


def _own_words(text: str) -> str:
    """Return a user's text without what an editor put in front of it."""
    if not _WRAPPED.match(text):
        return text
    _, mark, words = text.partition(_REQUEST)
    return words.lstrip() if mark else text


def _unwrapped(text: str) -> tuple[str, int]:
    """Return the output in the JSON that older versions put around it, and the exit code."""
    if not text.startswith("{"):
        return text, 0
    wrapper = as_object(parsed(text))
    inner = wrapper.get("output")
    if not isinstance(inner, str) or not wrapper.keys() <= {"output", "metadata"}:
        return text, 0
    return as_string(inner), as_count(as_object(wrapper.get("metadata")).get("exit_code")) or 0


FORMATS = (LinesFormat(_is_record, _RolloutReader),)
