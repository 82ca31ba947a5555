"""Writes a conversation as a chat of SillyTavern: a header line, then one message per line.

1. Messages of an imported chat keep their line, without the texts that they have themselves. It is
   written again with what was changed since: other versions are swipes, and the shown one is
   selected.
2. Other messages become new lines. What is beside the shown branch, but no version of one of its
   messages, is not written: SillyTavern has a file for each branch.
3. Muted messages are hidden there (`is_system`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal, cast

from tui_chat.interop.readable_parts import active_branch, siblings
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_string,
    decode_lenient,
    to_json,
)
from tui_chat.models.message import Message
from tui_chat.models.sanitize import sanitize
from tui_chat.models.session import Entry
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
)
from tui_chat.models.text import clean
from tui_chat.models.transcript import SessionTranscript

_NOTE_PLACES: tuple[NotePlacement, ...] = ("after_main", "depth", "before_main")
_NOTE_ROLES: tuple[Literal["system", "user", "assistant"], ...] = ("system", "user", "assistant")
CHARACTER_KEYS = {
    "scenario": "scenario",
    "system_prompt": "system_prompt",
    "example_dialogues": "mes_example",
}
"""The keys of a chat's metadata by the fields of `CharacterTexts`."""
_MAX_TIMERS = 10_000
"""The maximum number of timers of a kind that are read."""
_VERSION_KEYS = ("send_date", "gen_started", "gen_finished", "extra")
"""Keys of a line that belong to one of its swipes."""


def note_of_chat(facts: JsonObject) -> AuthorNote | None:
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
        _NOTE_ROLES[number("note_role", 0, 2)],
        _NOTE_PLACES[number("note_position", 1, 2)],
        number("note_interval", 1),
    )
    has_none = note == AuthorNote("") and not isinstance(facts.get("note_prompt"), str)
    return None if has_none else note


def character_of_chat(facts: JsonObject) -> CharacterTexts | None:
    """Return what a chat's metadata sets instead of texts of the card; None for nothing."""
    found = CharacterTexts(
        *(clean(as_string(facts.get(key)))[:MAX_NOTE] for key in CHARACTER_KEYS.values())
    )
    return None if found == CharacterTexts() else found


def injections_of_chat(facts: JsonObject) -> tuple[Injection, ...] | None:
    """Return the texts that scripts put into a chat (`/inject`); None for none."""
    found: list[Injection] = []
    for name, value in list(as_object(facts.get("script_injects")).items())[:MAX_INJECTIONS]:
        inject = as_object(value)
        text = clean(as_string(inject.get("value")))[:MAX_NOTE]
        place, role = as_count(inject.get("position")), as_count(inject.get("role"))
        if not text or place is None or place >= len(_NOTE_PLACES):  # -1: only searched for keys
            continue
        depth = as_count(inject.get("depth"))
        found.append(
            Injection(
                clean(name)[:MAX_TEXT],
                text,
                NOTE_DEPTH if depth is None or depth > MAX_NOTE_DEPTH else depth,
                _NOTE_ROLES[role] if role is not None and role < len(_NOTE_ROLES) else "system",
                _NOTE_PLACES[place],
                inject.get("scan") is True,
            )
        )
    return tuple(found) or None


def timers_of_chat(facts: JsonObject) -> tuple[LoreTimer, ...] | None:
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


def lorebook_of_chat(facts: JsonObject) -> str:
    """Return the name of the lorebook that a chat is bound to; empty for none."""
    name = clean(as_string(facts.get("world_info"))).strip()
    is_name = len(name) <= MAX_TEXT and name.isprintable() and not set(name) & {"/", "\\"}
    return name if is_name and name.strip(".") else ""


def chat_variables(facts: JsonObject) -> tuple[tuple[str, str], ...]:
    """Return the variables in a chat's metadata."""
    return tuple(
        (as_string(name), as_string(value) if isinstance(value, str) else to_json(value))
        for name, value in as_object(facts.get("variables")).items()
    )


def kept_line(data: JsonObject, *, has_texts: bool) -> JsonObject:
    """Return a line with null for texts that messages have, unless it `has_texts` of its own."""
    swipes = as_array(data.get("swipes"))
    if has_texts or as_string(data.get("mes")) != data.get("mes") or None in swipes:
        return {"line": data, "has_texts": True}
    line = {**data, "mes": None}
    chosen = data.get("swipe_id")
    if isinstance(chosen, int) and 0 <= chosen < len(swipes) and len(swipes) > 1:
        line["swipes"] = [
            None if text == (data["mes"] if index == chosen else as_string(text)) else text
            for index, text in enumerate(swipes)
        ]
    return {"line": line}


def chat_lines(transcript: SessionTranscript, _: tzinfo = UTC) -> Iterator[str]:
    """Yield the lines of a chat."""
    yield from _ChatWriter(transcript).texts()


