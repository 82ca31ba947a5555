"""Context builders: the core's, and those of plugins.

A preset chooses its builder by name. Of a preset that names none, a request that the core cannot
build is built by the plugin that can: one of a kind of generation that the plugin adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tui_chat.context.builder import CONTRIBUTORS, CounterOf, build_context
from tui_chat.context.inputs import Contributor, Inputs
from tui_chat.context.parameters import parameters
from tui_chat.errors import InputError
from tui_chat.extensions import load_named, missing_plugin
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
        builder = builder_named(inputs.preset.builder_name or _needed_builder(inputs))
    except InputError as error:
        note = Note(Level.ERROR, "missing-builder", str(error))
        return ChatEnvelope((), parameters(inputs), notes=(note,))
    return builder(inputs, counter, contributors)


def _needed_builder(inputs: Inputs) -> str:
    """Return the name of the builder that knows what the core's does not; empty for the core's."""
    kind = side_kind(inputs.chat.kind)
    return kind.builder if kind is not None else ""


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
