"""The choice of a model, at any endpoint; one can be made the default of new sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui_chat import hooks
from tui_chat.api import OfflineProvider
from tui_chat.config import LOOPBACK_URL, lacks_key, repeats_offline_models
from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog

if TYPE_CHECKING:
    from tui_chat.models.endpoint import Endpoint
    from tui_chat.workspace.workspace import Workspace


class ModelChoiceDialog(ChoiceDialog):
    """Offers models; one of them can be made the default of new sessions."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "make_default", show=False, priority=True)
    ]
    hint = "Enter select · Ctrl+D make default · Esc cancel"

    def __init__(
        self,
        choices: Sequence[Choice],
        current: str,
        default: str,
        set_default: Callable[[str], None],
        title: str,
    ) -> None:
        """`default` is the default model's id or empty; `set_default` is called with another."""
        self._default = default
        self._set_default = set_default
        super().__init__(title, choices, current)

    def matching(self, words: str) -> list[Choice]:
        """Return the models with all these words, of which `ENDPOINT/MODEL` has two. Without any,
        return what is typed: an endpoint may have models that it does not list.
        """
        name = words.strip()
        found = super().matching(words.replace("/", " "))
        if found or len(name.split()) != 1:
            return found
        endpoint, _, model = name.partition("/")
        if not model or endpoint not in {choice.group for choice in self.choices}:
            endpoint, model = self._current.partition("\n")[0], name
        return [Choice(f"{endpoint}\n{model}", f"Use “{model}”", f"{endpoint} does not list it")]

    def option(self, choice: Choice) -> Option:
        """Return the line of a model; it says which is the default."""
        is_default = choice.id == self._default
        return super().option(
            replace(choice, detail=f"{choice.detail} · default") if is_default else choice
        )

    def action_make_default(self) -> None:
        """Make the highlighted model the default, or no model if it is."""
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            chosen = options.get_option_at_index(options.highlighted).id or ""
            self._default = "" if chosen == self._default else chosen
            self._set_default(self._default)
            self.offer(self.choices)


async def ask_model(
    app: App[Any],
    workspace: Workspace,
    environ: Mapping[str, str],
    title: str = "Switch model",
) -> tuple[str, str] | None:
    """Ask for an endpoint and one of its models, which can be made the default of new sessions.
    Endpoints whose key is not in `environ` come last.

    Model servers found on this machine meanwhile are added to the list.
    """
    current = f"{workspace.state.endpoint.name}\n{workspace.requests.compose('').model}"
    default = None
    with workspace.reporting():
        default = await workspace.settings.default_model()

    def set_default(chosen: str) -> None:
        endpoint, _, model = chosen.partition("\n")
        setting = partial(workspace.settings.set_default_model, endpoint, model)
        app.run_worker(setting, group="settings", description="set the default model")

    dialog = ModelChoiceDialog(
        offered_models(workspace, environ),
        current,
        f"{default[0].name}\n{default[1]}" if default is not None else "",
        set_default,
        title,
    )

    async def search() -> None:
        await workspace.settings.discover_models()
        if dialog.is_attached:
            dialog.offer(offered_models(workspace, environ))

    searching = asyncio.create_task(search())
    chosen = await app.push_screen_wait(dialog)
    searching.cancel()
    if chosen is None:
        return None
    endpoint, _, model = chosen.partition("\n")
    return endpoint, model


def offered_models(workspace: Workspace, environ: Mapping[str, str]) -> list[Choice]:
    """Return the models of all endpoints, each with endpoint and model as its id: those that can be
    used now, those without a key, and the practice models.
    """
    from tui_chat.offline.models import MODELS

    providers = hooks.load_all("offline provider", OfflineProvider)
    about = next((provider.models for provider in providers), MODELS)

    def detail(offering: Endpoint, model: str) -> str:
        if is_offline(offering) and model in about:
            return about[model]
        no_key = "no key yet · " * lacks_key(offering, environ)
        return f"{no_key}{offering.name}, {offering.protocol.label}"

    def is_offline(offering: Endpoint) -> bool:
        return offering.base_url.startswith(LOOPBACK_URL)

    return [
        Choice(
            f"{offering.name}\n{model}",
            model,
            detail(offering, model),
            offering.name,
            is_repeated=repeats_offline_models(offering),
        )
        for offering in sorted(
            workspace.state.config.endpoints,
            key=lambda endpoint: (is_offline(endpoint), lacks_key(endpoint, environ)),
        )
        for model in offering.models
    ]
