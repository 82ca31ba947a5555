"""What tests of every level share; tests of a plugin use nothing else of the tests."""
