"""The sources of a reply.

Everything here comes from a provider or a file: `found_source` cuts it and makes it safe, and only
web addresses become links.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line, sanitize

MOST_SOURCES = 200
"""Maximum sources of a message."""
URL_LENGTH = 2_000
"""Maximum characters of an address. Part of one leads elsewhere, so a longer one is dropped."""
TITLE_LENGTH = 300
"""Maximum characters of a title and of a file's name; the rest is cut."""

_WEB = re.compile(r"https?://[^\s<>\"\\^`{|}]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A page or file that a reply rests on."""

    title: str = ""
    url: str = ""
    """Its address on the web; empty if it has none."""
    file: str = ""
    """The provider's name or id of a file or document."""

    @property
    def host(self) -> str:
        """The host of its address without `www.`; empty if it has none."""
        try:
            return (urlsplit(self.url).hostname or "").removeprefix("www.")
        except ValueError:
            return ""

    @property
    def label(self) -> str:
        """The name for a reader: its title, else its host or file."""
        return self.title or self.host or self.file or "untitled"


@dataclass(frozen=True, slots=True)
class References:
    """The sources of a reply."""

    sources: tuple[Source, ...] = ()
    """Numbered from 1 for the reader."""


NO_REFERENCES = References()


def web_address(url: str) -> str:
    """Return an address if it is one of the web and safe to show, else an empty string."""
    url = url.strip()
    safe = len(url) <= URL_LENGTH and _WEB.fullmatch(url) and sanitize(url) == url
    return url if safe and Source(url=url).host else ""


def found_source(title: str = "", url: str = "", file: str = "") -> Source:
    """Return a source with safe, cut texts. An address outside of the web is no link."""
    address = web_address(url)
    name = one_line(file or ("" if address else url), TITLE_LENGTH)
    return Source(one_line(title, TITLE_LENGTH), address, name)
