"""The code that a kernel evaluates when a client attaches; it leaves no name with the person."""

from repl_pair.bridge.link.silent_execute import IMPORT
from repl_pair.wire import MIME

# A silent execute on the control thread fires the person's `post_execute` hooks there, in the
# middle of their cell: matplotlib's would show and close the figure being drawn. This skips them
# once, for this thread alone. Names that the person may have shadowed are not used.
# Beside an embedded kernel IPython may have another shell, that of a prompt.
_SHELL = (
    f'{IMPORT}("builtins").getattr({IMPORT}("sys").modules.get("repl_pair.runtime.ipython"), '
    f'"kernel_shell", {IMPORT}("IPython").get_ipython)()'
)
HOLD_HOOKS = f"""\
(lambda events, ident: (lambda here: "trigger" in events.__dict__ or events.__dict__.update(
    trigger=lambda event, *args, **kwargs: (
        events.__dict__.pop("trigger", None) and None
        if ident() == here and event == "post_execute"
        else events.__class__.trigger(events, event, *args, **kwargs)
    )
))(ident()))({_SHELL}.events, {IMPORT}("threading").get_ident)
"""
# ipykernel keeps in one place what `input` and `getpass` were before a cell. An execute inside a
# cell overwrites it, so that they would stay those of a cell. This puts the originals back once the
# cell has ended; the interpreter holds the builtin one.
_KEEP_PROMPTS = """
import builtins, gc, getpass
def keep(kernel):
    lock = getattr(kernel, "_main_asyncio_lock", None)
    if lock is None or not lock.locked():
        return
    async def restore():
        async with lock:
            if builtins.input == kernel.raw_input:
                builtins.input = next(
                    known
                    for known in gc.get_objects()
                    if type(known) is type(len)
                    and known.__name__ == "input"
                    and known.__self__ is builtins
                )
            if getpass.getpass == kernel.getpass:
                unix, windows = hasattr(getpass, "termios"), hasattr(getpass, "msvcrt")
                kind = "unix" if unix else "win" if windows else "fallback"
                getpass.getpass = getattr(getpass, f"{kind}_getpass")
    kernel.io_loop.add_callback(restore)
"""
HOLD_PROMPTS = f"""\
(lambda names: {IMPORT}("builtins").exec({_KEEP_PROMPTS!r}, names) or
    names["keep"]({_SHELL}.kernel))({{"__name__": "repl_pair_prompts"}})
"""
ANSWER = f"""\
(lambda answer: {IMPORT}("builtins").type(
    "Answer", (), {{"_repr_mimebundle_": lambda self, **kwargs: {{%r: answer}}}}
)())(%s)"""
PYTHON = ANSWER % (MIME, f'{IMPORT}("sys").executable')
# Every file that is imported releases the interpreter lock, and a cell that loops returns it only
# after the switch interval: seconds, for all of the runtime's files. The interval is rounded
# down to microseconds where it is set.
_INSTALL = """\
import sys
def attach(client):
    before = sys.getswitchinterval() + 5e-7
    sys.setswitchinterval(1e-4)
    shorter = sys.getswitchinterval()
    try:
        from repl_pair.runtime.kernel.attach import admit
    finally:
        if sys.getswitchinterval() == shorter:
            sys.setswitchinterval(before)
    return admit(client)
"""
TAKE_IN = f"""\
(lambda names: {IMPORT}("builtins").exec({_INSTALL!r}, names) or names["attach"](%r))({{}})"""
