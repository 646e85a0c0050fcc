# SPDX-License-Identifier: MIT
"""Ryu's names for os-ken, which goes on where Ryu ended: `ryu.x.y` is `os_ken.x.y`.

Ryu installs on no Python that Debian 13 has. Of Ryu's applications, os-ken kept none; `ryu.app` here has a switch that
learns addresses.
"""

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from traceback import walk_stack
from types import ModuleType

_RENAMED = {
    "os_ken.base.app_manager": ("RyuApp", "OSKenApp"),
    "os_ken.exception": ("RyuException", "OSKenException"),
}
"""What is called otherwise in os-ken: {module: (name in Ryu, name in os-ken)}."""
_IMPORTING = ("importlib", __name__)


class _Alias(MetaPathFinder, Loader):
    """Finds a module of os-ken under Ryu's name."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if not name.startswith("ryu.") or _is_here(name) or find_spec(_theirs(name)) is None:
            return None
        return spec_from_loader(name, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_theirs(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        alias = module.__spec__  # the import system has put it in the place of the module's own
        module.__spec__ = alias.loader_state if alias else None


def _theirs(name: str) -> str:
    return "os_ken" + name.removeprefix("ryu")


def _is_here(name: str) -> bool:
    place = Path(__file__).parent.joinpath(*name.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").exists()


def _require_app(name: str, api_style: bool = False) -> None:
    """As os-ken's own, which notes `name` in the calling module or, with `api_style`, in the one that imports it.

    Where this package finds the caller, os-ken would take a module of the import system for the one that imports it.
    """
    callers = (frame.f_globals for frame, _ in walk_stack(sys._getframe(1)))
    notes = next(callers)
    if api_style:
        notes = next(each for each in callers if each["__name__"].partition("._bootstrap")[0] not in _IMPORTING)
    notes.setdefault("_REQUIRED_APP", []).append(name)


sys.meta_path.insert(0, _Alias())
for _name, (_ours, _os_kens) in _RENAMED.items():
    _module = importlib.import_module(_name)
    setattr(_module, _ours, getattr(_module, _os_kens))
vars(sys.modules["os_ken.base.app_manager"])["require_app"] = _require_app
