"""Values held against JSON Schemas, by the library that is there for it."""

import importlib
from functools import reduce
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.assertions.compare import short
from repl_pair.runtime.reading.expand import to_json
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.runtime.values.paths import join_path

MOST_FAULTS = 3


def misfit(value: Any, schema: Any, where: str) -> str:
    """Report where a value does not fit a schema, and where the schema is none; nothing if it fits.

    RequestError `cannot_run` where the library is not installed.
    """
    try:
        jsonschema: Any = importlib.import_module("jsonschema")
    except ImportError as error:
        raise RequestError(
            "cannot_run",
            "path_matches needs the library jsonschema in the kernel's environment: "
            "pip install jsonschema",
        ) from error
    plain = to_plain(schema)
    if not is_map(plain):
        return f"the schema is none: it is a mapping, not {short(plain)}"
    validator: Any = jsonschema.validators.validator_for(
        plain, default=jsonschema.Draft202012Validator
    )
    try:
        validator.check_schema(plain)
    except jsonschema.SchemaError as error:
        return f"the schema is none: {error.message}"
    # The library's own registry would fetch what a `$ref` names, from the network or a file.
    known: Any = importlib.import_module("jsonschema_specifications").REGISTRY
    unresolvable: Any = importlib.import_module("referencing.exceptions").Unresolvable
    checker = validator(plain, registry=known, format_checker=validator.FORMAT_CHECKER)
    try:
        found = list(checker.iter_errors(to_json(value)))
    except unresolvable as error:
        return f"the schema is none: {error}; a $ref stays inside its schema"
    faults = sorted(found, key=lambda e: [str(p) for p in e.path])
    shown = faults[:MOST_FAULTS]
    lines = [f"{reduce(join_path, error.path, where)}: {error.message}" for error in shown]
    more = [f"{len(faults) - len(shown)} more"] if len(faults) > len(shown) else []
    return "; ".join([*lines, *more])
