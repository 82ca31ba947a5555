"""tui-chat: the terminal chat client that shows exactly what the model will see.

The packages from the top to the bottom. Imports fall one way, downwards; packages on one line do
not know each other.

    cli             flags -> Config -> the wired app, or a headless command
    ui              the screen: shows values, posts messages, decides nothing
    workspace       the application without a screen: sessions, drafts, replies, the request
    send            request -> stream -> store -> emit
    turn_file       a request with its inputs and its reply in one file
    importing       conversations from files into the store; exporting: back into files
    analysis        what can be said of a request: cache forecast, differences, shares
    library         the user's files: presets, roles, profiles, lorebooks; editing a preset
    recipe          what a request was made of, to make it again
    compose         the one pure road: Inputs -> Composed
    providers       HTTP out; offline: the built-in provider behind the same transport interface
    store           what is kept: one SQLite file
    interop         conversations in other programs' formats
    attachments     files that a person attaches to a message
    tool_runs       running a local command as a tool
    config          what the user configured
    context         WHAT the model will see; protocols: HOW a protocol says it
    tokens          counting; paths: where things live
    models          frozen values, text that knows its origins, the payload
    errors          what can go wrong, and whose fault it is

A keystroke goes: ui -> workspace.requests -> compose -> build_context -> encode -> render -> ui. A
message sent takes the very object of the last keystroke: workspace -> send -> providers.
"""

__version__ = "0.1.0"
