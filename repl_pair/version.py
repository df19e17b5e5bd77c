"""The version of the package, that every layer may import."""

VERSION = "0.1.0"
