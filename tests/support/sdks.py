"""The official SDKs, imported when a test first uses them: they take seconds, in every worker."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import Any


class _Later:
    """A module that is imported when it is first asked for something."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if self._name not in sys.modules:
            import_module(self._name)
            gc.freeze()  # as when the tests were collected, see tests/conftest.py
        return getattr(sys.modules[self._name], attribute)


anthropic: Any = _Later("anthropic")
openai: Any = _Later("openai")
genai: Any = _Later("google.genai")
genai_errors: Any = _Later("google.genai.errors")
genai_types: Any = _Later("google.genai.types")
chat_params: Any = _Later("openai.types.chat.completion_create_params")
responses_params: Any = _Later("openai.types.responses.response_create_params")
messages_params: Any = _Later("anthropic.types.message_create_params")
