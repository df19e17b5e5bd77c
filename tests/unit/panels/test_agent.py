"""The agents' panel as text: what they called, and the code that they sent."""

import asyncio

import pytest

from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.panels.agent.view import AgentView
from repl_pair.runtime.clients.activity import ACTIVITY
from repl_pair.runtime.clients.approvals import APPROVALS, GRANTS
from repl_pair.runtime.store import PERSON_STORE
from repl_pair.wire import View

EVAL = View(principal="claude", access=frozenset({"read", "run", "eval"}))


@pytest.fixture(autouse=True)
def clear():
    """Other tests call as agents too; an approval that one of them left is noted when it ends."""
    reset = lambda: [PERSON_STORE.reset(c.name, {}) for c in (APPROVALS, GRANTS, ACTIVITY)]  # noqa: E731
    reset()
    yield
    reset()


def send(*codes, **args):
    async def talk():
        link = DirectLink()
        try:
            for code in codes:
                await link.request("eval_code", {"code": code, **args}, view=EVAL)
        finally:
            await link.close()

    asyncio.run(talk())


def test_the_code_that_agents_sent_stands_under_what_they_called(monkeypatch, open_view):
    monkeypatch.setenv("SHOP_TOKEN", "k-9384-fresh-secret")
    odd = "```\u202e k-9384-fresh-secret"
    send(f"text = '''{odd}'''\nlen(text)", "1 / 0")
    assert (
        open_view(AgentView)[0].text()
        == """\
| agent | called | times |
| --- | --- | --- |
| claude | `eval_code` | 2 |

claude: error

```python
1 / 0
```

claude: ok

````python
text = '''```<U+202E> [redacted]'''
len(text)
````"""
    )
