"""Builds the one extension module `relume._C`: plain setuptools, in parallel, no CMake.

A source named `NAME.isa.cpp` is compiled once per instruction set, into the namespace that
`RELUME_ISA` names; the fastest one that the CPU has is chosen when the library is loaded.

Environment: RELUME_SANITIZE=address,undefined builds with sanitizers.
"""

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nanobind
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
ROOMS = ["tensor", "autograd", "converters", "bridge"]
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")

COMPILE_FLAGS = [
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp",
    "-DNDEBUG",
    "-g0",
    "-Wall",
    "-Wno-unknown-pragmas",
    "-Wno-psabi",
    "-Wno-init-list-lifetime",  # IntSpan borrows within one expression
]
INSTRUCTION_SETS = {"baseline": []}
if IS_X86:
    INSTRUCTION_SETS["avx2"] = ["-march=x86-64-v3"]
    INSTRUCTION_SETS["avx512"] = ["-march=x86-64-v4", "-mprefer-vector-width=512"]
LINK_FLAGS = ["-fopenmp", "-ldl", "-Wl,--gc-sections"]

SANITIZE = os.environ.get("RELUME_SANITIZE")
if SANITIZE:
    COMPILE_FLAGS += [f"-fsanitize={SANITIZE}", "-g1", "-O1"]
    LINK_FLAGS += [f"-fsanitize={SANITIZE}"]
else:
    LINK_FLAGS += ["-s"]


def sources() -> list[str]:
    """All C++ files of the rooms, relative to the root."""
    files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.cpp"))]
    return [str(path.relative_to(ROOT)) for path in files]


class BuildExtension(build_ext):
    """Compiles every (source, instruction set) pair in parallel; setuptools links."""

    def build_extension(self, extension):
        self._use_cpp_compiler()
        include = [".", nanobind.include_dir()]
        include.append(str(Path(nanobind.source_dir()).parent / "ext/robin_map/include"))
        jobs = [
            (source, isa)
            for source in extension.sources
            for isa in (INSTRUCTION_SETS if source.endswith(".isa.cpp") else ["none"])
        ]
        combined = str(Path(nanobind.source_dir()) / "nb_combined.cpp")
        jobs.append((combined, "none"))

        def compile_one(job):
            source, isa = job
            flags = COMPILE_FLAGS + INSTRUCTION_SETS.get(isa, [])
            macros = [] if isa == "none" else [("RELUME_ISA", isa)]
            folder = os.path.join(self.build_temp, isa)
            if source is combined:  # not our code: no warnings; keep the object beside ours
                flags = [*flags, "-w", "-fno-strict-aliasing"]
                return self.compiler.compile(
                    [os.path.relpath(source, ROOT)],
                    output_dir=os.path.join(self.build_temp, "nanobind"),
                    include_dirs=include,
                    extra_postargs=flags,
                )
            return self.compiler.compile(
                [source], output_dir=folder, macros=macros, include_dirs=include, extra_postargs=flags
            )

        with ThreadPoolExecutor(os.cpu_count()) as executor:
            objects = [o for result in executor.map(compile_one, jobs) for o in result]
        sources_before, extension.sources = extension.sources, []
        extension.extra_objects = objects
        try:
            super().build_extension(extension)
        finally:
            extension.sources = sources_before

    def _use_cpp_compiler(self):
        """Python may have been built with flags that C++ or our own optimisation dislikes."""
        unwanted = {"-Wstrict-prototypes", "-g"}
        compiler = os.environ.get("CXX", "g++")
        self.compiler.compiler_so = [
            compiler,
            *[a for a in self.compiler.compiler_so[1:] if a not in unwanted],
        ]
        self.compiler.compiler_so_cxx = self.compiler.compiler_so
        self.compiler.linker_so[0] = compiler
        if hasattr(self.compiler, "linker_so_cxx"):
            self.compiler.linker_so_cxx = self.compiler.linker_so


setup(
    ext_modules=[Extension("relume._C", sources(), language="c++", extra_link_args=LINK_FLAGS)],
    cmdclass={"build_ext": BuildExtension},
)
