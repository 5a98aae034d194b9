"""The commands and what their options mean; each is carried out by the module of its name."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Annotated, TextIO

import typer

from relume.command_line.output import console

DONE, NO, BAD_INPUT = 0, 1, 2

app = typer.Typer(
    name="relume",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Go on using Lua-Torch (Torch7) models and code: look into files, run them, convert them.",
    epilog="Exit codes: 0 done, 1 the answer is no, 2 bad usage or input.",
)

File = Annotated[
    Path, typer.Argument(help="A file that Torch7's torch.save wrote.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs to read.")]
Select = Annotated[
    str, typer.Option(metavar="PATH", help="Which object in the file, such as protos.rnn.")
]


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    show_traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error comes from.")
    ] = False,
) -> None:
    if show_traceback:
        os.environ["RELUME_DEBUG"] = "1"
    if version:
        from relume import __version__

        print(f"relume {__version__}")
        raise typer.Exit(DONE)


@app.command(epilog="Example:  relume inspect model.t7 --depth 3")
def inspect(
    file: File,
    depth: Annotated[int, typer.Option(min=0, help="How many levels to show.")] = 5,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Also buffers, gradients and last outputs, and long tables."),
    ] = False,
    select: Select = "",
    json: Json = False,
) -> None:
    """Show what is in a file: classes, fields, shapes, types, parameters, sharing."""
    from relume.command_line.inspect import inspect as carry_out

    carry_out(file, depth=depth, everything=everything, select=select, json=json)


@app.command(epilog="Example:  relume run model.t7 --input x.npy --output y.npy --layers")
def run(
    file: File,
    input: Annotated[
        Path, typer.Option(metavar="X.npy", help="The input; an .npz of several is a table.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(metavar="Y.npy", help="Where the output goes; .npz for a table."),
    ] = None,
    layers: Annotated[bool, typer.Option("--layers", help="Print what each layer gave.")] = False,
    save_layers: Annotated[
        Path | None,
        typer.Option(metavar="L.npz", help="Where the outputs of all layers go, by path."),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="OTHER.npz",
            help="Outputs to compare with, by path; marks the first layer that differs "
            "(exit code 1).",
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="With --compare: how much of the largest value may differ.")
    ] = 1e-5,
    select: Select = "",
    json: Json = False,
) -> None:
    """Run a network of a file on an array, in evaluate mode."""
    from relume.command_line.run import run as carry_out

    agrees = carry_out(
        file,
        input=input,
        output=output,
        layers=layers,
        save_layers=save_layers,
        compare=compare,
        tolerance=tolerance,
        select=select,
        json=json,
    )
    if not agrees:
        raise typer.Exit(NO)


@app.command(epilog="Example:  relume convert model.t7 model.onnx --report report.html")
def convert(
    source: Annotated[
        Path, typer.Argument(help="A file, or a folder of them.", show_default=False)
    ],
    destination: Annotated[
        Path,
        typer.Argument(
            help="The file to be written; its ending tells the format: .t7, .safetensors, .npz, "
            ".h5, .onnx, .py, ... A folder for a folder.",
            show_default=False,
        ),
    ],
    to: Annotated[str, typer.Option(metavar="FORMAT", help="The format, by its name.")] = "",
    select: Select = "",
    input: Annotated[
        Path | None,
        typer.Option(
            metavar="X.npy", help="What the proof runs on; an .npz of several is a table."
        ),
    ] = None,
    dtype: Annotated[
        str, typer.Option(help="float16, float32 or float64 for all floating numbers.")
    ] = "",
    fold_bn: Annotated[
        bool, typer.Option("--fold-bn", help="Take batch normalisation into the layer before it.")
    ] = False,
    layout: Annotated[
        str, typer.Option(help="keras: its names and orders of axes (files of weights).")
    ] = "torch",
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a report: .html, .json or .txt; of a folder, a folder for its pages.",
        ),
    ] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Skip the proof.")] = False,
    gradients: Annotated[
        bool, typer.Option("--gradients", help="Compare gradients too, where they can be had.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also buffers, gradients and last outputs of layers.")
    ] = False,
    into: Annotated[
        Path | None,
        typer.Option(metavar="OLD.t7", help="The network that gets the tensors of SOURCE."),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(metavar="NAMES.json", help="With --into: what names of tensors mean there."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the format."),
    ] = None,
    json: Json = False,
) -> None:
    """Convert a model, and prove that it computes the same: both sides run on the same inputs."""
    from relume.command_line.convert import convert as carry_out
    from relume.command_line.convert import read_names
    from relume.command_line.output import settings_of

    options = {
        "verify": not no_verify,
        "dtype": dtype,
        "fold_bn": fold_bn,
        "layout": layout,
        "gradients": gradients,
        "everything": everything,
        **settings_of(settings or []),
    }
    if into is not None:
        options |= {"into": into, "names": None if names is None else read_names(names)}
    done = carry_out(
        source,
        destination,
        to=to,
        select=select,
        input=input,
        options=options,
        report=report,
        json=json,
    )
    if not done:
        raise typer.Exit(NO)


@app.command(epilog="Example:  relume compare model.t7 model.onnx --input x.npy")
def compare(
    a: Annotated[Path, typer.Argument(help="The file that is right.", show_default=False)],
    b: Annotated[
        Path,
        typer.Argument(
            help="The other one; an .npz may hold what layers gave (run --save-layers).",
            show_default=False,
        ),
    ],
    input: Annotated[
        Path | None,
        typer.Option(metavar="X.npy", help="The input; an .npz of several is a table."),
    ] = None,
    tolerance: Annotated[float, typer.Option(help="How much of the largest value may differ.")] = (
        1e-4
    ),
    gradients: Annotated[
        bool, typer.Option("--gradients", help="Compare gradients too, where they can be had.")
    ] = False,
    select: Select = "",
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report: .html, .json or .txt.")
    ] = None,
    json: Json = False,
) -> None:
    """Run two models on the same input and compare what they and their layers give."""
    from relume.command_line.compare import compare as carry_out

    agrees = carry_out(
        a,
        b,
        input=input,
        tolerance=tolerance,
        gradients=gradients,
        select=select,
        report=report,
        json=json,
    )
    if not agrees:
        raise typer.Exit(NO)


@app.command(epilog="Example:  relume diff epoch_1.t7 epoch_2.t7")
def diff(
    a: Annotated[Path, typer.Argument(help="A file.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    select: Select = "",
    json: Json = False,
) -> None:
    """Show how two checkpoints differ: layers, fields, weights. Exit code 1 when they do."""
    from relume.command_line.compare import diff as carry_out

    if not carry_out(a, b, select=select, json=json):
        raise typer.Exit(NO)


@app.command(epilog="Example:  relume graph model.t7 --html")
def graph(
    file: File,
    output: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OUTPUT]",
            help="Where the drawing goes; its ending tells the form. By default beside the file "
            "here, with its name; - is the standard output.",
            show_default=False,
        ),
    ] = None,
    svg: Annotated[bool, typer.Option("--svg", help="A picture.")] = False,
    dot: Annotated[bool, typer.Option("--dot", help="Text for Graphviz.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="A page whose containers open and close (the default).")
    ] = False,
    input: Annotated[
        Path | None,
        typer.Option(metavar="X.npy", help="An input, for the shapes; an .npz is a table."),
    ] = None,
    select: Select = "",
    json: Json = False,
) -> None:
    """Draw a network: layers, shapes, parameters, and what is shared."""
    from relume.command_line.graph import graph as carry_out

    forms = [name for name, wanted in (("svg", svg), ("dot", dot), ("html", html)) if wanted]
    carry_out(file, output, forms=forms, input=input, select=select, json=json)


Script = Annotated[
    Path | None, typer.Argument(help="A Lua file; - is the standard input.", show_default=False)
]
Packages = Annotated[
    list[str] | None, typer.Option("-l", metavar="NAME", help="Load a package first.")
]
Statements = Annotated[
    list[str] | None, typer.Option("-e", metavar="STATEMENT", help="Run a statement first.")
]
Interactive = Annotated[bool, typer.Option("-i", help="Go on at a prompt.")]
Cuda = Annotated[
    str | None, typer.Option(help="cpu: CUDA tensors are those of the CPU.", show_default=False)
]
TAKES_A_SCRIPT = {"allow_extra_args": True, "allow_interspersed_args": False}


@app.command(context_settings=TAKES_A_SCRIPT, epilog="Example:  relume lua train.lua -epochs 10")
def lua(
    context: typer.Context,
    script: Script = None,
    packages: Packages = None,
    statements: Statements = None,
    interactive: Interactive = False,
    cuda: Cuda = None,
) -> None:
    """Run a Lua script that uses torch, nn, ... with the arguments that follow it."""
    from relume.command_line.lua import Request, carry_out

    is_bare = script is None and not statements
    if is_bare and not interactive and not sys.stdin.isatty():
        script, is_bare = Path("-"), False
    carry_out(
        Request(
            script=script,
            arguments=context.args,
            packages=packages or [],
            statements=statements or [],
            is_interactive=interactive or is_bare,
            cuda=cuda,
        )
    )


@app.command(context_settings=TAKES_A_SCRIPT, epilog="Example:  relume th")
def th(
    context: typer.Context,
    script: Script = None,
    packages: Packages = None,
    statements: Statements = None,
    interactive: Interactive = False,
    cuda: Cuda = None,
) -> None:
    """A prompt for Lua; with a script, run it with the print of Torch7's th."""
    from relume.command_line.lua import Request, carry_out

    carry_out(
        Request(
            script=script,
            arguments=context.args,
            packages=packages or [],
            statements=statements or [],
            is_interactive=interactive or (script is None and not statements),
            pretty=True,
            cuda=cuda,
        )
    )


