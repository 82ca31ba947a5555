"""`data:` URLs, in which OpenAI's protocols carry bytes."""

from __future__ import annotations

import re

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.ASCII)


def split_data_url(url: str) -> tuple[str, str] | None:
    """Return type and base64 data; None where the URL is none, or has other parameters and would
    not be put together as it was.
    """
    found = _DATA_URL.match(url)
    return (found[1], url[found.end() :]) if found and len(url) > found.end() else None


def data_url(mime: str, data: str) -> str:
    """Return the URL that carries these bytes."""
    return f"data:{mime};base64,{data}"
