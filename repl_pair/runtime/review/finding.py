"""Which target is meant: found as a view sees it, or refused with what is near."""

from pathlib import Path
from sqlite3 import Connection

from repl_pair.errors import RequestError, did_you_mean, next_step
from repl_pair.records import replace
from repl_pair.runtime.registry.visible import visible_entry
from repl_pair.runtime.review.contents import Content, read_content, redact_text
from repl_pair.runtime.review.markdown import composed
from repl_pair.runtime.review.pages import MAX_BYTES, finds_page, page_paths, sees_page
from repl_pair.runtime.review.querying import at_target, shown_to
from repl_pair.runtime.review.targets import ENTRIES, PAGES, Target, parse_target
from repl_pair.wire import View

_MAX_NAMED = 20


def find_target(root: Path, view: View, text: str, section: str = "") -> Target:
    """Return the target of a text in the one form of it, part and section looked for.

    RequestError `bad_arguments` for what is no target, and for a part or section of a page that is
    not there; `not_found` for an entry or page that the view does not see.
    """
    target = parse_target(text)
    if target.kind in ENTRIES:
        visible_entry(view, target.kind, target.name)
        return target
    page = _find_page(root, view, target)
    if page is None:
        raise _no_page(root, view, target)
    target = page
    if not (section or target.part):
        return target
    content = read_content(root, target, view.principal)
    if content is None:
        raise RequestError(
            "bad_arguments",
            f"{target.name} cannot be read, or has more than {MAX_BYTES:,} bytes, so its parts are "
            f"not known: remark on the whole of it, {target.whole}.",
        )
    if section and target.kind == "doc" and content.find_part(section) is None:
        raise _no_part(target, content, section)
    if not target.part:
        return target
    label = content.find_part(target.part)
    if label is None:
        raise _no_part(target, content, target.part)
    return replace(target, part=label)


def find_known_target(connection: Connection | None, root: Path, view: View, text: str) -> Target:
    """Return the target of a text that is there, or on which the view sees a remark."""
    try:
        return find_target(root, view, text)
    except RequestError as error:
        target = parse_target(text)  # what is no target is refused here again
        is_readable = redact_text(target.text, view.principal) == target.text  # else it is a guess
        if connection is not None and is_readable:
            seen = at_target(shown_to(connection, root, view), target)
            if seen.rows(connection, "1 FROM annotations", "LIMIT 1"):
                return target
        raise error from None


def _find_page(root: Path, view: View, target: Target) -> Target | None:
    """Return a page by the name of its file, which may write a letter and its accent apart.

    None where the view does not see it, or does not find it as `finds_page` states.
    """
    if not sees_page(root, view, target.name):
        return None
    if finds_page(root, view.principal, target.name):
        return target
    name = composed(target.name)
    paths = () if name.isascii() else page_paths(root, view.principal)
    there = (path for path in paths if composed(path) == name and sees_page(root, view, path))
    return next((replace(target, name=path) for path in there), None)


def _no_page(root: Path, view: View, target: Target) -> RequestError:
    known = [
        path
        for path in page_paths(root, view.principal)
        if path.lower().endswith(PAGES[target.kind]) and sees_page(root, view, path)
    ]
    near = did_you_mean(target.name, known)
    what = "page" if target.kind == "doc" else "notebook"
    return RequestError(
        "not_found",
        f"There is no {what} {target.name!r} in the project.{near}",
        next_steps=[next_step("list_pages")],
    )


def _no_part(target: Target, content: Content, name: str) -> RequestError:
    what = "heading" if target.kind == "doc" else "cell"
    labels = list(content.parts)
    more = f", and {len(labels) - _MAX_NAMED} more" if len(labels) > _MAX_NAMED else ""
    named = ", ".join(map(repr, labels[:_MAX_NAMED])) + more
    has = f"It has {named}." if labels else f"It has no {what}s that can be read."
    return RequestError(
        "bad_arguments",
        f"{target.name} has no {what} {name!r}.{did_you_mean(name, labels)} {has}",
    )
