"""SillyTavern's chats: a header line, then one message per line.

1. `swipes` are siblings; the selected one, whose text is in `mes`, is on the active branch.
2. Messages have no ids there, and are edited in place. Here a message's id is derived from all
   messages up to it, so importing an edited chat again adds a branch.
3. A message that `is_system` hides from the model is muted. It is no part of the ids of those that
   follow: older imports placed it beside the branch. Narration (`extra.type`) is a system message,
   as there.
4. Tool calls, which it hides too, become a reply with its calls, and their results.
5. Names are kept if several characters or users speak, and for guests (`force_avatar`, `/sendas`);
   otherwise the roles are enough. The names of one character and one user are the transcript's.
6. The author's note, texts of the chat instead of the card's, and injected texts are settings of
   the session, and the chat's lorebook is one of the session's, by its name. Timers of lore entries
   are kept with the last message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from hashlib import sha256
from typing import Literal

from tui_chat.interop.formats import (
    FoundConversation,
    ImportSource,
    LinesFormat,
    Reading,
    readable,
)
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock, MediaBlock, ReasoningBlock
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_string,
    to_json,
)
from tui_chat.models.message import (
    NOT_MUTED,
    NOTHING_ABOUT,
    About,
    Message,
    MessageRole,
    Muted,
    text_blocks,
    tool_result,
)
from tui_chat.models.settings import (
    MAX_INJECTIONS,
    MAX_NOTE,
    MAX_NOTE_DEPTH,
    MAX_TEXT,
    NOTE_DEPTH,
    AuthorNote,
    CharacterTexts,
    Injection,
    LoreTimer,
    NotePlacement,
    Settings,
)
from tui_chat.models.text import clean

MISSING_FILE = "An image in SillyTavern's folders was not imported; a placeholder takes its place."
HIDDEN = "A message hidden from the model was imported muted."
_NAMELESS = ("", "unused")
NOTE_PLACES: tuple[NotePlacement, ...] = ("after_main", "depth", "before_main")
NOTE_ROLES: tuple[Literal["system", "user", "assistant"], ...] = ("system", "user", "assistant")
CHARACTER_KEYS = {
    "scenario": "scenario",
    "system_prompt": "system_prompt",
    "example_dialogues": "mes_example",
}
"""The keys of a chat's metadata by the fields of `CharacterTexts`."""
_MAX_TIMERS = 10_000
"""The maximum number of timers of a kind that are read."""


def _is_header(data: JsonObject) -> bool:
    """Return True if a first line is the header of a chat."""
    return "chat_metadata" in data or ("user_name" in data and "character_name" in data)


def _is_chat(data: JsonObject) -> bool:
    """Return True if a first line is one of a chat; old files have no header."""
    return _is_header(data) or (_text_of(data) is not None and "is_user" in data)


def _text_of(data: JsonObject) -> str | None:
    """Return the text of a message: of the selected swipe where “mes” has none; None without."""
    if isinstance(text := data.get("mes"), str):
        return text
    swipes, chosen = as_array(data.get("swipes")), data.get("swipe_id", 0)
    if not isinstance(chosen, int) or not 0 <= chosen < len(swipes):
        return None
    return text if isinstance(text := swipes[chosen], str) else None


class _ChatFile:
    """Reads the lines of one file."""

    def __init__(self, _: ImportSource) -> None:
        self._records: list[JsonObject] = []

    def take(self, record: JsonObject) -> str:
        """Take in a line; return why it is left out."""
        is_header = not self._records and _is_header(record)
        text = None if is_header else _text_of(record)
        if text is None and not is_header:
            return "has no text in “mes” or in the selected swipe, and is left out"
        self._records.append(record if text is None else {**record, "mes": text})
        return ""

    def conversations(self) -> Iterator[FoundConversation]:
        """Yield the chat."""
        if self._records:
            # A chat may have a note, variables and a lorebook before its first message.
            has_header = _is_header(self._records[0])
            yield readable("", {}, self._read, may_be_empty=has_header)

    def _read(self, _: JsonObject) -> Reading:
        return _read_chat(self._records)


FORMATS = (LinesFormat(_is_chat, _ChatFile),)


