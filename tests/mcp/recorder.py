"""Run a program on our own stdin and pass its stdout on; every byte that it writes is kept.

`recorder.py FOLDER PROGRAM ARGUMENT…` writes FOLDER/stdout, FOLDER/stderr and FOLDER/pid.
"""

import subprocess
import sys
import threading
from pathlib import Path


def keep(source, path, sink=None):
    with path.open("wb", buffering=0) as kept:
        while part := source.read1(65536):
            kept.write(part)
            try:
                if sink is not None:
                    sink.write(part)
                    sink.flush()
            except BrokenPipeError:
                sink = None  # the client went away; what the program writes then is kept too


def main(folder, *command):
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    Path(folder, "pid").write_text(str(program.pid))
    readers = [
        threading.Thread(target=keep, args=(program.stdout, folder / "stdout", sys.stdout.buffer)),
        threading.Thread(target=keep, args=(program.stderr, folder / "stderr")),
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    return program.wait()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
