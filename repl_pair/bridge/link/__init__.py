"""One kernel over its lives: attaching, requests, events, and what is done while it is silent."""
