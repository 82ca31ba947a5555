"""tui-chat: the terminal chat client that shows exactly what the model will see.

The packages from the top to the bottom. Imports fall one way, downwards; packages on one line do
not know each other.

    plugins         capabilities that can be deleted, a folder each; nothing imports them
    cli             flags -> Config -> the wired app, or a headless command
    ui              the screen: areas that show the state and call use cases
    workspace       the application without a screen: sessions, drafts, replies, the request
    send            request -> stream -> store -> emit
    turn_file       a request with its inputs and its reply in one file
    analysis        facts about a request: cache forecast, differences, token shares
    library         the user's files: presets, roles, profiles, lorebooks; editing a preset
    request_recipe  the inputs of a request in short, to compose it again
    compose         the one pure function: Inputs -> Composed
    edited_request  what edits by hand change in a request, besides its body
    providers       HTTP out; offline: the built-in provider behind the same transport interface
    store           all data in one SQLite file
    interop         conversations in other programs' formats
    config          the settings
    context         WHAT the model will see; protocols: HOW a protocol says it
    tokens          counting; paths: standard folders; files: safe reading and writing
    models          frozen values, text with origins, the payload
    errors          all errors, by whose fault they are; lazy_dataclass: the `dataclass` of values;
                    api: what a plugin declares; hooks: which there are, and guarded calls

A keystroke goes: ui -> workspace.requests -> compose -> build_context -> encode -> render ->
ui. Sending takes the very object that the last keystroke composed: workspace -> send -> providers.
"""

__version__ = "0.1.0"
