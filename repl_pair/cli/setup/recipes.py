"""What agents do again and again, as calls: the recipes of `repl-pair skill`, as data."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Step(NamedTuple):
    """One call, or without `op` something that the agent does by other means.

    `takes` names parts of the answer by their paths in it; later steps have `$NAME` in their place.
    """

    does: str
    op: str | None
    args: Mapping[str, Any]
    takes: Mapping[str, str]


def step(
    does: str, op: str | None = None, /, *, takes: Mapping[str, str] | None = None, **args: Any
) -> Step:
    """Return a step; `args` are those of its call."""
    return Step(does, op, args, takes or {})


RECIPES: Mapping[str, Sequence[Step]] = {
    "Find and run what drifted": (
        step("See what changed since it last ran, and in which part", "changed_variants"),
        step("Run what changed or never ran", "run_variants", changed=True),
        step(
            "Read why the failed ones failed",
            "read_failures",
            takes={"VARIANT": "result.items[0].variant_id"},
        ),
        step("See where its values come from", "explain_variant", variant_id="$VARIANT"),
    ),
    "Prove a change": (
        step("Choose what fails", "read_failures", takes={"VARIANT": "result.items[0].variant_id"}),
        step(
            "Run it, so that the verdict before the change is known",
            "run_variant",
            variant_id="$VARIANT",
        ),
        step("Fix the component in its file or cell; the person runs the cell"),
        step(
            "Run it again: `pass`, with `total` above 0, proves the change",
            "run_variant",
            variant_id="$VARIANT",
        ),
        step("See that all others pass too", "tests_passing"),
    ),
    "Reply to annotations": (
        step(
            "Find what the person annotated and nobody answered: `author` is human",
            "list_annotations",
            takes={"ID": "result.items[0].id", "TARGET": "result.items[0].target"},
            status="submitted",
        ),
        step("Read the whole thread", "get_annotation", annotation_id="$ID"),
        step("Do what it asks for, and prove it"),
        step(
            "Reply with what you did",
            "create_annotation",
            target="$TARGET",
            content="Done: it passes.",
            parent_id="$ID",
        ),
        step("Resolve it where nothing is left to do", "resolve_annotation", annotation_id="$ID"),
    ),
    "Run a full review cycle": (
        step("See which pages there are", "list_pages", takes={"PAGE": "result.items[0].path"}),
        step("Read it with your own tool for files: the server keeps no pages"),
        step(
            "Annotate one",
            "create_annotation",
            takes={"ID": "result.id"},
            target="doc:$PAGE",
            content="Which currency is this?",
        ),
        step(
            "Submit what belongs together as one review",
            "submit_review",
            takes={"REVIEW": "result.review_id"},
            target="doc:$PAGE",
            annotation_ids=["$ID"],
        ),
        step("See the reviews there", "list_reviews", target="doc:$PAGE"),
        step("Read one whole", "get_review", review_id="$REVIEW"),
        step(
            "Reply in a thread",
            "create_annotation",
            target="doc:$PAGE",
            content="In euros.",
            parent_id="$ID",
        ),
        step(
            "Correct what you wrote",
            "edit_annotation",
            annotation_id="$ID",
            content="Which currency is the total in?",
        ),
        step("Resolve the thread", "resolve_annotation", annotation_id="$ID"),
        step("Open it again where it was too early", "reopen_annotation", annotation_id="$ID"),
        step("Complete the review", "complete_review", review_id="$REVIEW"),
    ),
    "Clean up your own annotations": (
        step(
            "Find yours: `principal` is your name",
            "list_annotations",
            takes={"ID": "result.items[0].id"},
        ),
        step(
            "Delete one; its replies go along, and a review that is left empty",
            "delete_annotation",
            annotation_id="$ID",
        ),
    ),
    "Keep a work session": (
        step(
            "Let one server make all calls, for a session ends with it: the server's entry in the"
            ' file of mcporter needs `"lifecycle": "keep-alive"`'
        ),
        step("Begin; what you do from here is counted", "session_start", goal="Fix the totals"),
        step("Read what changed elsewhere and concerns you", "notifications_list"),
        step("Work"),
        step("End it; the answer is what was done", "session_stop"),
    ),
    "Check the realm": (
        step("See the repos, contracts and bindings, and your own repo", "realm_status"),
        step("Check what they agreed on, as before a merge", "realm_check", strict=True),
        step("See which branches are ready for a pull request", "pr_status"),
    ),
}
"""The steps of each, in their order, by its title."""
