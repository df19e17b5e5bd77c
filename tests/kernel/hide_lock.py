"""Hides from repl_pair the lock that its way beside cells needs, as a kernel without one would."""


class Hidden:
    def __init__(self, lock):
        self.lock = lock

    def __set__(self, kernel, lock):
        self.lock = lock

    def __get__(self, kernel, owner):
        # The namespace is the person's: what is imported at its top may be deleted there.
        import sys

        if sys._getframe(1).f_globals["__name__"].startswith("ipykernel."):
            return self.lock
        raise AttributeError("_main_asyncio_lock")


kernel = get_ipython().kernel  # noqa: F821  IPython runs this file
type(kernel)._main_asyncio_lock = Hidden(vars(kernel).pop("_main_asyncio_lock"))
del kernel, Hidden