@app.command(epilog="Example:  relume doctor --json")
def doctor(json: Json = False) -> None:
    """Check the installation: versions, CPU, Lua, GPU."""
    from relume.command_line.doctor import doctor as carry_out

    if not carry_out(json=json):
        raise typer.Exit(NO)


@app.command(epilog="Example:  relume demo --length 200")
def demo(
    length: Annotated[
        int, typer.Option(min=1, max=600, help="How many characters to sample.")
    ] = 600,
    folder: Annotated[
        Path | None, typer.Option(help="Keep the converted file in this folder.")
    ] = None,
) -> None:
    """Sample text from a checkpoint of 2016 in Python and in Lua, and convert it."""
    from relume.command_line.demo import demo as carry_out

    if not carry_out(length=length, folder=folder):
        raise typer.Exit(NO)


def main() -> None:
    """The entry point: a mistake of the user's is one message, not a traceback."""
    warnings.showwarning = show_warning
    try:
        app(prog_name="relume")
    except BrokenPipeError:  # `relume inspect big.t7 | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(NO)
    except Exception as error:
        if os.environ.get("RELUME_DEBUG"):
            traceback.print_exc()
        out = console(error=True)
        out.print("[bold red]error:[/] ", end="")
        out.print(describe(error), markup=False)
        sys.exit(BAD_INPUT)


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning in words, without the line of relume that gave it."""
    out = console(error=True)
    out.print("[yellow]warning:[/] ", end="")
    out.print(str(message), markup=False)


def describe(error: Exception) -> str:
    """An error in words; one that no user can have caused says how to report it."""
    import relume

    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no file {os.fspath(error.filename)}"
    if isinstance(error, IsADirectoryError) and error.filename:
        return f"{os.fspath(error.filename)} is a folder, not a file"
    if isinstance(error, OSError) and error.filename:
        return f"{os.fspath(error.filename)}: {error.strerror}"
    expected = (relume.FileFormatError, ValueError, TypeError, KeyError, OSError, RuntimeError)
    if isinstance(error, (*expected, MemoryError)) and text:
        return text
    return (
        f"{type(error).__name__}: {text}\nrun `relume --traceback ...` to see where it comes from"
    )
