"""Compiled kernels as bare machine code, kept on disk and run without the compiler that made them.

numba takes most of a second to load, and then some to find what it compiled in an earlier run. A
kernel that allocates nothing needs neither: its optimised LLVM code becomes an object file, which
llvmlite's binding loads by itself, and ctypes calls it, other threads going on meanwhile.

The calling convention is numba's for the CPU (numba.core.callconv.CPUCallConv): a place for the
result, a place for an exception, then every argument, arrays as their parts; the status is returned.
Python would take long to hand all of that over one by one. So beside each kernel stands an entry that
takes one block of 8 bytes for each argument, and finds an array's parts in the NumPy object itself.
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
from struct import Struct
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
_SETTINGS_FILE = ".numba_config.yaml"
_NOT_ITS_OWN = {
    f"NUMBA_{name}" for name in ("DISABLE_JIT", "NUM_THREADS", "THREADING_LAYER", "CACHE_DIR", "COLOR_SCHEME")
}
"""numba's settings that change nothing of what it compiles."""
# Where a NumPy array's data, shape and strides are in its object (PyArrayObject_fields of numpy/ndarraytypes.h,
# the same in NumPy 1 and 2): behind what every object begins with, and the number of dimensions.
_PARTS = tuple(object.__basicsize__ + place for place in (0, 16, 24))
_ENTRY = ".entry"
_lock = RLock()


@cache
def usable() -> bool:
    """Whether kernels are kept and run as machine code in this process.

    Not where numba was told to compile in another way (bounds-checked, say), nor where this way of
    calling was never tried, or NumPy's objects are laid out in another way.
    """
    told = any(name.startswith("NUMBA_") and name not in _NOT_ITS_OWN for name in os.environ)
    told = told or Path(_SETTINGS_FILE).exists()
    return sys.platform == "linux" and platform.machine() in _MACHINES and not told and _laid_out_as_expected()


def _laid_out_as_expected() -> bool:
    """Whether a NumPy array's data, shape and strides are where the entries look for them."""
    array = np.zeros((3, 5), dtype=np.int16)[:, ::2]
    data, shape, strides = (ctypes.c_size_t.from_address(id(array) + place).value for place in _PARTS)
    found = [list((ctypes.c_ssize_t * 2).from_address(part)) for part in (shape, strides)] if shape and strides else []
    return data == array.ctypes.data and found == [[3, 3], [10, 4]]


def kinds(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What tells arguments of different signatures apart, and some of equal ones: found in a fraction of the time."""
    return tuple([
        (argument.dtype, argument.ndim, argument.flags.num) if type(argument) is np.ndarray else type(argument)
        for argument in args
    ])  # fmt: skip


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
        symbol = compiled.fndesc.llvm_func_name
        module.link_in(binding.parse_assembly(_entry(module, symbol, args)))
        return Code(symbol + _ENTRY, *result, _machine().emit_object(module))


def _entry(module: Any, symbol: str, args: tuple[Any, ...]) -> str:
    """The entry of a kernel as LLVM code: it reads the arguments from a block of 8 bytes each, and calls the kernel."""
    wanted = [str(argument.type) for argument in module.get_function(symbol).arguments]
    lines: list[str] = []
    given: list[str] = []

    def value(code: str) -> str:
        lines.append(f"  %v{len(lines)} = {code}")
        return f"%v{len(lines) - 1}"

    def at(base: str, offset: int, kind: str) -> str:
        return value(f"load {kind}, ptr {value(f'getelementptr i8, ptr {base}, i64 {offset}')}")

    for number, argument in enumerate([None, None, *args]):
        if not isinstance(argument, np.ndarray):
            kind = wanted[len(given)]
            if kind in ("ptr", "i64", "double"):
                given.append(at("%block", 8 * number, kind))
            elif kind == "float":
                given.append(value(f"fptrunc double {at('%block', 8 * number, 'double')} to float"))
            else:
                given.append(value(f"trunc i64 {at('%block', 8 * number, 'i64')} to {kind}"))
            continue
        array = at("%block", 8 * number, "ptr")
        data, shape, strides = (at(array, place, "ptr") for place in _PARTS)
        sizes = [at(shape, 8 * dimension, "i64") for dimension in range(argument.ndim)]
        items = sizes[0]
        for size in sizes[1:]:
            items = value(f"mul i64 {items}, {size}")
        steps = [at(strides, 8 * dimension, "i64") for dimension in range(argument.ndim)]
        # numba.core.datamodel.ArrayModel: owner, parent, number of items, their size, data, shape, strides.
        given += ["null", "null", items, str(argument.itemsize), data, *sizes, *steps]
    status = value(f'call i32 @"{symbol}"({", ".join(map(" ".join, zip(wanted, given, strict=True)))})')
    return "\n".join([
        f'target datalayout = "{module.data_layout}"', f'target triple = "{module.triple}"',
        f'declare i32 @"{symbol}"({", ".join(wanted)})', f'define i32 @"{symbol}{_ENTRY}"(ptr %block) {{',
        *lines, f"  ret i32 {status}", "}",
    ])  # fmt: skip


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


def engine() -> Any:
    """What links object files into this process; it takes longer to load than they do."""
    with _lock:  # there must be one only: with it goes all that it linked
        return _made_engine()


@cache
def _made_engine() -> Any:
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
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)(address)
    pack = Struct("=QQ" + "".join(_PACKED.get(word, "Q" if " " in word else "q") for word in words)).pack
    fields = [(f"part{number}", _SCALARS[name]) for number, name in enumerate(code.result)]
    # A kernel without a result writes a null pointer in its place.
    result_type = type("Result", (ctypes.Structure,), {"_fields_": fields or [("none", ctypes.c_void_p)]})

    def call(args: tuple[Any, ...]) -> Any:
        result, exception = result_type(), ctypes.c_void_p()
        handed = [id(argument) if type(argument) is np.ndarray else argument for argument in args]
        if entry(pack(ctypes.addressof(result), ctypes.addressof(exception), *handed)):
            raise RuntimeError(f"the kernel {code.symbol} raised an exception")
        parts = tuple([getattr(result, name) for name, _ in fields])
        return parts if code.is_tuple else parts[0] if parts else None

    return call


_PACKED = {"bool": "?7x", "float32": "d", "float64": "d", "uint64": "Q"}
"""How a number is put in its 8 bytes (struct); others as int64."""
