"""The command line: ``mogro reproduce``, ``league``, ``report``, ``diagnose`` and others."""

import sys

try:
    import click
    import rich  # noqa: F401
except ModuleNotFoundError:
    sys.exit("mogro: the command line needs click and rich: pip install 'mogro[lab]'")

from mogro.cli import figures, league, problems


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mogro")
def main() -> None:
    """Multi-objective linear bandits: the paper's experiments on your machine.

    \b
    mogro list                    what there is
    mogro reproduce main          the main figure
    mogro reproduce --quick       everything, small: a look in two minutes
    mogro reproduce               everything
    mogro league                  every policy in every world: who wins where
    mogro report                  the page again, from the files that are there
    mogro diagnose X.csv T.csv    what the theory says about a problem of your own
    mogro evaluate LOG            what other trade-offs would have been worth, by an agent's log
    """  # noqa: D301 (click wants the character)


for command in (
    figures.list_figures,
    figures.run,
    figures.report,
    league.league,
    problems.diagnose,
    problems.evaluate,
):
    main.add_command(command)
