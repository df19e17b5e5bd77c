"""The module that a file is loaded as: its name, its packages and its execution."""

import importlib
import os
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from repl_pair.runtime.loading.project import Project


def name_of(file: Path, project: Project) -> str:
    """Return the name under which a file is loaded.

    In a package its name there, else its stem. Its path from the project's folder where modules
    are named by paths (`--import-mode=importlib`), or where another file has that name; its whole
    path where another has that one too.
    """
    package = _name_in_package(file, project.namespaces)
    path = whole = "_".join(file.with_suffix("").parts[1:]).replace(".", "_")
    if file.is_relative_to(project.root):
        parts = file.relative_to(project.root).with_suffix("").parts
        path = ".".join(part.replace(".", "_") for part in parts)
    names = [package, path, whole]
    if "." not in package and project.import_mode == "importlib":
        names = [path, file.stem, whole]
    if loaded := [name for name in names if _is_of(sys.modules.get(name), file)]:
        return loaded[0]
    return next((name for name in names if name not in sys.modules), whole)


def execute(
    name: str, file: Path, module: ModuleType | None, project: Project | None = None
) -> ModuleType:
    """Execute a file as a module, a given one anew; pytest rewrites its assertions where it runs.

    The folder of its outermost package, or its own in no package, is put on the import path.
    """
    mode = "prepend" if project is None else project.import_mode
    for known in (name, _name_in_package(file, project is not None and project.namespaces)):
        put_on_path(file.parents[known.count(".")], mode)
    parent, _, tail = name.rpartition(".")
    _import_packages(parent, file.parent)
    if module is None and _is_of(imported := sys.modules.get(name), file):
        assert imported is not None, name
        return imported  # by its package
    spec = _find_spec(name, file)
    assert spec is not None, file
    assert spec.loader is not None, file
    is_new, module = module is None, module or module_from_spec(spec)
    module.__spec__ = spec
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if is_new:
            sys.modules.pop(name, None)
        raise
    if parent:
        setattr(sys.modules[parent], tail, module)
    return module


def put_on_path(folder: Path, mode: str = "prepend") -> None:
    """Put a folder first on the import path; in pytest's other import modes last."""
    name = str(folder.resolve())
    if name not in sys.path:
        sys.path.insert(0 if mode == "prepend" else len(sys.path), name)


def _name_in_package(file: Path, namespaces: bool) -> str:
    """Return the name of a file from the folder above its outermost package, else its stem.

    With namespaces it is the name that an import finds, also in folders without `__init__.py`.
    """
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        folder = folder.parent
    above = (folder, *folder.parents) if namespaces else ()
    folder = next((one for one in above if _is_found_from(one, file)), folder)
    return ".".join(file.relative_to(folder).with_suffix("").parts)


def _is_found_from(folder: Path, file: Path) -> bool:
    """Return whether an import finds a file by its path from a folder; nothing is imported."""
    names, spec = file.relative_to(folder).with_suffix("").parts, None
    with suppress(ImportError, ValueError):
        spec = find_spec(names[0]) if all(map(str.isidentifier, names)) else None
    places = [] if spec is None else spec.submodule_search_locations or [str(spec.origin)]
    top = folder / names[0] if names[1:] else file
    return os.path.realpath(top) in map(os.path.realpath, places)


def _import_packages(name: str, folder: Path) -> None:
    """Import a package and those above it; a folder that is none becomes a namespace."""
    if not name or name in sys.modules:
        return
    _import_packages(name.rpartition(".")[0], folder.parent)
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        sys.modules[name] = module_from_spec(spec)


def _find_spec(name: str, file: Path) -> ModuleSpec | None:
    importlib.invalidate_caches()
    for finder in sys.meta_path:
        found = finder.find_spec(name, [str(file.parent)])
        if found is not None and found.origin is not None and Path(found.origin) == file:
            return found
    return spec_from_file_location(name, file)


def _is_of(module: ModuleType | None, file: Path) -> bool:
    with suppress(OSError, TypeError):
        return os.path.samefile(getattr(module, "__file__", None) or "", file)
    return False
