"""The commands about the user's files: presets, roles and profiles, declared for click."""

from __future__ import annotations

from pathlib import Path

import click

from tui_chat.cli import completion
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import FILE, INPUT, json_option


@click.group()
def presets() -> None:
    """List, show, check and test presets, and import SillyTavern's. `preset` is the same."""


@presets.command("list")
@json_option()
@click.pass_obj
def presets_list(common: CommonOptions, as_json: bool) -> None:
    """List the presets: your own, and those that come with the program.

    \b
    Example:
      tui-chat presets list --json
    """
    from tui_chat.cli.library_output import list_presets

    list_presets(common, as_json=as_json)


@presets.command("show")
@click.argument("preset", metavar="NAME|FILE", shell_complete=completion.complete_preset_or_file)
@json_option("Print the file.")
@click.pass_obj
def presets_show(common: CommonOptions, preset: str, as_json: bool) -> None:
    """Print the messages of a preset and where each goes. - is the standard input.

    \b
    Examples:
      tui-chat presets show plain
      tui-chat presets show plain --json > mine.json
    """
    from tui_chat.cli.library_output import show_preset

    show_preset(common, preset, as_json=as_json)


@presets.command("path")
@click.argument("preset", required=False, metavar="NAME", shell_complete=completion.complete_preset)
@click.pass_obj
def presets_path(common: CommonOptions, preset: str | None) -> None:
    """Print the path of a preset; without NAME the folder of your own.

    \b
    Example:
      $EDITOR "$(tui-chat presets path mine)"
    """
    from tui_chat.cli.library_output import print_path

    print_path(common, preset)


@presets.command("check")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="NAME|FILE...",
    shell_complete=completion.complete_preset_or_file,
)
@json_option()
@click.pass_obj
def preset_check(common: CommonOptions, files: tuple[str, ...], as_json: bool) -> None:
    """Check presets and lorebooks.

    Prints errors and warnings with path and line. For a folder, check the JSON files directly in
    it; - is the standard input. Exits with 1 if there are errors.

    \b
    Examples:
      tui-chat presets check mine
      tui-chat presets check presets/ lorebooks/town.json --json
    """
    from tui_chat.cli.library_output import preset_path
    from tui_chat.cli.preset import run_check

    run_check([preset_path(common, each) for each in files], as_json)


@presets.command("export")
@click.argument("preset", metavar="NAME|FILE", shell_complete=completion.complete_preset_or_file)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="A file; default: print it.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["sillytavern", "tui-chat"]),
    default="sillytavern",
    show_default=True,
)
@click.pass_obj
def presets_export(common: CommonOptions, preset: str, output: Path | None, kind: str) -> None:
    """Write a preset in SillyTavern's format, or in our own.

    An imported preset keeps what its file had: without edits the export is equal to the file, with
    edits it has exactly those. What SillyTavern cannot express is named on the standard error
    stream.

    \b
    Example:
      tui-chat presets export roleplay --output roleplay.json
    """
    from tui_chat.cli.preset import run_export

    run_export(common, preset, output, is_ours=kind == "tui-chat")


@presets.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=INPUT)
@click.option("--name", default="", help="The name of the preset; default: the file's name.")
@click.pass_obj
def preset_import(common: CommonOptions, files: tuple[Path, ...], name: str) -> None:
    """Import SillyTavern's presets.

    Chat completion presets are converted and written to the presets folder. Prints the path of each
    new preset. What could not be imported unchanged is reported on the standard error stream.

    \b
    Example:
      tui-chat presets import "Marinara.json" --name marinara
    """
    from tui_chat.cli.preset import run_import

    run_import(common, files, name)


@presets.command("test")
@click.argument(
    "folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(True, path_type=Path)
)
@click.option(
    "--update", is_flag=True, help="Show what changed, and write it as the new expectation."
)
def preset_test(folders: tuple[Path, ...], update: bool) -> None:
    """Run test cases of presets.

    Folders are searched with their subfolders. Exits with 1 if a case fails.

    A case is a JSON file with "preset" and "expected"; other files are ignored. Presets, histories,
    roles, profiles and lorebooks are part of the case, or are paths relative to it.

    \b
    {
      "preset": "../concise.json",
      "history": [{"role": "user", "content": "Hi"},
                  {"role": "assistant", "content": "Hello."}],
      "draft": "Who are you?",
      "role": {"name": "Ada", "system_prompt": "You are {{char}}."},
      "profile": {"name": "Kim", "content": "Kim likes short answers."},
      "lorebooks": ["../lorebooks/town.json"],
      "variables": {"tone": "dry"},
      "at": "2025-06-30T18:05",  "seed": 7,
      "model": "gpt-4o",  "limit": 4096,  "reserve": 512,
      "expected": [
        {"role": "system", "content": "You are Ada."},
        {"role": "user", "content": "Hi", "origin": "history:1"},
        ...
      ]
    }

    Only "preset" and "expected" are needed. "limit" and "reserve" are tokens. An expected turn
    has "role" and "content"; "origin" ("preset", or "preset:reminder") and "placement"
    ("depth", or "depth 3") are compared if present. See docs/presets.md.

    \b
    Example:
      tui-chat presets test cases/ --update
    """
    from tui_chat.cli.preset import run_test

    run_test(folders, update)


