"""Maintenance of the database file: checks, backups and repair."""