def _read_chat(lines: Sequence[JsonObject]) -> Reading:
    """Return the transcript and its notes."""
    has_header = _is_header(lines[0])
    header = lines[0] if has_header else as_object(None)
    facts = as_object(header.get("chat_metadata"))
    messages = lines[1:] if has_header else lines
    tree = TranscriptBuilder("sillytavern", *_key(header, facts, messages))
    speakers = _speakers(messages)
    names = {
        False: _name_of(header.get("character_name"), speakers[False]),
        True: _name_of(header.get("user_name"), speakers[True]),
    }
    reader = _ChatReader(tree, speakers, names)
    for data in messages:
        reader.read(data)
    _set_timers(tree, reader.before, _timers_of_chat(facts))
    transcript = tree.transcript(
        title=_title(header, messages),
        settings=Settings(
            author_note=_note_of_chat(facts),
            character=_character_of_chat(facts),
            injections=_injections_of_chat(facts),
        ),
        character=names[False],
        user=names[True],
        head_id=reader.head,
        created=parse_timestamp(header.get("create_date")),
        variables=_chat_variables(facts),
    )
    if name := _lorebook_of_chat(facts):
        session = replace(transcript.session, lorebooks=(name,))
        transcript = replace(transcript, session=session)
    return transcript, tree.notes


def _note_of_chat(facts: JsonObject) -> AuthorNote | None:
    """Return the author's note in a chat's metadata; None if it has none. An empty one has a place,
    too, where lore and the profile may go, and takes away a default one.
    """
    text = clean(as_string(facts.get("note_prompt")))[:MAX_NOTE]

    def number(key: str, default: int, largest: int = MAX_NOTE_DEPTH) -> int:
        found = as_count(facts.get(key))
        return default if found is None or found > largest else found

    note = AuthorNote(
        text,
        number("note_depth", NOTE_DEPTH),
        NOTE_ROLES[number("note_role", 0, 2)],
        NOTE_PLACES[number("note_position", 1, 2)],
        number("note_interval", 1),
    )
    has_none = note == AuthorNote("") and not isinstance(facts.get("note_prompt"), str)
    return None if has_none else note


def _character_of_chat(facts: JsonObject) -> CharacterTexts | None:
    """Return what a chat's metadata sets instead of texts of the card; None for nothing."""
    found = CharacterTexts(
        *(clean(as_string(facts.get(key)))[:MAX_NOTE] for key in CHARACTER_KEYS.values())
    )
    return None if found == CharacterTexts() else found


def _injections_of_chat(facts: JsonObject) -> tuple[Injection, ...] | None:
    """Return the texts that scripts put into a chat (`/inject`); None for none."""
    found: list[Injection] = []
    for name, value in list(as_object(facts.get("script_injects")).items())[:MAX_INJECTIONS]:
        inject = as_object(value)
        text = clean(as_string(inject.get("value")))[:MAX_NOTE]
        place, role = as_count(inject.get("position")), as_count(inject.get("role"))
        if not text or place is None or place >= len(NOTE_PLACES):  # -1: only searched for keys
            continue
        depth = as_count(inject.get("depth"))
        found.append(
            Injection(
                clean(name)[:MAX_TEXT],
                text,
                NOTE_DEPTH if depth is None or depth > MAX_NOTE_DEPTH else depth,
                NOTE_ROLES[role] if role is not None and role < len(NOTE_ROLES) else "system",
                NOTE_PLACES[place],
                inject.get("scan") is True,
            )
        )
    return tuple(found) or None


def _timers_of_chat(facts: JsonObject) -> tuple[LoreTimer, ...] | None:
    """Return the timers of lore entries in a chat's metadata; None if it has no place for them."""
    if not isinstance(facts.get("timedWorldInfo"), dict):
        return None
    found: list[LoreTimer] = []
    kinds: tuple[Literal["sticky", "cooldown"], ...] = ("sticky", "cooldown")
    for kind in kinds:
        timers = as_object(as_object(facts["timedWorldInfo"]).get(kind))
        for key, value in list(timers.items())[:_MAX_TIMERS]:
            book, _, entry = as_string(key).rpartition(".")
            timer = as_object(value)
            start, end = as_count(timer.get("start")), as_count(timer.get("end"))
            if book and start is not None and end is not None:
                protected = timer.get("protected") is True
                found.append(LoreTimer(clean(book), clean(entry), kind, start, end, protected))
    return tuple(found)


