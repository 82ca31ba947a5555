"""The state of a workspace: one frozen value, replaced as a whole by `WorkspaceCore.update`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal

from tui_chat.compose import Composed
from tui_chat.config import LOOPBACK_URL, Config
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.edits import EditHistory
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.generation import side_kind
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import Message
from tui_chat.models.payload import Payload
from tui_chat.models.preset import Preset
from tui_chat.models.request_edit import RequestEdit
from tui_chat.models.role import FIRST_ROLE_NAME, Profile, Role
from tui_chat.models.session import Entry, RawResponse, Session, SessionSummary, SpeakerNames
from tui_chat.models.settings import NO_SETTINGS, Settings
from tui_chat.models.tool import Tool, results_of
from tui_chat.send import PartialReply

if TYPE_CHECKING:
    from tui_chat.analysis.captured_request import CapturedRequest
    from tui_chat.library.library import FileStamp
    from tui_chat.turn_file import TurnFile

DEFAULT_PRESET = "plain"
"""The name of the preset of sessions that chose none."""
NO_PRESET = "none"
"""The bundled preset that has nothing but the conversation."""

_PLAIN = Preset(DEFAULT_PRESET)


@dataclass(frozen=True, slots=True)
class OpenPreset:
    """A preset that was opened in this run of the program."""

    edits: EditHistory
    stamp: FileStamp
    """The file as it was last read or written."""


@dataclass(frozen=True, slots=True)
class LastSent:
    """A request that was sent, as it was composed."""

    entry_id: str
    """The id of the reply to it."""
    composed: Composed


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message that was typed while a reply arrived, and is sent after it."""

    text: str
    files: tuple[str, ...] = ()
    """The paths of its attachments, which are read when it is sent."""


@dataclass(frozen=True, slots=True)
class PendingToolCall:
    """A tool call of the active branch's last reply that is not answered yet."""

    entry_id: str
    """The id of the reply."""
    index: int
    """The position of the call in the reply. Ids are the provider's: some have none, or repeat."""
    call: CallBlock
    tool: Tool | None
    """The known tool of this name; None if there is none."""
    is_running: bool

    @property
    def can_run(self) -> bool:
        """True if the tool can answer the call by itself."""
        return self.tool is not None and bool(self.tool.runs) and not self.is_running


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The state of a source of tools, such as a server."""

    name: str
    state: Literal["idle", "starting", "ready", "failed"] = "idle"
    sentence: str = ""
    """What there is to say, such as why it failed."""
    runs: str = ""
    """Its command line or address."""
    version: str = ""
    """What it says of itself: its name, its version and the protocol; empty before its start."""
    log: tuple[str, ...] = ()
    """The last lines of its standard error. They are the server's: sanitize them."""


@dataclass(frozen=True, slots=True, eq=False)
class ViewedRequest:
    """A request that is shown in place of the live one: it was sent, captured or exported."""

    composed: Composed
    description: str
    """Its name, for example `as sent at 12:30 · exact bytes`."""
    entry: Entry | None = None
    """The reply to it; None if that is not known."""
    source: CapturedRequest | TurnFile | None = None
    """The captured request or exported turn that it was read from."""
    before: Composed | None = None
    """The session's request before it, or another one to compare it with; None for none."""
    before_name: str = "the request before it"
    """What `before` is, in a few words."""
    is_automatic: bool = False
    """True if the session was opened on it; typing returns to the live request."""
    is_of_session: bool = False
    """True if a reply of the session answers it, on whatever branch."""


@dataclass(frozen=True, slots=True, eq=False)
class DiffBase:
    """The base with which the request shown is compared."""

    choice: str = "last"
    """`last` (the last request to the endpoint), `protocol NAME`, `preset NAME`, `state` (a state
    of a preset) or `request ENTRY_ID`."""
    description: str = ""
    """The name of what it is, for example `the request of 12:30`; empty for the last request and
    another protocol."""
    composed: Composed | None = None
    """The sent request."""
    preset: str | Preset = ""
    """The preset of another request: the name of one, as it is saved, or one that is in no file."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The request with which the one shown is compared."""

    name: str
    """For example `the session's last request`."""
    payload: Payload | None
    """None if there is nothing to compare with."""
    reason: str = ""
    """The reason why there is nothing, as a sentence."""


