"""What a person asks for in the transcript, posted for the app to do.

The transcript changes nothing but what it shows: a message here says what is wanted, and of
which entry.
"""

from __future__ import annotations

from textual.message import Message


class Requested(Message, namespace="transcript"):
    """Something is to be done with an entry."""

    def __init__(self, entry_id: str) -> None:
        super().__init__()
        self.entry_id = entry_id


class RetryRequested(Requested, namespace="transcript"):
    """A reply is to be asked for again, as a sibling of this one."""


class ContinueRequested(Requested, namespace="transcript"):
    """A reply is to go on from where it ended."""


class EditRequested(Requested, namespace="transcript"):
    """A message is to be written anew, as a sibling of this one."""


class ForkRequested(Requested, namespace="transcript"):
    """A session of its own is to begin with the branch up to this message."""


class DeleteRequested(Requested, namespace="transcript"):
    """A message is to go, with what follows it."""


class PinRequested(Requested, namespace="transcript"):
    """A message is to be kept by every truncation, or no longer."""

    def __init__(self, entry_id: str, pinned: bool) -> None:
        super().__init__(entry_id)
        self.pinned = pinned
        """What it is to be."""


class InspectRequested(Requested, namespace="transcript"):
    """The request that produced a reply is to be shown."""


class RevealRequested(Requested, namespace="transcript"):
    """The places of a message in the request that is being made are to be shown."""


class SiblingRequested(Requested, namespace="transcript"):
    """Another version of a message is to be shown."""

    def __init__(self, entry_id: str, step: int) -> None:
        super().__init__(entry_id)
        self.step = step
        """-1 for the older one, 1 for the newer one."""


class CallRequested(Requested, namespace="transcript"):
    """Something is to be done about a tool call."""

    def __init__(self, entry_id: str, call_id: str) -> None:
        super().__init__(entry_id)
        self.call_id = call_id


class AnswerRequested(CallRequested, namespace="transcript"):
    """A person is to write a tool call's result."""


class RunRequested(CallRequested, namespace="transcript"):
    """A tool call is to be run, if that is allowed."""


class BranchesRequested(Message, namespace="transcript"):
    """The branches of the session are to be shown."""


class CopyRequested(Message, namespace="transcript"):
    """Text is to be put on the clipboard."""

    def __init__(self, text: str, what: str = "") -> None:
        super().__init__()
        self.text = text
        self.what = what
        """What it is, in words: `message`, `code block 2 of 3`."""


class LinkClicked(Message, namespace="transcript"):
    """A link was clicked; its target comes from the model and is not to be trusted."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url


class UndoRequested(Message, namespace="transcript"):
    """What was deleted last is to come back."""


class Refused(Message, namespace="transcript"):
    """A key can do nothing here."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why
        """As a sentence."""


class FindRequested(Message, namespace="transcript"):
    """Words are to be asked for, that are to be found in the conversation."""


class Found(Message, namespace="transcript"):
    """What is being found has changed."""

    def __init__(self, number: int, count: int, is_on: bool) -> None:
        super().__init__()
        self.number = number
        """The hit that is shown, from 1; 0 where none is."""
        self.count = count
        """How many hits there are."""
        self.is_on = is_on
        """Whether anything is being found."""


class Pointed(Message, namespace="transcript"):
    """The cursor came to another message, while keys go to the transcript."""

    def __init__(self, entry_id: str) -> None:
        super().__init__()
        self.entry_id = entry_id


class Focused(Message, namespace="transcript"):
    """Keys go to the transcript now, or no longer."""

    def __init__(self, has_focus: bool) -> None:
        super().__init__()
        self.has_focus = has_focus
