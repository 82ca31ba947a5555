"""The flat model of messages, from before blocks: what is needed to read old rows and old files.

`messages.from_flat` makes a message of it. `forms` says where the flat model kept what is `Extras`
in blocks, with one subclass for each protocol. Only the migration of the database and the reader of
version 1 of our JSON use this package.
"""
