"""The first cell of the person: the classes whose instances hold canaries."""

import collections
import enum
import http.cookies
import os
import types
from dataclasses import dataclass
from typing import Annotated, NamedTuple
from urllib.parse import quote, unquote

import attr
import numpy
import pandas
import pydantic

from repl_pair import Sensitive

USED = (collections, enum, http.cookies, os, types, numpy, pandas, quote, unquote)
"""What the code of the places takes from here."""


class Settings(pydantic.BaseModel):
    region: str = "plain"
    signer: pydantic.SecretStr


class Model(pydantic.BaseModel):
    region: str = "plain"
    password: str


class Extra(pydantic.BaseModel, extra="allow"):
    plain: int


class Private(pydantic.BaseModel):
    _password: str = pydantic.PrivateAttr("")


@dataclass
class Login:
    user: str
    password: str


@dataclass
class Pinned:
    user: str
    pin: Annotated[str, Sensitive]


class PinnedRow(NamedTuple):
    user: str
    pin: Annotated[str, Sensitive]


@attr.s(auto_attribs=True)
class Attrs:
    user: str
    password: str


class Slots:
    __slots__ = ("token",)

    def __init__(self, token: str) -> None:
        self.token = token


class Vault:
    """An object whose every way to be shown quotes what it holds."""

    def __init__(self, password: str) -> None:
        self.shelf = ["plain"]
        self._password = password

    @property
    def prop(self) -> str:
        return self._password

    def __repr__(self) -> str:
        return f"Vault({self._password})"

    def _repr_html_(self) -> str:
        return f"<b>{self._password}</b>"


class Holder:
    pass


class Refused(Exception):
    pass
