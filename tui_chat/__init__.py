"""tui-chat: the terminal chat client that shows exactly what the model will see.

The map of the house, from the street door to the cellar. Imports fall one way, downwards;
rooms on one line do not know each other.

    cli             flags -> Config -> the wired app, or a headless command
    ui              the screen: shows values, posts messages, decides nothing
    desk            what is open: session, draft, and the request they make
    send            request -> stream -> store -> emit
    recipe          what a request was made of, to make it again
    request_text    a request as HTTP text or as a curl command
    importing       conversations from files into the store; exporting: back into files
    analysis        what can be said of a request: cache forecast, differences, shares
    editing         editing a preset: its sketch, one change, undo
    compose         the one pure road: Inputs -> Composed
    transport       HTTP out; loopback: the offline provider behind the same door
    store           what is kept: one SQLite file
    preset_files    presets, roles and profiles as files; interop: others' formats
    attachments     files that a person attaches to a message
    tool_runs       running a local command as a tool
    config          what the user configured
    context         WHAT the model will see; wire: HOW a protocol wants it said
    tokens          counting; paths: where things live
    model           frozen values, text that knows its origins, the payload
    errors          what can go wrong, and whose fault it is

A keystroke goes: ui -> desk.composed -> compose -> build_context -> encode -> render -> ui. A
message sent takes the very object of the last keystroke: desk -> send -> transport.
"""

__version__ = "0.1.0"
