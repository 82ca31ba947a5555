"""`tui-chat sillytavern check`: what would be taken of a folder of SillyTavern.

1. A user folder has `OpenAI Settings`, `characters`, `worlds` and `chats`; only these are read,
   since others may hold keys. In any other folder the files directly in it are read.
2. What a JSON file is, is detected from its content; its folder only says what a damaged one is.
3. Files are read one after the other, and of each only counts and sentences are kept.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path

from tui_chat.cli.output import Styled, write_json, write_line
from tui_chat.errors import InputError, located
from tui_chat.files import MAX_BYTES, decode_text, read_file
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import MAX_FINDINGS
from tui_chat.library.lorebooks import ParsedLorebook, read_lorebook
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_array, object_or_none, parse_json
from tui_chat.models.sanitize import one_line
from tui_chat.models.setting_types import settings_json
from tui_chat.models.transcript import SessionTranscript
from tui_chat.plugins.sillytavern.card_files import LARGEST_CARD, is_card, read_card
from tui_chat.plugins.sillytavern.cards import book_text, role_of_card
from tui_chat.plugins.sillytavern.chats import HIDDEN, read_chat
from tui_chat.plugins.sillytavern.presets import is_sillytavern, parse_sillytavern_preset
from tui_chat.plugins.sillytavern.scripts import script_names

_FOLDERS = {
    "OpenAI Settings": ("preset", ("*.json",)),
    "characters": ("card", ("*.png", "*.json", "*.charx")),
    "worlds": ("lorebook", ("*.json",)),
    "chats": ("chat", ("*.jsonl", "*/*.jsonl")),
}
"""What the folders of a user's data hold."""
_DIRECTLY = {".json": "file", ".png": "card", ".charx": "card", ".jsonl": "chat"}
_KINDS = ("preset", "card", "lorebook", "chat", "file")
_LONGEST = 300
"""Characters of a sentence."""


@dataclass(slots=True)
class CheckedFile:
    """What would be taken of a file: sentences, and how often each applies."""

    path: Path
    kind: str
    """`preset`, `card`, `lorebook` or `chat`; `file` for none of these."""
    taken: list[str] = field(default_factory=list[str])
    changed: Counter[str] = field(default_factory=Counter[str])
    not_supported: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    """Why it, or a part of it, cannot be read."""
    more: int = 0
    """Further sentences, which were only counted."""

    def add(self, sentences: Counter[str], sentence: str) -> None:
        """Count a sentence, and keep it if there are not too many."""
        text = one_line(sentence, _LONGEST)
        if text in sentences or len(sentences) < MAX_FINDINGS:
            sentences[text] += 1
        else:
            self.more += 1


