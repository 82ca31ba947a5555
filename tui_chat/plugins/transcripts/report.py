"""The progress and result of importing one file or folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.cli.output import counted
from tui_chat.errors import located
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line

if TYPE_CHECKING:
    from tui_chat.library.library import Kind
    from tui_chat.models.role import Role
    from tui_chat.plugins.transcripts.importer import LibraryImport

MAX_SKIPPED = 20
"""Maximum files that are named as skipped; further ones are counted."""
_MAX_FAULTS = 100
"""Maximum faults of a file that are reported; further ones are counted."""
FILE_KINDS: tuple[Kind, ...] = ("presets", "lorebooks", "profiles")
"""The kinds of files of the library that are imported."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that could not be imported."""

    place: str
    """The place in the file; empty for the whole file."""
    sentence: str
    advice: str = ""


@dataclass(slots=True)
class Report:
    """The progress and result of importing one file or folder."""

    path: Path
    adder: LibraryImport | None = None
    """None skips the files of the library."""
    size: int = 0
    """The unpacked size in bytes; 0 until it is known."""
    read: int = 0
    """Bytes read so far."""
    new: int = 0
    """The number of new sessions."""
    grown: int = 0
    """The number of existing sessions that got more messages, or the rest of one."""
    known: int = 0
    """The number of existing sessions without new messages."""
    added: int = 0
    """The number of new messages."""
    faults: list[Fault] = field(default_factory=list[Fault])
    more_faults: int = 0
    """The number of faults beyond `faults`."""
    notes: Counter[str] = field(default_factory=Counter[str])
    """Sentences about what could not be imported unchanged, and how often each applies."""
    session_ids: list[str] = field(default_factory=list[str])
    """Ids of the sessions of the file, in its order."""
    cards: list[Role] = field(default_factory=list["Role"])
    """The roles of character cards."""
    files: dict[tuple[Kind, str], bool] = field(default_factory=dict["tuple[Kind, str]", bool])
    """Files of the library by kind and name; True for new ones."""
    profile: str = ""
    """The name of the profile that new chats have in the folder of another program's user."""
    skipped: list[str] = field(default_factory=list[str])
    """The first files that are nothing known."""
    more_skipped: int = 0
    """The number of such files beyond `skipped`."""

    @property
    def sessions(self) -> int:
        """The number of sessions that were read."""
        return self.new + self.grown + self.known

    @property
    def failed(self) -> bool:
        """True if something could not be imported."""
        return bool(self.faults)

    @property
    def percent(self) -> int:
        """The part of the file that is read."""
        return min(self.read * 100 // self.size, 100) if self.size else 0

    def add(self, kind: Kind, name: str, text: str) -> str:
        """Add a file to the library; return its name there. Raises InputError."""
        assert self.adder is not None
        return self.adder.add(kind, name, text, self)

    def take(self, kind: Kind, name: str, *, is_new: bool) -> None:
        """Note a file of the library."""
        self.files[kind, name] = is_new or self.files.get((kind, name), False)

    def names(self, kind: Kind) -> list[str]:
        """Return the names of the files of a kind."""
        return [name for file_kind, name in self.files if file_kind == kind]

    def skip(self, name: str) -> None:
        """Add the name of a file that is nothing known, or count it."""
        if len(self.skipped) < MAX_SKIPPED:
            self.skipped.append(name)
        else:
            self.more_skipped += 1

    def fault(self, place: str, sentence: str, advice: str = "") -> None:
        """Add a fault, or count it."""
        if len(self.faults) < _MAX_FAULTS:
            self.faults.append(Fault(place, sentence, advice))
        else:
            self.more_faults += 1

    def lines(self, name: str, *, dry_run: bool = False, most: int = MAX_SKIPPED) -> list[str]:
        """Return what was imported, or with `dry_run` what would be, in sentences about `name`,
        with at most so many notes and names of skipped files.
        """
        lines = self._result(name, dry_run=dry_run)
        notes = list(self.notes.items())
        lines += [f"  {count:,} × {one_line(note, 500)}" for note, count in notes[:most]]
        if more := len(notes) - most:
            lines += [f"  {more:,} more notes"] * (more > 0)
        if count := len(self.skipped) + self.more_skipped:
            names = [one_line(name, 60) for name in self.skipped[:most]]
            names += [f"{count - len(names):,} more"] * (count > len(names))
            lines.append(f"  {counted(count, 'other file')} skipped: {', '.join(names)}.")
        return lines

    def told_faults(self, name: str, most: int = _MAX_FAULTS) -> Iterator[tuple[str, str]]:
        """Yield at most so many faults as sentences about `name`, each advice with the first."""
        told = set[str]()
        for fault in self.faults[:most]:
            sentence = located(one_line(fault.place, 80), one_line(fault.sentence, 200))
            yield located(name, sentence), "" if fault.advice in told else fault.advice
            told.add(fault.advice)
        if (more := len(self.faults) - most) > 0 or self.more_faults:
            yield f"{name}: {max(0, more) + self.more_faults:,} more could not be read", ""

    def _result(self, name: str, *, dry_run: bool) -> list[str]:
        lines: list[str] = []
        new = "would be new" if dry_run else "new"
        if self.sessions:
            grown = "would grow" if dry_run else "grown"
            lines.append(
                f"{counted(self.sessions, 'session')} read: {self.new:,} {new}, "
                f"{self.grown:,} {grown}, {self.known:,} already there; "
                f"{counted(self.added, 'message')} {'to add' if dry_run else 'added'}."
            )
        if len(self.cards) == 1:
            [role] = self.cards
            is_enabled = role.status == "enabled"
            use = "Start a session with it." if is_enabled else "It is disabled: /roles enables it."
            lines.append(
                f"the character “{one_line(role.name, 60)}” "
                f"{'would become' if dry_run else 'is now'} a role with the preset "
                f"“{one_line(role.preset, 60)}”. {use}"
            )
        elif self.cards:
            become = "would become" if dry_run else "are now"
            roles = listed(role.name for role in self.cards)
            lines.append(f"{len(self.cards):,} characters {become} roles: {roles}.")
        for kind in FILE_KINDS:
            if names := self.names(kind):
                count = sum(self.files[kind, file] for file in names)
                files = counted(len(names), kind.removesuffix("s"))
                lines.append(f"{files}, {count:,} {new}: {listed(names)}.")
        if not lines and not self.faults:
            lines.append("no conversations found.")
        return [f"{name}: {line}" for line in lines]


def listed(names: Iterable[str]) -> str:
    """Return the first names in a list, on one line."""
    shown = [one_line(name, 60) for name in names]
    return ", ".join(shown[:5]) + (", …" if len(shown) > 5 else "")