def unwritten(transcript: SessionTranscript) -> int:
    """Return the number of messages that an export to SillyTavern leaves out."""
    writer = _ChatWriter(transcript)
    for _ in writer.lines():
        pass
    return sum(entry.message.id not in writer.written for entry in transcript.entries)


class _ChatWriter:
    def __init__(self, transcript: SessionTranscript) -> None:
        self.transcript = transcript
        self.after = siblings(transcript)
        self.sources = {each.message.id: _source(each.message) for each in transcript.entries}
        self.branch = active_branch(transcript)
        self.written: set[str] = set()
        lines = [as_object(each.get("line")) for each in self.sources.values() if each]
        settings, role = transcript.session.settings, transcript.role
        self.names = {
            True: _name(lines, True) or settings.user_name or transcript.user or "User",
            False: _name(lines, False)
            or settings.char_name
            or (role.name if role is not None else "")
            or transcript.character
            or "Assistant",
        }

    def texts(self) -> Iterator[str]:
        """Yield the text of the file; its last line has no end, as in SillyTavern."""
        for number, line in enumerate(self.lines()):
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
            yield ("\n" if number else "") + sanitize(text, "json")

    def lines(self) -> Iterator[JsonObject]:
        """Yield the header and the lines of the shown branch."""
        header = self._header()
        if header is not None:
            yield header
        at = 0
        while at < len(self.branch):
            entry = self.branch[at]
            results = 0
            while at + 1 + results < len(self.branch) and (
                self.branch[at + 1 + results].message.role == "tool"
            ):
                results += 1
            for line in self._lines_of(entry, self.branch[at + 1 : at + 1 + results]):
                if entry.message.muted.whole or self._is_hidden(entry):
                    line = {**line, "is_system": entry.message.muted.whole}
                yield line
            at += 1 + results

    # --- the header ------------------------------------------------------------------------

    def _header(self) -> JsonObject | None:
        """Return the header with the current variables and author's note; None without a header."""
        kept = next((each for each in self.sources.values() if "header" in each), None)
        if kept is not None and kept["header"] is None:
            return None
        names: JsonObject = {"user_name": self.names[True], "character_name": self.names[False]}
        found = as_object(kept["header"]) if kept is not None else names
        facts = dict(as_object(found.get("chat_metadata")))
        variables = self.transcript.variables
        if variables != chat_variables(facts):
            facts["variables"] = dict(variables)
        note = self.transcript.session.settings.author_note
        if note != note_of_chat(facts):
            facts |= _note_keys(note)
        settings = self.transcript.session.settings
        if settings.character != character_of_chat(facts):
            texts = settings.character or CharacterTexts()
            for field, key in CHARACTER_KEYS.items():
                if facts.get(key) or getattr(texts, field):
                    facts[key] = getattr(texts, field)
        if settings.injections != injections_of_chat(facts):
            facts["script_injects"] = {
                each.id: _inject_keys(each) for each in settings.injections or ()
            }
        if kept is not None and facts == as_object(found.get("chat_metadata")):
            return found
        return {**found, "chat_metadata": facts}

    # --- messages --------------------------------------------------------------------------

    def _lines_of(self, entry: Entry, results: Sequence[Entry]) -> Iterator[JsonObject]:
        message = entry.message
        self.written |= {message.id, *(each.message.id for each in results)}
        source = self.sources[message.id]
        if message.tool_calls or message.role == "tool":
            if "line" in source:
                yield as_object(source["line"])
                return
            if message.content:
                yield self._new(entry)
            yield self._tool_line(entry, [each.message for each in results])
            return
        if self._is_hidden(entry):
            yield self._kept(entry, ())
            return
        versions = [
            each
            for each in self.after.get(entry.parent_id, ())
            if each.message.role == message.role
            and not each.message.tool_calls
            and not self._is_hidden(each)
        ]
        base = next((each for each in versions if "line" in self.sources[each.message.id]), None)
        if base is None:
            yield self._with_swipes(self._new(versions[0]), versions[0], versions, entry)
        elif message.role == "user":
            known = [each for each in versions if self.sources[each.message.id]]
            is_known = any(each is entry for each in known)
            line = self._kept(base, known)
            line = self._with_swipes(line, base, known, entry if is_known else base)
            yield line if is_known else {**line, "mes": message.content}
        else:
            yield self._with_swipes(self._kept(base, versions), base, versions, entry)

    def _is_hidden(self, entry: Entry) -> bool:
        line = as_object(self.sources[entry.message.id].get("line"))
        return line.get("is_system") is True and not entry.message.tool_calls

    def _kept(self, entry: Entry, versions: Sequence[Entry]) -> dict[str, Any]:
        """Return the line that an entry came from, with its texts and those of its versions."""
        source = self.sources[entry.message.id]
        line = dict(as_object(source.get("line")))
        if source.get("has_texts") is True:
            return line
        line["mes"] = entry.message.content
        if isinstance(line.get("swipes"), list):
            texts: dict[object, str] = {
                number: each.message.content
                for each in versions
                if (number := self.sources[each.message.id].get("swipe")) is not None
            }
            if isinstance(selected := line.get("swipe_id"), int):
                texts[selected] = entry.message.content
            line["swipes"] = [
                texts.get(index, "") if text is None else text
                for index, text in enumerate(as_array(line["swipes"]))
            ]
        return line

    def _with_swipes(
        self, line: dict[str, Any], own: Entry, versions: Sequence[Entry], shown: Entry
    ) -> dict[str, Any]:
        """Return a version's line with the versions added here, the current one selected."""
        self.written |= {each.message.id for each in versions}
        numbers: dict[str, object] = {own.message.id: line.get("swipe_id", 0)}
        added: list[Entry] = []
        for each in versions:
            number = self.sources[each.message.id].get("swipe")
            if number is not None:
                numbers[each.message.id] = number
            elif each is not own:
                added.append(each)
        if added:
            line.setdefault("swipe_id", 0)
            swipes = line["swipes"] = [*(as_array(line.get("swipes")) or [line["mes"]])]
            infos = [*as_array(line.get("swipe_info"))]
            infos += [
                {key: line[key] for key in _VERSION_KEYS if key in line}
                for _ in range(len(swipes) - len(infos))
            ]
            for each in added:
                numbers[each.message.id] = len(swipes)
                new = self._new(each)
                swipes.append(each.message.content)
                infos.append({key: new[key] for key in _VERSION_KEYS if key in new})
            line["swipe_info"] = infos
        number = numbers[shown.message.id]
        if shown is not own and isinstance(number, int):
            infos = as_array(line.get("swipe_info"))
            line |= {"swipe_id": number, "mes": shown.message.content}
            line |= as_object(infos[number]) if number < len(infos) else {}
        return line

    def _new(self, entry: Entry) -> dict[str, Any]:
        """Return a line for a message that came from no chat of SillyTavern."""
        message = entry.message
        is_user = message.role == "user"
        line: dict[str, Any] = {
            "name": message.name or self.names[is_user],
            "is_user": is_user,
            "is_system": False,
            "send_date": _date(message.timestamp),
            "mes": message.content,
        }
        extra: dict[str, Any] = {}
        if message.role == "system":
            extra["type"] = "narrator"
        if entry.model:
            extra["model"] = entry.model
        if thoughts := [block.text for block in message.reasoning if block.text]:
            extra["reasoning"] = "\n\n".join(thoughts)
        if media := list(_media(message.parts)):
            extra["media"] = media
        line["extra"] = extra
        if entry.seconds is not None and message.timestamp is not None:
            line["gen_started"] = _date(message.timestamp - entry.seconds)
            line["gen_finished"] = _date(message.timestamp)
        return line

    def _tool_line(self, entry: Entry, results: Sequence[Message]) -> JsonObject:
        texts = {each.tool_call_id: each.content for each in results}
        invoked = [
            {
                "id": call.id,
                "displayName": call.name,
                "name": call.name,
                "parameters": call.arguments,
                "result": texts.get(call.id, ""),
            }
            for call in entry.message.tool_calls
        ]
        names = ", ".join(call.name for call in entry.message.tool_calls)
        return {
            "name": self.names[False],
            "is_user": False,
            "is_system": True,
            "send_date": _date(entry.message.timestamp),
            "mes": f"Tool calls: {names}",
            "extra": {"isSmallSys": True, "tool_invocations": invoked},
        }


