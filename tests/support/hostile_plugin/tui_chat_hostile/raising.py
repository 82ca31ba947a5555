"""A plugin that raises at each extension point, when the part is used."""

from tui_chat.api import Action, Command, Format, Part, Plugin, View

_PARTS = "tui_chat_hostile.raising_parts"
_VIEWS = ("init", "shows", "builds", "rows", "handles", "acts")

PLUGIN = Plugin(
    name="raises",
    api=2,
    summary="Raises.",
    config=f"{_PARTS}:Settings",
    commands=(
        Command("raise", f"{_PARTS}:command", "Raise."),
        Command("raise-os", f"{_PARTS}:os_command", "Raise an OSError."),
        Command("no-command", f"{_PARTS}:NOTHING", "Is no command."),
        Command("ask", f"{_PARTS}:command", "Has a name of the core."),
    ),
    formats=(
        Format("hostile lines", f"{_PARTS}:FORMATS"),
        Format("no formats", f"{_PARTS}:NOTHING"),
        Format("hostile", f"{_PARTS}:export", ending=".txt", unwritten=f"{_PARTS}:fail"),
    ),
    views=(
        *(View(name, name, name, f"{_PARTS}:{name.title()}View") for name in _VIEWS),
        View("loads", "loads", "loads", f"{_PARTS}:PlainView", load=f"{_PARTS}:load"),
        View("stays", "stays", "stays", f"{_PARTS}:StaysView"),
        View("nothing", "none", "none", f"{_PARTS}:NOTHING"),
        View("css", "css", "css", f"{_PARTS}:CssView"),
        View("stays", "again", "again", f"{_PARTS}:PlainView"),
        View("payload", "body", "body", f"{_PARTS}:PlainView"),
    ),
    actions=(
        Action("hostile", f"{_PARTS}:act", "Raise", "Raise"),
        Action("hostile-dialog", f"{_PARTS}:show", "Raise", "Raise in a dialog"),
        Action("hostile-value", f"{_PARTS}:NOTHING", "Raise", "Is no function"),
    ),
    parts=(
        Part("builder", f"{_PARTS}:build", "hostile", about={"rules": f"{_PARTS}:rules"}),
        Part("macro", f"{_PARTS}:MACROS"),
        Part("macro", f"{_PARTS}:NOTHING"),
        Part("listener", f"{_PARTS}:listen", "BranchChanged"),
        Part("editing mode", f"{_PARTS}:Mode", "hostile"),
        Part("Markdown rule", f"{_PARTS}:add_rules"),
        Part("Markdown rule", f"{_PARTS}:fail"),
        Part("tool source", f"{_PARTS}:open_sources"),
        Part("tool source", f"{_PARTS}:fail"),
        Part("preset reader", f"{_PARTS}:NOTHING"),
        Part("card reader", f"{_PARTS}:NOTHING"),
        Part("lorebook reader", f"{_PARTS}:NOTHING"),
        Part("folder reader", f"{_PARTS}:NOTHING"),
        Part("rescue", f"{_PARTS}:fail"),
    ),
)
