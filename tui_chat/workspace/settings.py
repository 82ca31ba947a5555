"""Settings of the active session (endpoint, model, parameters, profile, lorebooks), and the
configuration, which is read again when `config.toml` changes.

1. A setting holds from the next message on, and stays with the session.
2. A session whose preset, profile, lorebook or endpoint is gone opens all the same: `Failed` says
   so, and the session goes on without it, or with the default endpoint.
3. A `config.toml` with a fault changes nothing: the fault is published, and all stays.
4. A key is never in the state, in the database or in `config.toml`, which get its reference.

The preset is chosen in `presets`, tools in `tool_sources`, the role when a new chat begins.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tui_chat.config import Config
from tui_chat.config.file import Changes, change_config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import unpack
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.preset import Preset
from tui_chat.models.request_edit import RequestEdit
from tui_chat.models.role import Profile, Role
from tui_chat.models.session import Session
from tui_chat.models.settings import (
    NO_SETTINGS,
    SettingError,
    Settings,
    parse_setting,
    reset_words,
    typed_setting_name,
)
from tui_chat.providers.discovery import (
    check_key,
    discover_endpoints,
    list_models,
    merge_discovered,
)
from tui_chat.providers.keys import SERVICE, Secret, store_key, write_key_file
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, ConfigChanged, Done, Failed, RequestOutdated
from tui_chat.workspace.presets import Presets
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.state import DEFAULT_PRESET, NO_PRESET
from tui_chat.workspace.tool_sources import ToolSources

if TYPE_CHECKING:
    from tui_chat.library.library import FileStamp, Kind

_T = TypeVar("_T")

LAST_MODEL = "model"
"""The setting of the store with the endpoint and model that were chosen last, and those that the
config had then, as JSON."""

DEFAULT_MODEL = "default model"
"""The setting of the store with the endpoint and model of new sessions, as JSON; empty for those
that were chosen last."""


NEW_CHAT_EDITS = "edits"
"""The setting of the store with the edits by hand of a new chat, as JSON."""


KeyPlace = Literal["keyring", "file", "run"]
"""Where a key is kept: the system's keyring, a file that only the user can read, or the memory of
this program until it ends."""


@dataclass(frozen=True, slots=True)
class SessionValues:
    """The session's own settings."""

    endpoint: Endpoint
    model: str
    """Empty leaves it to the role and the endpoint."""
    settings: Settings


