from tests.support.workspace import make_workspace as make_workspace