def _lorebook_of_chat(facts: JsonObject) -> str:
    """Return the name of the lorebook that a chat is bound to; empty for none."""
    name = clean(as_string(facts.get("world_info"))).strip()
    is_name = len(name) <= MAX_TEXT and name.isprintable() and not set(name) & {"/", "\\"}
    return name if is_name and name.strip(".") else ""


def _chat_variables(facts: JsonObject) -> tuple[tuple[str, str], ...]:
    """Return the variables in a chat's metadata."""
    return tuple(
        (as_string(name), as_string(value) if isinstance(value, str) else to_json(value))
        for name, value in as_object(facts.get("variables")).items()
    )


def _set_timers(
    tree: TranscriptBuilder, head_id: str | None, timers: tuple[LoreTimer, ...] | None
) -> None:
    """Keep the timers of a chat with the last message of its active branch."""
    for number, entry in enumerate(tree.entries):
        message = entry.message
        if timers is not None and message.id == head_id:
            about = replace(message.about, lore_timers=timers)
            tree.entries[number] = replace(entry, message=replace(message, about=about))


def _key(header: JsonObject, facts: JsonObject, messages: Sequence[JsonObject]) -> tuple[str, ...]:
    """Return what identifies this chat, also after it has grown."""
    if integrity := as_string(facts.get("integrity")):
        return ("chat", integrity)
    names = (as_string(header.get("user_name")), as_string(header.get("character_name")))
    if began := as_string(header.get("create_date")):
        return ("begun", *names, began)
    # Chats of a character begin with the same message, and old dates have no seconds.
    first = [
        part
        for data in messages[:2]
        for part in (to_json(data.get("send_date")), as_string(data.get("mes")))
    ]
    if first and first[0] != "null":
        return ("first", *names, *first)
    return ("whole", *names, sha256(to_json(list(messages)).encode()).hexdigest())


def _title(header: JsonObject, messages: Sequence[JsonObject]) -> str:
    name = as_string(header.get("character_name"))
    if name in _NAMELESS:
        spoken = (as_string(data.get("name")) for data in messages if not data.get("is_user"))
        name = next((each for each in spoken if each), "")
    return name


def _speakers(messages: Sequence[JsonObject]) -> dict[bool, set[str]]:
    """Return the names of the users (True) and of the characters."""
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for data in messages:
        if not data.get("is_system") and as_string(as_object(data.get("extra")).get("type")) == "":
            names[bool(data.get("is_user"))].add(as_string(data.get("name")))
    return names


def _name_of(named: object, speakers: set[str]) -> str:
    """Return the name that a header has, else that of the only speaker; empty for several."""
    name = as_string(named)
    if name in _NAMELESS:
        name = next(iter(speakers)) if len(speakers) == 1 else ""
    return " ".join(clean(name).split())[:MAX_TEXT]


