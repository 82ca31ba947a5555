"""One HTTP request as it arrived, whichever door it came through.

The transport and the socket server both make this value, so a hook that wants to compare bytes
sees the same thing from either.
"""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote


@dataclass(frozen=True, slots=True)
class Received:
    """A request, byte for byte. Its headers hold keys: they are never part of a reply or a repr."""

    method: str
    """The verb, in capitals."""

    target: str
    """Path and query as sent, still percent-encoded."""

    headers: tuple[tuple[str, str], ...] = field(repr=False)
    """Name and value in the order sent; names in lower case, values read as Latin-1."""

    body: bytes = field(repr=False)
    """The body exactly as sent, with the transfer coding taken off."""

    @property
    def path(self) -> str:
        """The path alone, percent-decoded, without a trailing slash."""
        path = unquote(self.target.partition("?")[0], errors="replace")
        return path.rstrip("/") or "/"

    @property
    def query(self) -> dict[str, str]:
        """The query's parameters; of a repeated one, the last."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    def header(self, name: str) -> str | None:
        """Return the first value of a header, by any capitalisation; None if it is absent."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), None)
