"""Context builders: the core's, and those of plugins, which a preset chooses by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tui_chat.context.builder import CONTRIBUTORS, CounterOf, build_context
from tui_chat.context.inputs import Contributor, Inputs
from tui_chat.context.parameters import parameters
from tui_chat.errors import InputError
from tui_chat.extensions import load_named, missing_plugin
from tui_chat.models.envelope import ChatEnvelope, Level, Note

ContextBuilder: TypeAlias = Callable[[Inputs, CounterOf, Sequence[Contributor]], ChatEnvelope]


def build(
    inputs: Inputs, counter: CounterOf, contributors: Sequence[Contributor] = CONTRIBUTORS
) -> ChatEnvelope:
    """Decide what the model will see, by the rules of the preset's builder.

    Where that builder is missing, nothing is sent: a note of level error says which plugin would
    bring it.
    """
    try:
        builder = builder_named(inputs.preset.builder_name)
    except InputError as error:
        note = Note(Level.ERROR, "missing-builder", str(error))
        return ChatEnvelope((), parameters(inputs), notes=(note,))
    return builder(inputs, counter, contributors)


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
