"""The shell: the frame that shows every panel."""
