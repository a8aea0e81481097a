"""The estimator contract of scikit-learn, without the dependency: parameters in ``__init__``, ``get_params``,
``set_params``, fitted state in names that end in an underscore. ``sklearn.base.clone`` works on these classes."""

from __future__ import annotations

import inspect
from typing import Any

from ..errors import InputError

# ``rank`` is a parameter of factor models and also what they do: model.rank(user) is the method.
_ATTRIBUTE = {"rank": "_rank"}


class Estimator:
    """Parameters are stored under their own names, except ``rank``, which ``get_params()`` gives."""

    def _store_params(self, given: dict[str, Any]) -> None:
        for name in self._param_names():
            setattr(self, _ATTRIBUTE.get(name, name), given[name])

    @classmethod
    def _param_names(cls) -> list[str]:
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters given to ``__init__``."""
        return {name: getattr(self, _ATTRIBUTE.get(name, name)) for name in self._param_names()}

    def set_params(self, **params: Any) -> Any:
        """Change parameters; an unknown name is an error."""
        names = self._param_names()
        for name, value in params.items():
            if name not in names:
                raise InputError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}")
            setattr(self, _ATTRIBUTE.get(name, name), value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        values = self.get_params().items()
        changed = (f"{k}={v!r}" for k, v in values if type(v) is not type(d := defaults[k].default) or v != d)
        return f"{type(self).__name__}({', '.join(changed)})"
