"""Inspecting: what the inspector shows beside the body: forecast, reply, difference; and requests
that are not the one that Enter would send.

1. A request that was sent, one that was pasted and one that only asks what if take the place of
   the live one, under a banner that says so; Esc brings the live one back. Nothing of the session
   changes meanwhile.
2. What the cursor is on lights up where it came from; Enter goes there. From a message of the
   conversation one comes to its places in the request.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.model.endpoint import Protocol
from tui_chat.model.session import Entry
from tui_chat.model.text import Origin, OriginKind
from tui_chat.ui.acting.drafting import Drafting
from tui_chat.ui.chat import Transcript
from tui_chat.ui.commands import to_send

if TYPE_CHECKING:
    from tui_chat.analysis import Captured, Forecast, Forecaster
    from tui_chat.compose import Composed
    from tui_chat.desk import Desk, SentRequest, WhatIf
    from tui_chat.model.reply import Reply
    from tui_chat.ui.inspector import Inspector

LAST = "last"
"""The difference is to the last request that was sent to this endpoint."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that stands in the inspector in place of the live one."""

    composed: Composed
    words: str
    """What it is, for the banner."""
    session_id: str
    entry: Entry | None = None
    """The reply it produced."""
    captured: Captured | None = None
    """Where it was pasted."""


