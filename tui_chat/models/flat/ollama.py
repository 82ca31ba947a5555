"""Ollama in the flat model."""

from __future__ import annotations

from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import FlatForms


class OllamaForms(FlatForms):
    """The forms of Ollama: a message has one text, and no block has a form."""

    protocol = Protocol.OLLAMA
