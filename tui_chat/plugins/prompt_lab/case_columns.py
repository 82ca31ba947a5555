"""The columns of Cases: the variants that stand beside each other.

The preset as it is edited and as it is saved, on the session's model and settings; the variants of
the suite; and what was added in the view, a model or the preset without each of its messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from tui_chat.models.settings import NO_SETTINGS, Settings
from tui_chat.plugins.prompt_lab.preset_states import PresetStates
from tui_chat.plugins.prompt_lab.values import (
    BEFORE,
    EDITED,
    SAVED,
    Suite,
    Variant,
    VariantChoice,
)
from tui_chat.plugins.prompt_lab.variants import (
    ablations,
    changed_preset,
    missing_presets,
    resolve,
    with_own_names,
)

if TYPE_CHECKING:
    from tui_chat.config import Config
    from tui_chat.library.editing.edits import EditHistory
    from tui_chat.models.preset import Preset
    from tui_chat.workspace.state import WorkspaceState
    from tui_chat.workspace.workspace import Workspace


def columns_of(
    state: WorkspaceState,
    edits: EditHistory,
    named: Iterable[Variant],
    *,
    before: Preset | None,
    models: Iterable[tuple[str, str]],
    is_ablated: bool,
) -> tuple[Variant, ...]:
    """Return the columns. `edits` are those of the preset, `named` the variants of the suite,
    `before` is what was saved until a variant was accepted, `models` are endpoints with a model.
    """
    saved = Variant(SAVED, edits.saved, state.endpoint, state.effective_model, state.settings)
    edited = replace(saved, name=EDITED, preset=edits.preset)
    columns = [edited, saved] if edits.is_changed else [saved]
    if before is not None and not edits.is_changed:
        columns.append(replace(saved, name=BEFORE, preset=before))
    columns += _others(columns, named)
    for endpoint, model in models:
        target = state.config.endpoint_named(endpoint)
        columns.append(replace(edited, name=model, endpoint=target, model=model))
    if is_ablated:
        columns += _others(columns, ablations(columns[0]))
    return with_own_names(columns)


def added_models(
    columns: Iterable[Variant], named: Iterable[Variant], config: Config
) -> tuple[tuple[str, str], ...]:
    """Return endpoint and model of those columns of a run that were added for a model and can still
    be sent; `named` are those of the suite.
    """
    endpoints = {endpoint.name for endpoint in config.endpoints}
    own = {(each.name, each.target) for each in named}
    return tuple(
        (each.endpoint.name, each.model)
        for each in columns
        if each.model and f"{each.name} (".startswith(f"{each.model} (")  # may be numbered
        if each.endpoint.name in endpoints and (each.name, each.target) not in own
    )


async def suite_columns(suite: Suite, workspace: Workspace) -> tuple[Variant, ...]:
    """Return the variants that the suite of the session's preset names, on the session's model and
    settings where they name none. Raises InputError for what does not exist.
    """
    state, library = workspace.state, workspace.library
    model = f"{state.endpoint.name}/{state.effective_model}"
    own = VariantChoice(state.preset_name, model)
    names = {"", str(library.files("presets").get(own.preset))}
    choices = [
        replace(
            each,
            preset=own.preset if each.preset in names else each.preset,
            model=each.model or own.model,
        )
        for each in suite.variants
    ]
    suite = replace(suite, variants=tuple(each for each in choices if each != own))
    if not suite.variants:
        return ()
    kept = await PresetStates.open(workspace.store)
    states = await kept.named(missing_presets(suite, library))
    resolved = await asyncio.to_thread(resolve, suite, state.config, library, states=states)
    return tuple(
        replace(each, settings=_merged(state.settings, each.settings), own=None)
        for each in resolved
    )


def reference_of(column: Variant, columns: Sequence[Variant]) -> Variant | None:
    """Return the variant that another one is compared with: the saved preset, or for one without a
    message the one with it. None if there is only one.
    """
    if column.name.startswith(f"{columns[0].name} without "):
        return columns[0]
    others = [each for each in columns if each.name != column.name]
    return next((each for each in others if each.name == SAVED), next(iter(others), None))


def is_without(column: Variant, other: Variant) -> bool:
    """Return True if a variant is another one without some of its messages."""
    on = {message.id for message in column.preset.messages if message.enabled}
    off = [each.id for each in other.preset.messages if each.enabled and each.id not in on]
    is_alike = replace(column, name="", preset=other.preset) == replace(other, name="")
    return is_alike and bool(off) and changed_preset(other.preset, off) == column.preset


def _others(columns: Iterable[Variant], more: Iterable[Variant]) -> list[Variant]:
    """Return those of `more` that are not among the columns by another name."""
    unnamed = [replace(column, name="") for column in columns]
    return [variant for variant in more if replace(variant, name="") not in unnamed]


def _merged(settings: Settings, more: Settings) -> Settings:
    """Return settings with those of `more` that are set in their places."""
    values = {field.name: getattr(more, field.name) for field in fields(more)}
    return replace(
        settings, **{n: value for n, value in values.items() if value != getattr(NO_SETTINGS, n)}
    )
