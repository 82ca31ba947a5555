"""Shell completion, as click has it: commands, options and files.

Click's scripts for the shells run the program with `_TUI_CHAT_COMPLETE` set, and click answers.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from tui_chat.cli.output import write_text

VARIABLE = "_TUI_CHAT_COMPLETE"
"""The environment variable with which a shell asks for completions."""
PROGRAM = "tui-chat"
SHELLS = ("bash", "zsh", "fish", "powershell")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the script for completion in a shell.

    It completes commands, options and files.

    \b
    Examples, each for the file that the shell reads at its start:
      bash (~/.bashrc)    eval "$(tui-chat completion bash)"
      zsh (~/.zshrc)      eval "$(tui-chat completion zsh)"   (after compinit)
      fish (~/.config/fish/config.fish)    tui-chat completion fish | source
      powershell ($PROFILE)    tui-chat completion powershell | Out-String | Invoke-Expression
    """
    kind = get_completion_class(shell)
    assert kind is not None  # SHELLS has only known ones
    write_text(kind(context.find_root().command, {}, PROGRAM, VARIABLE).source())