class Inspecting(Drafting):
    """Answers the inspector."""

    _forecaster: Forecaster | None = None
    _forecasts: tuple[tuple[Composed, Forecast], ...] = ()
    """The newest ones: when a request has left, the next one is shown already."""
    _told_of: tuple[str, Forecast | None] = "", None
    """What was told of the last request before it left, with the id of its reply."""
    _seen: Seen | None = None
    _what_if: WhatIf | None = None
    _base = LAST
    """What the difference is to: `last`, `protocol NAME`, `preset NAME` or `request ENTRY`."""
    _base_sent: tuple[str, Composed] | None = None
    """The sent request that it is to, with its name."""

    # --- what is shown -------------------------------------------------------------------

    def inspect(self, composed: Composed) -> None:
        """Show the request that Enter would send, or what is looked at in its place."""
        inspector, desk = self._panes.inspector, self.desk
        if inspector is None or desk is None:
            return
        seen = self._seen
        if seen is not None and seen.session_id != desk.session_id:
            self._go_live()
            seen = None
        if seen is not None:
            composed = desk.said_in(seen.composed, self._protocol)
        elif self._what_if is not None:
            draft = to_send(self._composer.text)
            composed = desk.what_if(draft, self._what_if, self._protocol, self.parts)
        inspector.show(composed)
        if not inspector.is_on_screen:
            return
        inspector.keep_pinned([entry.message.id for entry in desk.entries if entry.message.pinned])
        self._tell_forecast(inspector, desk, composed)
        self._tell_reply(inspector, desk)
        self._tell_difference(inspector, desk)

    def _tell_forecast(self, inspector: Inspector, desk: Desk, composed: Composed) -> None:
        from tui_chat.analysis import Forecaster
        from tui_chat.tokens import counter_for

        # What was told of a request before it left is what its reply is held against.
        for sent in desk.sent.values():
            for known, told in self._forecasts:
                if known is sent.composed:
                    self._told_of = sent.entry_id, told
        last = desk.sent.get(composed.endpoint.name)
        if self._seen is not None or last is None:
            inspector.show_forecast(None)
            return
        if not self._forecasts or self._forecasts[-1][0] is not composed:
            self._forecaster = self._forecaster or Forecaster()
            counter = counter_for(composed.model)
            if composed.inputs is not None:  # the figures beside it are corrected, too
                counter = counter.corrected(composed.inputs.correction)
            told = self._forecaster(last.composed, composed, counter)
            self._forecasts = (*self._forecasts[-3:], (composed, told))
        inspector.show_forecast(self._forecasts[-1][1])

    def _tell_reply(self, inspector: Inspector, desk: Desk) -> None:
        from tui_chat.ui.inspector import Came

        entry = self._seen.entry if self._seen is not None else None
        if entry is None and desk.entries and desk.entries[-1].message.role == "assistant":
            entry = desk.entries[-1]
        if entry is None:
            inspector.show_reply(None)
            return
        message = entry.message
        partial = desk.partial
        if partial is not None and partial.entry_id == message.id:
            message = partial.reply.message(desk.endpoint.protocol)
        inspector.show_reply(Came(entry, message, told=self._held_against(desk, entry)))

    def _held_against(self, desk: Desk, entry: Entry) -> str:
        """Say what the forecast of a reply's request was, beside what was reported."""
        from tui_chat.ui.inspector.forecast_line import against_usage

        last = desk.sent.get(entry.endpoint)
        if last is None or last.entry_id != entry.message.id or entry.status == "streaming":
            return ""
        entry_id, told = self._told_of
        return (
            ""
            if told is None or entry_id != entry.message.id
            else against_usage(told, entry.usage.cached, entry.usage.input)
        )

    def reply_grew(self, reply: Reply) -> None:
        """Show what has arrived."""
        inspector, desk = self._panes.inspector, self.desk
        if inspector is not None and desk is not None and inspector.shows_reply:
            self._tell_reply(inspector, desk)

    # --- comparing -----------------------------------------------------------------------

    def _tell_difference(self, inspector: Inspector, desk: Desk) -> None:
        """Give the diff view what it holds the request against."""
        if not inspector.shows_difference:
            return
        kind, _, name = self._base.partition(" ")
        draft = to_send(self._composer.text)
        match kind:
            case "protocol":
                other = Protocol(name)
                was = desk.composed(draft, other, self.parts).payload
                inspector.compare_with(f"the same as {other.label}", was)
            case "preset":
                from tui_chat.desk import WhatIf

                try:
                    was = desk.what_if(draft, WhatIf(preset=name), self._protocol, self.parts)
                except InputError as fault:
                    inspector.compare_with(f"preset {name}", None, str(fault))
                else:
                    inspector.compare_with(f"the same with preset {name}", was.payload)
            case "request" if self._base_sent is not None:
                inspector.compare_with(self._base_sent[0], self._base_sent[1].payload)
            case _:
                last = desk.sent.get(desk.endpoint.name)
                why = "Nothing was sent to this endpoint since the program started."
                was = last.composed.payload if last is not None else None
                inspector.compare_with("the last request sent here", was, why)

    def on_inspector_view_changed(self) -> None:
        """Fill the view that came into sight."""
        self.compose_soon()

    @work(group="dialog", exclusive=True)
    async def on_inspector_against_wanted(self) -> None:
        """Ask what to compare with."""
        from tui_chat.ui.questions import ask_against

        desk = self.desk
        if desk is None or (chosen := await ask_against(self, desk, self._base)) is None:
            return
        kind, _, name = chosen.partition(" ")
        if kind == "request":
            sent = await desk.sent_request(name)
            composed = _shown(sent) if sent is not None else None
            if sent is None or composed is None:
                return
            self._base_sent = f"the request of {_time(sent.record.created)}", composed
        self._base = chosen
        self.compose_soon()

    # --- the past ------------------------------------------------------------------------

    @on(Transcript.InspectRequested)
    @work(group="inspect", exclusive=True)
    async def _inspect_reply(self, event: Transcript.InspectRequested) -> None:
        desk = self.desk
        if desk is None:
            return
        entry = next((e for e in desk.entries if e.message.id == event.entry_id), None)
        if entry is None or entry.message.role != "assistant":
            self.reveal_in_request(Origin(OriginKind.HISTORY, event.entry_id))
            return
        sent = await desk.sent_request(event.entry_id)
        composed = _shown(sent) if sent is not None else None
        if sent is None:
            return
        if composed is None:
            fault = "What was sent is no longer kept, and cannot be composed again."
            self.complain(InputError(fault, advice=sent.why))
            return
        self._look_at(Seen(composed, _told(sent), desk.session_id, entry))

    @on(Transcript.RevealRequested)
    def _reveal_message(self, event: Transcript.RevealRequested) -> None:
        self._go_live()
        self.reveal_in_request(Origin(OriginKind.HISTORY, event.entry_id))

    def _look_at(self, seen: Seen) -> None:
        """Put a request in place of the live one."""
        self._seen, self._protocol, self._what_if = seen, None, None
        inspector = self._panes.inspector
        if inspector is not None:
            inspector.own_protocol = seen.composed.protocol
            inspector.show_banner(f"{seen.words} · Esc: back")
            self._panes.open("inspector")
            self.call_after_refresh(inspector.focus)
        self.compose_soon()

    def on_inspector_live_wanted(self) -> None:
        """Show the request again that Enter would send."""
        self._go_live()
        self.compose_soon()

    def _go_live(self) -> None:
        self._seen, self._what_if, self._protocol = None, None, None
        if self._panes.inspector is not None:
            self._panes.inspector.show_banner("")
            if self.desk is not None:
                self._panes.inspector.own_protocol = self.desk.endpoint.protocol

    @work(group="send")
    async def action_replay(self) -> None:
        """Send the context of the shown reply to any model; the reply is a version of it."""
        from tui_chat.ui.questions import ask_model

        desk, entry = self.desk, self._reply_meant()
        if desk is None or entry is None:
            return
        chosen = await ask_model(self, desk)
        if chosen is not None:
            self._go_live()
            await desk.replay(entry.message.id, *chosen)

    @work(group="dialog", exclusive=True)
    async def action_export_turn(self) -> None:
        """Write the shown reply, its request and all it was made of into one file."""
        from tui_chat.ui.questions import ask_file

        desk, entry = self.desk, self._reply_meant()
        if desk is None or entry is None:
            return
        text = await desk.export_turn(entry.message.id)
        if text is None:
            return
        path = await ask_file(self, "Write the turn to", f"turn-{entry.message.id[:8]}.json")
        if path is None:
            return
        try:
            await asyncio.to_thread(_write, path, text)
        except OSError as error:
            self.complain(InputError(f"{path} cannot be written: {error.strerror}."))
        else:
            self.notify(f"The turn is in {path}.", markup=False)

    def _reply_meant(self) -> Entry | None:
        """Return the reply that is looked at, else the last one; None, told, without any."""
        if self._seen is not None and self._seen.entry is not None:
            return self._seen.entry
        entries = self.desk.entries if self.desk is not None else ()
        if entries and entries[-1].message.role == "assistant":
            return entries[-1]
        self.complain(InputError("There is no reply yet."))
        return None

    # --- what was pasted, and what if ----------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_open_captured(self) -> None:
        """Open a request body that was captured somewhere."""
        from tui_chat.analysis import read_captured
        from tui_chat.ui.questions import ask_captured

        await self._laid.wait()
        desk = self.desk
        if desk is None or (text := await ask_captured(self)) is None:
            return
        try:
            captured = read_captured(text)
        except InputError as fault:
            self.complain(fault)
            return
        composed = desk.said_of(captured.envelope, captured.protocol)
        words = f"captured {captured.protocol.label} request"
        self._look_at(Seen(composed, words, desk.session_id, captured=captured))

    @work(group="dialog", exclusive=True)
    async def action_keep_captured(self) -> None:
        """Make a session and a preset of the captured request that is looked at."""
        from tui_chat.ui.questions import ask_line

        desk, captured = self.desk, self._seen.captured if self._seen is not None else None
        if desk is None or captured is None:
            advice = "“Open a captured request” is in the palette (Ctrl+P)."
            self.complain(InputError("No captured request is open.", advice=advice))
            return
        name = await ask_line(self, "Name of the session and its preset", "Captured")
        if name is not None:
            self._go_live()
            await self.keep_draft()
            preset = captured.preset(name)
            await desk.keep_captured(name, captured.messages, preset, captured.settings.model)

    @work(group="dialog", exclusive=True)
    async def action_what_if(self) -> None:
        """See the request with another limit, model or length; the session stays as it is."""
        from tui_chat.ui.questions import ask_what_if

        await self._laid.wait()
        desk, inspector = self.desk, self._panes.inspector
        if desk is None or inspector is None:
            return
        asked = await ask_what_if(self, desk, self._what_if)
        if asked is None:
            return
        self._go_live()
        if not asked.is_nothing:
            self._what_if = asked
            inspector.show_banner(f"what if: {asked.words} · Esc: back")
            self._panes.open("inspector")
            self.call_after_refresh(inspector.focus)
        self.compose_soon()

    # --- from where to where -------------------------------------------------------------

    def reveal_in_request(self, origin: Origin) -> None:
        """Show all places in the request that came from an origin."""
        inspector = self._panes.inspector
        if inspector is None:
            return
        self._panes.open("inspector")

        def reveal() -> None:
            inspector.focus()
            if not inspector.reveal(origin, show=True):
                words = "Nothing of it is in this request."
                self.notify(words, severity="warning", timeout=4, markup=False)

        self.call_after_refresh(reveal)

    def on_inspector_origin_pointed(self, event: Inspector.OriginPointed) -> None:
        """Light up where something came from."""
        origin = _source(event.origin)
        is_message = origin is not None and origin.kind is OriginKind.HISTORY
        self._chat.transcript.light(origin.id if origin is not None and is_message else "")

    async def on_inspector_origin_chosen(self, event: Inspector.OriginChosen) -> None:
        """Go where something came from."""
        origin = _source(event.origin)
        kind = origin.kind if origin is not None else OriginKind.GLUE
        match kind:
            case OriginKind.HISTORY if origin is not None:
                if self._chat.transcript.show_message(origin.id):
                    if self._panes.is_narrow:
                        self._panes.close_overlay()
                    self._chat.transcript.focus()
                else:
                    self.notify("It is not on the shown branch.", timeout=4)
            case OriginKind.DRAFT:
                self._composer.focus()
            case OriginKind.PRESET:
                pass  # see `Editing`
            case OriginKind.SYSTEM:
                await self.run_action("edit_roles")
            case OriginKind.PROFILE:
                await self.run_action("choose_profile")
            case OriginKind.LORE:
                await self.run_action("choose_lorebooks")
            case OriginKind.SETTING:
                await self.run_action("choose_model")
            case _:
                self.notify("The protocol says this of itself.", timeout=4)


