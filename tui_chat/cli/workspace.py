"""Workspaces of commands: opened like the app's, but what the app starts with stays as it is."""

from __future__ import annotations

import difflib
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tui_chat import paths
from tui_chat.cli.app import open_workspace
from tui_chat.cli.output import write_line
from tui_chat.config import Config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.sanitize import one_line
from tui_chat.models.setting_types import SettingError, parse_setting, typed_setting_name
from tui_chat.workspace.events import Failed
from tui_chat.workspace.roles import FIRST_ROLE
from tui_chat.workspace.state import DEFAULT_PRESET

if TYPE_CHECKING:
    from tui_chat.models.role import Role
    from tui_chat.models.session import SessionSummary
    from tui_chat.store import Store
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace

_T = TypeVar("_T")


class Failures:
    """The errors that a workspace publishes."""

    def __init__(self, workspace: Workspace) -> None:
        self._errors: list[TuiChatError] = []
        workspace.subscribe(self._collect)

    def _collect(self, event: WorkspaceEvent) -> None:
        if isinstance(event, Failed):
            self._errors.append(event.error)

    def raise_first(self) -> None:
        """Raise the first error since the last call, if there was one."""
        errors, self._errors = self._errors, []
        if errors:
            raise errors[0]

    def warn(self) -> None:
        """Print the errors since the last call as warnings on the standard error stream."""
        errors, self._errors = self._errors, []
        for error in errors:
            write_line(f"warning: {error} {error.advice}".rstrip(), err=True)


@dataclass(frozen=True, slots=True)
class Choices:
    """What a command line chooses for a request; what is None, and an empty endpoint or model,
    is left to the session.
    """

    endpoint: str = ""
    model: str = ""
    role: str | None = None
    """The name of a role; empty for none."""
    preset: str | None = None
    """The name of a preset; empty for none."""
    profile: str | None = None
    """The name of a profile; empty for none."""
    settings: tuple[str, ...] = ()
    """`NAME=VALUE` each."""


NO_CHOICES = Choices()

NO_PRESET = "none"
"""The bundled preset that has nothing but the conversation."""


@asynccontextmanager
async def command_workspace(
    config: Config, *, create: bool
) -> AsyncGenerator[tuple[Workspace, Failures]]:
    """Open a workspace with a new chat. Without `create`, a missing database is not created: the
    workspace is that of the first start.

    Raises InputError and StoreError.
    """
    in_memory = not create and not paths.database_file(config.data_dir).exists()
    workspace = await open_workspace(config, remembers=False, in_memory=in_memory)
    try:
        failures = Failures(workspace)
        await workspace.start_new_chat()
        failures.warn()
        yield workspace, failures
    finally:
        await workspace.close()


async def open_session(workspace: Workspace, failures: Failures, name: str) -> None:
    """Make the session active that has this id, start of an id, or title. Raises InputError."""
    session = await named_session(workspace.store, name)
    await workspace.sessions.activate(session.session_id)
    failures.warn()


async def choose(workspace: Workspace, choices: Choices) -> None:
    """Use what a command line chooses, for the requests of this process: nothing is stored.

    Raises InputError for an unknown name and a value that is not accepted, and StoreError.
    """
    if choices.role is not None:
        if workspace.state.session is not None:
            raise InputError(
                "A session keeps the role it began with.", advice="Omit --role, or --session."
            )
        role = None
        if choices.role:  # the list has roles without their character cards
            found = find_role(workspace.state.roles, choices.role)
            role = await workspace.store.roles.get(found.role_id)
        await choose_role(workspace, role)
    changes: dict[str, Any] = {}
    if choices.preset is not None:
        name = choices.preset or NO_PRESET
        preset = find("preset", name, workspace.library.names("presets"))
        changes |= {"preset": workspace.presets.read(preset), "preset_name": preset}
    if choices.profile is not None:
        name = choices.profile
        name = name and find("profile", name, workspace.library.names("profiles"))
        changes["profile"] = workspace.library.profile(name) if name else None
        changes["profile_name"] = name
    if choices.endpoint or choices.model:
        state = workspace.state
        changes["endpoint"] = (
            state.config.endpoint_named(choices.endpoint)
            if choices.endpoint
            else state.config.endpoint_for(choices.model, state.endpoint)
        )
        changes["model"] = choices.model
    if choices.settings:
        changes["settings"] = replace(workspace.state.settings, **read_settings(choices.settings))
    if changes:
        workspace.update(**changes)


def send_only_conversation(workspace: Workspace) -> None:
    """Add nothing to the messages of the conversation: no role, preset, profile, lorebook, tool."""
    workspace.update(
        role=None,
        profile=None,
        profile_name="",
        lorebooks=(),
        lorebook_names=(),
        tools=(),
        preset=workspace.presets.read(NO_PRESET),
        preset_name=NO_PRESET,
    )


def omit_screen_rules(workspace: Workspace, choices: Choices) -> None:
    """Omit what comes with the program and is about its screen, for a reply that a program reads:
    the messages of the default preset and the prompt of the first role. What was chosen or written
    by the user stays, and the session keeps both.
    """
    state = workspace.state
    is_default = choices.preset is None and state.preset_name == DEFAULT_PRESET
    if is_default and workspace.library.is_ours(DEFAULT_PRESET):
        workspace.update(preset=workspace.presets.read(NO_PRESET))
    role = state.role
    if role is None or choices.role is not None or role.role_id != FIRST_ROLE.role_id:
        return
    if role.system_prompt == FIRST_ROLE.system_prompt:
        workspace.update(role=replace(role, system_prompt=""))


