"""The app: panes side by side, keys, and the wires between panes and desk.

1. Panes show values and post messages; this module answers by asking the desk, and shows what
   the desk tells. It decides nothing about conversations.
2. The first frame needs no database: the composer takes keys while the desk is being laid.
3. From `WIDE` columns: sessions | chat | inspector. From `MEDIUM`: the chat and one of the
   two. Below: one pane at a time, and the inspector leaves the composer in sight.
4. Requests are composed once a frame however many keys came; a draft too long for a frame is
   composed in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Footer

from tui_chat.config import Config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.model.endpoint import Protocol
from tui_chat.paths import bundled
from tui_chat.ui.chat import ChatPane, Composer, Transcript
from tui_chat.ui.dialogs import AskText, Choice, Choose, Confirm, Help
from tui_chat.ui.inspector import Inspector
from tui_chat.ui.sidebar import SessionList
from tui_chat.ui.themes import load_themes, origin_defaults
from tui_chat.ui.welcome import KEYS_BY_PLACE, welcome

if TYPE_CHECKING:
    from tui_chat.compose import Composed
    from tui_chat.desk import Change, Desk

MEDIUM, WIDE = 96, 132
"""Columns from which two, and three, panes stand side by side."""
LONG_DRAFT = 30_000
"""Characters from which composing may take longer than a frame."""
DESK_AFTER = 0.05
"""Seconds after the first frame until the conversations are opened."""
DRAFT_KEPT_AFTER = 1.0
"""Seconds after the last key until the draft is on disk."""


def key_name(key: str) -> str:
    """Return a key as it is written on a keyboard: `ctrl+n` is Ctrl+N, `escape` is Esc."""
    return "+".join({"escape": "Esc"}.get(part, part.title()) for part in key.split("+"))


class TuiChat(App[None]):
    """tui-chat's screen."""

    TITLE = "tui-chat"
    AUTO_FOCUS = "Composer"
    CSS = """
    #panes { height: 1fr; }
    #sessions { width: 30; }
    #chat { width: 1fr; min-width: 40; }
    #inspector { width: 42%; min-width: 48; }
    .-medium #inspector { width: 50%; }
    .-narrow #panes { layers: base above; }
    .-narrow #sessions { layer: above; dock: left; width: 36; max-width: 100%; }
    .-narrow #inspector { layer: above; dock: top; width: 100%; height: 100%; margin-bottom: 6; }
    """
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it without ClassVar
        (0, "-narrow"),
        (MEDIUM, "-medium"),
        (WIDE, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "keys", "Help", tooltip="Show all keys", id="help"),
        Binding("f2", "pane('sessions')", "Sessions", tooltip="Go to the sessions", id="sessions"),
        Binding("f3", "choose_preset", "Preset", tooltip="Choose the preset", id="preset"),
        Binding(
            "f4", "pane('inspector')", "Inspector", tooltip="Go to the request", id="inspector"
        ),
        Binding("ctrl+n", "new", "New", tooltip="Begin a new session", id="new"),
        Binding("ctrl+o", "choose_model", "Model", tooltip="Ask another model", id="model"),
        Binding(
            "ctrl+f", "find", "Find", tooltip="Find a session by its title", id="find", show=False
        ),
        Binding(
            "ctrl+t",
            "toggle_light",
            "Light/dark",
            tooltip="Change between dark and light",
            id="light",
            show=False,
        ),
        Binding("escape", "back", "Back", tooltip="Stop a reply, or close a pane", show=False),
        Binding("ctrl+q", "quit", "Quit", tooltip="Quit; the draft is kept", id="quit"),
    ]

    def __init__(
        self,
        config: Config,
        open_desk: Callable[[Callable[[Change], None]], Awaitable[Desk]],
        now: Callable[[], float] = time,
    ) -> None:
        super().__init__()
        self._now = now
        self._config = config
        self._open_desk = open_desk
        self._sessions = SessionList(id="sessions")
        self._chat = ChatPane(id="chat")
        self._composer = self._chat.composer
        self._inspector = Inspector(id="inspector")
        self.desk: Desk | None = None
        """None until the conversations are open."""
        self._protocol: Protocol | None = None
        """The inspector's tab; None follows the endpoint's own."""
        self._composing = False
        self._draft_timer: Timer | None = None
        self._hidden: set[str] = set()
        """Panes that the user closed, by id."""
        self._opened: str = ""
        """The pane that was asked for where not all fit."""
        self._theme_faults = self._load_themes()
        self._laid = asyncio.Event()
        """Set once the desk is laid."""

    # --- building ------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        with Horizontal(id="panes"):
            yield self._sessions
            yield self._chat
            yield self._inspector
        yield Footer(show_command_palette=True)

    def on_mount(self) -> None:
        """Show the first frame, then lay the desk."""
        for fault in self._theme_faults:
            self._complain(fault)
        self.set_keymap(dict(self._config.keys))
        self._chat.show("New chat", "", ())
        self._composer.focus()
        # Loading what composes and keeps takes the loop for a moment: keys come first.
        self.set_timer(DESK_AFTER, self._lay_desk)

    @property
    def is_laid(self) -> bool:
        """Whether the conversations are open and the last session is shown."""
        return self._laid.is_set()

    def _load_themes(self) -> list[InputError]:
        """Register the themes and take the configured one; return what is wrong with them.

        Before the app runs: a change of theme would have the style sheets read twice.
        """
        folders = (bundled("themes"), self._config.config_dir / "themes")
        themes, faults = load_themes(folders)
        for theme in themes:
            self.register_theme(theme)
        wanted = self._config.theme
        if wanted not in self.available_themes:
            known = ", ".join(sorted(self.available_themes))
            fault = InputError(f"There is no theme “{wanted}”.", advice=f"There are: {known}.")
            faults.append(fault)
            wanted = themes[0].name if themes else self.theme
        self.set_reactive(App.theme, wanted)
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False)
        self.set_class(not dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())
        return faults

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give themes that are not ours colours for the origins."""
        return origin_defaults(self.current_theme.dark)

    @work(group="desk")
    async def _lay_desk(self) -> None:
        try:
            desk = await self._open_desk(self._hear)
        except TuiChatError as error:
            again = await self.push_screen_wait(
                Confirm(
                    "The conversations cannot be opened",
                    f"{error}\n\n{error.advice}".strip(),
                    yes="Try again",
                    no="Quit",
                )
            )
            if again:
                self._lay_desk()
            else:
                self.exit(return_code=1)
            return
        self.desk = desk
        await desk.start()
        await self._bring_draft(keep_typed=True)
        self._compose_soon()
        self._laid.set()

    # --- hearing the desk ----------------------------------------------------------------

    def _hear(self, change: Change) -> None:
        from tui_chat.desk import BranchChanged, ReplyGrew, ReplyWaits, SessionsChanged, Trouble

        if not self.is_running or (self.desk is None and not isinstance(change, Trouble)):
            return
        match change:
            case SessionsChanged():
                self._show_sessions()
            case BranchChanged():
                self._show_branch()
            case ReplyGrew():
                self._chat.stream(change.grown.entry_id, change.grown.reply)
            case ReplyWaits():
                waiting = change.waiting
                words = f"{waiting.why}\nTrying again in {waiting.seconds:.0f} s. Esc gives up."
                self.notify(
                    words, severity="warning", timeout=max(waiting.seconds, 3), markup=False
                )
            case Trouble():
                self._complain(change.error)

    def _show_sessions(self) -> None:
        desk = self.desk
        if desk is not None:
            current = desk.session.session_id if desk.session else None
            self._sessions.show(desk.sessions, current, self._now())

    def _show_branch(self) -> None:
        desk = self.desk
        if desk is None:
            return
        title = desk.session.title if desk.session else "New chat"
        composed = desk.composed("")
        role = desk.role.name if desk.role else "no role"
        subtitle = f"{role} · {composed.model or 'no model'} · {desk.endpoint.name}"
        if desk.preset.name != "plain":
            subtitle += f" · {desk.preset.name}"
        if desk.role_missing:
            subtitle += " · its role was deleted"
        words = welcome(composed.model, desk.is_offline)
        self._chat.show(title, subtitle, desk.entries, words)
        if desk.partial is not None:
            self._chat.stream(desk.partial.entry_id, desk.partial.reply)
        self._inspector.own_protocol = desk.endpoint.protocol
        self._show_sessions()
        self._compose_soon()

    def _complain(self, error: TuiChatError) -> None:
        words = f"{error}\n{error.advice}".strip()
        self.notify(words, severity="error", timeout=12, markup=False)

    # --- composing -----------------------------------------------------------------------

    @on(Composer.Changed)
    def _typed(self) -> None:
        self._compose_soon()
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_timer = self.set_timer(DRAFT_KEPT_AFTER, self._keep_draft)

    @on(Inspector.ProtocolChosen)
    def _look_at(self, event: Inspector.ProtocolChosen) -> None:
        self._protocol = event.protocol
        self._compose_soon()

    def _compose_soon(self) -> None:
        """Compose before the next frame, once."""
        if not self._composing:
            self._composing = True
            self.call_after_refresh(self._compose_now)

    def _compose_now(self) -> None:
        self._composing = False
        desk = self.desk
        if desk is None:
            return
        draft = self._composer.text
        if len(draft) > LONG_DRAFT:
            self._compose_in_thread(desk, draft)
        else:
            self._show_composed(draft, desk.composed(draft, self._protocol))

    @work(group="compose", exclusive=True, thread=True)
    def _compose_in_thread(self, desk: Desk, draft: str) -> None:
        composed = desk.composed(draft, self._protocol)
        self.call_from_thread(self._show_composed, draft, composed)

    def _show_composed(self, draft: str, composed: Composed) -> None:
        if draft != self._composer.text:
            return
        self._inspector.show(composed)
        budget = composed.envelope.budget
        if budget is not None:
            about = "" if budget.exact else "~"
            left = "" if budget.free is None else f" · {budget.free:,} left"
            what = f"Enter sends {about}{budget.total:,} tokens{left}" if draft.strip() else ""
            self._chat.set_status(what)

    # --- talking -------------------------------------------------------------------------

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        if event.text.strip():
            self._send(event.text)

    @work(group="send")
    async def _send(self, draft: str) -> None:
        await self._laid.wait()  # Enter may come before the conversations are open
        desk = self.desk
        if desk is None:
            return
        faults = desk.composed(draft).errors
        if faults and not await self.push_screen_wait(
            Confirm(
                "Send it all the same?",
                "\n\n".join(note.sentence for note in faults),
                yes="Send",
            )
        ):
            return
        session = desk.session
        self._composer.text = ""
        if await desk.submit(draft):
            await desk.keep_draft(session, "")
        elif not self._composer.text:
            self._composer.text = draft

    @on(Transcript.RetryRequested)
    @work(group="send")
    async def _retry(self, event: Transcript.RetryRequested) -> None:
        if self.desk is not None:
            await self.desk.retry(event.entry_id)

    @on(Transcript.CopyRequested)
    def _copy(self, event: Transcript.CopyRequested) -> None:
        self.copy_to_clipboard(event.text)
        count = len(event.text)
        self.notify(f"Copied {count:,} character{'s' * (count != 1)}.", timeout=3, markup=False)

    @on(Transcript.LinkClicked)
    @work(group="dialog", exclusive=True)
    async def _follow_link(self, event: Transcript.LinkClicked) -> None:
        """Open a link only when it is one, and only when the user has read where it goes."""
        url = event.url
        if not url.startswith(("https://", "http://")):
            self._complain(InputError("Only web links can be opened.", advice=url[:200]))
        elif await self.push_screen_wait(Confirm("Open this link?", url, yes="Open")):
            self.open_url(url)

    @on(Composer.StopRequested)
    async def action_back(self) -> None:
        """Stop the reply that is arriving, else close the pane that is in the way."""
        desk = self.desk
        if desk is not None and desk.is_streaming:
            await desk.stop()
        elif self._opened and not self._is_wide:
            self._opened = ""
            self._arrange()
        self._composer.focus()

    # --- sessions ------------------------------------------------------------------------

    @on(SessionList.Opened)
    @work(group="open", exclusive=True)
    async def _open(self, event: SessionList.Opened) -> None:
        if self.desk is not None:
            await self._keep_draft()
            await self.desk.open(event.session_id)
            await self._bring_draft()
            self._after_choosing_session()

    @on(SessionList.NewRequested)
    def _new_requested(self) -> None:
        self.action_new()

    @work(group="open", exclusive=True)
    async def action_new(self) -> None:
        """Begin a new chat."""
        if self.desk is not None:
            await self._keep_draft()
            await self.desk.new()
            await self._bring_draft()
            self._after_choosing_session()

    def _after_choosing_session(self) -> None:
        if self._is_narrow:
            self._opened = ""
            self._arrange()
        self._composer.focus()

    @on(SessionList.RenameRequested)
    @work(group="dialog", exclusive=True)
    async def _rename(self, event: SessionList.RenameRequested) -> None:
        desk = self.desk
        titles = {s.session_id: s.title for s in desk.sessions} if desk else {}
        title = await self.push_screen_wait(
            AskText("Rename the session", titles.get(event.session_id, ""))
        )
        if desk is not None and title:
            await desk.rename(event.session_id, title)

    @on(SessionList.DeleteRequested)
    @work(group="dialog", exclusive=True)
    async def _delete(self, event: SessionList.DeleteRequested) -> None:
        desk = self.desk
        session = next(
            (s for s in desk.sessions if s.session_id == event.session_id) if desk else iter(()),
            None,
        )
        if desk is None or session is None:
            return
        count = session.message_count
        messages = "1 message" if count == 1 else f"{count:,} messages"
        if await self.push_screen_wait(
            Confirm(
                "Delete the session",
                f"“{session.title}” and its {messages} will be gone.",
                yes="Delete",
            )
        ):
            await desk.delete(event.session_id)
            await self._bring_draft()

    async def _bring_draft(self, keep_typed: bool = False) -> None:
        """Put the shown session's draft into the composer."""
        if self.desk is None:
            return
        kept = await self.desk.draft()
        self._composer.text = kept + (self._composer.text if keep_typed else "")

    async def _keep_draft(self) -> None:
        if self.desk is not None:
            await self.desk.keep_draft(self.desk.session, self._composer.text)

    # --- choosing ------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_choose_model(self) -> None:
        """Ask another model, at any endpoint, from the next message on."""
        desk = self.desk
        if desk is None:
            return
        choices = [
            Choice(
                f"{endpoint.name}\n{model}", model, f"{endpoint.name}, {endpoint.protocol.label}"
            )
            for endpoint in desk.config.endpoints
            for model in endpoint.models
        ]
        current = f"{desk.endpoint.name}\n{desk.composed('').model}"
        chosen = await self.push_screen_wait(Choose("Ask which model?", choices, current))
        if chosen is not None:
            endpoint, _, model = chosen.partition("\n")
            self._protocol = None
            await desk.choose(endpoint, model)

    @work(group="dialog", exclusive=True)
    async def action_choose_preset(self) -> None:
        """Use another preset from the next message on."""
        desk = self.desk
        if desk is None:
            return
        choices = [Choice(name, name) for name in desk.presets]
        chosen = await self.push_screen_wait(Choose("Use which preset?", choices, desk.preset.name))
        if chosen is not None:
            await desk.choose_preset(chosen)

    # --- panes ---------------------------------------------------------------------------

    @property
    def _is_wide(self) -> bool:
        return self.size.width >= WIDE

    @property
    def _is_narrow(self) -> bool:
        return self.size.width < MEDIUM

    def on_resize(self, event: events.Resize) -> None:
        """Show the panes that fit."""
        self._arrange()

    def _arrange(self) -> None:
        if self._is_wide:
            visible = {"sessions", "inspector"} - self._hidden
        elif self._is_narrow:
            visible = {self._opened}
        else:
            visible = {self._opened or "sessions"} - (set() if self._opened else self._hidden)
        panes: tuple[Widget, ...] = (self._sessions, self._inspector)
        for pane in panes:
            pane.display = pane.id in visible
        self._compose_soon()

    def action_pane(self, name: str) -> None:
        """Show a pane and go there; from there, close it and go back."""
        pane: Widget = self._sessions if name == "sessions" else self._inspector
        if pane.display and pane.has_focus_within:
            self._hidden.add(name)
            self._opened = ""
            self._arrange()
            self._composer.focus()
            return
        self._hidden.discard(name)
        self._opened = name
        self._arrange()
        self.call_after_refresh(pane.focus)

    def action_find(self) -> None:
        """Show the sessions and go to the line that narrows them."""
        self._hidden.discard("sessions")
        self._opened = "sessions"
        self._arrange()
        self.call_after_refresh(self._sessions.action_filter)

    # --- the rest ------------------------------------------------------------------------

    def action_toggle_light(self) -> None:
        """Change between our dark and our light theme."""
        self.theme = "tui-chat-light" if self.current_theme.dark else "tui-chat-dark"

    def action_keys(self) -> None:
        """Show all keys."""
        here = [
            (key_name(binding.key), binding.tooltip)
            for _, binding in self._bindings
            if binding.tooltip
        ]
        self.push_screen(Help((("Everywhere", here), *KEYS_BY_PLACE)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer every action of the app in the palette, with its key."""
        for _, binding in self._bindings:
            if binding.tooltip:
                key = key_name(binding.key)
                run = lambda action=binding.action: self.run_action(action)  # noqa: E731
                yield SystemCommand(binding.tooltip, f"{binding.description} · {key}", run)

    async def action_quit(self) -> None:
        """Leave; what is being typed is kept."""
        await self._keep_draft()
        self.exit()

    async def on_unmount(self) -> None:
        """Stop replies and let go of the store, however the app ends."""
        desk, self.desk = self.desk, None
        if desk is not None:
            await desk.close()
