"""The code of kernels and of their parts: what is linked into what, and when LLVM optimises it."""

from typing import Any

from llvmlite.binding import Linkage, PassBuilder, PipelineTuningOptions, add_symbol
from numba.core.codegen import JITCodeLibrary, _parse_refprune_flags

#: How the names of the functions begin that Python calls, and that call a kernel.
_FROM_PYTHON = "_ZN7cpython"
#: What finds a kernel that is called by its address: its name, and the types that it takes.
Apart = tuple[str, tuple[Any, ...]]


class Code(JITCodeLibrary):
    """The code of a kernel."""

    is_kept = True
    #: Set where other kernels call this one by its address: what they find it by.
    apart: Apart | None = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)  # type: ignore[no-untyped-call]
        #: The kernels that this code calls by their address.
        self.needs: dict[Apart, None] = {}

    def add_linking_library(self, library: Any) -> None:
        """Note what the function calls: code that is linked into its own, or a kernel that stands where it is."""
        if getattr(library, "apart", None):
            self.needs[library.apart] = None
        else:
            super().add_linking_library(library)  # type: ignore[no-untyped-call]

    def add_ir_module(self, ir_module: Any) -> None:
        """Take over what was made of a function."""
        for function in ir_module.functions:
            if not function.is_declaration and function.name.startswith(_FROM_PYTHON):
                # It reads what Python hands over, once a call: nothing to gain.
                function.attributes.add("noinline")
                function.attributes.add("optnone")
        super().add_ir_module(ir_module)  # type: ignore[no-untyped-call]

    def finalize(self) -> None:
        """Link what the function calls, and what that calls, once."""
        found: dict[Any, None] = {}
        _list_parts(self._linking_libraries, found, set())
        for library in found:
            self.needs |= getattr(library, "needs", {})
        # LLVM takes a function in where it is called already: so callers stand before what they call.
        self._linking_libraries[:] = reversed(found)
        super().finalize()  # type: ignore[no-untyped-call]

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave each function as it is until it is linked."""
        ll_module.data_layout = self._codegen._data_layout  # noqa: SLF001

    def _optimize_final_module(self) -> None:
        """Optimise all functions together; loops are short, so none is repeated in its code, by vectors neither."""
        options = PipelineTuningOptions(speed_level=3)
        options.loop_unrolling = options.loop_vectorization = False
        builder = PassBuilder(self._codegen._tm, options)  # noqa: SLF001
        passes = builder.getModulePassManager()
        passes.add_refprune_pass(_parse_refprune_flags())
        passes.run(self._final_module, builder)


class Part(Code):
    """The code of a function that only kernels call: it is linked into them as it is, and never compiled alone."""

    is_kept = False

    def finalize(self) -> None:
        """Let kernels link it: none of them needs another name for it."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module
        self._finalized = True


def _list_parts(libraries: list[Any], found: dict[Any, None], seen: set[Any]) -> None:
    """Note libraries behind all that they link."""
    for library in libraries:
        if library not in seen:
            seen.add(library)
            if isinstance(library, Part):
                _list_parts(library._linking_libraries, found, seen)  # noqa: SLF001
            found[library] = None


def publish(library: Any, described: Any) -> None:
    """Let code that is loaded from now on call the function of a kernel by its name."""
    name = described.llvm_func_name
    add_symbol(name, library.get_pointer_to_function(name))
