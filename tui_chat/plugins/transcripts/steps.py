"""What the formats of other programs have in common: steps, and content in JSON of many shapes.

1. A step is one message of a person or a program, or one answer of a model: its text, reasoning
   and calls, and the results of these calls, however many records of the file hold them.
2. A step becomes one message, and each result one more after it, in the order of the calls. What
   follows a step follows the last of them.
3. A step without content leaves no message; what follows it follows its parent. So a reader can
   make a step of every record that others name as their parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from tui_chat.interop.formats import FoundConversation
from tui_chat.interop.transcript_builder import TranscriptBuilder
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock, Extras, MediaBlock, ReasoningBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_object,
    as_string,
    decode_lenient,
    to_json,
)
from tui_chat.models.media import (
    detect_mime_of_base64,
    is_link,
    kind_of,
    known_mime,
    standard_base64,
)
from tui_chat.models.message import (
    NOTHING_ABOUT,
    About,
    Message,
    MessageRole,
    Summary,
    text_blocks,
    tool_result,
)
from tui_chat.models.session import EntryStatus, SessionTranscript
from tui_chat.models.usage import NO_USAGE, Usage

FILE_BESIDE = "An image or file beside the export was not imported; a placeholder takes its place."
"""The note of a part whose bytes may be in another file of the export."""
MISSING_FILE = "An image or file is not in the export; a placeholder takes its place."
"""The note of a part whose bytes are elsewhere."""
_LONGEST_ID = 500
_LONGEST_NAME = 200


def unknown_content(block: JsonObject) -> str:
    """Return the note of a block of content whose type is not known."""
    kind = as_string(block.get("type"))[:40]
    return f"Content of the unknown type “{kind}” was left out."


def parsed(text: str) -> object:
    """Return the value of a JSON text; None if it is not JSON."""
    try:
        return decode_lenient(text)
    except ValueError:
        return None


# Texts


def joined(texts: Iterable[str]) -> str:
    """Return texts with an empty line between them, without the empty ones."""
    return "\n\n".join(filter(None, texts))


def texts_of(blocks: object) -> list[str]:
    """Return the texts of a list of blocks, empty for a block without one."""
    return [as_string(as_object(block).get("text")) for block in as_array(blocks)]


def result_text(value: object) -> str:
    """Return a tool's output as text: text as it is, anything else as JSON; none is empty."""
    if value is None:
        return ""
    return as_string(value) if isinstance(value, str) else to_json(value)


def call_arguments(value: object) -> str:
    """Return the arguments of a call: text as it is, anything else as JSON."""
    return as_string(value) if isinstance(value, str) else to_json(value if value else {})


def cut_elements(text: str, *names: str) -> tuple[str, list[str]]:
    """Return a text without its elements of these names (`<name>…</name>`), and their contents."""
    contents: list[str] = []
    for name in names:
        opening, closing = f"<{name}>", f"</{name}>"
        kept: list[str] = []
        offset = 0
        while (start := text.find(opening, offset)) >= 0:
            end = text.find(closing, start)
            if end < 0:
                break
            kept.append(text[offset:start])
            contents.append(text[start + len(opening) : end].strip())
            offset = end + len(closing)
            while offset < len(text) and text[offset].isspace():
                offset += 1
        text = "".join((*kept, text[offset:])) if kept else text
    return text, contents


def anthropic_reasoning(block: JsonObject) -> ReasoningBlock:
    """Return the reasoning of a block `thinking` or `redacted_thinking`."""
    text, signature = as_string(block.get("thinking")), as_string(block.get("signature"))
    if encrypted := as_string(block.get("data")):
        return reasoning(Protocol.ANTHROPIC, text, "redacted_thinking", data=encrypted)
    return reasoning(Protocol.ANTHROPIC, text, signature=signature)


def reasoning(protocol: Protocol, text: str, form: str = "", **keys: str) -> ReasoningBlock:
    """Return reasoning as a protocol would have sent it. `keys`: an empty one is left out."""
    present = {key: value for key, value in keys.items() if value}
    return ReasoningBlock(text, Extras(protocol, form, present))


# Files


