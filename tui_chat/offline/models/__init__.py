"""The offline models: generators of reply pieces that know no provider.

catalogue  every name; echo, thinker, researcher, lorem, picture and the flaky models
mirror     describes the request it received
toolsmith  calls a declared tool with sampled arguments
script     plays replies and tool calls from a file
"""
