"""All errors that are raised on purpose, by whose fault they are.

The message of an error is a sentence for the user, and `advice` says what to do next. Nothing below
`cli` and `ui` prints or exits; it raises one of these, and `cli` or `ui` shows it.

    TuiChatError
    ├── InputError              the user's file, flag or setting is wrong
    │   ├── ConfigError         ... in the configuration
    │   ├── KeyMissing          ... a key reference has no key
    │   ├── NotYet              ... nothing is, but a reply or a first message has to come before
    │   ├── FieldError          ... in one field
    │   ├── ChangedElsewhere    ... since another program changed what it was to replace
    │   └── NeedsUser           ... nothing is, but somebody has to decide
    ├── ProviderError           the provider refused, failed or disappeared
    │   ├── Unreachable         no connection, or it took too long to connect
    │   ├── Refused             an HTTP status or an error event, with the provider's own words
    │   └── ReplyCut            the stream ended before the reply did
    │       └── TooLarge        ... because it exceeded a limit of ours
    └── StoreError              the database cannot be used
        ├── StoreBusy           another program holds it
        ├── StoreNewer          written by a newer version of this program
        ├── RecordGone          what was to be changed no longer exists
        └── StoreDamaged        the file is damaged
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from shlex import quote

_VERBS = ("is", "are", "was", "has", "have", "must", "cannot", "does")


def located(place: str, fault: str) -> str:
    """Return a fault with its place: “line 3 is not JSON”, or after a colon if the fault is not the
    rest of a sentence: “line 3: there is no key”.
    """
    if not place:
        return fault
    return f"{place}{' ' if fault.partition(' ')[0] in _VERBS else ': '}{fault}"


def install_advice(package: str) -> str:
    """Return the command that installs an optional package beside this program, as a sentence."""
    command = f"{sys.executable} -m pip install"
    if find_spec("pip") is None:  # environments made by uv have none
        command = f"uv pip install --python {sys.executable}"
    return f"Install it with `{command} {quote(package)}`."


class TuiChatError(Exception):
    """Base of all errors we raise on purpose.

    `str(error)` is one sentence without a trailing newline. `advice` is what to do about it, empty
    if the sentence is enough.
    """

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class InputError(TuiChatError):
    """Input of the user is invalid; the message has the place and the fault."""


class NotYet(InputError):
    """Something is not possible until a reply ends, or until there is a first message."""


class ConfigError(InputError):
    """The configuration file, an environment variable or a flag is invalid."""


class KeyMissing(InputError):
    """A key reference (`env:NAME`, ...) has no value. Never contains a key."""


class NeedsUser(InputError):
    """A tool call needs the consent or the answer of a person, and nobody can be asked."""


class FieldError(InputError):
    """A field has a value that cannot be kept."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        """Its name."""


class ChangedElsewhere(InputError):
    """Another program changed what was to be replaced; it is replaced if the user insists."""


class ProviderError(TuiChatError):
    """The provider did not send a complete reply."""


class Unreachable(ProviderError):
    """No connection could be made, or it broke before a response began."""

    def __init__(
        self, message: str, *, advice: str = "", passing: bool = True, sent: bool = True
    ) -> None:
        super().__init__(message, advice=advice)
        self.passing = passing
        """True if the same request may succeed in a moment."""
        self.sent = sent
        """False if it is certain that no part of the request left."""


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
        """HTTP status; None if the error came within a stream that began with 200."""
        self.code = code
        """The provider's own code of the error (`rate_limit_error`, `RESOURCE_EXHAUSTED`...)."""
        self.retry_after = retry_after
        """Seconds to wait, if the provider says so."""


class ReplyCut(ProviderError):
    """The connection ended before the reply's last event; what arrived is kept."""


class TooLarge(ProviderError):
    """A provider exceeded a limit; the message says which one and what is kept."""


class StoreError(TuiChatError):
    """The database cannot be used; the data is unchanged."""


class StoreBusy(StoreError):
    """Another program locked the database for too long."""


class StoreNewer(StoreError):
    """The database was written by a newer version; it is refused and not changed."""


class BranchMoved(StoreError):
    """The branch of a session does not end where the caller believes: another program wrote."""


class RecordGone(StoreError):
    """A session or message that was to be read or changed no longer exists."""


class StoreDamaged(StoreError):
    """The file is damaged, or is no database at all."""
