import json
from pathlib import Path

from repl_pair.bridge import build_manifest, manifest
from repl_pair.bridge.link.link import GRACE_S
from repl_pair.bridge.policy import DEFAULT_TOOLSETS, Policy
from repl_pair.bridge.replies import reply_timeout_s
from repl_pair.runtime.op_base import modules

OPS = {
    "cancel_run": "run",
    "changed_variants": "read",
    "clear_all": "write",
    "clear_kind": "write",
    "complete_review": "run",
    "contract_get": "read",
    "create_annotation": "run",
    "delete_annotation": "run",
    "describe_object": "inspect",
    "describe_op": "read",
    "detach_kernel": "run",
    "edit_annotation": "run",
    "eval_code": "eval",
    "explain_variant": "read",
    "get_annotation": "read",
    "get_decorator": "read",
    "get_docs_markdown": "read",
    "get_review": "read",
    "get_session": "read",
    "get_story": "read",
    "get_story_instructions": "read",
    "get_value": "inspect",
    "get_variant": "read",
    "get_workspace": "read",
    "kernel_status": "read",
    "list_annotations": "read",
    "list_assertions": "read",
    "list_decorators": "read",
    "list_functions": "read",
    "list_kernels": "read",
    "list_modes": "read",
    "list_pages": "read",
    "list_panels": "read",
    "list_reviews": "read",
    "list_sessions": "read",
    "list_stories": "read",
    "list_substrates": "read",
    "list_surfaces": "read",
    "list_tags": "read",
    "list_triggers": "read",
    "list_variables": "read",
    "list_variants": "read",
    "list_workers": "read",
    "list_workspaces": "read",
    "notifications_list": "read",
    "pr_status": "read",
    "preview_variant": "run",
    "read_approval": "read",
    "read_assertions": "read",
    "read_changes": "read",
    "read_failures": "read",
    "read_history": "inspect",
    "read_hot_lines": "read",
    "read_member": "read",
    "read_more": "read",
    "read_op": "read",
    "read_run": "read",
    "read_stacks": "read",
    "read_traceback": "inspect",
    "realm_check": "read",
    "realm_status": "read",
    "record_as_variant": "run",
    "register_decorator": "write",
    "register_mode": "write",
    "register_panel": "write",
    "register_story": "write",
    "register_tag": "write",
    "register_trigger": "write",
    "register_variant": "write",
    "register_worker": "eval",
    "register_workspace": "write",
    "reopen_annotation": "run",
    "reset_variant": "run",
    "resolve_annotation": "run",
    "run_function": "run",
    "run_op": "run",
    "run_variant": "run",
    "run_variants": "run",
    "session_start": "run",
    "session_stop": "run",
    "share_variant": "read",
    "snapshot_identity": "read",
    "stop_worker": "eval",
    "submit_review": "run",
    "tests_passing": "read",
    "trigger_enqueue": "run",
    "trigger_void": "run",
    "unregister": "write",
    "unregister_trigger": "write",
    "use_kernel": "read",
    "variant_to_data": "read",
    "watch_variant": "run",
    "workspace_to_data": "read",
    "worktree_create": "write",
}


def test_the_module_of_each_op_is_the_one_that_holds_it():
    assert build_manifest.build_modules() == Path(modules.__file__).read_text(), "run `make docs`"


def test_the_manifest_is_what_the_tables_hold_now():
    assert list(manifest.load()) == json.loads(json.dumps(build_manifest.build())), (
        "stale: run `python -m repl_pair.bridge.build_manifest --write`"
    )


def test_every_op_and_what_it_may_do_is_pinned():
    ops = {entry["name"]: entry["access"] for entry in manifest.load() if "internal" not in entry}
    assert ops == OPS


def test_reading_ops_may_be_asked_twice_and_no_other():
    assert manifest.reads("list_stories")
    assert manifest.reads("ping")
    assert not manifest.reads("run_variant")
    assert not manifest.reads("an_op_of_the_persons")


def test_the_default_list_is_sorted_and_has_at_most_sixteen_ops():
    listed = [entry["name"] for entry in manifest.load() if Policy().lists(entry)]
    assert listed == sorted(listed)
    assert len(listed) <= 16
    assert {entry["toolset"] for entry in manifest.load()} > DEFAULT_TOOLSETS


def test_modes_are_in_every_op_the_ids_of_the_modes_that_a_run_is_in():
    schemas = [d["input_schema"]["properties"] for d in manifest.load()]
    modes = [properties["modes"] for properties in schemas if "modes" in properties]
    assert len(modes) >= 6
    for part in modes:
        assert (part["type"], part["items"]) == ("array", {"type": "string"})


def test_every_number_that_an_op_takes_has_its_bounds_in_the_schema():
    found = {
        f"{d['name']}.{name}": part
        for d in manifest.load()
        for name, part in d["input_schema"]["properties"].items()
        if part.get("type") in ("integer", "number")
    }
    assert {name for name, part in found.items() if "minimum" not in part} == set()
    unbounded = {name for name, part in found.items() if "maximum" not in part}
    assert unbounded == {"read_changes.since", "read_member.since", "read_more.offset"}
    for name, part in found.items():
        assert part.get("default", part["minimum"]) >= part["minimum"], name
    limits = {part["maximum"] for name, part in found.items() if name.endswith(".limit")}
    assert limits == {200, 4000}


def test_no_op_takes_longer_than_a_minute_unless_its_caller_asks_for_that():
    shown = [d for d in manifest.load() if not d.get("internal")]
    assert len(shown) == len(OPS)
    for d in shown:
        assert reply_timeout_s(d, {}) - GRACE_S <= 55, d["name"]
