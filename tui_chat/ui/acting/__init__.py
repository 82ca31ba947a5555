"""What the app does about what is asked of it: a class for each subject, all of one app.

shell       Shell: the app's state, and what every subject needs
drafting    Drafting: the request that is being typed, and drafts that are kept
editing     Editing: the preset editor, and the presets' files
hearing     Hearing: what the workspace tells, shown
talking     Talking: sending, asking again, stopping
messages    Messages: versions, edits, forks, pins, and answers to tool calls
comparing   Comparing: what the inspector's difference is to
inspecting  Inspecting: what stands in the inspector, its forecast and reply
revisiting  Revisiting: requests that were sent, seen again, sent again, written into a file
supposing   Supposing: captured requests, and what if
tracing     Tracing: from a piece of the request to its source, and back
sessions    Sessions: opening and beginning them, and putting them in order
searching   Searching: everything that was said
carrying    Carrying: files of conversations, and the branches of the shown one
choosing    Choosing: model, preset and what else a session is bound to
attaching   Attaching: files that go with the draft, and the user's own editor
commanding  Commanding: the `/` commands, and candidates for what is being typed

Each is a class of handlers (`@on`, `action_...`) that `TuiChat` inherits; Textual finds handlers
in every class of the app's line. A subject calls another through what they both inherit,
never sideways.
"""
