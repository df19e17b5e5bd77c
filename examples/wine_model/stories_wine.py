"""Stories of the model: its worth on slices of the data, how these drift, and a picture."""

from typing import Any

import model
import pandas as pd

import repl_pair
from repl_pair import Verdict, check, ref

repl_pair.mode("strength/weak", axis="strength", args={"strength": 0.05})
repl_pair.mode("strength/usual", axis="strength", args={"strength": 1.0})


@repl_pair.loader("wines")
def wines(where: str = "grower >= 0", share: float = 1.0) -> pd.DataFrame:
    """Return the wines for which an expression over the columns holds, or a share of them."""
    return model.wines().query(where).sample(frac=share, random_state=0)


@repl_pair.assertion
def drifts_at_most(settled: Any, deviations: float) -> Verdict:
    """`[deviations]`: no measure's mean lies further from that of all wines; the worst is named."""
    data = settled.args["data"]
    measures = data.columns.drop("grower")
    far = {measure: abs(model.drift(data, measure)) for measure in measures}
    worst = max(far, key=far.__getitem__)
    passed = far[worst] <= deviations
    reason = "" if passed else f"{worst} drifts by {far[worst]:.2f}"
    return Verdict(passed=passed, expected=deviations, actual=round(far[worst], 3), reason=reason)


repl_pair.story(
    "wine.score",
    component=model.score,
    tags=["test"],
    modes=["strength/weak", "strength/usual"],
)
repl_pair.variant(
    "wine.score/All",
    args={"data": ref("wines")},
    play=[
        check.path_equals("result.wines", 178),
        check.compare("result.accuracy", ">=", 0.95),
        check.approx("result.accuracy", 1.0, abs=0.02),
        check.compare("result.loss", "<", 0.3),
        check.approx("result.confusion", [[59, 0, 0], [0, 71, 0], [0, 0, 48]], abs=6),
        check.no_warnings(),
    ],
)
for name, where in {
    "Strong": "alcohol > 13.5",
    "Light": "alcohol < 12.2",
    "Pale": "color_intensity < 3",
}.items():
    repl_pair.variant(
        f"wine.score/{name}",
        doc=f"Only where {where}.",
        args={"data": ref("wines", where=where)},
        play=[
            check.compare("result.accuracy", ">=", 0.9),
            check.compare("result.wines", ">", 20),
        ],
    )

repl_pair.story("wine.drift", component=model.drift, args={"data": ref("wines")}, tags=["test"])
repl_pair.variant(
    "wine.drift/None",
    args={"measure": "alcohol"},
    play=[check.approx("result", 0.0, abs=1e-9)],
)
repl_pair.variant(
    "wine.drift/Third_grower_is_more_colourful",
    args={"data": ref("wines", where="grower == 2"), "measure": "color_intensity"},
    play=[check.compare("result", ">", 0.5)],
)
repl_pair.variant(
    "wine.drift/Half_of_all",
    doc="A fair half is like the whole, in every measure.",
    args={"data": ref("wines", share=0.5), "measure": "hue"},
    play=[["drifts_at_most", 0.3], check.compare("result", "<", 0.2)],
)

repl_pair.story("wine.picture", component=model.draw, tags=["screenshot"])
repl_pair.variant(
    "wine.picture/All",
    args={"data": ref("wines")},
    play=[check.length("result.axes", 1), check.matches_snapshot(tolerance=0.02)],
)
