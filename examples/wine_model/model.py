"""A model that tells three growers' wines apart, and what it is worth on a part of the data."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

LABELS = (0, 1, 2)


@dataclass(frozen=True, kw_only=True)
class Score:
    """How good the model is on so many wines."""

    wines: int
    accuracy: float
    loss: float
    confusion: np.ndarray


def wines() -> pd.DataFrame:
    """Return the data that scikit-learn ships: 178 wines, 13 measures, and `grower`."""
    bunch = load_wine(as_frame=True)
    return bunch.data.assign(grower=bunch.target)


@cache
def trained(strength: float) -> Pipeline:
    """Train on two thirds of the wines."""
    train, _ = train_test_split(wines(), test_size=1 / 3, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=500))
    return model.fit(train.drop(columns="grower"), train.grower)


def score(data: pd.DataFrame, strength: float = 1.0) -> Score:
    """Score the model on wines that it may or may not know."""
    model, measures = trained(strength), data.drop(columns="grower")
    predicted, likely = model.predict(measures), model.predict_proba(measures)
    return Score(
        wines=len(data),
        accuracy=float(accuracy_score(data.grower, predicted)),
        loss=float(log_loss(data.grower, likely, labels=LABELS)),
        confusion=confusion_matrix(data.grower, predicted, labels=LABELS),
    )


def drift(data: pd.DataFrame, measure: str) -> float:
    """Say how far a measure's mean lies from that of all wines, in their standard deviations."""
    every = wines()[measure]
    return float((data[measure].mean() - every.mean()) / every.std())


def draw(data: pd.DataFrame, strength: float = 1.0) -> object:
    """Draw what the model takes for what."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    confusion = score(data, strength).confusion
    figure = Figure(figsize=(3, 3))
    axes = figure.subplots()
    axes.imshow(confusion, cmap="Blues")
    for row, column in np.ndindex(confusion.shape):
        axes.text(column, row, str(confusion[row, column]), ha="center", va="center")
    axes.set(xlabel="predicted", ylabel="grower", xticks=LABELS, yticks=LABELS)
    return figure
