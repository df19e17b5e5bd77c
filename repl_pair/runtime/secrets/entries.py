"""Where a secret stands in a registered body, and in what its plays expect."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from repl_pair.records import defaults_of, to_dict
from repl_pair.runtime.registry.extending import reachable_chain
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Component, Entry, Play, Step, Story, effect_answered
from repl_pair.runtime.registry.registry import REGISTRY, registered
from repl_pair.runtime.registry.steps import looks_at, name_in, named_by, public_method, taker_of
from repl_pair.runtime.secrets.modes import mode_secret_paths
from repl_pair.runtime.secrets.places import (
    answers_secret,
    leads_to_declared,
    secret_event,
    secret_line,
    secret_results,
    takers_of,
)
from repl_pair.runtime.values.frozen import sensitive_paths
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import Place, keys_of, meets, parse_path
from repl_pair.runtime.values.takes import takes_of


def _expectations(
    component: Callable[..., Any], story: Story, steps: Sequence[Step], args: Sequence[Place]
) -> list[Place]:
    """Return the words of a play, by step and word, that stand beside what is given as a secret."""
    result = [] if isinstance(component, type) else secret_results(component)
    state = result if story.state is None else secret_results(story.state.resolve())
    called = [fn for step in steps for fn in _called(component, step)]
    # `last` is what any step of the play may have left.
    last = [*result, *(place for fn in called for place in secret_results(fn))]
    given = {"result": result, "state": state, "last": last, "args": args}
    return [
        (str(index), str(word))
        for index, step in enumerate(steps)
        for word in range(_first_word(step, given), len(step))
    ]


def _called(component: Callable[..., Any], step: Step) -> Iterable[Callable[..., Any]]:
    """Return what a step may call: a handler, or that method of what it may act on."""
    asked = {"event": taker_of, "method": public_method}.get(named_by(step))
    name = name_in(step[1]) if len(step) > 1 else ""
    return filter(None, (asked(cls, name) for cls in takers_of(component)) if asked else ())


def _first_word(step: Step, given: Mapping[str, Sequence[Place]]) -> int:
    """Return the place of the first word about a secret, past the last where none is."""
    none, looked_at = len(step), looks_at(step)
    if looked_at is None:
        return 1 if any(given.values()) else none
    if looked_at == "result":
        return 1 if given["result"] else none
    if looked_at == "derived" and none > 2:
        derive = registered("derived", name_in(step[1]))
        return 2 if derive is not None and secret_results(derive) else none
    if looked_at == "path" and none > 2:
        root, *keys = map(str, keys_of(step[1]) or ("",))
        return 2 if any(meets(place, keys) for place in given.get(root, ())) else none
    return none


def slots_of(body: Any) -> dict[str, Any]:
    """Return the slots of a body that are not their defaults, as data; functions by their names."""
    usual = defaults_of(body)
    return {
        name: _data(value)
        for name, value in to_dict(body).items()
        if name not in usual or value != usual[name]
    }


def secret_steps(
    component: Callable[..., Any], story: Story, steps: Sequence[Step], args: Sequence[Place]
) -> list[Place]:
    """Return places in the steps of a play that hold a secret, or what is expected of one."""
    takers = takers_of(component)
    lines = [(str(n), *p) for n, step in enumerate(steps) for p in secret_line(takers, step)]
    return [*lines, *_words_behind(steps, args), *_expectations(component, story, steps, args)]


def secrets_of_entry(entry: Entry) -> list[Place]:
    """Return places in an entry's shown slots that hold a secret, or what a play expects of one."""
    slots = slots_of(entry.body)
    paths = [(name, *path) for name, value in slots.items() for path in sensitive_paths(value)]
    args = secret_args_of(entry) if entry.kind == "variant" else []
    plays: dict[Place, Sequence[Step]] = {("play",): slots.get("play", ())}
    for n, play in enumerate(slots.get("plays", ())):
        plays["plays", str(n), "steps"] = play["steps"]
    story = REGISTRY.find("story", story_of(entry.id))
    for at, steps in plays.items():
        paths += [(*at, *path) for path in _words_behind(steps, args)]
        if story is not None and entry.kind == "variant":
            component = story.body.component.resolve()
            paths += [(*at, *path) for path in _expectations(component, story.body, steps, args)]
    paths += [("argtypes", name) for name in slots.get("argtypes", ()) if name in _secret_of(story)]
    return list(dict.fromkeys([*paths, *_acted(entry, slots, plays), *_answered(slots)]))


