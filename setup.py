"""Builds the one extension module `relume._C`: plain setuptools, in parallel, no CMake.

A source named `NAME.isa.cpp` is compiled once per instruction set, into the namespace that
`RELUME_ISA` names; the fastest one that the CPU has is chosen when the library is loaded.
Objects stay in `build/objects` and are compiled again only when a file that they include
has changed.

Environment:
    CXX                                the compiler, such as "clang++" or "ccache g++"
    RELUME_SANITIZE=address,undefined  builds with sanitizers (docs/trust.md)
"""

import os
import platform
import shlex
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nanobind
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
CPP_ROOMS = ["tensor", "autograd", "converters", "bridge"]
NOT_PACKAGES = {"benchmarks", "build", "docs", "examples", "tests"}
NANOBIND = ROOT / "build" / f"nanobind-{nanobind.__version__}"
SANITIZE = os.environ.get("RELUME_SANITIZE")

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
NANOBIND_FLAGS = ["-fno-strict-aliasing", "-w"]  # not our code: its warnings are not ours
LINK_FLAGS = ["-fopenmp", "-ldl"]
INSTRUCTION_SETS = {"baseline": []}
if platform.machine().lower() in ("x86_64", "amd64") and not SANITIZE:
    INSTRUCTION_SETS["avx2"] = ["-march=x86-64-v3"]
    INSTRUCTION_SETS["avx512"] = ["-march=x86-64-v4", "-mprefer-vector-width=512"]
CHECK_FLAGS = []
if SANITIZE:  # the instruction sets share their sources, so that checking one of them does
    CHECK_FLAGS = [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all", "-g1", "-Og"]
    CHECK_FLAGS += ["-fno-omit-frame-pointer", "-DRELUME_BASELINE_ONLY"]
    # The types of the C++ library are not its own to the sanitizer, which Python loads late.
    # What the address sanitizer finds too is left to it: that halves the time to compile.
    CHECK_FLAGS += ["-fno-sanitize=vptr,null,object-size"]
    LINK_FLAGS += [f"-fsanitize={SANITIZE}"]
else:
    LINK_FLAGS += ["-s"]


@dataclass
class Compilation:
    """One source that becomes one object."""

    source: str
    object: Path
    flags: list[str]

    def is_current(self) -> bool:
        """Is the object newer than everything that it was made from?"""
        depends = self.object.with_suffix(".d")
        if not self.object.exists() or not depends.exists():
            return False
        # A make rule: "object: file file \\\n file"
        files = depends.read_text().replace("\\\n", " ").split(":", 1)[1].split()
        made = self.object.stat().st_mtime
        try:
            return all(os.stat(file).st_mtime < made for file in [*files, __file__])
        except OSError:  # a header is gone
            return False


def sources() -> list[str]:
    """All C++ files of the rooms, relative to the root."""
    files = [path for room in CPP_ROOMS for path in sorted((ROOT / room).rglob("*.cpp"))]
    return [str(path.relative_to(ROOT)) for path in files]


def packages() -> list[str]:
    """`relume` is the root itself; every folder with an `__init__.py` is a package in it."""
    folders = [path.parent.relative_to(ROOT).parts for path in sorted(ROOT.rglob("__init__.py"))]
    return [
        ".".join(["relume", *parts])
        for parts in folders
        if not parts or not (parts[0] in NOT_PACKAGES or parts[0].startswith("."))
    ]


def copy_nanobind() -> None:
    """pip installs build requirements somewhere else each time; objects depend on the headers."""
    installed = Path(nanobind.__file__).parent
    for part in ("include", "src", "ext"):
        shutil.copytree(installed / part, NANOBIND / part, dirs_exist_ok=True)


def compilations() -> list[Compilation]:
    parts = [sys.implementation.cache_tag, platform.machine(), *(SANITIZE or "").split(",")]
    kind = "-".join(filter(None, parts))
    folder = ROOT / "build" / "objects" / kind
    includes = [
        f"-I{path}"
        for path in (
            ".",
            NANOBIND / "include",
            NANOBIND / "ext/robin_map/include",
            sysconfig.get_path("include"),
        )
    ]
    combined = Compilation(
        str(NANOBIND / "src/nb_combined.cpp"),
        folder / "nanobind.o",
        [*COMPILE_FLAGS, *NANOBIND_FLAGS, *includes],
    )
    result = [combined]
    for source in sources():
        if not source.endswith(".isa.cpp"):
            made = (folder / source).with_suffix(".o")
            result.append(Compilation(source, made, [*COMPILE_FLAGS, *CHECK_FLAGS, *includes]))
            continue
        for name, flags in INSTRUCTION_SETS.items():
            made = (folder / name / source).with_suffix(".o")
            own = [*flags, f"-DRELUME_ISA={name}", *CHECK_FLAGS]
            result.append(Compilation(source, made, [*COMPILE_FLAGS, *own, *includes]))
    return result


class BuildPython(build_py):
    """The root is a package and holds this file, which is none of its modules."""

    def find_package_modules(self, package, package_dir):
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if module[1] != "setup"]


class BuildExtension(build_ext):
    """Compiles what has changed, in parallel; setuptools links."""

    def build_extension(self, extension):
        compiler = shlex.split(os.environ.get("CXX", "g++"))
        own_flags = shlex.split(os.environ.get("CXXFLAGS", ""))
        copy_nanobind()
        everything = compilations()

        def compile_one(compilation):
            made = compilation.object
            made.parent.mkdir(parents=True, exist_ok=True)
            depends = ["-MMD", "-MF", str(made.with_suffix(".d"))]
            output = ["-c", compilation.source, "-o", str(made)]
            self.spawn([*compiler, *compilation.flags, *own_flags, *depends, *output])

        os.chdir(ROOT)
        with ThreadPoolExecutor(os.cpu_count()) as executor:
            list(executor.map(compile_one, [c for c in everything if not c.is_current()]))
        self._link_with(compiler)
        extension.extra_objects = extension.depends = [str(c.object) for c in everything]
        declared, extension.sources = extension.sources, []
        try:
            super().build_extension(extension)
        finally:
            extension.sources = declared

    def _link_with(self, compiler):
        """Python may have been built with another compiler than the one in use here."""
        self.compiler.linker_so[:1] = compiler
        if hasattr(self.compiler, "linker_so_cxx"):
            self.compiler.linker_so_cxx = self.compiler.linker_so


setup(
    packages=packages(),
    package_dir={"relume": "."},
    ext_modules=[Extension("relume._C", sources(), language="c++", extra_link_args=LINK_FLAGS)],
    cmdclass={"build_ext": BuildExtension, "build_py": BuildPython},
)
