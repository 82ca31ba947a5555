"""Maintenance of the database file: checks, backups, repair and salvage."""