class SessionSetup:
    """Changes the settings of the active session, and the configuration."""

    def __init__(
        self,
        core: WorkspaceCore,
        presets: Presets,
        requests: Requests,
        tools: ToolSources,
        read_config: Callable[[], Config] | None,
    ) -> None:
        """`read_config` reads the configuration from all its sources; without it nothing is read
        again.
        """
        self.core = core
        self._read_config = read_config
        self._version = self._file_version()
        self._tools = tools
        self._presets = presets
        self._requests = requests
        self._is_model_chosen = False
        """True if the user chose a model in this run; it goes before the command line's."""
        self._discovered: tuple[Endpoint, ...] = ()
        """What the last discovery found."""
        self._read_files: dict[tuple[Kind, str], FileStamp] = {}
        """The files of profiles and lorebooks as they were when they were read."""

    @reported(None)
    async def set_model(self, endpoint: str, model: str) -> None:
        """Send to this model of this endpoint, in this session and in those that are new."""
        chosen = self.core.state.config.endpoint_named(endpoint)
        await self.save(replace(self.values, endpoint=chosen, model=model))

    def preview(self, values: SessionValues) -> None:
        """Show the live request with other settings of the session, without storing them."""
        core = self.core
        core.update(
            RequestOutdated(),
            endpoint=values.endpoint,
            model=values.model,
            settings=values.settings,
        )

    @reported(False)
    async def save(self, values: SessionValues) -> bool:
        """Set endpoint, model and settings; False, with a report, if they cannot be stored."""
        core, config = self.core, self.core.state.config
        self.preview(values)
        endpoint, model = values.endpoint.name, values.model
        await core.change_session(endpoint=endpoint, model=model, settings=values.settings)
        self._is_model_chosen = True
        last = [endpoint, model, config.chosen_endpoint, config.model]
        await core.remember(LAST_MODEL, json.dumps(last))
        return True

    @property
    def values(self) -> SessionValues:
        """The session's endpoint, model and settings."""
        state = self.core.state
        return SessionValues(state.endpoint, state.model, state.settings)

    @reported(False)
    async def set_parameter(self, name: str, text: str) -> bool:
        """Set one setting of the session from what a person types; one of `reset_words` leaves it
        to preset, role and endpoint again. Return False, with the fault reported, if the value is
        not accepted.
        """
        core = self.core
        try:
            name = typed_setting_name(name)
            is_reset = text.strip().casefold() in reset_words(name)
            value = None if is_reset else parse_setting(name, text)
        except SettingError as error:
            raise InputError(f"{error}.") from error
        settings = replace(core.state.settings, **{name: value})
        core.update(settings=settings)
        await core.change_session(settings=settings)
        return True

    def describe_parameter(self, name: str) -> str:
        """Return a setting, who set it and what became of it in the live request, in sentences.
        Raises InputError if there is no such setting.
        """
        from tui_chat.analysis.settings_report import inherited_settings, report_settings

        request = self.core.state.request
        composed = self._requests.compose(request.draft, None, request.parts)
        try:
            name = typed_setting_name(name)
        except SettingError as error:
            raise InputError(f"{error}.") from error
        reports = report_settings(composed)
        report = next((report for report in reports if report.name == name), None)
        if report is not None:
            return report.sentence
        if composed.inputs is not None:
            value, source = inherited_settings(composed.inputs).get(name, ("", ""))
            if value:
                return f"{name} is not set; it is {value} ({source})."
        return f"{name} is not set; the provider's default holds."

    @reported(None)
    async def set_profile(self, name: str) -> None:
        """Use this profile, also for new chats; empty for none."""
        core = self.core
        profile = self._profile(name) if name else None
        core.update(profile=profile, profile_name=name)
        await core.change_session(profile=name)
        await core.remember("profile", name)

    async def take_chosen_profile(self) -> None:
        """Use the profile of new chats in the open one if it has none. Raises StoreError."""
        state = self.core.state
        name = await self.core.store.settings.get("profile")
        if name and state.session is None and not state.profile_name:
            await self.set_profile(name)

    async def save_profile(
        self,
        profile: Profile,
        name: str = "",
        *,
        before: Profile | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write a new profile and use it, or the file `name`. Raises InputError."""
        core = self.core
        library = core.library
        file = library.save_profile(profile, name, before=before, overwrite=overwrite)
        if not name:
            await self.set_profile(file)
        elif file == core.state.profile_name:
            core.update(RequestOutdated(), profile=self._profile(file))

    async def delete_profile(self, name: str) -> None:
        """Delete the file of a profile, which nothing brings back. Raises InputError."""
        core = self.core
        core.library.delete("profiles", name)
        if name == core.state.profile_name:
            await self.set_profile("")
        elif await core.store.settings.get("profile") == name:
            await core.remember("profile", "")
        core.publish(Done(f"Deleted the profile “{name}”."))

    @reported(None)
    async def set_lorebooks(self, names: tuple[str, ...]) -> None:
        """Use these lorebooks and no others; earlier ones go first."""
        core = self.core
        lorebooks = tuple(map(self._lorebook, names))
        core.update(lorebooks=lorebooks, lorebook_names=names)
        await core.change_session(lorebooks=names)

    def reload_lorebooks(self) -> None:
        """Read the files of the session's lorebooks again."""
        names = self.core.state.lorebook_names
        self.core.update(RequestOutdated(), lorebooks=self._lorebooks(names))

    def check_files(self) -> None:
        """Read the profile and the lorebooks in use again where another program changed their
        files. One that is gone or has faults stays as it was read; the fault is reported.
        """
        core = self.core
        for (kind, name), read in tuple(self._read_files.items()):
            stamp = core.library.stamp(kind, name)
            if stamp is None or stamp == read:
                continue
            with core.reporting():
                if kind == "profiles" and name == core.state.profile_name:
                    core.update(RequestOutdated(), profile=self._profile(name))
                elif kind == "lorebooks" and name in core.state.lorebook_names:
                    self._lorebook(name)
                    self.reload_lorebooks()

    def _profile(self, name: str) -> Profile:
        self._read_files["profiles", name] = self.core.library.stamp("profiles", name)
        return self.core.library.profile(name)

    def _lorebook(self, name: str) -> Lorebook:
        self._read_files["lorebooks", name] = self.core.library.stamp("lorebooks", name)
        return self.core.library.lorebook(name)

    @reported(None)
    async def discover_models(self) -> None:
        """Look for model servers on this machine, and offer their models."""
        core = self.core
        self._discovered = await discover_endpoints(core.state.config.endpoints, core.client)
        core.update(config=self._with_discovered(core.state.config))

    def _with_discovered(self, config: Config) -> Config:
        return replace(config, endpoints=merge_discovered(config.endpoints, self._discovered))

    async def apply_config(self, config: Config) -> None:
        """Use another configuration from now on. Raises StoreError."""
        core, before = self.core, self.core.state.config
        config = replace(config, endpoints=tuple(map(self._with_run_key, config.endpoints)))
        core.update(config=self._with_discovered(config))
        state = core.state
        is_default_changed = (before.endpoint, before.model) != (config.endpoint, config.model)
        if state.session is None and is_default_changed:
            endpoint, model = await self._new_chat_model()
        else:
            endpoint = self._endpoint(state.endpoint.name)
            model = state.model if endpoint.name == state.endpoint.name else ""
        self._tools.follow_config()
        core.update(*(ConfigChanged(before), BranchChanged()), endpoint=endpoint, model=model)

    # --- the configuration ---------------------------------------------------------------

    @property
    def config_path(self) -> Path:
        """The file, which need not exist."""
        return self.core.state.config.config_dir / "config.toml"

    async def check_config(self) -> None:
        """Read the file again if it changed on disk since the last time."""
        is_changed = self._read_config is not None and self._file_version() != self._version
        if is_changed and await self.reload_config():
            self.core.publish(Done("config.toml was reloaded."))

    @reported(False)
    async def reload_config(self) -> bool:
        """Use what the sources of the configuration say now; False if one has a fault."""
        self._version = self._file_version()
        if self._read_config is not None:
            await self.apply_config(await asyncio.to_thread(self._read_config))
        return True

    async def change_config(self, changes: Changes) -> None:
        """Change values of the file and use them, or nothing. Raises ConfigError and InputError."""
        await asyncio.to_thread(change_config, self.config_path, changes, Config())
        await self.reload_config()

    def _file_version(self) -> tuple[int, ...]:
        """Return what differs after each change of the file."""
        with suppress(OSError):
            status = self.config_path.stat()
            return status.st_mtime_ns, status.st_size, status.st_ino
        return ()

    async def check_key(self, endpoint: Endpoint, key: Secret) -> None:
        """Ask the provider whether it accepts a key; nothing is generated, so it costs nothing.
        Raises ProviderError and InputError.
        """
        keys, name = self.core.client.run_keys, f"check of {endpoint.name}"
        keys[name] = key
        try:
            await check_key(replace(endpoint, key=f"run:{name}"), self.core.client)
        finally:
            del keys[name]

    async def list_models(self, endpoint: Endpoint) -> tuple[str, ...]:
        """Return the models that a server lists. Raises ProviderError and InputError."""
        return await list_models(endpoint, self.core.client)

    async def keep_key(self, endpoint: Endpoint, key: Secret, place: KeyPlace) -> None:
        """Keep a key, and use it for an endpoint from now on. Raises InputError."""
        config, name = self.core.state.config, endpoint.name
        if place == "run":
            self.core.client.run_keys[name] = key
            await self.apply_config(config)
            return
        if place == "keyring":
            await asyncio.to_thread(store_key, SERVICE, name, key)
            reference = f"keyring:{SERVICE}/{name}"
        else:
            reference = await asyncio.to_thread(write_key_file, config.data_dir, name, key)
        await self.change_config({("endpoints", name, "key"): reference})
        self.core.client.run_keys.pop(name, None)
        await self.apply_config(self.core.state.config)

    def _with_run_key(self, endpoint: Endpoint) -> Endpoint:
        if endpoint.name not in self.core.client.run_keys:
            return endpoint
        return replace(endpoint, key=f"run:{endpoint.name}")

    # --- when a session is opened ----------------------------------------------------------

    async def apply_session(self, session: Session, role: Role | None) -> None:
        """Set everything as a session has it. Raises StoreError."""
        core = self.core
        endpoint, model = self._endpoint(session.endpoint), session.model
        if endpoint.models and not session.endpoint and model not in endpoint.models:
            model = ""  # an imported conversation names a model that is not offered here
        core.update(
            role=role,
            role_missing=role is None and bool(session.role_id or session.lost_role),
            model=model,
            endpoint=endpoint,
            settings=session.settings,
            edits=session.edits,
            **self._files(
                session.preset or (role.preset if role else ""), session.profile, session.lorebooks
            ),
        )
        store = core.store_of(session.session_id)
        core.update(variables=await store.sessions.variables(session.session_id))
        await self._tools.apply(session.session_id, role)

    async def apply_new_chat(self, role: Role | None) -> None:
        """Set everything as new chats with this role have it. Raises StoreError."""
        core, config = self.core, self.core.state.config
        endpoint, model = await self._new_chat_model()
        name, named_model = config.named
        if (name or named_model) and not self._is_model_chosen:
            if name:
                endpoint = config.endpoint_named(name)
                model = named_model or (config.model if config.model in endpoint.models else "")
            else:
                endpoint, model = config.endpoint_for(named_model, endpoint), named_model
        elif role is not None and role.model:
            # The role's model is used if an endpoint offers it; the session itself names none.
            model, endpoint = "", config.endpoint_offering(role.model, endpoint)
        profile = await core.store.settings.get("profile") if core.remembers else ""
        world = role.character.world if role is not None and role.character is not None else ""
        linked = (world,) if world and world in core.library.names("lorebooks") else ()
        core.update(
            role=role,
            role_missing=False,
            variables={},
            settings=NO_SETTINGS,
            edits=await self._new_chat_edits(),
            endpoint=endpoint,
            model=model,
            **self._files(role.preset if role else "", profile or "", linked),
        )
        await self._tools.apply("", role)

    async def _new_chat_edits(self) -> tuple[RequestEdit, ...]:
        """Return the edits by hand of the app's new chat, which it keeps as it keeps its draft."""
        if not self.core.remembers:
            return ()
        text = await self.core.store.settings.get(NEW_CHAT_EDITS)
        with suppress(ValueError, TypeError, LookupError, AttributeError):
            return unpack(tuple[RequestEdit, ...], text) if text else ()
        return ()

    async def default_model(self) -> tuple[Endpoint, str] | None:
        """Return endpoint and model that the user made the default of new sessions; None if there
        is no default, or its endpoint is gone. Raises StoreError.
        """
        stored = await self.core.store.settings.get(DEFAULT_MODEL)
        return _stored_model(self.core.state.config, stored)

    @reported(None)
    async def set_default_model(self, endpoint: str, model: str) -> None:
        """Begin new sessions with this model; an empty endpoint for the model chosen last."""
        core = self.core
        self._is_model_chosen = True
        stored = json.dumps([endpoint, model]) if endpoint else ""
        await core.store.settings.set(DEFAULT_MODEL, stored)
        begins = f"{model} at {endpoint}" if endpoint else "the model that was chosen last"
        core.publish(Done(f"New sessions use {begins}."))

    async def _new_chat_model(self) -> tuple[Endpoint, str]:
        """Return endpoint and model of a new chat whose role names none. Raises StoreError."""
        config = self.core.state.config
        chosen = None
        if self.core.remembers:
            stored = await self.core.store.settings.get(LAST_MODEL)
            chosen = await self.default_model() or _stored_model(config, stored)
        return chosen or (config.endpoint_named(config.endpoint), config.model)

    @property
    def _default_preset(self) -> str:
        """The preset of a session that names none; not that with rules for the app's screen, which
        comes with the program, where there is no screen.
        """
        core = self.core
        has_rules = core.remembers or not core.library.is_ours(DEFAULT_PRESET)
        return DEFAULT_PRESET if has_rules else NO_PRESET

    def _endpoint(self, name: str) -> Endpoint:
        config = self.core.state.config
        try:
            return config.endpoint_named(name or config.endpoint)
        except InputError as error:
            default = config.endpoint_named(config.endpoint)
            self._report(error, f"The session now uses “{default.name}”.")
            return default

    def _files(self, preset_name: str, profile_name: str, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the state's preset, profile and lorebooks as read from their files."""
        preset_name = preset_name or self._default_preset
        preset = self._readable("presets", preset_name, self._presets.read, "a preset")
        return {
            "preset": Preset(DEFAULT_PRESET) if preset is None else preset,
            "preset_name": preset_name,
            "profile": self._readable("profiles", profile_name, self._profile, "a profile"),
            "profile_name": profile_name,
            "lorebooks": self._lorebooks(names),
            "lorebook_names": names,
        }

    def _lorebooks(self, names: tuple[str, ...]) -> tuple[Lorebook, ...]:
        """Return the lorebooks with these names; one that cannot be read is reported."""
        books = (
            self._readable("lorebooks", name, self._lorebook, "this lorebook") for name in names
        )
        return tuple(book for book in books if book is not None)

    def _readable(self, kind: Kind, name: str, read: Callable[[str], _T], what: str) -> _T | None:
        """Return a file of the library as a session uses it; None if there is no name, or,
        reported, if it cannot be read.
        """
        self.core.report_doubts(kind, name)
        try:
            return read(name) if name else None
        except InputError as error:
            self._report(error, f"The session continues without {what}.")
            return None

    def _report(self, error: TuiChatError, consequence: str) -> None:
        sentence = str(error).removesuffix(".")
        error = InputError(f"{sentence}. {consequence}", advice=error.advice)
        self.core.publish(Failed(error))


def _stored_model(config: Config, stored: str | None) -> tuple[Endpoint, str] | None:
    """Return the endpoint and model of `DEFAULT_MODEL` or `LAST_MODEL`; None without one, or its
    endpoint, and if the config names others than those that the last choice was made beside.
    """
    names = [endpoint.name for endpoint in config.endpoints]
    match json.loads(stored or "[]"):
        case [str(name), str(model), *beside] if name in names:
            is_of_config = beside in ([], [config.chosen_endpoint, config.model])
            return (config.endpoint_named(name), model) if is_of_config else None
        case _:
            return None
