"""Context builders: the core's, and those of plugins.

A preset chooses its builder by name. Of a preset that names none, a request with what the core does
not send is built by the plugin that does: one of a kind of generation that the plugin adds, or one
with a character card, lorebooks, an author's note, injected texts or scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from tui_chat.context.builder import CounterOf, build_context
from tui_chat.context.inputs import Inputs
from tui_chat.context.parameters import parameters
from tui_chat.context.rules import load_rules
from tui_chat.errors import InputError
from tui_chat.extensions import FIRST_BUILDER, load_named, missing_plugin, plugins
from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.models.generation import side_kind

ContextBuilder: TypeAlias = Callable[[Inputs, CounterOf], ChatEnvelope]


def build(inputs: Inputs, counter: CounterOf) -> ChatEnvelope:
    """Decide what the model will see, by the rules of the preset's builder.

    Where that builder is missing, nothing is sent: a note of level error says which plugin would
    bring it.
    """
    try:
        name = inputs.preset.builder_name or _needed_builder(inputs)
        builder = builder_named(name)
        load_rules(inputs.preset)
        envelope = builder(inputs, counter)
        if not isinstance(envelope, ChatEnvelope):  # pyright: ignore[reportUnnecessaryIsInstance]  a plugin's
            raise InputError(f"The builder {name} returned no envelope.")
    except InputError as error:
        note = Note(Level.ERROR, "missing-builder", str(error))
        return ChatEnvelope((), parameters(inputs), notes=(note,))
    added = "" if name else " and ".join(_added_texts(inputs))
    if not added:
        return envelope
    plugin = missing_plugin("builders", FIRST_BUILDER) or FIRST_BUILDER
    sentence = f"The plugin “{plugin}” is not installed, so {added} of this request are not sent."
    note = Note(Level.WARNING, "texts-not-sent", sentence)
    return replace(envelope, notes=(*envelope.notes, note))


def _needed_builder(inputs: Inputs) -> str:
    """Return the name of the builder that knows what the core's does not; empty for the core's."""
    if (kind := side_kind(inputs.chat.kind)) is not None:
        return kind.builder
    builders = (builder for plugin in plugins() for builder in plugin.builders)
    adding = (builder.name for builder in builders if builder.adds_texts)
    return next(adding, "") if any(True for _ in _added_texts(inputs)) else ""


def _added_texts(inputs: Inputs) -> Iterator[str]:
    """Yield what a request has that only the builder of a plugin sends."""
    role, profile = inputs.active_role, inputs.profile
    card = role.character if role is not None else None
    if card is not None:
        yield "the character card"
    if inputs.lorebooks:
        yield "the lorebooks"
    if profile is not None and profile.placement not in ("anchor", "none"):
        yield "the profile"
    note = inputs.first("author_note")
    if note is not None and note.text.strip():
        yield "the author's note"
    if inputs.first("injections"):
        yield "the injected texts"
    if inputs.first("scripts") or inputs.preset.scripts:
        yield "the scripts"


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