def run_check_folder(folder: Path, *, as_json: bool) -> None:
    """Print what would be taken of each file; exit with 1 for faults. Raises InputError."""
    kinds: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    found: list[dict[str, object]] = []
    for path, kind in _files(folder):
        checked = check_file(path, kind)
        kinds[checked.kind] += 1
        totals["changed"] += checked.changed.total()
        totals["not supported"] += checked.not_supported.total()
        totals["unreadable"] += bool(checked.faults)
        if as_json:
            found.append(_as_json(checked))
        else:
            _print(checked, folder)
    if not kinds:
        raise InputError(
            f"{folder} has no files of SillyTavern.",
            advice="Name a user's folder, such as SillyTavern/data/default-user.",
        )
    if as_json:
        total = {kind: kinds[kind] for kind in _KINDS if kinds[kind]}
        write_json(
            {
                "files": found,
                "totals": total | {key.replace(" ", "_"): n for key, n in totals.items()},
            }
        )
    else:
        counts = [_counted(kinds[kind], kind) for kind in _KINDS if kinds[kind]]
        sums = [f"{totals[key]:,} {key}" for key in ("changed", "not supported", "unreadable")]
        write_line(f"{', '.join(counts)}: {', '.join(sums)}. Nothing was written.")
    if totals["unreadable"]:
        sys.exit(1)


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a folder with what each should be. Raises InputError."""
    try:
        known = [name for name in _FOLDERS if (folder / name).is_dir()]
        for name in known:
            kind, patterns = _FOLDERS[name]
            for pattern in patterns:
                yield from ((path, kind) for path in sorted((folder / name).glob(pattern)))
        if not known:
            for path in sorted(folder.iterdir()):
                if (suffix := path.suffix.lower()) in _DIRECTLY:
                    yield path, _DIRECTLY[suffix]
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        fault = (error.strerror or error) if isinstance(error, OSError) else error
        raise InputError(f"{folder} cannot be read: {fault}") from error


def check_file(path: Path, kind: str) -> CheckedFile:
    """Return what would be taken of a file, which should be of this kind. Raises nothing."""
    checked = CheckedFile(path, kind)
    try:
        if kind == "chat":
            _check_chat(checked)
        elif path.suffix.lower() != ".json":
            _check_card(checked, read_file(path, LARGEST_CARD))
        else:
            _check_json(checked)
    except InputError as error:
        sentence = str(error).removeprefix(str(path)).lstrip(": ")
        checked.add(checked.faults, f"{sentence} {error.advice}".strip())
    return checked


def _check_json(checked: CheckedFile) -> None:
    content = read_file(checked.path, LARGEST_CARD if checked.kind == "card" else MAX_BYTES)
    text = decode_text(content, checked.path)
    found = parse_json(text, str(checked.path))
    whole = object_or_none(found) or {}
    if is_card(found):
        checked.kind = "card"
        _check_card(checked, content)
    elif is_sillytavern(found):
        checked.kind = "preset"
        _check_preset(checked, text)
    elif "entries" in whole:
        checked.kind = "lorebook"
        book = read_lorebook(text, checked.path.stem)
        _note_book(checked, book)
        if book.book is not None:
            checked.taken.append(_counted(len(book.book.entries), "entry", "entries"))
    else:
        what = "preset of the chat completion API, character card or lorebook"
        raise InputError(f"{checked.path} is no {what}")


def _check_preset(checked: CheckedFile, text: str) -> None:
    found = parse_sillytavern_preset(text, str(checked.path), checked.path.stem)
    messages = found.preset.messages
    enabled = sum(message.enabled for message in messages)
    checked.taken.append(f"{_counted(len(messages), 'preset message')}, {enabled} enabled")
    if given := list(settings_json(found.preset.settings)):
        checked.taken.append(f"settings: {', '.join(given)}")
    for note in found.notes:
        checked.add(checked.not_supported if note.lost else checked.changed, note.sentence)


def _check_card(checked: CheckedFile, content: bytes) -> None:
    card = read_card(content, str(checked.path))
    role = role_of_card(card, "card", str(checked.path))
    character = role.character
    assert character is not None
    texts = {
        "description": character.description,
        "personality": character.personality,
        "scenario": character.scenario,
        "example dialogues": character.example_dialogues,
        "system prompt": character.system_prompt,
        "post-history instructions": character.post_history,
        "depth prompt": character.depth_prompt,
        "picture": card.picture,
    }
    greetings = bool(character.first_message) + len(character.alternate_greetings)
    checked.taken.append(f"the role “{one_line(role.name, 60)}”")
    checked.taken += [name for name, value in texts.items() if value]
    checked.taken += [_counted(greetings, "greeting")] if greetings else []
    if text := book_text(card):
        entries = len(character.book.entries) if character.book is not None else 0
        checked.taken.append(f"a lorebook of {_counted(entries, 'entry', 'entries')}")
        _note_book(checked, read_lorebook(text, role.name))
    extensions = object_or_none(card.fields.get("extensions")) or {}
    scripts = len(script_names(extensions)[0])
    checked.taken += [_counted(scripts, "regex script")] if scripts else []
    if character.world:
        sentence = f"the link to the lorebook “{one_line(character.world, 60)}”"
        checked.taken.append(f"{sentence}, which a new session chooses if it is there")
    unused: tuple[tuple[object, str], ...] = (
        (script_names(extensions)[1], "Regex scripts that only change what is shown are not run."),
        (as_array(card.fields.get("assets")), "Its assets are kept, but not used."),
        (as_array(card.fields.get("group_only_greetings")), "Greetings for groups are not used."),
    )
    for value, sentence in unused:
        if value:
            checked.add(checked.not_supported, sentence)


def _note_book(checked: CheckedFile, book: ParsedLorebook) -> None:
    for finding in book.file.findings():
        sentence = finding.sentence
        if finding.level is Level.ERROR:
            place = f"{finding.path} (line {finding.line}, column {finding.column})"
            checked.add(checked.faults, f"{place}: {sentence}")
        elif finding.code in ("not-supported", "unknown-key"):
            checked.add(checked.not_supported, sentence)
        else:
            checked.add(checked.changed, sentence)


def _check_chat(checked: CheckedFile) -> None:
    messages, more = 0, dict[str, None]()
    for found in read_chat(checked.path):
        if found.fault:
            fault = located(found.place, found.fault)
            checked.add(checked.faults, fault)
        for note in found.notes:
            checked.add(checked.changed if note == HIDDEN else checked.not_supported, note)
        if found.transcript is not None:
            messages += len(found.transcript.entries)
            more |= dict.fromkeys(_taken_of_chat(found.transcript))
    if messages:
        checked.taken += (_counted(messages, "message"), *more)
    elif not checked.faults:
        checked.add(checked.changed, "It has no messages, and is not imported.")


def _taken_of_chat(chat: SessionTranscript) -> Iterator[str]:
    """Yield what is taken of a chat besides its messages."""
    if chat.character:
        yield f"the role “{one_line(chat.character, 40)}” if there is one, else its name"
    if chat.session.settings.author_note is not None:
        yield "the author's note"
    if chat.variables:
        yield _counted(len(chat.variables), "variable")


def _as_json(checked: CheckedFile) -> dict[str, object]:
    def counted(sentences: Counter[str]) -> list[dict[str, object]]:
        return [{"sentence": sentence, "count": n} for sentence, n in sentences.items()]

    return {
        "file": str(checked.path),
        "kind": checked.kind,
        "taken": checked.taken,
        "changed": counted(checked.changed),
        "not_supported": counted(checked.not_supported),
        "faults": counted(checked.faults),
        "more": checked.more,
    }


def _print(checked: CheckedFile, folder: Path) -> None:
    name = one_line(str(checked.path.relative_to(folder)))
    write_line(Styled(name, bold=True), f"  {checked.kind}")
    if checked.taken:
        write_line(f"  taken: {', '.join(checked.taken)}.")
    sections: Iterable[tuple[Counter[str], Styled]] = (
        (checked.changed, Styled("changed", "blue")),
        (checked.not_supported, Styled("not supported", "yellow")),
        (checked.faults, Styled("cannot be read", "red")),
    )
    for sentences, heading in sections:
        for sentence, count in sentences.items():
            times = f"{count:,} × " if count > 1 else ""
            write_line("  ", heading, f": {times}{sentence}")
    if checked.more:
        write_line(f"  and {checked.more:,} more")


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
