"""The lore of a SillyTavern case: the active books in their order, the rules and the timers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from tui_chat.library.file_reader import choose
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.library.sillytavern_world_info import usable_entries
from tui_chat.models.json_text import as_array, as_object, object_or_none
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.role import Role
from tui_chat.models.settings import LoreRules, LoreTimer


class CaseLore:
    """Reads what a case says about lore."""

    def __init__(
        self,
        found: Mapping[str, Any],
        settings: Mapping[str, Any],
        metadata: Mapping[str, Any],
        source: str,
    ) -> None:
        """`settings` are those in effect, `metadata` are the chat's; `source` is what errors call
        the case.
        """
        self._found = found
        self._rules = object_or_none(settings.get("world_info")) or {}
        self._metadata = metadata
        self._source = source

    def books(self, role: Role) -> tuple[tuple[Lorebook, ...], tuple[int, ...]]:
        """Return the active books and the tier of each."""
        found = object_or_none(self._found.get("lorebooks")) or {}
        files = object_or_none(found.get("files")) or {}
        world = string(self._metadata.get("world_info"))
        character = role.character
        linked = character.world if character is not None else ""
        if not linked and self._found.get("embedded_book_imported") is True:
            linked = character.book.name if character is not None and character.book else ""
        names = [name for name in as_array(found.get("active_global")) if isinstance(name, str)]
        books: list[Lorebook] = []
        tiers: list[int] = []
        used: set[str] = set()
        strategy = self._rules.get("world_info_character_strategy", 1)
        ranks = choose({0: (1, 1), 1: (1, 2), 2: (2, 1)}, strategy, (1, 2))

        def add(name: str, tier: int, book: Lorebook | None) -> None:
            if book is not None and name not in used:
                used.add(name)
                books.append(replace(book, token_budget=None))
                tiers.append(tier)

        add(world, 0, self._book(files, world))
        own = character.book if character is not None else None
        add(linked, ranks[0], self._book(files, linked) or (own if linked else None))
        for name in names:
            add(name, ranks[1], self._book(files, name))
        if strategy == 0 and books:  # global books are scanned first
            globals_ = [n for n, book in enumerate(books) if book.name in names]
            others = [n for n in range(len(books)) if n not in globals_ and tiers[n]]
            chat = [n for n in range(len(books)) if n not in globals_ and not tiers[n]]
            places = [*chat, *globals_, *others]
            books, tiers = [books[n] for n in places], [tiers[n] for n in places]
        return tuple(books), tuple(tiers)

    def _book(self, files: Mapping[str, Any], name: str) -> Lorebook | None:
        found = object_or_none(files.get(name))
        if not name or found is None:
            return None
        usable, _ = usable_entries(found.get("entries"))
        source = f"{self._source}, lorebook {name}"
        return parse_lorebook(json.dumps({"name": name, "entries": usable}), source, name)

    def rules(self, tiers: Sequence[int]) -> LoreRules:
        """Return the rules of the activation; `tiers` are those of the books."""
        rules = self._rules
        return LoreRules(
            names=rules.get("world_info_include_names") is not False,
            budget_percent=whole(rules.get("world_info_budget"), 25),
            budget_cap=whole(rules.get("world_info_budget_cap"), 0),
            min_activations=whole(rules.get("world_info_min_activations"), 0),
            min_activations_depth=whole(rules.get("world_info_min_activations_depth_max"), 0),
            group_scoring=rules.get("world_info_use_group_scoring") is True,
            scan_depth=whole(rules.get("world_info_depth"), 2),
            recursive=rules.get("world_info_recursive") is True,
            max_recursion_steps=whole(rules.get("world_info_max_recursion_steps"), 0),
            case_sensitive=rules.get("world_info_case_sensitive") is True,
            match_whole_words=rules.get("world_info_match_whole_words") is not False,
            tiers=tuple(tiers),
        )

    def timers(self) -> Iterator[LoreTimer]:
        """Yield the entries that are held or barred by earlier messages."""
        timed = object_or_none(self._metadata.get("timedWorldInfo")) or {}
        kinds: tuple[Literal["sticky", "cooldown"], ...] = ("sticky", "cooldown")
        for kind in kinds:
            for key, each in as_object(timed.get(kind)).items():
                timer = object_or_none(each) or {}
                book, _, entry = key.rpartition(".")
                yield LoreTimer(
                    book,
                    entry,
                    kind,
                    whole(timer.get("start"), 0),
                    whole(timer.get("end"), 0),
                    timer.get("protected") is True,
                )


def string(value: object) -> str:
    """Return a text; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def whole(value: object, default: int) -> int:
    """Return a whole number that is not negative, at most a billion."""
    try:
        number = int(cast("Any", value))
    except (TypeError, ValueError, OverflowError):
        return default
    return min(max(number, 0), 10**9)
