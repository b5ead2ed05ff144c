"""The class of every verb: click's own, with its help drawn by rich_click.

Drawing takes a third of the time that ``fxrace repro --list`` may take, so it is imported when
somebody asks for help. Errors need no drawing: ``fxrace.cli`` says each in one sentence.
"""

from __future__ import annotations

from typing import Any

import click


class Command(click.Command):
    """A verb, or with ``click.Group`` beside it the list of verbs."""

    def get_help(self, ctx: click.Context) -> str:
        """The help, as wide as the terminal."""
        import rich_click

        known: dict[str, Any] = {"name": self.name, "params": self.params, "help": self.help}
        if isinstance(self, click.Group):
            verbs = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
            drawn: rich_click.RichCommand = rich_click.RichGroup(
                **known, commands=list(filter(None, verbs))
            )
        else:
            drawn = rich_click.RichCommand(**known)
        inner = rich_click.RichContext(
            drawn,
            parent=ctx.parent,
            info_name=ctx.info_name,
            help_option_names=ctx.help_option_names,
        )
        return drawn.get_help(inner)
