"""What tests of every level share: the app at a terminal of a given size, and a provider that
answers as a test says. Nothing here knows a private name of the program, so tests that use it
alone hold whatever its structure is.
"""
