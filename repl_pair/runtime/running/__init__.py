"""One run over one frame; live objects."""
