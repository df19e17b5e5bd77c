"""The modules of this package: that of each op, and those that are loaded.

An op's module is imported when the op is first called. `make docs` writes `OPS` from the modules of
`runtime/ops`; a test compares.
"""

import sys
from types import ModuleType
from typing import Any

OPS = """kernel.host_ops describe ping
ops.assertions list_assertions
ops.changes read_changes read_more search_kept
ops.evaluating eval_code
ops.explaining explain_variant get_docs_markdown get_story_instructions list_substrates
ops.explaining share_variant variant_to_data workspace_to_data
ops.inspecting describe_object read_history read_traceback
ops.kinds get_decorator get_workspace list_decorators list_modes list_panels list_tags
ops.kinds list_workspaces
ops.persons answer_approval ask_approval await_approval list_approvals open_panel pause_agents
ops.persons use_approval withdraw_approval
ops.realm contract_get pr_status realm_check realm_status worktree_create
ops.recording record_as_variant
ops.review complete_review create_annotation delete_annotation edit_annotation get_annotation
ops.review get_review list_annotations list_pages list_reviews reopen_annotation resolve_annotation
ops.review submit_review
ops.running preview_variant reset_variant run_variant snapshot_identity
ops.sessions get_session list_sessions notifications_list session_start session_stop
ops.stacks read_hot_lines read_stacks
ops.stories get_story get_variant list_stories list_variants
ops.surface.awaiting await_members complete_ids
ops.surface.functions check_function list_function_tools list_functions run_function
ops.surface.members read_member
ops.surface.surfaces list_exposure list_surfaces
ops.sweeps run_variants
ops.variables get_value list_variables
ops.verdicts read_assertions read_failures tests_passing
ops.watches changed_variants watch_variant
ops.writing clear_all clear_kind register_decorator register_mode register_panel register_story
ops.writing register_tag register_variant register_workspace unregister
"""
MODULES = {
    op: f"repl_pair.runtime.{module}"
    for module, *ops in map(str.split, OPS.splitlines())
    for op in ops
}


def hold_modules() -> None:
    """Put back what `sys.modules` lost of this package, and hold what is loaded now.

    `patch.dict(sys.modules)` drops at its end what was imported meanwhile, and a second copy of a
    module, which a thread may import before this is called, would have ops and a registry of its
    own.
    """
    for name, module in [*_HELD.items()]:
        found: Any = sys.modules.get(name, name)
        if found is not module and found is not None:  # None keeps a module from being imported
            sys.modules[name] = module
            package, _, own = name.rpartition(".")
            names = vars(_HELD[package]) if package in _HELD else {}
            # What a package has of its own under the name of a module stays.
            if isinstance(names.get(own, module), ModuleType):
                names[own] = module
    if (seen := len(sys.modules)) == _seen[0]:
        return
    own = {n: m for n, m in sys.modules.copy().items() if f"{n}.".startswith(_PACKAGE)}
    # What is just being imported may fail, and is looked for again.
    whole = {n: m for n, m in own.items() if not _is_importing(m)}
    _HELD.update(whole | _HELD)
    _seen[0] = seen if len(whole) == len(own) else 0


def _is_importing(module: ModuleType) -> bool:
    return getattr(getattr(module, "__spec__", None), "_initializing", False)


_PACKAGE = f"{__name__.partition('.')[0]}."
_HELD: dict[str, ModuleType] = {}
_seen = [0]
"""How many modules there were when those of this package were last looked for."""
