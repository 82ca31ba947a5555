"""Claude Code's sessions: `~/.claude/projects/PROJECT/SESSION.jsonl`.

The format is internal to the program; this was read from files of its versions 2.1.197 and
2.1.330.

1. Records form a tree by `uuid` and `parentUuid`. One answer of the model is several records with
   one `message.id`, and tool results are user records; joined by these ids, parallel calls do not
   look like a branch. A branch is two user messages after the same one.
2. After a compaction the chain begins again; `logicalParentUuid` leads back. The summary is kept.
3. Text that the program puts in (commands, reminders, meta records) is not a message. What the user
   writes while the model works is one, although it is an attachment.
4. Subagents are conversations of their own: files in `SESSION/subagents`, and in older versions
   records with `isSidechain` within the file.
5. Unknown record types are passed over, since every version adds some.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from tui_chat.errors import InputError
from tui_chat.files import read_file
from tui_chat.interop.formats import FoundConversation, ImportSource, LinesFormat
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp, stable_id
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.json_text import JsonObject, as_array, as_count, as_object, as_string
from tui_chat.models.session import SessionTranscript
from tui_chat.models.usage import Usage
from tui_chat.plugins.transcripts.json_text import read_records
from tui_chat.plugins.transcripts.steps import (
    SUBAGENT,
    Result,
    Step,
    add_steps,
    anthropic_reasoning,
    cut_elements,
    found_conversation,
    joined,
    parsed,
    part_of_base64,
    texts_of,
    total,
    unknown_content,
)

_TYPES = frozenset({
    "user", "assistant", "system", "attachment", "summary", "custom-title", "ai-title",
    "last-prompt", "queue-operation", "mode", "permission-mode", "file-history-snapshot",
    "progress", "tag", "pr-link", "agent-name", "agent-color",
    "api-request", "api-request-blob", "api-request-shape",
})  # fmt: skip
_CHAINED = frozenset({"sessionId", "parentUuid", "leafUuid", "isSidechain"})
_INSERTED = re.compile(
    r"\s*(?:<(?:command-|local-command-|bash-(?:input|stdout|stderr)|task-notification|"
    r"system-reminder|ide_|user-prompt-submit-hook)|\[Request interrupted by user)"
)
"""The beginning of a text that the program put in."""
_INTERRUPTED = "[Request interrupted by user"
_LARGEST_META = 2**16
_MOST_SUBAGENTS = 1_000


def _is_record(data: JsonObject) -> bool:
    kind = data.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        return False
    return not _CHAINED.isdisjoint(data) or (kind == "file-history-snapshot" and "snapshot" in data)


@dataclass(slots=True)
class _Conversation:
    """The main conversation of a file, or one of a subagent."""

    steps: list[Step] = field(default_factory=list[Step])
    parents: dict[Step, str] = field(default_factory=dict[Step, str])
    """The uuid that each step names."""
    previous: dict[Step, Step] = field(default_factory=dict[Step, Step])
    """The step before it in the file."""
    by_uuid: dict[str, Step] = field(default_factory=dict[str, Step])
    by_message: dict[str, Step] = field(default_factory=dict[str, Step])
    by_call: dict[str, Step] = field(default_factory=dict[str, Step])
    agent: str = ""

    def connect(self) -> None:
        """Give each step its parent. One that is not in the file is replaced by the step before."""
        for step in self.steps:
            if named := self.parents.get(step, ""):
                step.parent = self.by_uuid.get(named, self.previous.get(step))


@dataclass(slots=True)
class _SessionReader:
    """Reads the records of one file."""

    source: ImportSource = field(default_factory=ImportSource)
    main: _Conversation = field(default_factory=_Conversation)
    sides: dict[str, _Conversation] = field(default_factory=dict[str, _Conversation])
    """Subagents by their id or, in older files, by the record that they begin with."""
    side_of: dict[str, str] = field(default_factory=dict[str, str])
    """The subagent of each sidechain record."""
    session: str = ""
    cwd: str = ""
    titles: dict[str, str] = field(default_factory=dict[str, str])
    """By the type of the record."""
    summaries: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The uuid that a summary ends with, and its text."""
    leaf: str = ""
    after_leaf: bool = False
    """True if steps were added since the leaf was noted."""
    notes: list[str] = field(default_factory=list[str])
    subagents: dict[str, str] = field(default_factory=dict[str, str])
    """By the calls that started them."""

    def take(self, data: JsonObject) -> str:
        """Take in a record; return why it cannot be used, empty if it can."""
        kind = data.get("type")
        if not isinstance(kind, str):
            return "has no type"
        self.session = self.session or as_string(data.get("sessionId"))
        self.cwd = self.cwd or as_string(data.get("cwd"))
        match kind:
            case "user" | "assistant":
                if not isinstance(data.get("message"), dict):
                    return f"must have a message, as a record of type {kind}"
                self._message(data, kind)
            case "custom-title":
                self.titles[kind] = as_string(data.get("customTitle"))
            case "ai-title":
                self.titles[kind] = as_string(data.get("aiTitle"))
            case "summary":
                summary = as_string(data.get("leafUuid")), as_string(data.get("summary"))
                self.summaries.append(summary)
            case "last-prompt":
                self.leaf, self.after_leaf = as_string(data.get("leafUuid")), False
            case _:
                if as_string(data.get("uuid")):
                    step = self._step(self._conversation_of(data), data, "system")
                    attachment = as_object(data.get("attachment"))
                    is_queued = as_string(attachment.get("type")) == "queued_command"
                    if is_queued and as_string(attachment.get("commandMode")) in ("", "prompt"):
                        blocks = list(_blocks(attachment.get("prompt")))
                        step.texts, step.parts = _own_content(blocks)
        return ""

    def _conversation_of(self, data: JsonObject) -> _Conversation:
        if data.get("isSidechain") is not True:
            self.after_leaf = True
            return self.main
        uuid, parent = as_string(data.get("uuid")), as_string(data.get("parentUuid"))
        key = as_string(data.get("agentId")) or self.side_of.get(parent) or uuid
        self.side_of[uuid] = key
        return self.sides.setdefault(key, _Conversation(agent=key))

    def _step(self, talk: _Conversation, data: JsonObject, role: str) -> Step:
        """Add a step for a record, as yet without content."""
        uuid = as_string(data.get("uuid")) or f"#{len(talk.steps)}"
        parent = as_string(data.get("parentUuid")) or as_string(data.get("logicalParentUuid"))
        step = Step(
            uuid,
            "assistant" if role == "assistant" else "user",
            timestamp=parse_timestamp(data.get("timestamp")),
        )
        if talk.steps:
            talk.previous[step] = talk.steps[-1]
        talk.parents[step] = parent
        talk.steps.append(step)
        talk.by_uuid[uuid] = step
        return step

    def _message(self, data: JsonObject, kind: str) -> None:
        talk = self._conversation_of(data)
        uuid, message = as_string(data.get("uuid")), as_object(data.get("message"))
        if uuid in talk.by_uuid:
            return  # a session that was resumed can repeat its records
        if kind == "assistant":
            self._answer(talk, data, message, uuid)
        else:
            self._user(talk, data, message, uuid)

    def _answer(
        self, talk: _Conversation, data: JsonObject, message: JsonObject, uuid: str
    ) -> None:
        message_id, model = as_string(message.get("id")), as_string(message.get("model"))
        step = talk.by_message.get(message_id)
        if step is None:
            step = self._step(talk, data, "assistant")
            if message_id:
                talk.by_message[message_id] = step
        if uuid:
            talk.by_uuid[uuid] = step
        is_synthetic = model == "<synthetic>"
        step.model = "" if is_synthetic else model
        step.usage = _usage(as_object(message.get("usage")))
        step.finish = as_string(message.get("stop_reason")) or step.finish
        if data.get("isApiErrorMessage") is True:
            step.status, step.error = "failed", as_string(data.get("error")) or "API error"
        content = message.get("content")
        texts = texts_of(list(_blocks(content)))
        if is_synthetic and step.status != "failed" and texts == ["No response requested."]:
            return
        for block in _blocks(content):
            match as_string(block.get("type")):
                case "text":
                    step.texts.append(as_string(block.get("text")))
                case "thinking" | "redacted_thinking":
                    step.reasoning.append(anthropic_reasoning(block))
                case "tool_use" | "server_tool_use":
                    call_id, name = as_string(block.get("id")), as_string(block.get("name"))
                    talk.by_call[step.call(call_id, name, block.get("input"))] = step
                case kind if kind.endswith("_tool_result"):  # of a tool that the provider runs
                    step.results.append(_hosted_result(block))
                case _:
                    self.notes.append(unknown_content(block))

    def _user(self, talk: _Conversation, data: JsonObject, message: JsonObject, uuid: str) -> None:
        blocks = list(_blocks(message.get("content")))
        timestamp = parse_timestamp(data.get("timestamp"))
        owner: Step | None = None
        others: list[JsonObject] = []
        for block in blocks:
            if as_string(block.get("type")) != "tool_result":
                others.append(block)
                continue
            result = _result(block, timestamp)
            self._note_unknown(_blocks(block.get("content")))
            owner = talk.by_call.get(result.call_id)
            if owner is None:
                owner = self._step(talk, data, "user")
            owner.results.append(result)
            if agent := as_string(as_object(data.get("toolUseResult")).get("agentId")):
                self.subagents[result.call_id] = agent
        if owner is not None and uuid:
            talk.by_uuid[uuid] = owner
        texts, parts = _own_content(others)
        self._note_unknown(others)
        is_summary = data.get("isCompactSummary") is True
        if is_summary:
            texts = texts_of(others)
        elif data.get("isMeta") is True:
            texts, parts = [], []
        was_interrupted = any(text.startswith(_INTERRUPTED) for text in texts_of(others))
        if was_interrupted and talk.steps and talk.steps[-1].role == "assistant":
            talk.steps[-1].status = "stopped"
        if owner is not None and not (texts or parts):
            return
        step = self._step(talk, data, "user")
        if owner is not None:
            step.key, talk.parents[step] = f"{uuid}/text", owner.key
        step.texts, step.parts, step.is_summary = texts, parts, is_summary

    def _note_unknown(self, blocks: Iterable[JsonObject]) -> None:
        """Note the blocks of a user or of a result whose content is not read."""
        self.notes += (
            unknown_content(block)
            for block in blocks
            if as_string(block.get("type")) not in ("text", "image", "document")
        )

    def transcript(
        self, talk: _Conversation, tree: TranscriptBuilder, title: str = ""
    ) -> SessionTranscript:
        """Return the transcript of a conversation. The last message is that of the branch that the
        program would show.
        """
        talk.connect()
        ends = add_steps(tree, talk.steps)
        last = talk.steps[-1] if talk.steps else None
        if talk is self.main and not self.after_leaf:
            last = talk.by_uuid.get(self.leaf, last)
        is_main = talk is self.main
        return tree.transcript(
            title=self.title() if is_main else title,
            head_id=ends.get(last),
            tags=() if is_main else (SUBAGENT,),
        )

    def conversations(self) -> Iterator[FoundConversation]:
        """Yield the conversation, and those of its subagents."""
        source = self.source
        if not self.main.steps and len(self.sides) == 1:  # a subagent's own file
            (side,) = self.sides.values()
            title = as_string(subagent_facts(source.path).get("description")) if source.path else ""
            yield _subagent(self, side, title)
            return
        tree = TranscriptBuilder("claude-code", self.session or source.name)
        conversation = found_conversation(
            "",
            self.transcript(self.main, tree),
            self.notes,
            project=self.cwd,
            subagents={
                call: stable_id("claude-code", self.session, agent)
                for call, agent in self.subagents.items()
            },
        )
        if not conversation.ignored or not self.sides:
            yield conversation
        calls = {
            as_string(as_object(parsed(call.arguments)).get("prompt")): call.id
            for step in self.main.steps
            for call in step.calls
            if call.name in ("Agent", "Task")
        }
        for side in self.sides.values():
            first = next((text for step in side.steps for text in step.texts), "")
            call_id = calls.get(first, "")
            yield _subagent(self, side, "", tree.session_id, call_id)
        if source.path is not None:
            yield from _subagent_files(source, source.path, self.session, tree.session_id)

    def title(self) -> str:
        """Return the user's title, else the program's; empty if there is none for this file."""
        for kind in ("custom-title", "ai-title"):
            if self.titles.get(kind):
                return self.titles[kind]
        own = [text for leaf, text in self.summaries if leaf in self.main.by_uuid]
        return own[-1] if own else ""