def _secret_of(story: Entry | None) -> Collection[str]:
    return () if story is None else takes_of(story.body.component.resolve()).secret


def _acted(
    entry: Entry, slots: Mapping[str, Any], plays: Mapping[Place, Sequence[Step]]
) -> Iterable[Place]:
    """Return what is secret in events, acting steps and patches."""
    # A decorator may act on every story's component.
    every = REGISTRY.ids("story") if entry.kind == "decorator" else ()
    ids = [story_of(entry.id)] if entry.kind == "variant" else every
    found = [story for id in ids if (story := REGISTRY.find("story", id)) is not None]
    takers = [t for story in found for t in takers_of(story.body.component.resolve())]
    for slot in ("events", "loaders_teardown", "init", "teardown"):
        for n, event in enumerate(slots.get(slot, ())):
            yield from ((slot, str(n), *place) for place in secret_event(takers, event))
    for at, steps in plays.items():
        for n, step in enumerate(steps):
            yield from ((*at, str(n), *place) for place in secret_line(takers, step))
    for path in slots.get("patch", {}):
        if leads_to_declared(takers, path):
            yield "patch", path


def _answered(slots: Mapping[str, Any]) -> Iterable[Place]:
    """Return the responses of effects that are declared secret."""
    if answers_secret(str(slots.get("effect", ""))):
        yield ("responses",)
    for n, (id, args) in enumerate(slots.get("decorators", ())):
        known = REGISTRY.find("decorator", str(id))
        if answers_secret("" if known is None else effect_answered(known.body, args)):
            yield from (("decorators", str(n), "1", a) for a in args if a.startswith("response"))


def secrets_of_explanation(
    explained: Mapping[str, Any], story: Entry | None, modes: Iterable[str]
) -> Iterable[Place]:
    """Return what is secret in the args, events and responses that an explanation lists."""
    names = {path[0] for path in mode_secret_paths(modes)}
    for n, line in enumerate(explained["args"]):
        if str(parse_path(line["path"])[0]) in names:
            yield from (("args", str(n), *slot) for slot in (("value",), ("covers", "*", "value")))
    takers = [] if story is None else takers_of(story.body.component.resolve())
    for slot in ("events", "loaders_teardown"):
        for n, line in enumerate(explained[slot]):
            found = secret_event(takers, line["event"])
            yield from ((slot, str(n), "event", *place) for place in found)
    uses = [[line["id"], line["args"]] for line in explained["decorators"]]
    for _, n, _, name in _answered({"decorators": uses}):
        yield "decorators", n, "args", name


def plays_of(entry: Entry) -> list[Step]:
    """Return every step of a variant's own plays: what they expect of a secret is not learned."""
    plays: Sequence[Play] = getattr(entry.body, "plays", ())
    return [*getattr(entry.body, "play", ()), *(step for play in plays for step in play.steps)]


def secret_args_of(entry: Entry) -> list[Place]:
    """Return the secret places in the args of a variant, wherever they come from."""
    story = REGISTRY.find("story", story_of(entry.id))
    layers = [*([] if story is None else [story]), *reachable_chain(entry)]
    found = [path for layer in layers for path in sensitive_paths(layer.body.args)]
    return [*found, *((name,) for name in sorted(_secret_of(story)))]


def _data(value: Any) -> Any:
    if isinstance(value, Component):
        return value.name
    if isinstance(value, tuple):
        return [_data(item) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, Play):
        return {"name": value.name, "steps": list(value.steps), "auto_run": value.auto_run}
    return value


def _words_behind(steps: Sequence[Step], args: Sequence[Place]) -> Iterable[Place]:
    """Return the words of steps that stand behind the path of a secret."""
    for index, step in enumerate(steps):
        keys = tuple(map(str, keys_of(step[1]))) if len(step) > 2 else ()
        into_args = keys[:1] == ("args",) and any(meets(arg, keys[1:]) for arg in args)
        if into_args or any(map(is_secret_key, keys)):
            yield from ((str(index), str(word)) for word in range(2, len(step)))
