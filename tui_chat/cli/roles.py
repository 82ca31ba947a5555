"""Roles in `tui-chat library`, which also are `tui-chat roles`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tui_chat.cli.app import synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.library import Item, LibraryKind, Listed, excerpt, export
from tui_chat.cli.names import find_role
from tui_chat.cli.output import Styled, document_json, write_line
from tui_chat.cli.workspace import command_workspace
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.foreign_files import card_files
from tui_chat.models.role import Role
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.setting_types import settings_json


@dataclass(frozen=True, slots=True)
class _StoredRole:
    role: Role
    picture: bytes = b""
    description: str = ""
    """The beginning of the description in its character card."""

    @property
    def name(self) -> str:
        return self.role.name


@dataclass(frozen=True, slots=True)
class RoleDocument:
    """A role in a list, and in the form of a role file."""

    role_id: str
    name: str
    system_prompt: str
    model: str
    parameters: dict[str, Any]
    preset: str
    status: str


class _Roles(LibraryKind[_StoredRole]):
    noun = "role"
    head = ("NAME", "MODEL", "PRESET", "STATUS", "PROMPT")
    narrowed = ((4, 20),)

    @synchronous
    async def items(self, common: CommonOptions) -> list[Item[_StoredRole]]:
        async with command_workspace(common.config(), create=False) as (workspace, _):
            described = await workspace.store.roles.descriptions()
            return [
                _item(_StoredRole(role, description=described.get(role.role_id, "")))
                for role in workspace.state.roles
            ]

    @synchronous
    async def find(self, common: CommonOptions, name: str) -> Item[_StoredRole]:
        """Return the role with this name or id, with its character card."""
        async with command_workspace(common.config(), create=False) as (workspace, _):
            role = find_role(workspace.state.roles, name)
            whole = await workspace.store.roles.get(role.role_id) or role
            return _item(_StoredRole(whole, await workspace.store.roles.picture(role.role_id)))

    def row(self, listed: Listed[_StoredRole]) -> tuple[str, ...]:
        role = _role_of(listed)
        description = listed.value.description if listed.value is not None else ""
        return (
            role.name,
            role.model or "—",
            role.preset or "—",
            role.status,
            excerpt(role.system_prompt or description.partition("\n")[0]),
        )

    def document(self, listed: Listed[_StoredRole]) -> RoleDocument:
        return _document(_role_of(listed))

    def describe(self, value: _StoredRole) -> None:
        role, card = value.role, value.role.character
        facts = {"model": role.model, "preset": role.preset, "status": role.status}
        for key, fact in (facts | settings_json(role.settings)).items():
            if fact != "":
                write_line("  ", one_line(f"{key} = {fact}"))
        if card is not None:
            facts = {"creator": card.creator, "version": card.version, "tags": ", ".join(card.tags)}
            first = card.description.strip().partition("\n")[0]
            for key, fact in ({"description": first} | facts).items():
                if fact:
                    write_line("  ", one_line(f"{key} = {fact}", 200))
        if value.picture:
            write_line("  ", f"picture = {len(value.picture):,} bytes; roles export writes it")
        if role.system_prompt:
            write_line("")
            write_line(role.system_prompt)
        if card is not None and card.creator_notes:
            write_line("")
            write_line(Styled("Creator's notes", bold=True))
            write_line(card.creator_notes)

    def export(self, item: Item[_StoredRole], output: Path | None, form: str) -> None:
        """Write a role as a character card, with all that its file had."""
        stored = item.read()
        ending = output.suffix.lower() if output else ".json"
        export(card_files().write(stored.role, stored.picture, ending), output)


def _item(stored: _StoredRole) -> Item[_StoredRole]:
    role = stored.role

    def text() -> str:
        document = document_json(_document(role))
        return sanitize(json.dumps(document, indent=2, ensure_ascii=False), "json")

    return Item(role.name, role.role_id, lambda: stored, text)


def _role_of(listed: Listed[_StoredRole]) -> Role:
    assert listed.value is not None  # those of the database can be read
    return listed.value.role


def _document(role: Role) -> RoleDocument:
    texts = (role.role_id, role.name, role.system_prompt, role.model)
    return RoleDocument(*texts, settings_json(role.settings), role.preset, role.status)


ROLES = _Roles()