def _blocks(content: object) -> Iterator[JsonObject]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        for item in as_array(content):
            yield {"type": "text", "text": item} if isinstance(item, str) else as_object(item)


def _hosted_result(block: JsonObject) -> Result:
    """Return the result of a provider's tool: its texts, titles and addresses, or its error."""
    content = block.get("content")
    blocks = [as_object(item) for item in as_array(content) or [content]]
    keys = ("title", "url", "text", "stdout", "stderr", "error_code")
    lines = ["\n".join(filter(None, (as_string(item.get(key)) for key in keys))) for item in blocks]
    failed = any("error_code" in item for item in blocks)
    return Result(as_string(block.get("tool_use_id")), joined(lines), failed=failed)


def _own_content(blocks: Sequence[JsonObject]) -> tuple[list[str], list[MediaBlock]]:
    """Return the texts and pictures of the user's own."""
    texts: list[str] = []
    parts: list[MediaBlock] = []
    for block in blocks:
        text = as_string(block.get("text"))
        if text and not _INSERTED.match(text):
            texts.append(cut_elements(text, "system-reminder")[0])
        elif part := _part(block):
            parts.append(part)
    return [text for text in texts if text], parts


def _part(block: JsonObject) -> MediaBlock | None:
    if as_string(block.get("type")) not in ("image", "document"):
        return None
    source = as_object(block.get("source"))
    if url := as_string(source.get("url")):
        return MediaBlock("image", url=url)
    if as_string(source.get("type")) == "text":
        text = as_string(source.get("data"))
        return MediaBlock("file", "text/plain", text=text, name=as_string(block.get("title")))
    name = as_string(block.get("title"))
    return part_of_base64(source.get("data"), source.get("media_type"), name)


