"""URLs of pictures and files: `data:`, in which OpenAI's protocols carry bytes, and links."""

from __future__ import annotations

import re

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def standard_base64(data: str) -> str:
    """Return standard base64; empty if the data is not base64.

    Google also accepts the URL-safe alphabet and missing padding.
    """
    data = data.translate(_URL_SAFE)
    data += "=" * (-len(data) % 4)
    return data if _BASE64.fullmatch(data) else ""


_URL_SAFE = {ord("-"): "+", ord("_"): "/"}


def split_data_url(url: str) -> tuple[str, str] | None:
    """Return type and base64 data; None if the URL is not one, has broken data, or has other
    parameters and would not be put together as it was.
    """
    found = _DATA_URL.match(url)
    if found is None or (len(url) - found.end()) % 4 or not _BASE64.fullmatch(url, found.end()):
        return None
    return found[1], url[found.end() :]


def data_url(mime: str, data: str) -> str:
    """Return the data URL of these bytes."""
    return f"data:{mime};base64,{data}"


def is_link(url: str) -> bool:
    """Return True if a provider could fetch the URL."""
    return url.startswith(("http://", "https://"))
