"""What JupyterLab leaves out here: it would be started for each test, and none looks at it."""

import json

EXTENSIONS = """
audio celltags csvviewer debugger extensionmanager fileeditor help htmlviewer hub imageviewer
inspector javascript json json-lines launcher logconsole lsp markdownviewer mermaid metadataform pdf
pluginmanager running settingeditor toc tooltip vega5 video
"""
PLUGINS = """
notebook-extension:active-cell-tool notebook-extension:code-console notebook-extension:export
notebook-extension:language-server notebook-extension:log-output
notebook-extension:metadata-editor notebook-extension:toc notebook-extension:tools
notebook-extension:update-raw-mimetype workspaces-extension:sidebar
"""
"""Plugins of other extensions, which want one of those."""


def disabled():
    names = [f"{name}-extension" for name in EXTENSIONS.split()] + PLUGINS.split()
    return {f"@jupyterlab/{name}": True for name in names}


def leave_out(config):
    """Write it where the server looks for it; nor does a page ask whether Lab is to be built."""
    file = config / "labconfig" / "page_config.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"buildCheck": False, "disabledExtensions": disabled()}))
