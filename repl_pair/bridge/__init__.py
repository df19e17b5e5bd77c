"""From a face to a kernel: discovery, policy, links, and the session that every face calls."""
