"""Fixtures of the command line."""

from tests.support.build_command import build as build
from tests.support.build_command import folder as folder
from tests.support.command_line import ask as ask
from tests.support.command_line import run as run
from tests.support.config_home import endpoints as endpoints
from tests.support.hostile_world import database as database
from tests.support.hostile_world import servers as servers
from tests.support.hostile_world import stored as stored
from tests.support.hostile_world import world as world
from tests.support.imported_sessions import chat as chat
from tests.support.imported_sessions import file as file
from tests.support.imported_sessions import filled as filled
