"""The ops of the toolset `surface`: what an app publishes."""
