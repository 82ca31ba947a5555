"""The dialog that takes an API key: masked, checked with the provider, and kept where the user
wants. The key is in the field and on its way to the provider, and nowhere else.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from tui_chat.config import LOOPBACK_URL, lacks_key
from tui_chat.errors import KeyMissing, Refused, TuiChatError
from tui_chat.providers.keys import Secret, describe_key_reference, has_keyring, typed_key
from tui_chat.ui.dialogs.base import set_title
from tui_chat.ui.dialogs.forms import Form
from tui_chat.ui.questions import ask
from tui_chat.ui.widgets.form_fields import ChoiceSelect
from tui_chat.ui.widgets.safe_text import TextField

if TYPE_CHECKING:
    from tui_chat.models.endpoint import Endpoint
    from tui_chat.workspace.settings import KeyPlace
    from tui_chat.workspace.workspace import Workspace

_PLACES = {
    "keyring": "the system's keyring",
    "file": "a private file",
    "run": "this run only",
}


class KeyForm(Form[bool | None]):
    """Takes the key of an endpoint. The result is True after it was kept."""

    DEFAULT_CSS = """
    KeyForm > Vertical { width: 84; height: auto; }
    """
    takes_keys_typed_ahead = False  # a prompt would go to the provider as a key
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "check", show=False, priority=True),
    ]
    hint = "Enter check the key and save it · Ctrl+S save without a check · Esc cancel"
    save_label = "Save unchecked"

    def __init__(self, workspace: Workspace, endpoint: Endpoint, places: tuple[str, ...]) -> None:
        """`places` are the `KeyPlace`s that there are."""
        super().__init__()
        self._workspace = workspace
        self._endpoint = endpoint
        self._places = places

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, f"API key of {self._endpoint.name}")
            yield Static(f"Key for {self._endpoint.base_url}", classes="label -first", markup=False)
            yield TextField(password=True, placeholder="paste or type it", id="key")
            yield Static("Kept in", classes="label")
            yield ChoiceSelect([(_PLACES[each], each) for each in self._places], id="place")
            yield from self.buttons()

    def on_mount(self) -> None:
        self.query_one("#key").focus()

    def _typed_key(self) -> Secret | None:
        try:
            return typed_key(self.query_one("#key", Input).value)
        except KeyMissing as error:
            self.show_fault(f"{error} {error.advice}", "key")
            return None

    @work(group="check key", exclusive=True)
    async def action_check(self) -> None:
        """Ask the provider whether it accepts the key, then keep it."""
        if (key := self._typed_key()) is None:
            return
        self.query_one("#fault", Static).update(Text("Asking the provider …"))
        try:
            await self._workspace.settings.check_key(self._endpoint, key)
        except TuiChatError as error:
            is_refused = isinstance(error, Refused) and error.status in (401, 403)
            kind = "The provider refuses this key" if is_refused else "The key was not checked"
            self.show_fault(f"{kind}: {error}", "key")
        else:
            await self._keep(key)

    def action_save(self) -> None:
        if (key := self._typed_key()) is not None:
            self.run_worker(partial(self._keep, key), group="check key", exclusive=True)

    async def _keep(self, key: Secret) -> None:
        place = cast("KeyPlace", self.query_one("#place", ChoiceSelect).value)
        try:
            await self._workspace.settings.keep_key(self._endpoint, key, place)
        except TuiChatError as error:
            self.show_fault(f"{error} {error.advice}".strip(), "key")
        else:
            self.dismiss(True)


def _about_key(endpoint: Endpoint) -> str:
    where = describe_key_reference(endpoint.key) if endpoint.key else "no key"
    return f"no key yet, {where} is not set" if lacks_key(endpoint, os.environ) else where


async def enter_key(app: App[Any], workspace: Workspace, name: str = "") -> None:
    """Ask for an endpoint's key. It answers from then on if the offline provider did so far.
    Raises TuiChatError.
    """
    endpoint = await _ask_key(app, workspace, name)
    if endpoint is None:
        return
    answers = ""
    if workspace.state.is_offline and endpoint.models:
        await workspace.settings.set_model(endpoint.name, endpoint.models[0])
        answers = f" {endpoint.models[0]} answers from now on."
    app.notify(f"Key of “{endpoint.name}” saved.{answers}", markup=False)


async def _ask_key(app: App[Any], workspace: Workspace, name: str) -> Endpoint | None:
    """Ask for the key of an endpoint, and of which one if no name is given; return the endpoint
    if a key was kept. Raises ConfigError for an unknown name.
    """
    endpoints = workspace.state.config.endpoints
    if not name:
        choices = [
            (each.name, each.name, _about_key(each))
            for each in endpoints
            if each.auth != "none" and not each.base_url.startswith(LOOPBACK_URL)
        ]
        name = await ask(app, "API key of which provider?", choices) or ""
    if not name:
        return None
    endpoint = workspace.state.config.endpoint_named(name)
    places = ("keyring", "file", "run") if has_keyring() else ("file", "run")
    is_kept = await app.push_screen_wait(KeyForm(workspace, endpoint, places))
    return workspace.state.config.endpoint_named(name) if is_kept else None
