"""What changed between the branch that was shown and the one to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_chat.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tui_chat.models.session import Entry


@dataclass(frozen=True, slots=True)
class BranchChange:
    """The difference of a branch from the one before it."""

    is_other_session: bool
    """True if the branches have nothing in common."""
    same: int
    """The number of entries with which both begin."""
    above: int
    """The number of entries that were added above the old ones."""
    added: tuple[Entry, ...]
    """The entries that follow the old ones."""
    replaces_entries: bool
    """True if an entry of the old branch is another one now, or gone."""
    is_other_version: bool
    """True if the first entry that differs is shown in another version."""

    @property
    def user_spoke(self) -> bool:
        """True if the user sent a message."""
        return any(entry.message.role == "user" for entry in self.added)


def branch_change(
    old: tuple[Entry, ...], new: tuple[Entry, ...], *, same_session: bool
) -> BranchChange:
    """Compare two branches; `same_session` is True if both are known to be of one session."""
    same, above = common_beginning(old, new), _added_above(old, new)
    same_first = bool(old and new) and old[0].message.id == new[0].message.id != ""
    return BranchChange(
        is_other_session=not (same_session or same or above or same_first),
        same=same,
        above=above,
        added=new[len(old) + above :],
        replaces_entries=same < min(len(old), len(new)),
        is_other_version=_is_other_version(old, new, same),
    )


def common_beginning(old: Sequence[Entry], new: Sequence[Entry]) -> int:
    """Count the entries with which both branches begin."""
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if before is not after:
            return index
    return min(len(old), len(new))


def _is_other_version(old: tuple[Entry, ...], new: tuple[Entry, ...], index: int) -> bool:
    """Return True if the message at an index is shown in another version."""
    if index >= min(len(old), len(new)):
        return False
    before, after = old[index], new[index]
    return (
        before.message.id != after.message.id
        and after.siblings > 1
        and before.sibling != after.sibling
    )


def _added_above(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> int:
    """Return how many entries were added above the old ones; 0 if the old are not the new end."""
    above = len(new) - len(old)
    ends = ((old[0], new[above]), (old[-1], new[-1])) if old and above > 0 else ()
    is_end = all(before.message.id == after.message.id != "" for before, after in ends)
    return above if ends and is_end else 0
