"""Stories of the weather client: what it makes of good, slow, broken and missing answers."""

from collections.abc import Iterator

import weather

import repl_pair
from repl_pair import check


@repl_pair.decorator("cache/empty")
def empty_cache() -> Iterator[None]:
    """Begin without kept answers, and leave none."""
    weather.forget()
    yield
    weather.forget()


@repl_pair.decorator("service/answers")
def answers(component: object) -> object:
    """Show a wrap that is given the component: it is called twice, the second time from cache."""

    async def twice(**args: object) -> object:
        await component(**args)  # type: ignore[operator]  the component is the client's function
        return await component(**args)  # type: ignore[operator]  as above

    return twice


repl_pair.decorator(
    "clock/noon", kind="fx_override", effect="weather.now", response=1_700_000_000.0
)
SLOW = {"$raise": "TimeoutError", "message": "2 s"}

repl_pair.story(
    "weather.forecast",
    component=weather.forecast,
    args={"city": "Oslo", "api_key": "k-3Fq81LzPw0"},
    decorators=["cache/empty", "clock/noon"],
    tags=["test"],
)
repl_pair.variant(
    "weather.forecast/Cold",
    decorators=[["force_fx_stub", {"effect": "http/get", "response": {"celsius": -3}}]],
    play=[
        check.path_equals("result.advice", "take a coat"),
        check.path_equals("result.tries", 1),
        check.effect_emitted("http/get"),
        check.no_secret(),
    ],
)
repl_pair.variant(
    "weather.forecast/Hot",
    extends="weather.forecast/Cold",
    args={"city": "Cairo"},
    decorators=[["force_fx_stub", {"effect": "http/get", "response": {"celsius": 41.5}}]],
    play=[
        check.path_equals("result.advice", "stay inside"),
        check.approx("result.celsius", 41.5, abs=0.01),
    ],
)
repl_pair.variant(
    "weather.forecast/Slow_then_fine",
    decorators=[
        ["force_fx_stub", {"effect": "http/get", "responses": [SLOW, SLOW, {"celsius": 18}]}]
    ],
    play=[check.path_equals("result.tries", 3), check.path_equals("result.advice", "go out")],
)
repl_pair.variant(
    "weather.forecast/Never_answers",
    decorators=[["force_fx_stub", {"effect": "http/get", "response": SLOW}]],
    play=[check.raises("NoForecast", match="no answer in 3 tries")],
)
repl_pair.variant(
    "weather.forecast/Broken_answer",
    decorators=[["force_fx_stub", {"effect": "http/get", "response": {"temperature": 20}}]],
    play=[check.raises(KeyError, match="celsius")],
)
repl_pair.variant(
    "weather.forecast/Asked_twice_called_once",
    decorators=[
        ["force_fx_stub", {"effect": "http/get", "responses": [{"celsius": 5}]}],
        "service/answers",
    ],
    play=[check.path_equals("result.celsius", 5.0), check.length("effects", min=2)],
)
