"""The trace panel: what a run did, a row each."""
