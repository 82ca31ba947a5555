"""Blocks of messages of the flat model, and the bridge while both models are in use.

The flat model is `Message` and `Turn` with `content`, `tool_calls`, `parts` and `semantics`, whose
`Layout` has the order of the pieces and whose `WireForm` the form of a captured message.

1. `turns.blocks_of(turn)` is a turn of today as a `BlockTurn`, remembered by the turn. Every
   encoder begins with it; nothing of it knows the flat model.
2. There is no way back, since none is needed: `decode` of every protocol stays what it is, and
   makes flat turns. The reader of a protocol, which makes blocks, is used by the comparison that
   finds losses, and by the tests.
3. `forms` says where the flat model keeps what is `Extras` in blocks, with one subclass for each
   protocol. A turn of a captured request must come back equal from its blocks in its own protocol.
4. Later the decoders change to the new readers, `Turn` and `Message` get
   their blocks as a field, and this package is called by the migration of the database and the
   reader of our first JSON alone.
"""