@dataclass(frozen=True, slots=True)
class ReceivedResponse:
    """The stored response to a request, as the provider sent it."""

    entry_id: str
    """The id of the reply."""
    response: RawResponse | None
    """None if it is not kept, or not loaded yet."""
    is_loading: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LiveRequestState:
    """The request that is being written, and what is shown in its place."""

    draft: str = ""
    """The text that Enter would send; empty for a command."""
    parts: tuple[MediaBlock, ...] = ()
    """The attachments of the draft."""
    kind: str = "normal"
    """The kind of request that the composer's command makes (see
    `models.generation.request_kinds`); `normal` for a message to send."""
    argument: str = ""
    """The text after the command."""
    kind_fault: str = ""
    """The reason why there is no request of this kind now, as a sentence."""
    protocol: Protocol | None = None
    """The protocol in which to show the request; None for its own."""
    viewed: ViewedRequest | None = None
    diff_base: DiffBase = field(default_factory=DiffBase)
    live: Composed | None = None
    """The request that Enter would send; None before the first is composed."""
    shown: Composed | None = None
    """The live request, or the viewed one in its place."""
    session_id: str = ""
    """The session that `live` was composed for."""
    received: ReceivedResponse | None = None
    """The response that was looked at last."""

    def without_session(self) -> LiveRequestState:
        """Return it without what belongs to the active session, before another one is opened."""
        request = self
        if request.viewed is not None:
            request = replace(request, viewed=None)
        return replace(
            request,
            protocol=None,
            live=None,
            shown=None,
            session_id="",
            received=None,
        )

    @property
    def prompt(self) -> str:
        """The instruction of a request that takes one: the command's argument, or the draft."""
        kind = side_kind(self.kind)
        return self.argument if kind is not None and kind.takes_prompt else self.draft


@recent_memo()
def _with_book(books: tuple[Lorebook, ...], book: Lorebook) -> tuple[Lorebook, ...]:
    """Return the books with another one, unless all its entries are in one of them."""
    contents = {entry.content for entry in book.entries}
    if any(contents <= {entry.content for entry in lorebook.entries} for lorebook in books):
        return books
    return (*books, book)