def part_of_base64(data: object, mime: object, name: str = "") -> MediaBlock:
    """Return a picture, sound or file given as base64; damaged if it is not base64."""
    content = standard_base64(as_string(data))
    kind = known_mime(as_string(mime)) or (detect_mime_of_base64(content) if content else "")
    return MediaBlock(kind_of(kind), kind, data=content, name=name)


def part_of_url(
    url: str, notes: list[str], *, name: str = "", mime: str = "image/png"
) -> MediaBlock:
    """Return a picture or file given by a data URL, an address, or the name of a file that is not
    at hand, which adds a note. `mime` is the type if the URL says none.
    """
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return part_of_base64(data, head.removeprefix("data:"), name)
    if is_link(url):
        return MediaBlock(kind_of(mime), url=url, name=name)
    notes.append(MISSING_FILE)
    short = url[:_LONGEST_ID]
    return MediaBlock(kind_of(mime), file_id=short, name=name or file_name(short))


def missing_part(notes: list[str], file_id: str, name: str = "", mime: str = "") -> MediaBlock:
    """Return a missing picture or file, with a note. Its name defaults to that of `file_id`."""
    notes.append(MISSING_FILE)
    name = name or file_name(file_id)
    return MediaBlock(
        kind_of(mime), mime, file_id=file_id[:_LONGEST_ID] or "file", name=name[:_LONGEST_NAME]
    )


def file_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return path.replace("\\", "/").rpartition("/")[2]


def pictures_of(blocks: object, notes: list[str]) -> list[MediaBlock]:
    """Return the pictures of blocks whose `image_url` is an address, or an object with one."""
    urls = [as_object(block).get("image_url") for block in as_array(blocks)]
    addresses = [as_string(url) or as_string(as_object(url).get("url")) for url in urls]
    return [part_of_url(address, notes) for address in addresses if address]


# Counts


def total(count: int | None, *others: int | None) -> int | None:
    """Return a count with others that the program lists apart; None if the first is not known."""
    return None if count is None else count + sum(other or 0 for other in others)


SUBAGENT = "subagent"
"""The tag of a subagent's session."""


@dataclass(slots=True, eq=False)
class Result:
    """The result of a tool call."""

    call_id: str
    text: str = ""
    name: str = ""
    """The tool, if the call is unknown."""
    failed: bool = False
    parts: list[MediaBlock] = field(default_factory=list[MediaBlock])
    timestamp: float | None = None
    """Seconds since the epoch, UTC."""
    key: str = ""
    """Its id in the source; by default that of its step and its number there."""


@dataclass(slots=True, eq=False)
class Step:
    """One message, and the results of its calls."""

    key: str
    """Its id in the source."""
    role: MessageRole
    parent: Step | None = None
    texts: list[str] = field(default_factory=list[str])
    """Joined by an empty line."""
    reasoning: list[ReasoningBlock] = field(default_factory=list[ReasoningBlock])
    calls: list[CallBlock] = field(default_factory=list[CallBlock])
    results: list[Result] = field(default_factory=list[Result])
    parts: list[MediaBlock] = field(default_factory=list[MediaBlock])
    timestamp: float | None = None
    """Seconds since the epoch, UTC."""
    model: str = ""
    usage: Usage = NO_USAGE
    status: EntryStatus = "complete"
    error: str = ""
    finish: str = ""
    is_summary: bool = False
    """True if it stands for what precedes it since a compaction."""
    name: str = ""

    @property
    def has_message(self) -> bool:
        """True if it becomes a message of its own, besides the results."""
        return bool(self.parts or self.calls or self.reasoning or any(self.texts))

    def call(self, call_id: str, name: str, arguments: object) -> str:
        """Add a call; return its id, which is made from the key if it has none."""
        call_id = call_id or f"{self.key}/{len(self.calls)}"
        self.calls.append(CallBlock(call_id, name or "tool", call_arguments(arguments)))
        return call_id