def _source(origin: Origin | None) -> Origin | None:
    """Return what a person wrote, of a macro or a setting in it."""
    while origin is not None and origin.within is not None:
        origin = origin.within
    return origin


def _write(path: str, text: str) -> None:
    Path(path).expanduser().write_text(text, encoding="utf-8")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%H:%M")


def _shown(sent: SentRequest) -> Composed | None:
    """Return what the inspector shows of a request that was sent: the very bytes, wherever they
    are known.
    """
    if sent.composed is not None and (sent.is_exact or sent.body is None):
        return sent.composed
    if sent.how == "kept" and sent.body is not None:
        from tui_chat.analysis import read_captured
        from tui_chat.compose import encode

        captured = read_captured(sent.body.decode("utf-8", "replace"), sent.record.protocol)
        if sent.composed is not None:
            return encode(captured.envelope, sent.composed.endpoint)
    return sent.composed


def _told(sent: SentRequest) -> str:
    """Say what is known of a request that was sent."""
    at = f"as sent at {_time(sent.record.created)}"
    match sent.how:
        case "kept" if sent.is_exact:
            return f"{at} · exact bytes"
        case "kept":
            return f"{at} · read from the kept bytes. {sent.why}"
        case "rebuilt":
            return f"{at} · rebuilt, same SHA-256"
        case _:
            return f"{at} · rebuilt, NOT the same bytes. {sent.why}"
