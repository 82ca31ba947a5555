"""Chats as SillyTavern keeps them: a line of facts, then a message a line.

1. `swipes` are siblings: the chosen one, whose text is in `mes`, is on the shown branch.
2. Messages have no ids there, and are edited in place. Here a message's id is made of all that
   was said up to it, so an edited chat that is read again brings a branch.
3. What `is_system` hides from the model stands beside the shown branch, where it is read,
   searched and never sent. Narration (`extra.type`) is sent as a system message, as it is there.
4. Tool calls, which it hides too, are sent: a reply with its calls, and their results.
5. Names are kept where several characters speak; with two speakers the roles say as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.interop.transcript_builder import TranscriptBuilder, UnreadableConversation
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, MessageRole, Part, ToolCall
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, MessageSemantics, ReasoningBlock
from tui_chat.models.transcript import Transcript
from tui_chat.protocols.common.lenient_json import (
    JsonObject,
    as_array,
    as_object,
    as_string,
    to_json,
)

LOST = "A picture lies in SillyTavern's folders and is not taken in; its name is kept."
HIDDEN = "A message that is hidden from the model there stands beside the shown branch."
NOTE = "The author's note is not taken in."

_NAMELESS = ("", "unused")


def is_header(said: JsonObject) -> bool:
    """Tell whether a first line is that of a chat."""
    return "chat_metadata" in said or ("user_name" in said and "character_name" in said)


def is_message(said: JsonObject) -> bool:
    """Tell whether a line is a message of a chat; old files begin with one."""
    return isinstance(said.get("mes"), str) and "is_user" in said


def read_chat(lines: Sequence[tuple[str, JsonObject]]) -> tuple[Transcript, list[str]]:
    """Return the chat and its notes; each line comes with its place. Raises Unreadable."""
    has_header = is_header(lines[0][1])
    header = lines[0][1] if has_header else as_object(None)
    told = lines[1:] if has_header else lines
    for place, said in told:
        if not isinstance(said.get("mes"), str):
            raise UnreadableConversation(f"{place}", "must be a message with its text in “mes”")
    facts = as_object(header.get("chat_metadata"))
    messages = [said for _, said in told]
    tree = TranscriptBuilder("sillytavern", *_key(header, facts, messages))
    reader = _Reader(tree, _speakers(messages))
    for said in messages:
        reader.read(said)
    if as_string(facts.get("note_prompt")).strip():
        tree.notes.append(NOTE)
    return tree.transcript(
        title=_title(header, messages),
        head_id=reader.before,
        created=parse_timestamp(header.get("create_date")),
        variables=tuple(_variables(as_object(facts.get("variables")))),
    ), tree.notes


def _key(header: JsonObject, facts: JsonObject, messages: Sequence[JsonObject]) -> tuple[str, ...]:
    """Return what names this chat among all others, also when it has grown."""
    if integrity := as_string(facts.get("integrity")):
        return ("chat", integrity)
    names = (as_string(header.get("user_name")), as_string(header.get("character_name")))
    if began := as_string(header.get("create_date")):
        return ("begun", *names, began)
    # Chats of one character begin with the same words, and old dates tell no seconds.
    first = [
        part
        for said in messages[:2]
        for part in (to_json(said.get("send_date")), as_string(said.get("mes")))
    ]
    if first and first[0] != "null":
        return ("first", *names, *first)
    return ("whole", *names, sha256(to_json(list(messages)).encode()).hexdigest())


def _title(header: JsonObject, messages: Sequence[JsonObject]) -> str:
    name = as_string(header.get("character_name"))
    if name in _NAMELESS:
        spoken = (as_string(said.get("name")) for said in messages if not said.get("is_user"))
        name = next((each for each in spoken if each), "")
    return name


def _speakers(messages: Sequence[JsonObject]) -> dict[bool, set[str]]:
    """Return the names of the users (True) and of the characters."""
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for said in messages:
        if not said.get("is_system") and as_string(as_object(said.get("extra")).get("type")) == "":
            names[bool(said.get("is_user"))].add(as_string(said.get("name")))
    return names


def _variables(said: JsonObject) -> Iterator[tuple[str, str]]:
    for name, value in said.items():
        yield as_string(name), as_string(value) if isinstance(value, str) else to_json(value)


@dataclass(slots=True)
class _Reader:
    tree: TranscriptBuilder
    speakers: dict[bool, set[str]]
    before: str | None = None
    """The last message of the shown branch."""
    aside: str | None = None
    """The last of the hidden messages since then."""
    seen: set[str] = field(default_factory=set[str])

    def read(self, said: JsonObject) -> None:
        extra = as_object(said.get("extra"))
        invoked = [as_object(each) for each in as_array(extra.get("tool_invocations"))]
        if invoked:
            self._tools(said, invoked)
            return
        narrated = as_string(extra.get("type")) == "narrator"
        user = said.get("is_user") is True
        role: MessageRole = "system" if narrated else "user" if user else "assistant"
        if said.get("is_system") is True and not narrated:
            self.tree.notes.append(HIDDEN)
            text = as_string(said.get("mes"))
            self.aside = self._add(self.aside or self.before, role, text, said, extra)
            return
        parent, chosen = self.before, None
        for text, facts, is_chosen in _swipes(said):
            added = self._add(parent, role, text, facts, as_object(facts.get("extra")))
            chosen = added if is_chosen else chosen
        self.before, self.aside = chosen, None

    def _add(
        self, parent: str | None, role: MessageRole, text: str, said: JsonObject, extra: JsonObject
    ) -> str:
        reply = role == "assistant"
        name = as_string(said.get("name"))
        thought = as_string(extra.get("reasoning"))
        semantics = NO_MESSAGE_SEMANTICS
        if thought and reply:
            # Without a kind it is read here and sent back to nobody.
            block = ReasoningBlock(Protocol.OPENAI_CHAT, thought)
            semantics = MessageSemantics(reasoning=(block,))
        sent = said.get("send_date")
        shown_name = name if len(self.speakers[role == "user"]) > 1 else ""
        message = Message(
            role,
            text,
            self._id((parent or "", role, shown_name, as_string(sent), text)),
            name=shown_name,
            timestamp=parse_timestamp(sent),
            semantics=semantics,
            parts=tuple(self._pictures(extra)),
        )
        if not reply:
            return self.tree.add(message, parent)
        model = as_string(extra.get("model"))
        return self.tree.add(message, parent, model=model, seconds=_seconds(said))

    def _id(self, said: tuple[str, ...]) -> str:
        """Return the id of what was said up to a message; two alike are told apart."""
        key = sha256("\0".join(said).encode()).hexdigest()
        while key in self.seen:
            key = sha256(key.encode()).hexdigest()
        self.seen.add(key)
        return self.tree.id_of(key)

    def _tools(self, said: JsonObject, invoked: list[JsonObject]) -> None:
        calls = tuple(
            ToolCall(
                as_string(each.get("id")) or f"call_{index}",
                as_string(each.get("name")),
                as_string(each.get("parameters")) or "{}",
            )
            for index, each in enumerate(invoked)
        )
        sent, at = as_string(said.get("send_date")), parse_timestamp(said.get("send_date"))
        asked = self._id((self.before or "", "assistant", "", sent + to_json(invoked), ""))
        reply = Message("assistant", "", asked, tool_calls=calls, timestamp=at)
        self.before = self.tree.add(reply, self.before)
        for call, each in zip(calls, invoked, strict=True):
            text = as_string(each.get("result"))
            key = self._id((self.before, "tool", call.name, sent + call.id, text))
            result = Message("tool", text, key, (), call.id, call.name, at)
            self.before = self.tree.add(result, self.before)
        self.aside = None

    def _pictures(self, extra: JsonObject) -> Iterator[Part]:
        if extra.keys().isdisjoint(_PICTURED):
            return
        named = [as_string(as_object(each).get("url")) for each in as_array(extra.get("media"))]
        named += [as_string(extra.get("image")), as_string(as_object(extra.get("file")).get("url"))]
        for url in dict.fromkeys(filter(None, named)):
            head, comma, data = url.partition(";base64,")
            if comma and head.startswith("data:"):
                yield Part("image", head.removeprefix("data:"), data=data)
            elif url.startswith(("http://", "https://")):
                yield Part("image", url=url)
            else:
                self.tree.notes.append(LOST)
                yield Part("image", file_id=url, name=url.rpartition("/")[2])


_PICTURED = ("media", "image", "file")


def _swipes(said: JsonObject) -> Iterator[tuple[str, JsonObject, bool]]:
    """Yield each version of a message: its text, its facts, and whether it is the chosen one."""
    swipes, chosen = as_array(said.get("swipes")), said.get("swipe_id")
    usable = isinstance(chosen, int) and 0 <= chosen < len(swipes)
    if not usable or len(swipes) < 2:
        yield as_string(said.get("mes")), said, True
        return
    infos = as_array(said.get("swipe_info"))
    for index, text in enumerate(swipes):
        if index == chosen:
            yield as_string(said.get("mes")), said, True
        else:
            info = as_object(infos[index] if index < len(infos) else None)
            yield as_string(text), {"name": said.get("name"), **info}, False


def _seconds(said: JsonObject) -> float | None:
    began, ended = (
        parse_timestamp(said.get("gen_started")),
        parse_timestamp(said.get("gen_finished")),
    )
    if began is None or ended is None or ended < began:
        return None
    return round(ended - began, 3)