async def choose_role(workspace: Workspace, role: Role | None) -> None:
    """Give the new chat a role; None for none. Raises InputError if it is disabled."""
    if role is not None and role.status == "disabled":
        sentence = f"The role “{role.name}” is disabled."
        raise InputError(sentence, advice="Enable it, or choose another role.")
    await workspace.settings.apply_new_chat(role)
    workspace.sessions.show_opening()


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Return the values of settings that are given as NAME=VALUE. Raises InputError."""
    values: dict[str, Any] = {}
    for words in given:
        name, separator, value = words.partition("=")
        if not separator:
            raise InputError(f"--set: “{words}” is not NAME=VALUE")
        try:
            values[typed_setting_name(name)] = parse_setting(name, value)
        except SettingError as error:
            raise InputError(f"--set: {error}") from error
    return values


def find(what: str, name: str, names: Sequence[str]) -> str:
    """Return a name as it is written in `names`, whatever its case. Raises InputError, which
    suggests the nearest.
    """
    if name in names:
        return name
    for each in names:
        if each.casefold() == name.casefold():
            return each
    raise InputError(f"There is no {what} “{one_line(name, 80)}”.", advice=suggestion(name, names))


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return advice on an unknown name: the nearest known ones, or if none is near, all."""
    by_case = {each.casefold(): each for each in reversed(names)}
    near = [by_case[each] for each in difflib.get_close_matches(name.casefold(), by_case, 3, 0.5)]
    if near:
        return f"Did you mean {' or '.join(f'“{one_line(each, 80)}”' for each in near)}?"
    some = ", ".join(one_line(each, 80) for each in names[:20])
    return f"Available: {some}{', …' if len(names) > 20 else ''}." if some else "There are none."


def find_role(roles: Sequence[Role], name: str) -> Role:
    """Return the role with this id or name. Raises InputError, which suggests the nearest."""
    for role in roles:
        if name in (role.role_id, role.name):
            return role
    found = find("role", name, [role.name for role in roles])
    return next(role for role in roles if role.name == found)


async def named_session(store: Store, name: str | None) -> SessionSummary:
    """Return the session with this id, start of an id, or title; None for the one that was active
    last. Raises InputError and StoreError.
    """
    sessions = await store.sessions.list()
    if name is None:
        if not sessions:
            raise InputError("There is no session yet.", advice="`tui-chat ask TEXT` starts one.")
        return sessions[0]
    try:
        return find_session(sessions, name)
    except InputError:
        for each in await store.sessions.list_trash():
            if name and (each.session_id.startswith(name) or each.title == name):
                raise InputError(
                    f"“{one_line(each.title, 80)}” is in the trash.",
                    advice=f"Restore it with `tui-chat sessions delete --undo {each.session_id}`.",
                ) from None
        raise


SHORT_ID = 12
"""Least characters of a printed id: its milliseconds, so that no later session begins with them."""


async def short_ids(store: Store) -> dict[str, str]:
    """Return, for the ids of all sessions and of those in the trash, a beginning that no other id
    has.
    """
    listed = (*await store.sessions.list(), *await store.sessions.list_trash())
    return shortened(each.session_id for each in listed)


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """Return for each id its shortest beginning that no other has, of `SHORT_ID` or more."""
    ordered = sorted(ids)
    needed = [SHORT_ID] * len(ordered)
    for number, (one, other) in enumerate(pairwise(ordered)):
        shared = common_prefix(one, other) + 1
        needed[number] = max(needed[number], shared)
        needed[number + 1] = max(needed[number + 1], shared)
    return {each: each[:length] for each, length in zip(ordered, needed, strict=True)}


def find_session(sessions: Sequence[SessionSummary], name: str) -> SessionSummary:
    """Return the session with this id, start of an id, or exact title.

    Raises InputError, which suggests similar sessions.
    """
    exact = [each for each in sessions if each.session_id == name]
    titled = [each for each in sessions if each.title == name]
    begun = [each for each in sessions if each.session_id.startswith(name)] if name else []
    for found in (exact, titled, begun):
        if len(found) == 1:
            return found[0]
    several = titled or begun
    if several:
        raise InputError(
            f"“{one_line(name, 80)}” matches {len(several)} sessions.",
            advice=f"Give more of the id: {_session_list(several)}.",
        )
    titles = {each.title.casefold(): each for each in reversed(sessions)}
    wanted = name.casefold()
    within = [each for title, each in titles.items() if wanted and wanted in title]
    near = [titles[title] for title in difflib.get_close_matches(wanted, titles, 3, 0.5)]
    hints = list({each.session_id: each for each in (*within[:3], *near)}.values())[:3]
    if Path(name).is_file():
        raise InputError(
            f"“{one_line(name, 80)}” is a file, not a session.",
            advice="`tui-chat view FILE` shows its conversations, `tui-chat import` imports them.",
        )
    raise InputError(
        f"There is no session “{one_line(name, 80)}”.",
        advice=f"Did you mean {_session_list(hints)}?"
        if hints
        else "`tui-chat sessions list` lists them.",
    )


def _session_list(sessions: Sequence[SessionSummary]) -> str:
    some = [f"{each.session_id} ({one_line(each.title, 50)})" for each in sessions[:5]]
    return ", ".join(some) + (", …" if len(sessions) > 5 else "")
