"""How the shown session is set: model, endpoint, preset, profile, lorebooks.

1. What is chosen holds from the next message on, and stays with the session.
2. A session whose preset, profile, lorebook or endpoint is gone opens all the same: it is told,
   and the session goes on without, or with the default.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from tui_chat.errors import InputError, TuiChatError
from tui_chat.models.preset import Preset
from tui_chat.models.role import Role
from tui_chat.models.session import Session
from tui_chat.providers import discover_endpoints, merge_discovered
from tui_chat.workspace.changes import BranchChanged, Trouble
from tui_chat.workspace.composing import Composing
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.presets import Presets
from tui_chat.workspace.state import State

if TYPE_CHECKING:
    from tui_chat.store.sessions import SessionChanges

PLAIN = "plain"
"""The preset of those who chose none."""


class Choosing:
    """What holds from the next message on."""

    def __init__(
        self, state: State, outside: Outside, composing: Composing, presets: Presets
    ) -> None:
        self._state = state
        self._outside = outside
        self._composing = composing
        self._presets = presets

    # --- by a person ---------------------------------------------------------------------

    async def model(self, endpoint: str, model: str) -> None:
        """Ask another model; see `Desk.choose`."""
        with self._outside.telling():
            self._state.endpoint = self._state.config.endpoint_named(endpoint)
            self._state.model = model
            await self._keep(endpoint=endpoint, model=model)

    async def parameters(self, temperature: float | None, max_tokens: int | None) -> None:
        """Ask with another temperature and reply limit; see `Desk.choose_parameters`."""
        with self._outside.telling():
            if temperature is not None and not 0 <= temperature <= MOST_TEMPERATURE:
                raise InputError(f"The temperature must be from 0 to {MOST_TEMPERATURE}.")
            if max_tokens is not None and max_tokens < 1:
                raise InputError("The reply limit must be at least one token.")
            self._state.temperature, self._state.max_tokens = temperature, max_tokens
            await self._keep(temperature=temperature, max_tokens=max_tokens)

    async def preset(self, name: str) -> None:
        """Use another preset."""
        with self._outside.telling():
            self._state.preset = self._presets.take(name)
            self._state.preset_name = name
            await self._keep(preset=name)

    async def profile(self, name: str) -> None:
        """Be somebody else, or nobody (empty); new chats begin so too."""
        with self._outside.telling():
            self._state.profile = self._outside.shelf.profile(name) if name else None
            self._state.profile_name = name
            await self._keep(profile=name)
            await self._outside.store.settings.set("profile", name)

    async def lorebooks(self, names: tuple[str, ...]) -> None:
        """Use these lorebooks; earlier ones go first."""
        with self._outside.telling():
            self._state.lore = tuple(map(self._outside.shelf.lorebook, names))
            self._state.lore_names = names
            await self._keep(lorebooks=names)

    async def discover(self) -> None:
        """Look for model servers on this machine, and offer the models they have."""
        state = self._state
        with self._outside.telling():
            found = await discover_endpoints(state.config.endpoints, self._outside.client)
            endpoints = merge_discovered(state.config.endpoints, found)
            state.config = replace(state.config, endpoints=endpoints)

    async def _keep(self, **changes: Unpack[SessionChanges]) -> None:
        """Compose anew, and let the session, where there is one, remember."""
        state = self._state
        self._composing.forget()
        if state.session is not None:
            state.session = await self._outside.store.sessions.update(
                state.session.session_id, **changes
            )
        self._outside.tell(BranchChanged())

    # --- by opening a session ------------------------------------------------------------

    async def as_session(self, session: Session, role: Role | None) -> None:
        """Set everything as a session has it."""
        state = self._state
        state.role = role
        state.role_missing = role is None and bool(session.role_id or session.lost_role)
        state.model = session.model
        state.temperature, state.max_tokens = session.temperature, session.max_tokens
        self._take_endpoint(session.endpoint)
        offered = state.endpoint.models
        if offered and not session.endpoint and state.model not in offered:
            state.model = ""  # a conversation from elsewhere names a model that is not to be had
        self._take_preset(session.preset or (role.preset if role else ""))
        self._take_profile(session.profile)
        self._take_lorebooks(session.lorebooks)
        state.variables = await self._outside.store.sessions.variables(session.session_id)
        await self._take_tools(session.session_id)

    async def as_new(self, role: Role | None) -> None:
        """Set everything as new sessions with this role have it."""
        state, config = self._state, self._state.config
        state.role = role
        state.role_missing = False
        state.variables = {}
        state.temperature = state.max_tokens = None
        state.endpoint = config.endpoint_named(config.endpoint)
        state.model = config.model
        if role is not None and role.model:
            # The role says which model: the session leaves it to it, where it is to be had.
            state.model = ""
            if role.model not in state.endpoint.models:
                offers = (each for each in config.endpoints if role.model in each.models)
                state.endpoint = next(offers, state.endpoint)
        self._take_preset(role.preset if role else "")
        self._take_profile(await self._outside.store.settings.get("profile") or "")
        self._take_lorebooks(())
        await self._take_tools("")

    def _take_endpoint(self, name: str) -> None:
        state = self._state
        try:
            state.endpoint = state.config.endpoint_named(name or state.config.endpoint)
        except InputError as error:
            state.endpoint = state.config.endpoint_named(state.config.endpoint)
            self._trouble(error, f"The session goes to “{state.endpoint.name}” now.")

    def _take_preset(self, name: str) -> None:
        state = self._state
        state.preset_name = name or PLAIN
        try:
            state.preset = self._presets.take(state.preset_name)
        except InputError as error:
            state.preset = Preset(PLAIN)
            self._trouble(error, "The session goes on without a preset.")

    def _take_profile(self, name: str) -> None:
        state = self._state
        state.profile_name, state.profile = name, None
        try:
            state.profile = self._outside.shelf.profile(name) if name else None
        except InputError as error:
            self._trouble(error, "The session goes on without a profile.")

    def _take_lorebooks(self, names: tuple[str, ...]) -> None:
        state = self._state
        state.lore_names, state.lore = names, ()
        for name in names:
            try:
                state.lore = (*state.lore, self._outside.shelf.lorebook(name))
            except InputError as error:
                self._trouble(error, "The session goes on without this lorebook.")

    async def _take_tools(self, session_id: str) -> None:
        """Offer the tools that were chosen for a session, else those that all sessions offer."""
        config = self._state.config
        text = (
            await self._outside.store.settings.get(f"tools/{session_id}") if config.tools else None
        )
        chosen = json.loads(text) if text else None
        self._state.tools = tuple(
            tool
            for tool in config.tools
            if (tool.offered if chosen is None else tool.name in chosen)
        )

    def _trouble(self, error: TuiChatError, goes_on: str) -> None:
        words = str(error).removesuffix(".")
        self._outside.tell(Trouble(InputError(f"{words}. {goes_on}", advice=error.advice)))


MOST_TEMPERATURE = 2.0
"""What the providers agree on; Anthropic ends at 1."""
