"""Realms on disk, written by the functions that the commands call."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from repos import SCHEMA

from repl_pair.runtime.realm.bindings import bind
from repl_pair.runtime.realm.membership import init_realm, join_realm
from repl_pair.runtime.realm.realms import Home, contract_file, open_realm
from repl_pair.runtime.realm.saving import Edition, save_contract


@dataclass
class Ground:
    """A realm and the folders of its repos."""

    folder: Path
    home: dict[str, Home]

    def root(self, repo):
        return self.folder.parent / repo

    def open(self, repo, given=None):
        return open_realm(self.root(repo), given)

    def save(self, repo, version, *, domain="pricing", contract="quote", **edition):
        return save_contract(self.home[repo], domain, contract, Edition(version=version, **edition))

    def edit(self, path, change):
        """Change a file of the realm as a person with an editor does."""
        file = self.folder / path
        data = json.loads(file.read_text())
        change(data)
        file.write_text(json.dumps(data))

    def contract(self, domain="pricing", contract="quote"):
        return contract_file(self.folder, domain, contract)


@pytest.fixture
def make_ground(tmp_path):
    """Makes a realm of the repos that are named, none bound to anything."""

    def make(*repos):
        folder = tmp_path / "shop-realm"
        init_realm("shop", folder)
        home = {}
        for repo in repos:
            (tmp_path / repo).mkdir()
            home[repo] = join_realm(tmp_path / repo, folder)
        return Ground(folder, home)

    return make


@pytest.fixture
def ground(make_ground):
    """Two repos: `api` owns pricing/quote at 1.0.0, `web` imports it."""
    ground = make_ground("api", "web")
    bind(ground.home["api"], "pricing", exports=["quote"])
    ground.save("api", "1.0.0", schema=SCHEMA)
    bind(ground.home["web"], "pricing", imports=["quote >=1.0"])
    return ground
