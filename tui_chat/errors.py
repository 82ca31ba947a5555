"""Everything that can go wrong, sorted by whose fault it is.

Each error is a sentence a person understands, and `advice` says what to do next. Nothing
below `cli` and `ui` prints or exits; they raise one of these and the edge shows it.

    TuiChatError
    ├── InputError              the user's file, flag or setting is wrong
    │   ├── ConfigError         ... in the configuration
    │   └── KeyMissing          ... a key reference leads nowhere
    ├── ProviderError           the other side refused, failed or vanished
    │   ├── Unreachable         no connection, or it took too long to connect
    │   ├── Refused             an HTTP status or an error event, with the provider's own words
    │   └── ReplyCut            the stream ended before the reply did
    │       └── TooLarge        ... because we stopped reading: it passed a ceiling
    └── StoreError              the database cannot be used as asked
        ├── StoreBusy           another program holds it
        ├── StoreNewer          written by a newer version of this program
        ├── RecordGone          what was to be changed is not in it any more
        └── StoreDamaged        SQLite says the file is not sound
"""

from __future__ import annotations


class TuiChatError(Exception):
    """Base of all errors we raise on purpose.

    `str(error)` is one sentence without a trailing newline; `advice` is what to do about it,
    empty where the sentence says it all.
    """

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class InputError(TuiChatError):
    """What the user gave us cannot be used; the message names the place and the fault."""


class ConfigError(InputError):
    """The configuration file, an environment variable or a flag is wrong."""


class KeyMissing(InputError):
    """A key reference (`env:NAME`, ...) has no value behind it. Never carries the key."""


class ProviderError(TuiChatError):
    """The other side did not give a whole reply."""


class Unreachable(ProviderError):
    """No connection could be made, or it broke before a response began."""

    def __init__(self, message: str, *, advice: str = "", passing: bool = True) -> None:
        super().__init__(message, advice=advice)
        self.passing = passing
        """Whether the same request may get through in a moment."""


class Refused(ProviderError):
    """The provider answered with an error, as an HTTP status or inside the stream."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str = "",
        retry_after: float | None = None,
        advice: str = "",
    ) -> None:
        super().__init__(message, advice=advice)
        self.status = status
        """HTTP status, None when the error came inside a stream that began with 200."""
        self.code = code
        """The provider's own word for the error (`rate_limit_error`, `RESOURCE_EXHAUSTED`...)."""
        self.retry_after = retry_after
        """Seconds to wait, where the provider said so."""


class ReplyCut(ProviderError):
    """The connection ended before the reply's terminal event; what came is kept."""


class TooLarge(ReplyCut):
    """A provider sent more than a ceiling allows; the message says which one and what is kept."""


class StoreError(TuiChatError):
    """The database cannot be used as asked; the data is as it was."""


class StoreBusy(StoreError):
    """Another program holds the database and did not let go in time."""


class StoreNewer(StoreError):
    """The database was written by a newer version; it is refused and not touched."""


class RecordGone(StoreError):
    """A session or message that was to be read or changed no longer exists."""


class StoreDamaged(StoreError):
    """SQLite finds the file damaged, or it is no database at all."""
