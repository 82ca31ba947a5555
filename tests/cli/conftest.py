from tests.support.command_line import run as run
