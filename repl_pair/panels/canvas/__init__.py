"""The canvas: what a variant's run put out."""