class Rounds:
    """The steps of a stored message that holds calls, their results and then more text."""

    def __init__(self, first: Step) -> None:
        self.steps = [first]
        self._owners: dict[str, Step] = {}

    def text(self, text: str) -> None:
        """Add a text, which begins another step after calls."""
        if text.strip():
            self._after_calls().texts.append(text)

    def reasoning(self, block: ReasoningBlock) -> None:
        """Add reasoning, which begins another step after calls."""
        self._after_calls().reasoning.append(block)

    def call(self, call_id: str, name: str, arguments: object) -> str:
        """Add a call; return its id."""
        step = self.steps[-1]
        call_id = step.call(call_id or f"{step.key}/call/{len(step.calls)}", name, arguments)
        self._owners[call_id] = step
        return call_id

    def result(self, result: Result) -> None:
        """Add a result to the step of its call, else to the last one."""
        self._owners.get(result.call_id, self.steps[-1]).results.append(result)

    def _after_calls(self) -> Step:
        last = self.steps[-1]
        if last.calls or last.results:
            first = self.steps[0]
            last = Step(
                f"{first.key}/{len(self.steps)}",
                first.role,
                last,
                timestamp=first.timestamp,
                model=first.model,
                status=first.status,
                error=first.error,
                finish=first.finish,
            )
            self.steps[-1].status, self.steps[-1].error = "complete", ""
            self.steps.append(last)
        return last


def chain(steps: Sequence[Step]) -> None:
    """Give each step the one before it as its parent."""
    for parent, step in pairwise(steps):
        step.parent = parent


def add_steps(tree: TranscriptBuilder, steps: Sequence[Step]) -> Mapping[Step | None, str]:
    """Add steps to a transcript, parents first; return the last message of each step or, if it has
    none, of what precedes it.

    A step whose parent is not among them, or that is its own ancestor, becomes a first message.
    """
    own_steps = set(steps)
    children: dict[Step | None, list[Step]] = {}
    for step in steps:
        children.setdefault(step.parent if step.parent in own_steps else None, []).append(step)
    ends: dict[Step | None, str] = {}
    seen = set[Step]()
    waiting: list[tuple[Step, str | None, int]] = []
    for root in (*children.get(None, []), *steps):  # the rest is in a circle
        waiting.append((root, None, 0))
        while waiting:
            step, before, preceding = waiting.pop()
            if step in seen:
                continue
            seen.add(step)
            before = _add(tree, step, before, preceding)
            if before is not None:
                ends[step] = before
            preceding += step.has_message + len(step.results)
            waiting += [(child, before, preceding) for child in reversed(children.get(step, []))]
    return ends


def _add(tree: TranscriptBuilder, step: Step, before: str | None, preceding: int) -> str | None:
    """Add a step's messages after `before`, the last of `preceding`; return the last one."""
    if step.has_message:
        about = About(summary=Summary(0, preceding)) if step.is_summary else NOTHING_ABOUT
        blocks = [*step.reasoning, *text_blocks(joined(step.texts)), *step.parts, *step.calls]
        message = Message(
            step.role,
            tuple(blocks),
            tree.id_of(step.key),
            name=step.name,
            timestamp=step.timestamp,
            about=about,
        )
        before = tree.add(
            message,
            before,
            status=step.status,
            model=step.model,
            finish=step.finish,
            usage=step.usage,
            error=step.error,
        )
    names = {call.id: call.name for call in step.calls}
    order = {call.id: index for index, call in enumerate(step.calls)}
    # Ids follow the order of the records, which stays the same while a file grows.
    numbered = sorted(
        enumerate(step.results), key=lambda item: order.get(item[1].call_id, len(order))
    )
    for index, result in numbered:
        blocks = tool_result(
            result.call_id,
            result.text,
            tuple(result.parts),
            name=names.get(result.call_id, result.name),
            failed=True if result.failed else None,
        )
        message_id = tree.id_of(result.key or f"{step.key}/result/{index}")
        message = Message("tool", blocks, message_id, timestamp=result.timestamp)
        before = tree.add(message, before)
    return before


def found_conversation(
    place: str,
    transcript: SessionTranscript,
    notes: Iterable[str] = (),
    *,
    parent_id: str = "",
    call_id: str = "",
    project: str = "",
    subagents: Mapping[str, str] | None = None,
) -> FoundConversation:
    """Return a conversation that was read; ignored if it has no message."""
    if not transcript.entries:
        return FoundConversation(place, ignored=True)
    return FoundConversation(
        place,
        transcript,
        notes=tuple(notes),
        parent_id=parent_id,
        call_id=call_id,
        project=project,
        subagents=tuple((subagents or {}).items()),
    )
