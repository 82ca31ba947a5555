"""The tap: a proxy that records what other programs send to models.

command            the command and its flags: runs the proxy, and a client behind it
proxy              a transport of the loopback server: passes requests on, and records them
upstreams          the servers that requests go on to, and the protocols of requests
exchange           what is kept of a request and its response
                   (credentials: recognized there, and masked in what is kept)
calls              an exchange read as a model call (programs: which program sent it)
conversations      which calls belong together (comparison: what one changed of the one before it)
recorded_call      a call that has ended, with its reply, comparison and cost
recorder           follows exchanges until they are explained (sessions: and stored, as a
                   message_tree)
call_output        a call as a line of a table, and as JSON
pause              which requests are held, and until when (held_table: shared with apps;
                   held_request: their edited bodies; held_notice, held_actions: said and
                   decided in the app)
calls_view         the calls of a session, in the inspector
har                the calls of a HAR file as conversations
"""

from tui_chat.api import (
    Action,
    Command,
    Format,
    Part,
    Plugin,
    View,
)

PLUGIN = Plugin(
    name="tap",
    summary="Records what other programs send to models, and explains the calls of HAR files.",
    actions=(
        Action(
            "held",
            "tui_chat.plugins.tap.held_actions:decide_held",
            "Held request",
            "Decide about a held request of another program…",
            aliases=("pause", "breakpoint", "intercept", "send on", "tap"),
            writes=True,
        ),
    ),
    commands=(
        Command(
            "tap",
            "tui_chat.plugins.tap.command:tap",
            "Record what another program sends to a model.",
            group="Requests",
        ),
    ),
    parts=(Part("listener", "tui_chat.plugins.tap.held_notice:announce_held", "SessionsChanged"),),
    formats=(Format("HAR files with calls of a provider", "tui_chat.plugins.tap.har:FORMATS"),),
    views=(
        View(
            "calls",
            "Calls",
            "Calls",
            "tui_chat.plugins.tap.calls_view:CallsView",
            needs="recording",
            load="tui_chat.plugins.tap.calls_view:load_calls",
            title="List the calls of this session",
        ),
    ),
    tables=("tap_held",),
)
