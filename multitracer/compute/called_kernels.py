"""How numba compiles kernels that only other kernels call: to LLVM's code, which becomes a part of their callers'.

numba makes machine code of each function, as Python may call it, and optimises each by itself and again as a part of
every caller. Python calls none of these; without both steps a first run takes a fifth less time, and the code is as
fast. Short names, and no steps for closures and whole arrays, which kernels do not have, save another tenth. Source:
numba's documentation, "Customizing the Compiler" (`pipeline_class`); the library of a function's code is not documented
there.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen, itanium_mangler
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

_USED_OF_NUMBA = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "_finalize_specific")


class _CodeForCallers(codegen.JITCodeLibrary):  # type: ignore[misc] # numba brings no types
    """The code of a function, to be linked into its callers' before it is optimised with them."""

    def _optimize_final_module(self) -> None:
        """Leave it to the callers."""

    def _finalize_final_module(self) -> None:
        """Take it as complete, and make no machine code of it."""
        self._finalize_dynamic_globals()
        self._finalized = True


def _short_name(name: str, types: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
    """A function's name in LLVM's code; the types of its arguments stand in it only where no `uid` tells it apart.

    numba writes out every field of every record, some 20,000 characters for a loop's part, and again for each call.
    """
    made: str = itanium_mangler.mangle(name, types if uid is None else (), abi_tags=abi_tags, uid=uid)
    return made


@register_pass(mutates_CFG=True, analysis_only=False)
class _LoweringForCallers(NativeLowering):  # type: ignore[misc]
    """Translates a function to LLVM's code, and announces it to those that call it."""

    _name = "lowering_for_callers"

    def run_pass(self, state: Any) -> bool:
        """Do so; numba asks for a built-in function as the entry for Python, which is only a key here."""
        state["library"] = _CodeForCallers(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        state.targetctx.mangler = _short_name
        try:
            super().run_pass(state)
        finally:
            vars(state.targetctx).pop("mangler", None)
        key = [state["library"]].append
        state.targetctx.insert_user_function(key, state["cr"].fndesc, [state["library"]])
        state["cr"] = state["cr"]._replace(cfunc=key)
        return True


_NEEDLESS = (InlineClosureLikes, InlineOverloads, NopythonRewrites)
"""Steps for closures, for functions of numba itself that it merges, and for expressions over arrays."""


class CompilerForCallers(Compiler):  # type: ignore[misc]
    """numba's compiler with that step in place of its own."""

    def define_pipelines(self) -> list[Any]:
        """The steps of compiling."""
        pipelines: list[Any] = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (_LoweringForCallers if step is NativeLowering else step, name)
                for step, name in pipeline.passes
                if step not in _NEEDLESS
            ]
        return pipelines


def options() -> dict[str, Any]:
    """numba's options for kernels that only kernels call; none where this version of numba is built differently."""
    known = all(hasattr(codegen.JITCodeLibrary, name) for name in _USED_OF_NUMBA)
    return {"pipeline_class": CompilerForCallers} if known else {}
