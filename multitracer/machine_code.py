"""Compiled kernels as bare machine code, kept on disk and run without the compiler that made them.

numba takes most of a second to load, and then some to find what it compiled in an earlier run. A
kernel that allocates nothing needs neither: its optimised LLVM code becomes an object file, which
llvmlite's binding loads by itself, and ctypes calls it, other threads going on meanwhile.

The calling convention is numba's for the CPU (numba.core.callconv.CPUCallConv): a place for the
result, a place for an exception, then every argument, arrays as their parts; the status is returned.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias

import numpy as np

Signature: TypeAlias = tuple[str, ...]
"""One word for each argument: `int64`, or of an array its type, dimensions, layout and access, as `int64 1 C w`."""

SUFFIX = ".object"
_MACHINES = ("x86_64", "aarch64")
_DIGEST_BYTES = 32
_SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool, "float32": ctypes.c_float, "float64": ctypes.c_double,
    **{f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_NOT_ITS_OWN = {"NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS"}
"""numba's settings that change nothing of what it compiles."""
_lock = RLock()


@cache
def usable() -> bool:
    """Whether kernels are kept and run as machine code in this process.

    Not where numba was told to compile in another way (bounds-checked, say), nor where this way of
    calling was never tried.
    """
    told = any(name.startswith("NUMBA_") and name not in _NOT_ITS_OWN for name in os.environ)
    return sys.platform == "linux" and platform.machine() in _MACHINES and not told


def signature(args: tuple[Any, ...]) -> Signature | None:
    """The arguments' types; None where one of them cannot be handed to machine code."""
    words = tuple([_word(argument) for argument in args])
    return None if "" in words else words


def _word(argument: Any) -> str:
    kind = type(argument)
    if kind is np.ndarray:
        flags, name = argument.flags, argument.dtype.name
        if name not in _SCALARS or not argument.ndim or not flags.aligned or not argument.dtype.isnative:
            return ""
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return f"{name} {argument.ndim} {layout} {'w' if flags.writeable else 'r'}"
    if kind is int:
        return "int64" if -(1 << 63) <= argument < 1 << 63 else ""
    if kind is bool or kind is float:
        return "bool" if kind is bool else "float64"
    return argument.dtype.name if isinstance(argument, np.generic) and argument.dtype.name in _SCALARS else ""


@dataclass(frozen=True)
class Code:
    """A kernel's machine code for one signature: an object file, its symbol in it, and the result's types.

    `result` is empty where nothing is returned; a tuple is returned where `is_tuple`.
    """

    symbol: str
    result: tuple[str, ...]
    is_tuple: bool
    binary: bytes

    def to_bytes(self) -> bytes:
        """As it is kept: a digest of all that follows, a line of JSON, the object file."""
        head = json.dumps([self.symbol, self.result, self.is_tuple]).encode() + b"\n"
        return hashlib.sha256(head + self.binary).digest() + head + self.binary

    @classmethod
    def from_bytes(cls, kept: bytes) -> Code | None:
        """What was kept; None where it was damaged."""
        digest, rest = kept[:_DIGEST_BYTES], kept[_DIGEST_BYTES:]
        if hashlib.sha256(rest).digest() != digest:
            return None
        head, _, binary = rest.partition(b"\n")
        symbol, result, is_tuple = json.loads(head)
        return cls(symbol, tuple(result), is_tuple, binary)


def translate(dispatcher: Any, args: tuple[Any, ...]) -> Code | None:
    """Compile a numba function for these arguments; None where its code needs what only numba's process has.

    The dispatcher's functions have no wrapper for Python (`no_cpython_wrapper`).
    """
    import numba
    from llvmlite import binding

    with _lock:
        types = tuple(numba.typeof(argument) for argument in args)
        dispatcher.compile(types)
        compiled = dispatcher.overloads[types]
        module = binding.parse_assembly(dispatcher.inspect_llvm(types))
        result = _result(compiled.signature.return_type)
        if result is None or not all(_found_anywhere(function) for function in module.functions):
            return None
        return Code(compiled.fndesc.llvm_func_name, *result, _machine().emit_object(module))


