"""The files that the user chooses from by name: presets, profiles, lorebooks, roles.

Each kind has its folder (`presets/`, `profiles/`, `lorebooks/`, `roles/`, `snippets/`) in the
configuration folder, and a file's name without `.json` (`.md` for snippets) is its name. Folders
are listed on every call, so a new file is found at once.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui_chat.errors import ChangedElsewhere, InputError
from tui_chat.files import (
    MAX_BYTES,
    file_errors,
    input_name,
    make_private_folder,
    read_text,
    write_text,
)
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.presets import dump_preset, load_preset, read_preset, style_of
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.preset import Preset
from tui_chat.models.role import Profile, Role

if TYPE_CHECKING:
    from tui_chat.library.snippets import Snippet

Kind = Literal["presets", "profiles", "lorebooks", "roles", "snippets"]

FileStamp: TypeAlias = "tuple[str, int, int] | None"
"""The path, modification time in nanoseconds and size of a file; None if there is no file."""


def doubts_of(path: Path, kind: Kind) -> tuple[str, ...]:
    """Return what is doubtful in a file of a kind. Raises InputError if it cannot be read."""
    text = read_file_text(path)
    match kind:
        case "presets":
            file = read_preset(text, path.stem).file
        case "lorebooks":
            from tui_chat.library.lorebooks import read_lorebook

            file = read_lorebook(text, path.stem).file
        case "roles" | "profiles":
            from tui_chat.library.roles_and_profiles import doubtful_keys

            file = doubtful_keys(text, kind)
        case "snippets":  # plain text
            return ()
    return file.doubts(input_name(path))


class Library:
    """The user's files, and the presets that come with the program."""

    def __init__(self, own: Path, sample_presets: Path) -> None:
        """`own` is the configuration folder. Neither folder needs to exist."""
        self._own = own
        self._samples = sample_presets

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Return the names of the files, sorted; bundled presets come first."""
        return tuple(self.files(kind))

    def files(self, kind: Kind) -> dict[str, Path]:
        """Return the files by name; the user's take precedence over bundled ones."""
        own = self._own / kind
        folders = (self._samples, own) if kind == "presets" else (own,)
        kinds = "*.md" if kind == "snippets" else "*.json"
        return {path.stem: path for folder in folders for path in sorted(folder.glob(kinds))}

    def stamp(self, kind: Kind, name: str) -> FileStamp:
        """Return what differs after each change of a file; None if there is none."""
        return _stamp(self.files(kind).get(name))

    def stamps(self, kind: Kind) -> dict[str, FileStamp]:
        """Return the stamp of each file by its name."""
        return {name: _stamp(path) for name, path in self.files(kind).items()}

    def preset(self, name: str) -> Preset:
        """Read a preset. Raises InputError if it does not exist or has errors."""
        return load_preset(self._path("presets", name))

    def preset_file(self, name: str) -> Path:
        """Return the path of a preset. Raises InputError if it does not exist."""
        return self._path("presets", name)

    def is_ours(self, name: str) -> bool:
        """Return True if a preset is a bundled one; saving makes a copy of it."""
        return self.files("presets").get(name, self._own).parent == self._samples

    def save_preset(self, preset: Preset, name: str, like: str = "") -> Path:
        """Write a preset to `name.json` in the user's folder and return the path.

        A new file has the style of the preset `like`, if that exists. Raises InputError for an
        empty name, or if the file cannot be written.
        """
        path = self._own / "presets" / f"{file_name(name)}.json"
        model = path if path.is_file() else self.files("presets").get(like)
        _write(dump_preset(preset, style_of(model)), path)
        return path

    def rename_preset(self, name: str, to: str) -> str:
        """Rename one of the user's presets; return its new name as a file name.

        Raises InputError if the name is taken or renaming fails.
        """
        path, new_name = self._own_preset(name), file_name(to)
        target = path.with_name(f"{new_name}.json")
        if target.exists():
            raise InputError(f"A preset “{new_name}” exists already.")
        with file_errors(path, "renamed"):
            path.rename(target)
        return new_name

    def delete_preset(self, name: str) -> None:
        """Delete one of the user's presets. Raises InputError if that fails."""
        _delete(self._own_preset(name))

    def _own_preset(self, name: str) -> Path:
        path = self._path("presets", name)
        if self.is_ours(name):
            raise InputError(
                f"“{name}” comes with the program and cannot be changed.",
                advice="Make a copy of it.",
            )
        return path

    def profile(self, name: str) -> Profile:
        """Read a profile. Raises InputError if it does not exist or has errors."""
        from tui_chat.library.roles_and_profiles import load_profile

        return load_profile(self._path("profiles", name))

    def lorebook(self, name: str) -> Lorebook:
        """Read a lorebook. Raises InputError if it does not exist or has errors."""
        from tui_chat.library.lorebooks import load_lorebook  # few sessions have one

        return load_lorebook(self._path("lorebooks", name))

    def doubts(self, kind: Kind, name: str) -> tuple[str, ...]:
        """Return what is doubtful in a file that can be used: keys that are probably misspelled."""
        path = self.files(kind).get(name)
        if path is None or path.parent == self._samples:
            return ()
        with suppress(InputError):  # reading it for use says so
            return doubts_of(path, kind)
        return ()

    def text(self, kind: Kind, name: str) -> str:
        """Return the text of a file. Raises InputError if it cannot be read."""
        return read_text(self._path(kind, name), max_bytes=MAX_BYTES)

    def save_text(self, kind: Kind, text: str, name: str, *, is_new: bool = False) -> str:
        """Write the text of a file `name.json`; return the name as a file name. Raises InputError
        for an empty name, if a new one would replace another, or if that fails.
        """
        path = self.files(kind).get(name) or self._own / kind / f"{file_name(name)}.json"
        if is_new and path.exists():
            raise InputError(f"A {_noun(kind)} “{path.stem}” exists already.")
        _write(text, path)
        return path.stem

    def delete(self, kind: Kind, name: str) -> None:
        """Delete one of the user's files. Raises InputError if that fails."""
        _delete(self._path(kind, name))

    def role(self, name: str, text: str) -> Role:
        """Parse the text of a role file; the role's id defaults to the file's name."""
        from tui_chat.library.roles_and_profiles import parse_role

        return parse_role(text, str(self._own / "roles" / f"{name}.json"), name)

    def snippet(self, name: str) -> Snippet:
        """Read a snippet. Raises InputError if it does not exist or has errors."""
        from tui_chat.library.snippets import read_snippet  # few sessions use one

        path = self._path("snippets", name)
        return read_snippet(read_text(path, max_bytes=MAX_BYTES), str(path))

    def save_snippet(self, text: str, name: str, *, overwrite: bool = False) -> Path:
        """Write the text of a snippet to a file of the user, and return its path. Raises InputError
        if it is none, if there is one of that name, or if the file cannot be written.
        """
        from tui_chat.library.snippets import read_snippet

        path = self._own / "snippets" / f"{file_name(name)}.md"
        read_snippet(text, "The draft")
        if path.exists() and not overwrite:
            raise InputError(f"A snippet “{path.stem}” exists already.")
        _write(text.rstrip("\n") + "\n", path)
        return path

    def save_profile(
        self,
        profile: Profile,
        name: str = "",
        *,
        before: Profile | None = None,
        overwrite: bool = False,
    ) -> str:
        """Write a profile to the file `name`, whose other keys stay, or to a new one with its
        name; return the file's name. `before` is the profile that was edited.

        Raises ChangedElsewhere if the file has another profile than `before`, or is gone, unless
        `overwrite`, and InputError for an empty name, if a new one would replace another, or if
        the file cannot be read or written.
        """
        from tui_chat.library.roles_and_profiles import dump_profile

        is_there = name in self.files("profiles")
        now = self.profile(name) if is_there else None
        if before is not None and now != before and not overwrite:
            raise ChangedElsewhere(
                f"Another program {'changed' if is_there else 'deleted'} this profile.",
                advice="Save again to overwrite that.",
            )
        text = dump_profile(profile, self.text("profiles", name) if is_there else "")
        target = name if before is not None or is_there else profile.name
        return self.save_text("profiles", text, target, is_new=not is_there)

    def add_preset(self, preset: Preset) -> str:
        """Write a preset to a new file, numbered if need be; return its name. Raises InputError."""
        base = name = file_name(preset.name)
        taken, numbers = {each.casefold() for each in self.names("presets")}, count(2)
        while name.casefold() in taken:
            name = f"{base} {next(numbers)}"
        _write(dump_preset(preset), self._own / "presets" / f"{name}.json")
        return name

    def add_file(self, kind: Kind, name: str, text: str, *, write: bool = True) -> tuple[str, bool]:
        """Add a file unless one of this name, or of this name and a number, has the same text;
        another text gets the next number. Return the name, and True if it is new. Without `write`
        nothing is written. Raises InputError if it cannot be written.
        """
        base, files = file_name(name), self.files(kind)
        by_case = {existing.casefold(): existing for existing in files}
        numbered = base
        numbers = count(2)
        while (there := by_case.get(numbered.casefold())) is not None:
            with suppress(InputError):
                if read_text(files[there], max_bytes=MAX_BYTES) == text:
                    return there, False
            numbered = f"{base} {next(numbers)}"
        if write:
            _write(text, self._own / kind / f"{numbered}.json")
        return numbered, True

    def _path(self, kind: Kind, name: str) -> Path:
        files = self.files(kind)
        if name in files:
            return files[name]
        names = ", ".join(files)
        advice = f"Available: {names}." if names else f"Put one into {self._own / kind}."
        raise InputError(f"There is no {_noun(kind)} “{name}”.", advice=advice)


def _noun(kind: Kind) -> str:
    return kind.removesuffix("s")


def file_name(name: str) -> str:
    """Return `name` as a valid file name on every system. Raises InputError if nothing is left."""
    kept = "".join(" " if char in '<>:"/\\|?*' or not char.isprintable() else char for char in name)
    words = " ".join(kept.split()).strip(".")[:80].strip()
    if not words:
        raise InputError("The name is empty.", advice="It needs at least one letter or digit.")
    return words


def _stamp(path: Path | None) -> FileStamp:
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return str(path), status.st_mtime_ns, status.st_size


def _write(text: str, path: Path) -> None:
    with file_errors(path.parent, "created"):
        make_private_folder(path.parent)
    write_text(text, path)


def _delete(path: Path) -> None:
    with file_errors(path, "deleted"):
        path.unlink()
