"""What a store can do, one class per subject; `Store` is all of them together.

Each method is one transaction: when it returns, what it wrote is on the disk. Here work gets
ids and times; the SQL itself stands in one module per subject beside this package, as functions
over a `Transaction`.

sessions    making, listing, organising and deleting them
messages    the shown branch, its siblings, and what becomes of single messages
exchanges   a question, its request, and the reply as it arrives
transcripts whole conversations in and out, many at a time
search      finding messages and sessions by their words
library     roles, profiles, revisions and variables; drafts and settings
"""