def _result(block: JsonObject, timestamp: float | None) -> Result:
    content = list(_blocks(block.get("content")))
    return Result(
        as_string(block.get("tool_use_id")),
        joined(texts_of(content)),
        failed=block.get("is_error") is True,
        parts=[part for item in content if (part := _part(item))],
        timestamp=timestamp,
    )


def _usage(counts: JsonObject) -> Usage:
    """Return the usage in Anthropic's counts, which list the cache apart from the input."""
    cached = as_count(counts.get("cache_read_input_tokens"))
    written = as_count(counts.get("cache_creation_input_tokens"))
    fresh, output = as_count(counts.get("input_tokens")), as_count(counts.get("output_tokens"))
    return Usage(total(fresh, cached, written), output, cached, written)


def _subagent(
    reader: _SessionReader, side: _Conversation, title: str, parent: str = "", call_id: str = ""
) -> FoundConversation:
    return found_conversation(
        f"subagent {side.agent}",
        reader.transcript(
            side, TranscriptBuilder("claude-code", reader.session, side.agent), title
        ),
        parent_id=parent or stable_id("claude-code", reader.session),
        call_id=call_id,
        project=reader.cwd,
    )


def _subagent_files(
    source: ImportSource, path: Path, session: str, parent: str
) -> Iterator[FoundConversation]:
    """Read the subagents' files, which are in a folder named after the session."""
    folders = dict.fromkeys(
        path.parent / name / "subagents" for name in (path.stem, session) if name
    )
    files = [file for folder in folders for file in sorted(folder.glob("agent-*.jsonl"))]
    for file in files[:_MOST_SUBAGENTS]:
        place = file.relative_to(path.parent).as_posix()
        if file in source.companions or file.is_symlink():
            continue
        try:
            reader = _SessionReader()
            yield from read_records(source.pieces(file), reader.take, place)
        except InputError as error:
            yield FoundConversation(place, fault=str(error))
            continue
        meta = subagent_facts(file)
        title, call_id = as_string(meta.get("description")), as_string(meta.get("toolUseId"))
        for side in reader.sides.values():
            reader.session = session or reader.session
            yield _subagent(reader, side, title, parent, call_id)


def subagent_facts(file: Path) -> JsonObject:
    """Return what is known about a subagent beside its file."""
    try:
        data = read_file(file.with_name(f"{file.stem}.meta.json"), _LARGEST_META)
        return as_object(parsed(data.decode()))
    except (InputError, ValueError):
        return {}


FORMATS = (LinesFormat(_is_record, _SessionReader),)
