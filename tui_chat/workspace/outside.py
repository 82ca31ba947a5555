"""What a desk reaches for: the store, the network, the files, the clocks, its listener."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tui_chat.errors import TuiChatError
from tui_chat.library import Library
from tui_chat.providers import HttpClient
from tui_chat.workspace.changes import Change, Trouble

if TYPE_CHECKING:
    from tui_chat.store import Store


@dataclass(frozen=True, slots=True)
class Outside:
    """The same for all parts of one desk."""

    store: Store
    client: HttpClient
    shelf: Library
    """Presets, profiles, lorebooks and roles as files."""
    tell: Callable[[Change], None]
    now: Callable[[], datetime]
    """In the zone that times are to be told in."""
    clock: Callable[[], float]
    """Seconds from any start; never goes back."""
    new_id: Callable[[], str]
    """Gives ids that are unique for all programs."""

    @contextmanager
    def telling(self) -> Generator[None]:
        """Tell our errors as `Trouble` instead of raising them."""
        try:
            yield
        except TuiChatError as error:
            self.tell(Trouble(error))