@dataclass(slots=True)
class _ChatReader:
    tree: TranscriptBuilder
    speakers: dict[bool, set[str]]
    names: dict[bool, str]
    """Of the user (True) and the character; empty for several."""
    head: str | None = None
    """The last message of the active branch."""
    before: str | None = None
    """The last one that is not hidden, from which ids are derived."""
    aside: str | None = None
    """The last of the hidden messages since then."""
    seen: set[str] = field(default_factory=set[str])

    def read(self, data: JsonObject) -> None:
        extra = as_object(data.get("extra"))
        invoked = [as_object(each) for each in as_array(extra.get("tool_invocations"))]
        if invoked:
            self._tools(data, invoked)
            return
        narrated = as_string(extra.get("type")) == "narrator"
        user = data.get("is_user") is True
        role: MessageRole = "system" if narrated else "user" if user else "assistant"
        if data.get("is_system") is True:
            self.tree.notes.append(HIDDEN)
            text = as_string(data.get("mes"))
            before = self.aside or self.before
            self.aside = self._add(before, role, text, data, extra, muted=Muted(True))
            self.head = self.aside
            return
        chosen = None
        for text, facts, is_chosen in _swipes(data):
            extra = as_object(facts.get("extra"))
            added = self._add(self.before, role, text, facts, extra)
            chosen = added if is_chosen else chosen
        self.head = self.before = chosen
        self.aside = None

    def _add(
        self,
        before: str | None,
        role: MessageRole,
        text: str,
        data: JsonObject,
        extra: JsonObject,
        muted: Muted = NOT_MUTED,
    ) -> str:
        """Add a message below the head, with an id derived from the message `before`."""
        reply = role == "assistant"
        name = as_string(data.get("name"))
        thought = as_string(extra.get("reasoning"))
        # Reasoning without extras is shown, but not sent.
        thoughts = (ReasoningBlock(thought),) if thought and reply else ()
        sent = data.get("send_date")
        is_user = role == "user"
        is_guest = bool(data.get("force_avatar")) and name not in ("", self.names[is_user])
        shown_name = name if len(self.speakers[is_user]) > 1 or is_guest else ""
        message = Message(
            role,
            (*thoughts, *text_blocks(text), *self._pictures(extra)),
            self._id((before or "", role, shown_name, as_string(sent), text)),
            name=shown_name,
            timestamp=parse_timestamp(sent),
            muted=muted,
            about=About(is_speaker_chosen=is_guest) if is_guest else NOTHING_ABOUT,
        )
        if not reply:
            return self.tree.add(message, self.head)
        model = as_string(extra.get("model"))
        return self.tree.add(message, self.head, model=model, seconds=_seconds(data))

    def _id(self, texts: tuple[str, ...]) -> str:
        """Return an id derived from all messages up to one; duplicates get different ids."""
        key = sha256("\0".join(texts).encode()).hexdigest()
        while key in self.seen:
            key = sha256(key.encode()).hexdigest()
        self.seen.add(key)
        return self.tree.id_of(key)

    def _tools(self, data: JsonObject, invoked: list[JsonObject]) -> None:
        calls = tuple(
            CallBlock(
                as_string(each.get("id")) or f"call_{index}",
                as_string(each.get("name")),
                as_string(each.get("parameters")) or "{}",
            )
            for index, each in enumerate(invoked)
        )
        sent, at = as_string(data.get("send_date")), parse_timestamp(data.get("send_date"))
        reply_id = self._id((self.before or "", "assistant", "", sent + to_json(invoked), ""))
        reply = Message("assistant", calls, reply_id, timestamp=at)
        self.before = self.head = self.tree.add(reply, self.head)
        for call, each in zip(calls, invoked, strict=True):
            text = as_string(each.get("result"))
            key = self._id((self.before, "tool", call.name, sent + call.id, text))
            blocks = tool_result(call.id, text, name=call.name)
            result = Message("tool", blocks, key, timestamp=at)
            self.before = self.head = self.tree.add(result, self.before)
        self.aside = None

    def _pictures(self, extra: JsonObject) -> Iterator[MediaBlock]:
        if extra.keys().isdisjoint(_PICTURED):
            return
        named = [as_string(as_object(each).get("url")) for each in as_array(extra.get("media"))]
        named += [as_string(extra.get("image")), as_string(as_object(extra.get("file")).get("url"))]
        for url in dict.fromkeys(filter(None, named)):
            head, comma, data = url.partition(";base64,")
            if comma and head.startswith("data:"):
                yield MediaBlock("image", head.removeprefix("data:"), data=data)
            elif url.startswith(("http://", "https://")):
                yield MediaBlock("image", url=url)
            else:
                self.tree.notes.append(MISSING_FILE)
                yield MediaBlock("image", file_id=url, name=url.rpartition("/")[2])


_PICTURED = ("media", "image", "file")


def _swipes(data: JsonObject) -> Iterator[tuple[str, JsonObject, bool]]:
    """Yield each version of a message: its text, its data, and True for the selected one."""
    swipes, chosen = as_array(data.get("swipes")), data.get("swipe_id")
    usable = isinstance(chosen, int) and 0 <= chosen < len(swipes)
    if not usable or len(swipes) < 2:
        yield as_string(data.get("mes")), data, True
        return
    infos = as_array(data.get("swipe_info"))
    for index, text in enumerate(swipes):
        if index == chosen:
            yield as_string(data.get("mes")), data, True
        else:
            info = as_object(infos[index] if index < len(infos) else None)
            yield as_string(text), {"name": data.get("name"), **info}, False


def _seconds(data: JsonObject) -> float | None:
    began, ended = (
        parse_timestamp(data.get("gen_started")),
        parse_timestamp(data.get("gen_finished")),
    )
    if began is None or ended is None or ended < began:
        return None
    return round(ended - began, 3)
