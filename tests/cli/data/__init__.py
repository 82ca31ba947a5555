"""Tables of the tests of commands, one file each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def table(name: str) -> dict[str, Any]:
    """Return the rows of a file by their names."""
    return json.loads((Path(__file__).parent / f"{name}.json").read_text("utf-8"))
