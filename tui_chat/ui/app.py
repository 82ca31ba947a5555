"""The app: panes side by side, keys, and the wires between panes and desk.

1. Panes show values and post messages; this module answers by asking the desk, and shows what
   the desk tells. It decides nothing about conversations.
2. The first frame needs no database and no dialog: the composer takes keys while the desk is
   being laid, and what asks questions is loaded when there is one.
3. Requests are composed once a frame however many keys came; a draft too long for a frame is
   composed in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer

from tui_chat.config import Config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.model.endpoint import Protocol
from tui_chat.model.session import SessionSummary
from tui_chat.paths import bundled
from tui_chat.ui.chat import Composer, Transcript
from tui_chat.ui.panes import MEDIUM, WIDE, Panes, SidePane
from tui_chat.ui.sidebar import SessionList
from tui_chat.ui.themes import load_themes, origin_defaults
from tui_chat.ui.welcome import KEYS_BY_PLACE, welcome

if TYPE_CHECKING:
    from tui_chat.compose import Composed
    from tui_chat.desk import Change, Desk
    from tui_chat.ui.inspector import Inspector

LONG_DRAFT = 30_000
"""Characters from which composing may take longer than a frame."""
DESK_AFTER = 0.15
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
    ToastRack { align: right top; margin-top: 1; }  /* not over what is being typed */
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
        Binding(
            "ctrl+r",
            "again",
            "Ask again",
            tooltip="Ask again for the last reply",
            id="again",
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
        self._panes = Panes()
        self._sessions = self._panes.sessions
        self._chat = self._panes.chat
        self._composer = self._chat.composer
        self.desk: Desk | None = None
        """None until the conversations are open."""
        self._protocol: Protocol | None = None
        """The inspector's tab; None follows the endpoint's own."""
        self._composing = False
        self._draft_timer: Timer | None = None
        self._theme_faults = self._load_themes()
        self._sending = False
        self._laid = asyncio.Event()
        """Set once the desk is laid."""

    # --- building ------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        yield self._panes
        yield Footer(show_command_palette=True)

    def on_mount(self) -> None:
        """Show the first frame, then lay the desk."""
        for fault in self._theme_faults:
            self._complain(fault)
        actions = {binding.id for _, binding in self._bindings if binding.id}
        for unknown in [name for name, _ in self._config.keys if name not in actions]:
            known = ", ".join(sorted(actions))
            self._complain(
                InputError(
                    f"[keys] names “{unknown}”, which is no action.", advice=f"There are: {known}."
                )
            )
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
        if self._panes.inspector is None:
            await self._panes.add_inspector()
        try:
            desk = await self._open_desk(self._hear)
            self.desk = desk
            await desk.start()
        except TuiChatError as error:
            from tui_chat.ui.questions import try_again

            await self._let_go()
            again = await try_again(self, f"{error}\n\n{error.advice}".strip())
            if again:
                self._lay_desk()
            else:
                self.exit(return_code=1)
            return
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
        if self._panes.inspector is not None:
            self._panes.inspector.own_protocol = desk.endpoint.protocol
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

    def on_inspector_protocol_chosen(self, event: Inspector.ProtocolChosen) -> None:
        """Show what another protocol would be sent; the session stays as it is."""
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
        if self._panes.inspector is not None:
            self._panes.inspector.show(composed)
        budget = composed.envelope.budget
        if budget is not None:
            about = "" if budget.exact else "~"
            left = "" if budget.free is None else f" · {budget.free:,} left"
            what = f"Enter sends {about}{budget.total:,} tokens{left}" if draft.strip() else ""
            self._chat.set_status(what)

    # --- talking -------------------------------------------------------------------------

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        if event.text.strip() and not self._sending:  # a key that repeats sends once
            self._sending = True
            self._send(event.text)

    @work(group="send")
    async def _send(self, draft: str) -> None:
        from tui_chat.ui.questions import may_send

        try:
            await self._laid.wait()  # Enter may come before the conversations are open
            desk = self.desk
            if desk is None or not await may_send(self, desk.composed(draft).errors):
                return
            session = desk.session
            self._composer.text = ""
            if await desk.submit(draft):
                await desk.keep_draft(session, "")
            elif not self._composer.text:
                self._composer.text = draft
        finally:
            self._sending = False

    @work(group="send")
    async def action_again(self) -> None:
        """Ask again for the last reply, whatever became of it."""
        desk = self.desk
        if desk is not None and desk.entries and desk.entries[-1].message.role == "assistant":
            await desk.retry(desk.entries[-1].message.id)

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
        from tui_chat.ui.questions import may_open

        url = event.url
        if not url.startswith(("https://", "http://")):
            self._complain(InputError("Only web links can be opened.", advice=url[:200]))
        elif await may_open(self, url):
            self.open_url(url)

    @on(Composer.StopRequested)
    async def action_back(self) -> None:
        """Close the pane that is in the way, else stop the reply that is arriving."""
        desk = self.desk
        if self._panes.covers_chat:
            self._panes.close_overlay()
        elif desk is not None and desk.is_streaming:
            await desk.stop()
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
        await self._laid.wait()
        if self.desk is not None:
            await self._keep_draft()
            await self.desk.new()
            await self._bring_draft()
            self._after_choosing_session()

    def _after_choosing_session(self) -> None:
        if self._panes.is_narrow:
            self._panes.close_overlay()
        self._composer.focus()

    @on(SessionList.RenameRequested)
    @work(group="dialog", exclusive=True)
    async def _rename(self, event: SessionList.RenameRequested) -> None:
        from tui_chat.ui.questions import ask_title

        session = self._listed(event.session_id)
        if self.desk is not None and session is not None:
            title = await ask_title(self, session)
            if title:
                await self.desk.rename(event.session_id, title)

    @on(SessionList.DeleteRequested)
    @work(group="dialog", exclusive=True)
    async def _delete(self, event: SessionList.DeleteRequested) -> None:
        from tui_chat.ui.questions import may_delete

        session = self._listed(event.session_id)
        if self.desk is not None and session is not None and await may_delete(self, session):
            await self.desk.delete(event.session_id)
            await self._bring_draft()

    def _listed(self, session_id: str) -> SessionSummary | None:
        sessions = self.desk.sessions if self.desk else ()
        return next((s for s in sessions if s.session_id == session_id), None)

    async def _bring_draft(self, keep_typed: bool = False) -> None:
        """Put the shown session's draft into the composer."""
        if self.desk is None:
            return
        kept = await self.desk.draft()
        self._composer.text = kept + (self._composer.text if keep_typed else "")

    async def _keep_draft(self) -> None:
        if self.desk is not None and self.is_laid:  # before that the kept one was not brought
            await self.desk.keep_draft(self.desk.session, self._composer.text)

    # --- choosing ------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_choose_model(self) -> None:
        """Ask another model, at any endpoint, from the next message on."""
        from tui_chat.ui.questions import ask_model

        await self._laid.wait()
        if self.desk is not None and (chosen := await ask_model(self, self.desk)):
            self._protocol = None
            await self.desk.choose(*chosen)

    @work(group="dialog", exclusive=True)
    async def action_choose_preset(self) -> None:
        """Use another preset from the next message on."""
        from tui_chat.ui.questions import ask_preset

        await self._laid.wait()
        if self.desk is not None and (chosen := await ask_preset(self, self.desk)):
            await self.desk.choose_preset(chosen)

    # --- panes ---------------------------------------------------------------------------

    def action_pane(self, name: SidePane) -> None:
        """Show a pane and go there; from there, close it and go back."""
        self._panes.go(name)

    def action_find(self) -> None:
        """Show the sessions and go to the line that narrows them."""
        self._panes.open("sessions")
        self.call_after_refresh(self._sessions.action_filter)

    # --- the rest ------------------------------------------------------------------------

    def action_toggle_light(self) -> None:
        """Change between our dark and our light theme."""
        self.theme = "tui-chat-light" if self.current_theme.dark else "tui-chat-dark"

    def action_keys(self) -> None:
        """Show all keys."""
        from tui_chat.ui.dialogs import Help

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
        await self._let_go()

    async def _let_go(self) -> None:
        desk, self.desk = self.desk, None
        if desk is not None:
            await desk.close()
