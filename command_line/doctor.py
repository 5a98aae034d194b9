"""`relume doctor`: does everything that relume stands on work here?"""

from __future__ import annotations

import ctypes
import ctypes.util
import json as json_format
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from relume.command_line.output import console

PACKAGES = ["numpy", "lupa", "scipy-openblas32", "h5py", "rich", "typer"]
CPU_FEATURES = ["sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "asimd", "sve"]


@dataclass
class Finding:
    """One thing that was looked at; `good` is None where it does not matter."""

    name: str
    text: str
    good: bool | None = True
    advice: str = ""


def doctor(*, json: bool) -> bool:
    """Prints what it found; returns whether relume can work here."""
    findings = [finding for look in LOOKS for finding in guarded(look)]
    healthy = all(finding.good is not False for finding in findings)
    if json:
        entries = [vars(finding) for finding in findings]
        print(json_format.dumps({"healthy": healthy, "findings": entries}))
        return healthy
    out = console()
    marks = {True: "[green]ok[/]", False: "[bold red]no[/]", None: "  "}
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        out.print(f"{marks[finding.good]}  {finding.name:<{width}}  {finding.text}", markup=True)
        if finding.advice:
            out.print(f"    {'':<{width}}  {finding.advice}", style="yellow", markup=False)
    out.print("all is well" if healthy else "relume cannot work here as it is: see 'no' above")
    return healthy


def guarded(look: Callable[[], list[Finding]]) -> list[Finding]:
    """A look that fails is a finding."""
    try:
        return look()
    except Exception as error:
        return [Finding(look.__name__.replace("_", " "), f"{type(error).__name__}: {error}", False)]


def system() -> list[Finding]:
    text = f"{platform.python_implementation()} {platform.python_version()}"
    return [
        Finding("Python", text, sys.version_info >= (3, 10)),
        Finding(
            "system", f"{platform.system()} {platform.release()} on {platform.machine()}", None
        ),
    ]


def core() -> list[Finding]:
    import relume as rl
    from relume.tensor.threads import instruction_set

    total = (rl.ones([3]) + 1).sum().item()
    threads = rl.get_num_threads()
    return [
        Finding("relume", f"{rl.__version__}, core works", total == 6),
        Finding("kernels", f"{instruction_set()} instructions, {threads} threads", None),
    ]


def packages() -> list[Finding]:
    findings = []
    for name in PACKAGES:
        try:
            findings.append(Finding(name, version(name)))
        except PackageNotFoundError:
            findings.append(Finding(name, "not installed", False, f"python -m pip install {name}"))
    return findings


def cpu() -> list[Finding]:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    fields = [line.split(":", 1) for line in lines if ":" in line]
    words = {
        w for name, text in fields if name.strip() in ("flags", "Features") for w in text.split()
    }
    model = next((text.strip() for name, text in fields if name.strip() == "model name"), "unknown")
    features = " ".join(name for name in CPU_FEATURES if name in words)
    findings = [
        Finding("CPU", f"{model}, {len(os.sched_getaffinity(0))} cores", None),
        Finding("CPU features", features or "none that matter", None),
    ]
    slow = os.environ.get("OPENBLAS_CORETYPE")
    if slow:
        findings.append(
            Finding(
                "OPENBLAS_CORETYPE",
                slow,
                None,
                "makes matrix products use kernels for that CPU; unset it unless you know why",
            )
        )
    return findings


def lua() -> list[Finding]:
    try:
        from lupa import luajit21
    except ImportError as error:
        advice = "python -m pip install --upgrade 'lupa>=2.5' (a wheel with LuaJIT)"
        return [Finding("LuaJIT", str(error), False, advice)]
    runtime = luajit21.LuaRuntime()
    name = runtime.eval("jit.version")
    compiles = runtime.eval("(jit.status())")
    findings = [Finding("LuaJIT", f"{name}, compiler {'on' if compiles else 'off'}")]
    import relume

    bridge = relume.bridge.Lua()
    try:
        answer = bridge.eval("torch.ones(3):sum()")
    finally:
        bridge.close()
    findings.append(Finding("Lua side", "torch works", answer == 3))
    return findings


def gpu() -> list[Finding]:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return [Finding("GPU", "no CUDA driver; relume works on the CPU", None)]
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return [Finding("GPU", "a CUDA driver without a usable device", None)]
    return [Finding("GPU", f"{count.value} CUDA devices; relume does not use them yet", None)]


LOOKS = [system, core, packages, cpu, lua, gpu]
