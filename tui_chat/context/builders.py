"""Context builders: the core's, and those of plugins.

A preset chooses its builder by name. Of a preset that names none, a request that the core cannot
build is built by the plugin that can: one of a kind of generation that the plugin adds, or one with
scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_chat.context.builder import CONTRIBUTORS, CounterOf, build_context
from tui_chat.context.inputs import Contributor, Inputs
from tui_chat.context.parameters import parameters
from tui_chat.context.rules import require_rules
from tui_chat.errors import InputError
from tui_chat.extensions import load_named, missing_plugin, plugins
from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.models.generation import side_kind

ContextBuilder: TypeAlias = Callable[[Inputs, CounterOf, Sequence[Contributor]], ChatEnvelope]


def build(
    inputs: Inputs, counter: CounterOf, contributors: Sequence[Contributor] = CONTRIBUTORS
) -> ChatEnvelope:
    """Decide what the model will see, by the rules of the preset's builder.

    Where that builder is missing, nothing is sent: a note of level error says which plugin would
    bring it.
    """
    try:
        name = inputs.preset.builder_name or _needed_builder(inputs)
        builder = builder_named(name)
        require_rules(inputs.preset)
        envelope = builder(inputs, counter, contributors)
        if not isinstance(envelope, ChatEnvelope):  # pyright: ignore[reportUnnecessaryIsInstance]  a plugin's
            raise InputError(f"The builder {name} returned no envelope.")
    except InputError as error:
        note = Note(Level.ERROR, "missing-builder", str(error))
        return ChatEnvelope((), parameters(inputs), notes=(note,))
    return envelope if name or not inputs.has_scripts else _without_scripts(envelope)


def _without_scripts(envelope: ChatEnvelope) -> ChatEnvelope:
    """Return an envelope with a note that its scripts were not run."""
    plugin = missing_plugin("script_builder", "scripts")
    sentence = (
        f"Scripts are run by the plugin “{plugin}”, which is not installed; they are not run."
    )
    note = Note(Level.WARNING, "scripts-not-run", sentence)
    return replace(envelope, notes=(*envelope.notes, note))


def _needed_builder(inputs: Inputs) -> str:
    """Return the name of the builder that knows what the core's does not; empty for the core's."""
    if (kind := side_kind(inputs.chat.kind)) is not None:
        return kind.builder
    runners = (plugin.script_builder for plugin in plugins()) if inputs.has_scripts else ()
    return next(filter(None, runners), "")


def builder_named(name: str) -> ContextBuilder:
    """Return the builder with a name; empty for the core's. Raises InputError without one."""
    if not name:
        return build_context
    if builder := load_named("builders", name):
        return builder
    plugin = missing_plugin("builders", name) or name
    raise InputError(
        f"The requests of this preset are built by the plugin “{plugin}”, which is not installed."
    )
