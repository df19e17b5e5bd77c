from typing import Any

from ipywidgets import Widget

class AnyWidget(Widget):
    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]: ...
