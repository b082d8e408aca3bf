"""An extension of griffe: what a module's stub imports ``as`` itself is public in the reference."""

import ast
from typing import Any

from griffe import Extension, Module


class StubExports(Extension):
    """Griffe takes imported names for private ones where no ``__all__`` is written out."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """See `griffe.Extension`."""
        _export(pkg)


def _export(module: Module) -> None:
    stub = module.filepath.with_suffix(".pyi")
    if module.is_init_module and stub.is_file():
        imports = [node for node in ast.parse(stub.read_text()).body if node.module]
        module.exports = [one.name for node in imports for one in node.names]
    for inner in module.modules.values():
        if not inner.is_alias:
            _export(inner)
