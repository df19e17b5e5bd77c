"""The project of this process: its folder, and the database that it keeps there."""
