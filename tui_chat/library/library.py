"""The files that a person chooses from by name: presets, profiles, lorebooks, roles.

Each kind has its folder (`presets/`, `profiles/`, `lorebooks/`, `roles/`) in the configuration
folder, and a file's name without `.json` is its name. Folders are looked at anew each time, so
a file that was put there a moment ago is found.
"""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path
from typing import Literal

from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, make_private_folder, read_text, write_text
from tui_chat.library.presets import load_preset, save_preset
from tui_chat.library.roles_and_profiles import dump_profile, load_profile, parse_role
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.preset import Preset
from tui_chat.models.profile import Profile
from tui_chat.models.role import Role

Kind = Literal["presets", "profiles", "lorebooks", "roles"]

_ONE: dict[Kind, str] = {
    "presets": "preset",
    "profiles": "profile",
    "lorebooks": "lorebook",
    "roles": "role",
}


class Library:
    """The user's files, and the presets that came with the program."""

    def __init__(self, own: Path, sample_presets: Path) -> None:
        """`own` is the configuration folder; neither folder need be there."""
        self._own = own
        self._samples = sample_presets

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Return what there is to choose from, in the order of names; ours go first."""
        return tuple(self.files(kind))

    def files(self, kind: Kind) -> dict[str, Path]:
        """Return the files by name; the user's own hide ours of the same name."""
        own = self._own / kind
        folders = (self._samples, own) if kind == "presets" else (own,)
        return {path.stem: path for folder in folders for path in sorted(folder.glob("*.json"))}

    def preset(self, name: str) -> Preset:
        """Read a preset. Raises InputError where there is none, or it has faults."""
        return load_preset(self._path("presets", name))

    def preset_file(self, name: str) -> Path:
        """Return the file that a preset is in. Raises InputError where there is none."""
        return self._path("presets", name)

    def is_ours(self, name: str) -> bool:
        """Whether a preset came with the program: a save makes a copy of it."""
        return self.files("presets").get(name, self._own).parent == self._samples

    def save_preset(self, preset: Preset, name: str, like: str = "") -> Path:
        """Write a preset into the user's folder and return the file, `name` with `.json`.

        A new file has the style of the preset `like`, where there is one. Raises InputError
        where the name is none, or the file cannot be written.
        """
        path = self._own / "presets" / f"{file_name(name)}.json"
        _make(path.parent)
        model = path if path.is_file() else self.files("presets").get(like)
        save_preset(preset, path, model)
        return path

    def rename_preset(self, name: str, to: str) -> str:
        """Give a preset of the user's another name; return what it is called then.

        Raises InputError where there is one of that name, or it cannot be done.
        """
        path, wanted = self._own_preset(name), file_name(to)
        target = path.with_name(f"{wanted}.json")
        if target.exists():
            raise InputError(f"There is a preset “{wanted}” already.")
        try:
            path.rename(target)
        except OSError as error:
            raise InputError(f"{path}: cannot be renamed: {error.strerror}") from error
        return wanted

    def delete_preset(self, name: str) -> None:
        """Delete a preset of the user's. Raises InputError where it cannot be done."""
        path = self._own_preset(name)
        try:
            path.unlink()
        except OSError as error:
            raise InputError(f"{path}: cannot be deleted: {error.strerror}") from error

    def _own_preset(self, name: str) -> Path:
        path = self._path("presets", name)
        if self.is_ours(name):
            raise InputError(
                f"“{name}” came with the program and stays as it is.", advice="Make a copy of it."
            )
        return path

    def profile(self, name: str) -> Profile:
        """Read a profile. Raises InputError where there is none, or it has faults."""
        return load_profile(self._path("profiles", name))

    def lorebook(self, name: str) -> Lorebook:
        """Read a lorebook. Raises InputError where there is none, or it has faults."""
        from tui_chat.library.lorebooks import load_lorebook  # few sessions have one

        return load_lorebook(self._path("lorebooks", name))

    def role_text(self, name: str) -> str:
        """Return the text of a role file. Raises InputError where it cannot be read."""
        return read_text(self._path("roles", name), max_bytes=MAX_BYTES)

    def role(self, name: str, text: str) -> Role:
        """Read the text of a role file; its id is the file's name where it names none."""
        return parse_role(text, str(self._own / "roles" / f"{name}.json"), name)

    def save_profile(self, profile: Profile) -> str:
        """Write a profile file, called as the profile is; return the file's name.

        Raises InputError where the name is none, or the file cannot be written.
        """
        name = file_name(profile.name)
        folder = self._own / "profiles"
        _make(folder)
        write_text(dump_profile(profile), folder / f"{name}.json")
        return name

    def add_preset(self, preset: Preset) -> str:
        """Write a preset file that was not there, called as the preset is, with a number where
        that name is taken; return the file's name. Raises InputError where it cannot.
        """
        wanted = file_name(preset.name)
        taken = {name.casefold() for name in self.names("presets")}
        numbered = (f"{wanted} {require_number}" for require_number in count(2))
        name = next(n for n in chain((wanted,), numbered) if n.casefold() not in taken)
        folder = self._own / "presets"
        _make(folder)
        save_preset(preset, folder / f"{name}.json")
        return name

    def _path(self, kind: Kind, name: str) -> Path:
        files = self.files(kind)
        if name in files:
            return files[name]
        known = ", ".join(files)
        advice = f"There are: {known}." if known else f"Put one into {self._own / kind}."
        raise InputError(f"There is no {_ONE[kind]} “{name}”.", advice=advice)


def file_name(name: str) -> str:
    """Return `name` as a file may be called on every system. Raises InputError for no name."""
    kept = "".join(" " if each in '<>:"/\\|?*' or not each.isprintable() else each for each in name)
    words = " ".join(kept.split()).strip(".")[:80].strip()
    if not words:
        raise InputError("A name is needed.", advice="Give it at least a letter or a digit.")
    return words


def _make(folder: Path) -> None:
    try:
        make_private_folder(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
