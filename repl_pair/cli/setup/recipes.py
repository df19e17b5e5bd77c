"""What agents do again and again, as calls: the recipes of `repl-pair skill`, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Step:
    """One call, or without `op` something that the agent does by other means.

    `takes` names parts of the answer by their paths in it; later steps have `$NAME` in their place.
    """

    does: str
    op: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    takes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Steps in their order, under a title."""

    title: str
    steps: Sequence[Step]


RECIPES = (
    Recipe(
        title="Find and run what drifted",
        steps=(
            Step(
                does="See what changed since it last ran, and in which part", op="changed_variants"
            ),
            Step(does="Run what changed or never ran", op="run_variants", args={"changed": True}),
            Step(
                does="Read why the failed ones failed",
                op="read_failures",
                takes={"VARIANT": "result.items[0].variant_id"},
            ),
            Step(
                does="See where its values come from",
                op="explain_variant",
                args={"variant_id": "$VARIANT"},
            ),
        ),
    ),
    Recipe(
        title="Prove a change",
        steps=(
            Step(
                does="Choose what fails",
                op="read_failures",
                takes={"VARIANT": "result.items[0].variant_id"},
            ),
            Step(
                does="Run it, so that the verdict before the change is known",
                op="run_variant",
                args={"variant_id": "$VARIANT"},
            ),
            Step(does="Fix the component in its file or cell; the person runs the cell"),
            Step(
                does="Run it again: `pass`, with `total` above 0, proves the change",
                op="run_variant",
                args={"variant_id": "$VARIANT"},
            ),
            Step(does="See that all others pass too", op="tests_passing"),
        ),
    ),
    Recipe(
        title="Reply to annotations",
        steps=(
            Step(
                does="Find what the person annotated and nobody answered: `author` is human",
                op="list_annotations",
                args={"status": "submitted"},
                takes={"ID": "result.items[0].id", "TARGET": "result.items[0].target"},
            ),
            Step(
                does="Read the whole thread",
                op="get_annotation",
                args={"annotation_id": "$ID"},
            ),
            Step(does="Do what it asks for, and prove it"),
            Step(
                does="Reply with what you did",
                op="create_annotation",
                args={"target": "$TARGET", "content": "Done: it passes.", "parent_id": "$ID"},
            ),
            Step(
                does="Resolve it where nothing is left to do",
                op="resolve_annotation",
                args={"annotation_id": "$ID"},
            ),
        ),
    ),
    Recipe(
        title="Run a full review cycle",
        steps=(
            Step(
                does="See which pages there are",
                op="list_pages",
                takes={"PAGE": "result.items[0].path"},
            ),
            Step(does="Read it with your own tool for files: the server keeps no pages"),
            Step(
                does="Annotate one",
                op="create_annotation",
                args={"target": "doc:$PAGE", "content": "Which currency is this?"},
                takes={"ID": "result.id"},
            ),
            Step(
                does="Submit what belongs together as one review",
                op="submit_review",
                args={"target": "doc:$PAGE", "annotation_ids": ["$ID"]},
                takes={"REVIEW": "result.review_id"},
            ),
            Step(does="See the reviews there", op="list_reviews", args={"target": "doc:$PAGE"}),
            Step(does="Read one whole", op="get_review", args={"review_id": "$REVIEW"}),
            Step(
                does="Reply in a thread",
                op="create_annotation",
                args={"target": "doc:$PAGE", "content": "In euros.", "parent_id": "$ID"},
            ),
            Step(
                does="Correct what you wrote",
                op="edit_annotation",
                args={"annotation_id": "$ID", "content": "Which currency is the total in?"},
            ),
            Step(does="Resolve the thread", op="resolve_annotation", args={"annotation_id": "$ID"}),
            Step(
                does="Open it again where it was too early",
                op="reopen_annotation",
                args={"annotation_id": "$ID"},
            ),
            Step(
                does="Complete the review",
                op="complete_review",
                args={"review_id": "$REVIEW"},
            ),
        ),
    ),
    Recipe(
        title="Clean up your own annotations",
        steps=(
            Step(
                does="Find yours: `principal` is your name",
                op="list_annotations",
                takes={"ID": "result.items[0].id"},
            ),
            Step(
                does="Delete one; its replies go along, and a review that is left empty",
                op="delete_annotation",
                args={"annotation_id": "$ID"},
            ),
        ),
    ),
    Recipe(
        title="Keep a work session",
        steps=(
            Step(
                does="Let one server make all calls, for a session ends with it: the server's entry"
                ' in the file of mcporter needs `"lifecycle": "keep-alive"`'
            ),
            Step(
                does="Begin; what you do from here is counted",
                op="session_start",
                args={"goal": "Fix the totals"},
            ),
            Step(does="Read what changed elsewhere and concerns you", op="notifications_list"),
            Step(does="Work"),
            Step(does="End it; the answer is what was done", op="session_stop"),
        ),
    ),
    Recipe(
        title="Check the realm",
        steps=(
            Step(
                does="See the repos, contracts and bindings, and your own repo", op="realm_status"
            ),
            Step(
                does="Check what they agreed on, as before a merge",
                op="realm_check",
                args={"strict": True},
            ),
            Step(does="See which branches are ready for a pull request", op="pr_status"),
        ),
    ),
)
