"""The application without a screen: one observable state, and the use cases that change it.

`workspace.Workspace` can be driven by the screen, a command, a test or a script. It decides; the
screen shows. `state` is what there is to see, `events` what changes.

Nothing is imported here: `tui-chat import` and the app's first frame do not need the workspace.
"""
