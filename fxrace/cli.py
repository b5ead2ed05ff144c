"""The command ``fxrace``: finds the verbs, and turns every way to fail into one sentence.

The verbs are the files of ``fxrace/commands``; only the one that is called gets imported, so
``fxrace --help`` costs no torch and no database. The surprise: each verb in the list is a
stand-in that loads the real command at the moment its arguments are parsed.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

import fxrace
from fxrace.commands._help import Command
from fxrace.errors import ExitCode, FxraceError

COMMANDS = Path(__file__).parent / "commands"
REPORT_TO = "please report it with that file and the command line"
#: What a shell shows for a program that lost its reader: 128 + SIGPIPE.
NO_READER = 141


class Verb(click.Command):
    """A line in the list of verbs; becomes the real command when it is called."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> Any:
        module = importlib.import_module(f"fxrace.commands.{self.name}")
        return module.command.make_context(info_name, args, parent, **extra)


class Verbs(Command, click.Group):
    """The group over ``fxrace/commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's name)
        return [path.stem for path in sorted(COMMANDS.glob("[!_]*.py"))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        from fxrace.catalog.source import read, summary_of

        tree, _ = read(COMMANDS / f"{cmd_name}.py")
        summary = summary_of(tree) if tree is not None else ""
        return Verb(name=cmd_name, help=summary, short_help=summary)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 (click's signature)
        **extra: Any,
    ) -> Any:
        run = partial(
            super().main,
            args=args,
            prog_name=prog_name,
            complete_var=complete_var,
            standalone_mode=False,
            **extra,
        )
        return sys.exit(_exit_code(run)) if standalone_mode else run()


@click.command(cls=Verbs, name="fxrace", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(fxrace.__version__, prog_name="fxrace")
def main() -> None:
    """Tells whether the threads of a program can corrupt each other's torch.compile.

    Results go to stdout, progress to stderr. Exit codes: 0 pass, 1 findings (with --fail-on),
    2 usage, 3 inconclusive, 4 fxrace broke, 130 interrupted.
    """


def _exit_code(run: Callable[[], Any]) -> int:
    """Run a command line; every failure becomes one sentence on stderr and a number."""
    try:
        code = int(run() or ExitCode.PASS)
        sys.stdout.flush()
    except BrokenPipeError:
        return _lost_reader()
    except FxraceError as error:
        return _fail(str(error), error.exit_code)
    except click.ClickException as error:
        return _fail(_usage(error), ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except Exception as error:
        return _fail(_defect(error), ExitCode.INTERNAL)
    return code


def _fail(sentence: str, code: ExitCode) -> int:
    print(f"fxrace: {sentence}", file=sys.stderr)
    return int(code)


def _usage(error: click.ClickException) -> str:
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "fxrace"
    return f"{error.format_message().rstrip('.')}; see '{path} --help'"


def _defect(error: Exception) -> str:
    """Save the traceback where a bug report can pick it up."""
    import tempfile
    import traceback

    what = f"fxrace itself failed ({type(error).__name__}: {error})"
    try:
        handle, name = tempfile.mkstemp(prefix="fxrace-failure-", suffix=".txt")
        with os.fdopen(handle, "w", errors="backslashreplace") as file:
            file.write(f"fxrace {fxrace.__version__}, Python {sys.version}\n{sys.argv}\n")
            file.write(traceback.format_exc())
    except OSError:
        return f"{what}:\n{traceback.format_exc()}\n{REPORT_TO}"
    return f"{what}; the traceback is in {name}, {REPORT_TO}"


def _lost_reader() -> int:
    """``fxrace ... | head``: say nothing, and let the interpreter's last flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return NO_READER


if __name__ == "__main__":
    main(prog_name="fxrace")
