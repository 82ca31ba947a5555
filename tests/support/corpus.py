"""Recorded requests and hard conversations from outside the project, where they are at hand.

`TUI_CHAT_CORPUS` names their folder, else `../shared/corpus` is looked for. Beside it stands
`oracles/validate_payload.py`, which holds a body against the official SDKs and wire rules.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.requests import OLLAMA
from tests.support.sdk_types import accept
from tui_chat.models.endpoint import Protocol

HERE = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("TUI_CHAT_CORPUS") or HERE.parent / "shared" / "corpus")
ORACLE = CORPUS.parent / "oracles" / "validate_payload.py"

RECORDED = [
    (protocol, path)
    for protocol in Protocol
    for path in sorted((CORPUS / "wire" / protocol).glob("*.request.json"))
    if path.read_bytes().strip() != b"null"  # the request was not JSON
]


@cache
def _validator() -> Any:
    spec = importlib.util.spec_from_file_location("validate_payload", ORACLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["validate_payload"] = module
    spec.loader.exec_module(module)
    return module


def oracle(protocol: Protocol, body: Any, model: str = "") -> list[dict[str, str]]:
    """Return what the oracle finds wrong with a body."""
    if protocol is OLLAMA:  # the oracle does not know it
        try:
            accept(protocol, body)
        except ValueError as error:
            return [{"level": "error", "message": str(error)}]
        return []
    # The server takes the sampling settings that the SDK's newest types lack; which models
    # take them is held by the golden cases of settings.
    found = _validator().validate(protocol.value, body, model, legacy=True)
    return [f for f in found if f["level"] == "error"]


def read(path: Path) -> Any:
    return json.loads(path.read_text())