@click.group()
def roles() -> None:
    """List, show and export roles."""


@roles.command("list")
@json_option()
@click.pass_obj
def roles_list(common: CommonOptions, as_json: bool) -> None:
    """List the roles, those that were used last first.

    \b
    Example:
      tui-chat roles list
    """
    from tui_chat.cli.library_output import list_roles

    list_roles(common, as_json=as_json)


@roles.command("export")
@click.argument("role", metavar="NAME", shell_complete=completion.complete_role)
@click.option("--output", "-o", type=FILE, help="A .png or .json file.")
@click.pass_obj
def roles_export(common: CommonOptions, role: str, output: Path | None) -> None:
    """Write a role as a character card, with all that its file had.

    Only a role that came with a picture can be written as PNG.

    \b
    Example:
      tui-chat roles export Assistant --output assistant.json
    """
    from tui_chat.cli.library_output import export_role

    export_role(common, role, output)


@roles.command("show")
@click.argument("role", metavar="NAME", shell_complete=completion.complete_role)
@json_option("Print JSON, in the form of a role file.")
@click.pass_obj
def roles_show(common: CommonOptions, role: str, as_json: bool) -> None:
    """Print a role: its model, preset, settings and system prompt.

    \b
    Example:
      tui-chat roles show Assistant --json > roles/assistant.json
    """
    from tui_chat.cli.library_output import show_role

    show_role(common, role, as_json=as_json)


@click.group()
def profiles() -> None:
    """List and show profiles: who you are."""


@profiles.command("list")
@json_option()
@click.pass_obj
def profiles_list(common: CommonOptions, as_json: bool) -> None:
    """List the profiles.

    \b
    Example:
      tui-chat profiles list
    """
    from tui_chat.cli.library_output import list_profiles

    list_profiles(common, as_json=as_json)


@profiles.command("show")
@click.argument("profile", metavar="NAME", shell_complete=completion.complete_profile)
@json_option("Print the file.")
@click.pass_obj
def profiles_show(common: CommonOptions, profile: str, as_json: bool) -> None:
    """Print a profile.

    \b
    Example:
      tui-chat profiles show kim
    """
    from tui_chat.cli.library_output import show_profile

    show_profile(common, profile, as_json=as_json)


@click.group()
def lorebooks() -> None:
    """List, show and export lorebooks, those in character cards too."""


@lorebooks.command("list")
@json_option()
@click.pass_obj
def lorebooks_list(common: CommonOptions, as_json: bool) -> None:
    """List the lorebooks: your files, and those in the cards of roles.

    \b
    Example:
      tui-chat lorebooks list --json
    """
    from tui_chat.cli.library_output import list_lorebooks

    list_lorebooks(common, as_json=as_json)


@lorebooks.command("show")
@click.argument("lorebook", metavar="NAME|FILE", shell_complete=completion.complete_lorebook)
@json_option("Print the file.")
@click.pass_obj
def lorebooks_show(common: CommonOptions, lorebook: str, as_json: bool) -> None:
    """Print the entries of a lorebook with their keys, conditions and places.

    \b
    Example:
      tui-chat lorebooks show sample_presets/lorebooks/saltmarsh.json
    """
    from tui_chat.cli.library_output import show_lorebook

    show_lorebook(common, lorebook, as_json=as_json)


@lorebooks.command("export")
@click.argument("lorebook", metavar="NAME|FILE", shell_complete=completion.complete_lorebook)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="A file; default: print it.")
@click.pass_obj
def lorebooks_export(common: CommonOptions, lorebook: str, output: Path | None) -> None:
    """Write a lorebook as SillyTavern's world info.

    A lorebook that came from SillyTavern is written unchanged. What SillyTavern cannot express
    is named on the standard error stream.

    \b
    Example:
      tui-chat lorebooks export sample_presets/lorebooks/saltmarsh.json --output world.json
    """
    from tui_chat.cli.library_output import run_lorebook_export

    run_lorebook_export(common, lorebook, output)
