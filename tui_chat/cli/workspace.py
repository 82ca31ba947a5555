"""Workspaces of commands: opened like the app's, but what the app starts with stays as it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tui_chat import paths
from tui_chat.cli.app import open_workspace, say_update
from tui_chat.cli.names import find, find_role, named_session
from tui_chat.cli.output import write_line, write_warning
from tui_chat.config import Config
from tui_chat.errors import InputError, StoreError, TuiChatError
from tui_chat.models.sanitize import one_line
from tui_chat.models.settings import SettingError, parse_setting, typed_setting_name
from tui_chat.workspace.events import Failed
from tui_chat.workspace.roles import FIRST_ROLE
from tui_chat.workspace.state import DEFAULT_PRESET, NO_PRESET

if TYPE_CHECKING:
    from tui_chat.cli.question import Question
    from tui_chat.models.role import Role
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace

STORING_SECONDS = 2.0
"""Seconds to wait at the end of a command for what could not be stored at once."""


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
            write_warning(error)


@asynccontextmanager
async def command_workspace(
    config: Config, *, create: bool
) -> AsyncGenerator[tuple[Workspace, Failures]]:
    """Open a workspace with a new chat of the configuration alone. Without `create`, a missing
    database is not created: the workspace is that of the first start.

    Raises InputError and StoreError.
    """
    in_memory = not create and not paths.database_file(config.data_dir).exists()
    if not in_memory:
        say_update(paths.database_file(config.data_dir))
    workspace = await open_workspace(config, remembers=False, in_memory=in_memory)
    try:
        failures = Failures(workspace)
        await workspace.start_new_chat()
        failures.warn()
        yield workspace, failures
    except BaseException:
        if lost := await _close(workspace):
            write_warning(lost)
        raise
    if lost := await _close(workspace):
        raise lost


async def save_replies(workspace: Workspace) -> None:
    """Store replies again whose ends could not be stored."""
    if workspace.state.unsaved_replies:
        await asyncio.sleep(STORING_SECONDS)
        await workspace.replies.save_again()


async def _close(workspace: Workspace) -> StoreError | None:
    """Close a workspace; return the error of what could not be stored until then."""
    await workspace.close()
    if not (reason := workspace.state.unsaved):
        return None
    sentence = f"What arrived was not stored, or not all of it. {reason}"
    return StoreError(sentence, advice="What was printed is all there is of it.")


async def open_session(workspace: Workspace, failures: Failures, question: Question) -> None:
    """Make the session active that a question continues, if it does. Raises InputError."""
    if not question.has_session:
        return
    name = question.session
    if not name and not await workspace.store.sessions.list(1):
        raise InputError("There is no session to continue.", advice="Omit -c.")
    session = await named_session(workspace.store, name or None)
    await workspace.sessions.activate(session.session_id)
    failures.warn()


async def choose(workspace: Workspace, question: Question, role: str | None) -> None:
    """Use what a command line chooses, for the requests of this process: nothing is stored.

    Raises InputError for an unknown name and a value that is not accepted, and StoreError.
    """
    if role is not None:
        await _choose_role_named(workspace, role)
    changes: dict[str, Any] = {}
    if question.preset is not None:
        name = question.preset or NO_PRESET
        preset = find("preset", name, workspace.library.names("presets"))
        workspace.core.report_doubts("presets", preset)
        changes |= {"preset": workspace.presets.read(preset), "preset_name": preset}
    if question.profile is not None:
        name = question.profile
        name = name and find("profile", name, workspace.library.names("profiles"))
        workspace.core.report_doubts("profiles", name)
        changes["profile"] = workspace.library.profile(name) if name else None
        changes["profile_name"] = name
    if question.settings:
        settings = read_settings(question.settings)
        changes["settings"] = replace(workspace.state.settings, **settings)
    if changes:
        workspace.update(**changes)
    choose_model(workspace, question.endpoint, question.model)
    _omit_screen_rules(workspace, question)
    if question.bare:
        _send_only_conversation(workspace)


def choose_model(workspace: Workspace, endpoint_name: str, model: str) -> None:
    """Use an endpoint and a model; an empty name is left as it is. Raises InputError."""
    config = workspace.state.config
    if endpoint_name:
        workspace.update(endpoint=config.endpoint_named(endpoint_name), model=model)
    elif model:
        endpoint, model = config.endpoint_and_model(model, workspace.state.endpoint)
        workspace.update(endpoint=endpoint, model=model)


async def load_tools(workspace: Workspace) -> None:
    """Ask the sources of tools for theirs, and say why one has none on the standard error."""
    await workspace.tool_sources.loaded()
    for status in workspace.state.tool_sources:
        if status.sentence:
            write_line(f"warning: {status.name}: {one_line(status.sentence)}", err=True)


async def _choose_role_named(workspace: Workspace, name: str) -> None:
    """Use the role of a name; empty for none, also instead of one that a session has lost."""
    if workspace.state.session is not None:
        if name or not workspace.state.role_fault:
            raise InputError(
                "A session keeps the role it began with.", advice="Omit --role, or --session."
            )
        workspace.update(role=None, role_missing=False)
        return
    role = None
    if name:  # the list has roles without their character cards
        role_id = find_role(workspace.state.roles, name).role_id
        role = await workspace.store.roles.get(role_id)
    await choose_role(workspace, role)


async def choose_role(workspace: Workspace, role: Role | None) -> None:
    """Give the new chat a role; None for none. Raises InputError if it is disabled."""
    if role is not None and role.status == "disabled":
        sentence = f"The role “{role.name}” is disabled."
        raise InputError(sentence, advice="Enable it in the app (/roles), or choose another role.")
    await workspace.settings.apply_new_chat(role)
    workspace.sessions.show_opening()


def _send_only_conversation(workspace: Workspace) -> None:
    """Add nothing to the messages of the conversation: no role, preset, profile, lorebook, tool."""
    workspace.update(
        role=None,
        role_missing=False,
        profile=None,
        profile_name="",
        lorebooks=(),
        lorebook_names=(),
        tools=(),
        preset=workspace.presets.read(NO_PRESET),
        preset_name=NO_PRESET,
        edits=(),
    )


def leave_pending_edits(workspace: Workspace) -> None:
    """Make the requests of a command without the edits by hand that wait for what the user is
    typing in the app. Those that hold for every request of the session stay.
    """
    edits = workspace.state.edits
    if edits:
        workspace.update(edits=tuple(edit for edit in edits if edit.kept or edit.answered))


def _omit_screen_rules(workspace: Workspace, question: Question) -> None:
    """Omit what comes with the program and is about its screen, which a command does not have: the
    messages of the default preset and the prompt of the first role. What was chosen or written by
    the user stays, and a session that has them keeps both.
    """
    state = workspace.state
    is_default = question.preset is None and state.preset_name == DEFAULT_PRESET
    if is_default and workspace.library.is_ours(DEFAULT_PRESET):
        workspace.update(preset=workspace.presets.read(NO_PRESET))
    if (role := state.role) is None or question.role is not None:
        return
    if (role.role_id, role.system_prompt) == (FIRST_ROLE.role_id, FIRST_ROLE.system_prompt):
        workspace.update(role=replace(role, system_prompt=""))


def read_settings(assignments: Sequence[str]) -> dict[str, Any]:
    """Return the values of settings that are given as NAME=VALUE. Raises InputError."""
    values: dict[str, Any] = {}
    for words in assignments:
        name, separator, value = words.partition("=")
        if not separator:
            raise InputError(f"--set: “{words}” is not NAME=VALUE")
        try:
            values[typed_setting_name(name)] = parse_setting(name, value)
        except SettingError as error:
            raise InputError(f"--set: {error}") from error
    return values
