"""Context builders: the core's, and those of plugins.

A preset chooses its builder by name. Of a preset that names none, a request with what the core does
not send is built by the plugin that does: one of a kind of generation that the plugin adds, or one
with a character card, lorebooks, an author's note, injected texts or scripts.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.context.builder import CounterOf, build_context
from tui_chat.context.inputs import Inputs, parameters
from tui_chat.context.rules import load_rules
from tui_chat.errors import InputError
from tui_chat.hooks import load_named, load_part, parts_at
from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.models.generation import side_kind
from tui_chat.models.preset import FIRST_BUILDER


def build(inputs: Inputs, counter: CounterOf) -> ChatEnvelope:
    """Decide what the model will see, by the rules of the preset's builder.

    Where that builder is missing, nothing is sent: a note of level error says which plugin would
    bring it.
    """
    try:
        name = inputs.preset.builder_name or _needed_builder(inputs)
        builder = load_named("builder", name) if name else build_context
        if builder is None:
            raise InputError(
                f"The requests of this preset are built by “{name}”; no plugin that is installed "
                "adds it."
            )
        load_rules(inputs.preset)
        envelope = builder(inputs, counter)
        if not isinstance(envelope, ChatEnvelope):  # pyright: ignore[reportUnnecessaryIsInstance]  a plugin's
            raise InputError(f"The builder {name} returned no envelope.")
    except InputError as error:
        note = Note(Level.ERROR, "missing-builder", str(error))
        return ChatEnvelope((), parameters(inputs), notes=(note,))
    if name or not _has_added_texts(inputs):
        return envelope
    sentence = (
        f"The plugin “{FIRST_BUILDER}” is not installed, so no character card, lorebook, author's "
        "note, injected text or script of this request is sent."
    )
    note = Note(Level.WARNING, "texts-not-sent", sentence)
    return replace(envelope, notes=(*envelope.notes, note))


def prepared(inputs: Inputs) -> Inputs:
    """Return inputs with what the builders of plugins add that follows from their history. Raises
    InputError.
    """
    for plugin, builder in parts_at("builder"):
        if path := builder.about.get("prepare"):
            inputs = load_part(plugin, path)(inputs)
    return inputs


def _needed_builder(inputs: Inputs) -> str:
    """Return the name of the builder that knows what the core's does not; empty for the core's."""
    if (kind := side_kind(inputs.chat.kind)) is not None:
        return kind.builder
    adding = (part.name for _, part in parts_at("builder") if part.about.get("adds_texts"))
    return next(adding, "") if _has_added_texts(inputs) else ""


def _has_added_texts(inputs: Inputs) -> bool:
    """True if a request has texts that only the builder of a plugin sends."""
    role, profile, note = inputs.active_role, inputs.profile, inputs.first("author_note")
    return bool(
        inputs.lorebooks
        or (role is not None and role.character is not None)
        or (profile is not None and profile.placement not in ("anchor", "none"))
        or (note is not None and note.text.strip())
        or inputs.first("injections")
        or inputs.first("scripts")
        or inputs.preset.scripts
    )
