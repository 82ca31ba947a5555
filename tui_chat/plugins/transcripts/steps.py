"""Steps: what programs with tools keep of a conversation, before it is a tree of messages.

1. A step is one message of a person or a program, or one answer of a model: its text, reasoning
   and calls, and the results of these calls, however many records of the file hold them.
2. A step becomes one message, and each result one more after it, in the order of the calls. What
   follows a step follows the last of them.
3. A step without content leaves no message; what follows it follows its parent. So a reader can
   make a step of every record that others name as their parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tui_chat.interop.transcript_builder import TranscriptBuilder
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import JsonObject, as_string, to_json
from tui_chat.models.media import (
    detect_mime_of_base64,
    is_link,
    kind_of,
    known_mime,
    standard_base64,
)
from tui_chat.models.message import Message, MessageRole, Part, ToolCall
from tui_chat.models.semantics import (
    NO_MESSAGE_SEMANTICS,
    MessageSemantics,
    ReasoningBlock,
    Summary,
)
from tui_chat.models.session import EntryStatus
from tui_chat.models.usage import NO_USAGE, Usage

MISSING_FILE = "An image or file is not in the export; a placeholder stands for it."
"""The note of a part whose bytes are elsewhere."""


def unknown_content(block: JsonObject) -> str:
    """Return the note of a block of content whose type is not known."""
    kind = as_string(block.get("type"))[:40]
    return f"Content of the unknown type “{kind}” was left out."


@dataclass(slots=True, eq=False)
class Result:
    """The result of a tool call."""

    call_id: str
    text: str = ""
    name: str = ""
    """The tool, if the call is unknown."""
    failed: bool = False
    parts: list[Part] = field(default_factory=list[Part])
    at: float | None = None
    """Seconds since the epoch, UTC."""


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
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    results: list[Result] = field(default_factory=list[Result])
    parts: list[Part] = field(default_factory=list[Part])
    at: float | None = None
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
        call_id = call_id or f"{step.key}/call/{len(step.calls)}"
        step.calls.append(ToolCall(call_id, name or "tool", call_arguments(arguments)))
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
                at=first.at,
                model=first.model,
                status=first.status,
                error=first.error,
                finish=first.finish,
            )
            self.steps[-1].status, self.steps[-1].error = "complete", ""
            self.steps.append(last)
        return last


def add_steps(tree: TranscriptBuilder, steps: Sequence[Step]) -> dict[Step, str]:
    """Add steps to a transcript, parents first; return the last message of each step or, if it has
    none, of what precedes it.

    A step whose parent is not among them, or that is its own ancestor, becomes a first message.
    """
    known = set(steps)
    children: dict[Step | None, list[Step]] = {}
    for step in steps:
        children.setdefault(step.parent if step.parent in known else None, []).append(step)
    ends: dict[Step, str] = {}
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
    """Add the messages of a step after `before`, which `preceding` messages lead to; return the
    last one.
    """
    if step.has_message:
        semantics = NO_MESSAGE_SEMANTICS
        if step.reasoning or step.is_summary:
            summary = Summary(0, preceding) if step.is_summary else None
            semantics = MessageSemantics(tuple(step.reasoning), summary=summary)
        message = Message(
            step.role,
            "\n\n".join(filter(None, step.texts)),
            tree.id_of(step.key),
            tool_calls=tuple(step.calls),
            name=step.name,
            timestamp=step.at,
            semantics=semantics,
            parts=tuple(step.parts),
        )
        before = tree.add(
            message,
            before,
            step.status,
            step.model,
            step.finish,
            usage=step.usage,
            error=step.error,
        )
    names = {call.id: call.name for call in step.calls}
    place = {call.id: at for at, call in enumerate(step.calls)}
    # Ids follow the order of the records, which stays the same while a file grows.
    numbered = sorted(
        enumerate(step.results), key=lambda each: place.get(each[1].call_id, len(place))
    )
    for index, result in numbered:
        message = Message(
            "tool",
            result.text,
            tree.id_of(f"{step.key}/result/{index}"),
            tool_call_id=result.call_id,
            name=names.get(result.call_id, result.name),
            timestamp=result.at,
            semantics=MessageSemantics(failed=True) if result.failed else NO_MESSAGE_SEMANTICS,
            parts=tuple(result.parts),
        )
        before = tree.add(message, before)
    return before


def call_arguments(value: object) -> str:
    """Return the arguments of a call: text as it is, anything else as JSON."""
    return as_string(value) if isinstance(value, str) else to_json(value if value else {})


def result_text(value: object) -> str:
    """Return a tool's output as text: text as it is, anything else as JSON; none is empty."""
    if value is None:
        return ""
    return as_string(value) if isinstance(value, str) else to_json(value)


def part_of_base64(data: object, mime: object, name: str = "") -> Part:
    """Return a picture, sound or file given as base64; damaged if it is not base64."""
    content = standard_base64(as_string(data))
    known = known_mime(as_string(mime)) or (detect_mime_of_base64(content) if content else "")
    return Part(kind_of(known), known, data=content, name=name)


def part_of_url(url: str, notes: list[str], *, name: str = "", mime: str = "image/png") -> Part:
    """Return a picture or file given by a data URL, an address, or the name of a file that is not
    at hand, which adds a note. `mime` is the type if the URL says none.
    """
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return part_of_base64(data, head.removeprefix("data:"), name)
    if is_link(url):
        return Part(kind_of(mime), url=url, name=name)
    notes.append(MISSING_FILE)
    short = url[:500]
    return Part(
        kind_of(mime), file_id=short, name=name or short.replace("\\", "/").rpartition("/")[2]
    )


def cut_elements(text: str, *names: str) -> tuple[str, list[str]]:
    """Return a text without its elements of these names (`<name>…</name>`), and their contents."""
    found: list[str] = []
    for name in names:
        opening, closing = f"<{name}>", f"</{name}>"
        kept: list[str] = []
        at = 0
        while (start := text.find(opening, at)) >= 0:
            end = text.find(closing, start)
            if end < 0:
                break
            kept.append(text[at:start])
            found.append(text[start + len(opening) : end].strip())
            at = end + len(closing)
            while at < len(text) and text[at].isspace():
                at += 1
        text = "".join((*kept, text[at:])) if kept else text
    return text, found
