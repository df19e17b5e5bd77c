"""What was raised, in words."""


def told(error: BaseException) -> str:
    """Give an exception's class and text."""
    return f"{type(error).__name__}: {text_of(error)}"


def text_of(error: BaseException) -> str:
    """Give an exception's text, which is code of whoever wrote the exception."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  a broken text must not hide what was raised
        return "<unreadable>"
