"""The review panel: what people and agents remark on, next to its target."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import cast

from repl_pair.errors import ReplPairError
from repl_pair.panels.base.context import FOCUS, PanelContext
from repl_pair.panels.base.panel_thread import PANEL_THREAD, Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.review import messages
from repl_pair.panels.review.shown import group_by_target, text_of, thread_of
from repl_pair.runtime.clients.own_calls import OWN_CALLS, PERSON as PERSONS_CODE
from repl_pair.runtime.project.database import project
from repl_pair.runtime.results.markdown import Markdown, prose
from repl_pair.runtime.review import annotations, reviews, threads
from repl_pair.runtime.review.model import Annotation, Author
from repl_pair.runtime.review.targets import ENTRIES
from repl_pair.runtime.review.threads import ListedThread, ThreadStatus
from repl_pair.wire import View as Principal

THREADS = "panels/threads"
"""What the panel thread calls changes of the project's annotations and reviews."""
PAGE = 30
"""How many threads are listed at first, and added by each step."""
MAX_KEPT = 200
"""How many threads that were listed stay, though they no longer fit the filter."""
MORE_REPLIES = 100
MAX_LISTED = 50
"""How many threads its text lists."""
_PERSON = Principal()


class ReviewView(View[messages.ReviewPatch]):
    """What you and agents remark on stories, notebooks and pages; replies as they come."""

    name = "review"
    title = "Review"
    placement = "right"
    is_shown = False

    def __init__(self, context: PanelContext, send: Callable[[messages.ReviewPatch], None]) -> None:
        super().__init__(context, send)
        self._filter: messages.FilterState = {"status": "open", "author": "", "match": ""}
        self._here: Sequence[str] = ()
        """The targets that the shell shows."""
        self._limit = PAGE
        self._replies: dict[str, int] = {}
        """How many replies are shown of threads whose earlier ones were asked for."""
        self._sent: dict[str, messages.ThreadShown] = {}
        self._listing: messages.Listing = {"groups": [], "total": 0, "shown": 0}
        self._pages: set[str] = set()
        self._follows = ExitStack()
        self._is_live = False

    def handle_changes(self, changes: Changes) -> None:
        """Send what changed of the threads that are listed."""
        if not self._pages or not (
            {FOCUS, THREADS} & changes.keys() or self._speaks_of_any(changes)
        ):
            return
        here = self._find_here()
        if here != self._here:
            self._here = here
            self._list_anew()
            self.send({"focus": here[0] if here else ""})
        try:
            self._send_changes()
        except ReplPairError as error:
            self.send({"fault": error.message})

    def on_state(self, page: str) -> messages.State:
        """Return all that the panel shows, and send its changes until this page leaves."""
        self._pages.add(page)
        self._here = self._find_here()
        self._follow()
        self._send_changes()
        return {
            "filter": self._filter,
            "focus": self._here[0] if self._here else "",
            "listing": self._listing,
            "threads": list(self._sent.values()),
            "live": self._is_live,
        }

    def on_leave(self, page: str) -> None:
        """Follow no changes any more, once no page shows the panel."""
        self._pages.discard(page)
        if not self._pages:
            self._unfollow()

    def on_filter(self, status: str = "open", author: str = "", match: str = "") -> None:
        """List what fits, from its begin."""
        self._filter = {"status": status, "author": author, "match": match}
        self._list_anew()
        self.send({"filter": self._filter})
        self._send_changes()

    def on_more(self) -> None:
        """List more threads."""
        self._limit += PAGE
        self._send_changes()

    def on_earlier(self, id: str) -> None:
        """Show more of the replies of a thread."""
        self._replies[id] = self._replies.get(id, threads.REPLIES) + MORE_REPLIES
        self._send_changes()

    def on_words(self, id: str) -> str:
        """Return the words of an annotation as they were written, to edit them."""
        return annotations.get_annotation(project(), _PERSON, id)["annotation"]["content"]

    def on_remark(
        self, target: str, content: str, section: str = "", quote: str = ""
    ) -> messages.Written:
        """Write a remark: a draft, until it is submitted."""
        made = annotations.create_annotation(
            project(), _PERSON, target=target, content=content, section=section, quote=quote
        )
        return self._changed(made)

    def on_reply(self, id: str, content: str) -> messages.Written:
        """Reply to a remark."""
        about = annotations.get_annotation(project(), _PERSON, id)["annotation"]
        made = annotations.create_annotation(
            project(), _PERSON, target=about["target"], content=content, parent_id=id
        )
        return self._changed(made)

    def on_edit(self, id: str, content: str) -> messages.Written:
        """Replace the words of an annotation."""
        return self._changed(annotations.edit_annotation(project(), _PERSON, id, content))

    def on_resolve(self, id: str) -> messages.Written:
        """Resolve a thread."""
        return self._changed(annotations.resolve_annotation(project(), _PERSON, id))

    def on_reopen(self, id: str) -> messages.Written:
        """Reopen a thread that was resolved."""
        return self._changed(annotations.reopen_annotation(project(), _PERSON, id))

    def on_delete(self, id: str, agreed: messages.Deletion | None = None) -> messages.Deletion:
        """Delete an annotation, where the person agreed to just what goes with it."""
        found = threads.preview_deletion(project(), _PERSON, id)
        along = {slot: found[slot] for slot in ("replies", "review_deleted")}
        is_agreed = agreed is not None and along == {slot: agreed[slot] for slot in along}
        if is_agreed:
            annotations.delete_annotation(project(), _PERSON, id)
            PANEL_THREAD.mark_changed(THREADS, None)
        return cast("messages.Deletion", {"done": is_agreed, **along})

    def on_submit(self, target: str, drafts: Sequence[str]) -> messages.Sent:
        """Submit drafts on a target as one review: just those that the page shows, or none."""
        made = reviews.submit_review(project(), _PERSON, target, drafts)
        PANEL_THREAD.mark_changed(THREADS, None)
        return {"review": made["review_id"], "count": made["count"]}

    def on_complete(self, review: str) -> None:
        """Complete a review."""
        reviews.complete_review(project(), _PERSON, review)
        PANEL_THREAD.mark_changed(THREADS, None)

    def text(self) -> Markdown:
        """Return the open threads by target, without times."""
        try:
            found = threads.list_threads(project(), _PERSON, status="open", limit=MAX_LISTED)
        except ReplPairError as error:
            return Markdown(prose(f"The remarks of this project cannot be read: {error.code}."))
        return text_of(found)

    def close(self) -> None:
        """Follow no changes any more."""
        self._pages.clear()
        self._unfollow()

    def _follow(self) -> None:
        """Follow changes of the project, until the last page leaves or the person detaches."""
        if not self._is_live:
            self._is_live = True
            # On the panel thread the end comes after this, and after the state that a page reads.
            end = partial(PANEL_THREAD.submit, self._end)
            self._follows.callback(OWN_CALLS.hold(PERSONS_CODE, end))
            undo = project().watch(lambda: PANEL_THREAD.mark_changed(THREADS, None))
            self._follows.callback(undo)

    def _end(self) -> None:
        self._unfollow()
        self.send({"live": False})

    def _unfollow(self) -> None:
        self._is_live = False
        self._follows.close()

    def _changed(self, made: Annotation) -> messages.Written:
        PANEL_THREAD.mark_changed(THREADS, None)
        return {"id": made["id"], "duplicate": made.get("duplicate", False)}

    def _speaks_of_any(self, changes: Changes) -> bool:
        """Return whether an entry changed that a listed thread speaks of: its quote may be gone."""
        listed = {group["target"] for group in self._listing["groups"]}
        return any(
            keys is None or any(f"{kind}:{key}" in listed for key in keys)
            for kind in ENTRIES
            if (keys := changes.get(f"registry/{kind}", frozenset())) != frozenset()
        )

    def _find_here(self) -> Sequence[str]:
        """Return the targets that the shell shows, that of `Focus.target` first."""
        focus = self.context.focus
        ids = {kind: getattr(focus, kind) for kind in ("variant", "workspace", "story")}
        return [f"{kind}:{id}" for kind, id in ids.items() if id is not None]

    def _list_anew(self) -> None:
        """Keep nothing that no longer fits, and list from the begin."""
        self._limit = PAGE
        self._sent, self._replies = {}, {}

    def _send_changes(self) -> None:
        wanted = self._filter
        found = threads.list_threads(
            project(),
            _PERSON,
            first=self._here,
            status=cast("ThreadStatus | None", wanted["status"] or None),
            author=cast("Author | None", wanted["author"] or None),
            match=wanted["match"],
            keep=list(self._sent)[:MAX_KEPT],
            limit=self._limit,
        )
        before, self._sent = self._sent, {}
        for thread in found["threads"]:
            self._sent[thread["annotation"]["id"]] = self._thread_shown(thread)
        listing = group_by_target(found, self._here)
        changed = [shown for id, shown in self._sent.items() if before.get(id) != shown]
        patch: messages.ReviewPatch = {"threads": changed} if changed else {}
        if listing != self._listing or changed:
            self._listing = listing
            self.send({**patch, "listing": listing})

    def _thread_shown(self, thread: ListedThread) -> messages.ThreadShown:
        about = thread["annotation"]
        replies, earlier = thread["replies"], thread["earlier"]
        if earlier and (wanted := self._replies.get(about["id"])):
            every = annotations.get_annotation(project(), _PERSON, about["id"])["replies"]
            replies, earlier = every[-wanted:], max(0, len(every) - wanted)
        return thread_of(about, replies, earlier)