@dataclass(frozen=True, slots=True, eq=False)
class WorkspaceState:
    """Everything that is open, and how it is set."""

    config: Config
    endpoint: Endpoint
    model: str
    """The model chosen for the session; empty leaves it to the role and the endpoint."""

    # The active session
    session: Session | None = None
    """None for a new chat that has no message yet."""
    session_id: str = ""
    """The id of the active session; a new chat has the id that its session will have."""
    entries: tuple[Entry, ...] = ()
    """The active branch, oldest first."""
    temporary_id: str = ""
    """The id of the temporary session, which is in memory only; empty if there is none."""
    is_branch_loaded: bool = True
    """False while the active branch is being read. `entries` is empty then, and whatever sends or
    adds a message waits."""

    # Settings of the active session
    role: Role | None = None
    role_missing: bool = False
    """True if the session is bound to a role that no longer exists."""
    settings: Settings = NO_SETTINGS
    """The session's own settings."""
    edits: tuple[RequestEdit, ...] = ()
    """The session's edits of requests by hand."""
    preset: Preset = _PLAIN
    preset_name: str = DEFAULT_PRESET
    """The name of the preset's file; the name inside the file may differ."""
    profile: Profile | None = None
    profile_name: str = ""
    """The name of the profile's file; empty for none."""
    lorebooks: tuple[Lorebook, ...] = ()
    """The session's; see `searched_lorebooks`."""
    lorebook_names: tuple[str, ...] = ()
    """The names of the lorebooks' files, including those that cannot be read."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """The session's macro variables, such as those of an imported chat."""
    tools: tuple[Tool, ...] = ()
    """The tools that the model may call; some of `known_tools`."""
    is_streamed: bool = True
    """False if replies are requested as a whole."""

    # What there is to choose from
    sessions: tuple[SessionSummary, ...] = ()
    roles: tuple[Role, ...] = ()
    """Enabled roles by their last use, then disabled ones."""
    known_tools: tuple[Tool, ...] = ()
    """The tools known of all sources, commands first."""
    tool_sources: tuple[SourceStatus, ...] = ()
    """The opened sources of tools, except commands."""
    awaited_sources: tuple[str, ...] = ()
    """The names of those whose tools a request waits for."""
    open_presets: Mapping[str, OpenPreset] = field(default_factory=dict[str, OpenPreset])
    """The presets that were opened, with their edits, by name."""

    # Replies and tool calls in progress
    streaming_sessions: frozenset[str] = frozenset()
    """The ids of the sessions in which this program receives a reply."""
    partials: Mapping[str, PartialReply] = field(default_factory=dict[str, PartialReply])
    """The received parts of these replies, by reply id."""
    queue: tuple[QueuedMessage, ...] = ()
    """The queued messages of the active session, the next one first."""
    is_queue_unsaved: bool = False
    """True if it could not be stored as it is."""
    unsaved_replies: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    """The replies whose ends could not be stored, by id."""
    unsaved_draft: str = ""
    """The reason why the draft could not be stored, as a sentence; empty if it is."""
    running_calls: frozenset[tuple[str, int]] = frozenset()
    """The tool calls that are running, by the reply's id and their positions in it."""

    # Requests
    request: LiveRequestState = field(default_factory=LiveRequestState)
    last_sent: Mapping[str, LastSent] = field(default_factory=dict[str, LastSent])
    """The last request of the active session that each endpoint accepted, by the endpoint's name.
    Those sent before the session was opened are added when `Sent.last_sent` finds them.
    """

    @classmethod
    def initial(cls, config: Config) -> WorkspaceState:
        """Return the state before anything is read from the store."""
        return cls(config, config.endpoint_named(config.endpoint), config.model)

    def is_active(self, session_id: str) -> bool:
        """Return True if this session is the active one."""
        return self.session is not None and self.session.session_id == session_id

    @property
    def is_temporary(self) -> bool:
        """True if the active session is in memory only."""
        return bool(self.temporary_id) and self.session_id == self.temporary_id

    @property
    def is_offline(self) -> bool:
        """True if the endpoint is the built-in provider, which needs no network."""
        return self.endpoint.base_url.startswith(LOOPBACK_URL)

    @property
    def role_fault(self) -> Literal["", "deleted", "disabled"]:
        """The reason why the session sends nothing with its role; empty if it does."""
        if self.role_missing:
            return "deleted"
        return "disabled" if self.role is not None and self.role.status == "disabled" else ""

    @property
    def searched_lorebooks(self) -> tuple[Lorebook, ...]:
        """The lorebooks of the session, and the one in its role's character card, unless the one
        that the card is linked to, or one with all its entries, is chosen.
        """
        character = self.role.character if self.role is not None and not self.role_fault else None
        if character is None or character.book is None:
            return self.lorebooks
        if character.world in self.lorebook_names:
            return self.lorebooks
        return _with_book(self.lorebooks, character.book)

    @property
    def speakers(self) -> SpeakerNames:
        """The names of user and character, from a setting, a profile or a role but the first."""
        role = self.role if self.role is not None and not self.role_fault else None
        places = (
            self.settings,
            self.preset.settings,
            *((role.settings,) if role is not None else ()),
            self.endpoint.settings,
        )
        user = next(filter(None, (place.user_name for place in places)), "")
        character = next(filter(None, (place.char_name for place in places)), "")
        by_role = role.name if role is not None and role.name != FIRST_ROLE_NAME else ""
        by_profile = self.profile.name if self.profile is not None else ""
        return SpeakerNames(user or by_profile, character or by_role)

    @property
    def effective_model(self) -> str:
        """The session's model, else the role's, else the endpoint's first."""
        by_role = self.role.model if self.role is not None and not self.role_fault else ""
        return self.model or by_role or next(iter(self.endpoint.models), "")

    @property
    def preset_edits(self) -> EditHistory | None:
        """The active session's preset with its edits; None if its file cannot be read."""
        opened = self.open_presets.get(self.preset_name)
        return opened.edits if opened else None

    @property
    def unsaved_presets(self) -> tuple[str, ...]:
        """The names of the presets with unsaved edits."""
        return tuple(name for name, preset in self.open_presets.items() if preset.edits.is_changed)

    @property
    def is_streaming(self) -> bool:
        """True if this program receives a reply in the active session."""
        return self.session is not None and self.session.session_id in self.streaming_sessions

    @property
    def partial(self) -> PartialReply | None:
        """The received part of the reply that is arriving on the active branch."""
        grown = self.partials.values()
        return next((each for each in grown if self.is_on_branch(each.entry_id)), None)

    def is_on_branch(self, reply_id: str) -> bool:
        """Return True if a reply is the end of the active branch."""
        at_end = bool(self.entries) and self.entries[-1].message.id == reply_id
        return self.session is not None and at_end

    @property
    def unsaved(self) -> str:
        """The reason why something on the screen is not stored, as a sentence; empty if all is."""
        replies = (entry.unsaved for entry in self.unsaved_replies.values())
        partial = self.partial.unsaved if self.partial is not None else ""
        queue = "The queued messages could not be stored." if self.is_queue_unsaved else ""
        return next(filter(None, (*replies, self.unsaved_draft, partial, queue)), "")

    def tool_named(self, name: str) -> Tool | None:
        """Return a known tool by its name for the model; None if there is none."""
        return next((tool for tool in self.known_tools if tool.name == name), None)

    @property
    def pending_calls(self) -> tuple[PendingToolCall, ...]:
        """The tool calls at the end of the active branch that are not answered yet."""
        return self.calls_at_end(self.entries)

    def calls_at_end(self, entries: Sequence[Entry]) -> tuple[PendingToolCall, ...]:
        """Return the tool calls at the end of a branch that are not answered yet."""
        reply, calls = unanswered_calls(entries)
        if reply is None:
            return ()
        entry_id = reply.message.id
        return tuple(
            PendingToolCall(
                entry_id,
                index,
                call,
                self.tool_named(call.name),
                (entry_id, index) in self.running_calls,
            )
            for index, call in calls.items()
        )


def unanswered_calls(entries: Sequence[Entry]) -> tuple[Entry | None, dict[int, CallBlock]]:
    """Return the reply that a branch ends with, and its unanswered calls by their position in it;
    else None, nothing.
    """
    answers: list[Message] = []
    for entry in reversed(entries):
        message = entry.message
        if message.role == "tool":
            answers.insert(0, message)
        elif message.tool_calls and entry.status == "complete":
            answered = results_of(message.tool_calls, answers)
            calls = enumerate(message.tool_calls)
            return entry, {index: call for index, call in calls if index not in answered}
        else:
            break
    return None, {}
