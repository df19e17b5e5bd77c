"""One kernel, also over restarts: attaching, requests, events, what is done while it is silent."""
