"""A plugin that raises at each extension point, when the part is used."""

from tui_chat.extensions import (
    ActionPath,
    BuilderPath,
    CommandPath,
    EditingModePath,
    ExportPath,
    FormatPath,
    ListenerPath,
    Plugin,
    RecordingPath,
    ViewPath,
)

_PARTS = "tui_chat_hostile.raising_parts"
_VIEWS = ("init", "shows", "builds", "rows", "handles", "acts")

PLUGIN = Plugin(
    name="raises",
    api=1,
    summary="Raises.",
    config=f"{_PARTS}:Settings",
    commands=(
        CommandPath("raise", f"{_PARTS}:command", "Raise."),
        CommandPath("raise-os", f"{_PARTS}:os_command", "Raise an OSError."),
        CommandPath("no-command", f"{_PARTS}:NOTHING", "Is no command."),
        CommandPath("ask", f"{_PARTS}:command", "Has a name of the core."),
    ),
    builders=(BuilderPath("hostile", f"{_PARTS}:build", rules=f"{_PARTS}:rules"),),
    formats=(
        FormatPath("hostile lines", f"{_PARTS}:FORMATS"),
        FormatPath("no formats", f"{_PARTS}:NOTHING"),
    ),
    exports=(ExportPath("hostile", f"{_PARTS}:export", ".txt", "Raises.", f"{_PARTS}:fail"),),
    recordings=(RecordingPath("hostile files", f"{_PARTS}:fail", f"{_PARTS}:fail"),),
    views=(
        *(
            ViewPath(name, f"f{13 + number}", name, name, f"{_PARTS}:{name.title()}View")
            for number, name in enumerate(_VIEWS)
        ),
        ViewPath("loads", "f19", "loads", "loads", f"{_PARTS}:PlainView", load=f"{_PARTS}:load"),
        ViewPath("stays", "f20", "stays", "stays", f"{_PARTS}:StaysView"),
        ViewPath("nothing", "f21", "none", "none", f"{_PARTS}:NOTHING"),
        ViewPath("css", "f22", "css", "css", f"{_PARTS}:CssView"),
        ViewPath("stays", "f23", "again", "again", f"{_PARTS}:PlainView"),
        ViewPath("payload", "f24", "body", "body", f"{_PARTS}:PlainView"),
    ),
    macros=(f"{_PARTS}:MACROS", f"{_PARTS}:NOTHING"),
    actions=(
        ActionPath("hostile", f"{_PARTS}:act", "Raise", "Raise"),
        ActionPath("hostile-dialog", f"{_PARTS}:show", "Raise", "Raise in a dialog"),
        ActionPath("hostile-value", f"{_PARTS}:NOTHING", "Raise", "Is no function"),
    ),
    listeners=(ListenerPath("BranchChanged", f"{_PARTS}:listen"),),
    editing_modes=(EditingModePath("hostile", f"{_PARTS}:Mode"),),
    markdown=(f"{_PARTS}:add_rules", f"{_PARTS}:fail"),
    tool_sources=(f"{_PARTS}:open_sources", f"{_PARTS}:fail"),
    preset_files=(f"{_PARTS}:NOTHING",),
    card_files=(f"{_PARTS}:NOTHING",),
    lore_forms=(f"{_PARTS}:NOTHING",),
    import_folders=(f"{_PARTS}:NOTHING",),
    rescues=(f"{_PARTS}:fail",),
)
