"""Going on after damage: what can be read takes the damaged file's place, which is kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tui_chat.store.salvage import Salvaged, salvage
from tui_chat.store.upkeep import put_aside


@dataclass(frozen=True, slots=True)
class Rescued:
    """A database that was damaged and can be used again."""

    saved: Salvaged
    aside: Path
    """Where the damaged file is now."""

    def __str__(self) -> str:
        saved = self.saved
        messages = _count(saved.rows["messages"], "message")
        return (
            f"Saved {messages} in {_count(saved.rows['sessions'], 'session')}; "
            f"{saved.unreadable:,} of {saved.pages:,} pages could not be read.\n"
            f"The damaged file is kept: {self.aside}"
        )


def rescue(path: Path, *, now: float) -> Rescued:
    """Save what can be read of the database at `path`, and use that from now on.

    Raises StoreBusy while another program has it open, StoreDamaged where nothing can be read;
    nothing is changed then.
    """
    new = path.with_name(f"{path.name}.salvaged-{int(now)}")
    saved = salvage(path, new)
    aside = put_aside(path, now)
    new.rename(path)
    return Rescued(saved, aside)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