def _result(kind: Any) -> tuple[tuple[str, ...], bool] | None:
    """The types of a result, and whether it is a tuple; None for what is neither a number nor a tuple of some."""
    if str(kind) == "none":
        return (), False
    is_tuple = hasattr(kind, "types")
    names = tuple(map(str, kind.types if is_tuple else (kind,)))
    return (names, is_tuple) if all(name in _SCALARS for name in names) else None


def _found_anywhere(function: Any) -> bool:
    """Whether any process of this machine has the function: it is defined here, LLVM's own, or the C library's."""
    return not function.is_declaration or function.name.startswith("llvm.") or hasattr(_libc(), function.name)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


@cache
def _machine() -> Any:
    """This machine, as LLVM's target."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(binding.get_process_triple())
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=3,
        reloc="default", codemodel="jitdefault", jit=True,
    )  # fmt: skip


@cache
def engine() -> Any:
    """What links object files into this process; it takes longer to load than they do."""
    from llvmlite import binding

    machine = _machine()
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


@cache
def _compiler() -> str:
    """What the machine code depends on beside the kernels' sources: the compilers and the processor."""
    from llvmlite import binding

    made_by = " ".join(_installed(name) for name in ("numba", "llvmlite"))
    return f"{made_by} {binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"


def _installed(name: str) -> str:
    """Which installation of a package this is; its version would take longer to find than all kernels."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return name
    status = Path(spec.origin).stat()
    return f"{spec.origin} {status.st_size} {status.st_mtime_ns}"


def place(directory: Path, name: str, words: Signature) -> Path:
    """Where the machine code of a kernel is kept."""
    digest = hashlib.sha256("\n".join([_compiler(), name, *words]).encode()).hexdigest()
    return directory / f"{name.rpartition('.')[2]}-{digest[:16]}{SUFFIX}"


def load(path: Path) -> Code | None:
    """The machine code kept there; None where there is none, or a damaged one."""
    try:
        return Code.from_bytes(path.read_bytes())
    except OSError:
        return None


def keep(code: Code, path: Path) -> None:
    """Keep machine code for later processes; where that cannot be done, they compile it again."""
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_bytes(code.to_bytes())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def link(code: Code, words: Signature) -> Callable[[tuple[Any, ...]], Any]:
    """Make machine code callable: the function takes the arguments as a tuple, of the types in `words`."""
    from llvmlite import binding

    with _lock:
        linker = engine()
        linker.add_object_file(binding.ObjectFileRef.from_data(code.binary))
        linker.finalize_object()
        address = linker.get_function_address(code.symbol)
    kinds: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
    for word in words:
        kinds += _argument_types(word)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(address)
    fields = [(f"part{number}", _SCALARS[name]) for number, name in enumerate(code.result)]
    result_type = type("Result", (ctypes.Structure,), {"_fields_": fields})
    is_array = [" " in word for word in words]

    def call(args: tuple[Any, ...]) -> Any:
        result, exception = result_type(), ctypes.c_void_p()
        flat: list[Any] = []
        for argument, has_parts in zip(args, is_array, strict=True):
            if has_parts:
                flat += (None, None, argument.size, argument.itemsize, argument.__array_interface__["data"][0])
                flat += argument.shape + argument.strides
            else:
                flat.append(argument.item() if isinstance(argument, np.generic) else argument)
        if function(ctypes.byref(result), ctypes.byref(exception), *flat):
            raise RuntimeError(f"the kernel {code.symbol} raised an exception")
        parts = tuple(getattr(result, name) for name, _ in fields)
        return parts if code.is_tuple else parts[0] if parts else None

    return call


def _argument_types(word: str) -> list[Any]:
    """What an argument is handed over as; an array (numba.core.datamodel.ArrayModel) as its owner, its parent, its
    number of items, their size, their address, its shape and its strides.
    """
    name, *array = word.split(" ")
    if not array:
        return [_SCALARS[name]]
    parts = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_void_p]
    return parts + [ctypes.c_ssize_t] * (2 * int(array[0]))