def _source(message: Message) -> JsonObject:
    if not message.about.source:
        return {}
    try:
        return as_object(decode_lenient(message.about.source))
    except ValueError:
        return {}


def _name(lines: Sequence[JsonObject], is_user: bool) -> str:
    found = (
        as_string(line.get("name"))
        for line in reversed(lines)
        if line.get("is_user") is is_user and not line.get("is_system")
    )
    return next(filter(None, found), "")


def _note_keys(note: AuthorNote | None) -> Mapping[str, object]:
    if note is None:
        return {"note_prompt": ""}
    return {
        "note_prompt": note.text,
        "note_interval": note.interval,
        "note_position": _NOTE_PLACES.index(note.placement),
        "note_depth": note.depth,
        "note_role": _NOTE_ROLES.index(note.role),
    }


def _inject_keys(injection: Injection) -> Mapping[str, object]:
    return {
        "value": injection.content,
        "position": _NOTE_PLACES.index(injection.placement),
        "depth": injection.depth,
        "scan": injection.searched,
        "role": _NOTE_ROLES.index(injection.role),
    }


def _date(seconds: float | None) -> str:
    at = datetime.fromtimestamp(seconds or 0, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _media(parts: Sequence[MediaBlock]) -> Iterator[JsonObject]:
    for part in parts:
        url = part.url or (f"data:{part.mime};base64,{part.data}" if part.data else part.file_id)
        if url:
            yield {"url": url, "type": cast("str", part.media)}
