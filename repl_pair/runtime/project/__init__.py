"""The project of this process: its folder, git on repos, and the database that it keeps there."""
