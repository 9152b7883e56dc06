"""``python -m paper``: run figures, draw them, write the report, and say what came out."""

import argparse
import contextlib
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from multiprocessing import util
from pathlib import Path

from paper.figures import FIGURES
from paper.lab.reproduce import DamagedError, is_made
from paper.lab.scale import Scale
from paper.report.claims import Claim, Outcome, Verdict, conclude
from paper.report.drawings import draw
from paper.report.figure import Figure
from paper.report.page import collect_claims, write_report
from paper.workers import add_options, at_least, make_folder, one_line_errors, work

_NAMES = {figure.name: figure for figure in FIGURES}
_COLOURS = {Verdict.REPRODUCED: 32, Verdict.NOT_REPRODUCED: 31, Verdict.UNDECIDED: 33}
_EXAMPLES = """\
examples:
  python -m paper main                      the main figure
  python -m paper --quick                   all figures, small: a look
  python -m paper                           all figures
  python -m paper fairness wine --instances 4 --repeats 5
  python -m paper --cluster tcp://10.0.0.1:8786

Results are the same, to the byte, for any number of workers and on a cluster; only running times
differ. Finished tasks are kept in OUT/tasks: after Ctrl-C or a crash the same command goes on where
it stopped.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = _parser().parse_args(arguments)
    if options.list:
        _list_figures()
    elif options.report:
        _report(options.out)
    else:
        _run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description="Run figures of the paper (all without a name), and write the report.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", metavar="FIGURE", nargs="*", type=_name, help="see --list")
    parser.add_argument("--list", action="store_true", help="say which figures there are")
    parser.add_argument(
        "--report", action="store_true", help="draw and write again from the CSV files in OUT"
    )
    parser.add_argument("--rounds", type=at_least(10), help="rounds, in place of each figure's own")
    parser.add_argument("--instances", type=at_least(1), help="problem instances, likewise")
    parser.add_argument("--repeats", type=at_least(1), help="runs in each instance, likewise")
    add_options(parser)
    return parser


def _name(text: str) -> str:
    if text not in _NAMES:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(_NAMES)}, got {text}")
    return text


def _list_figures() -> None:
    for figure in FIGURES:
        print(f"{figure.name}\n{_wrap(f'{figure.title}. {figure.about}', indent='  ')}\n")


def _run(options: argparse.Namespace) -> None:
    scale = Scale(options.instances, options.repeats, options.seed, options.rounds, options.quick)
    make_folder(options.out)
    figures = [_NAMES[name] for name in dict.fromkeys(options.names)] or list(FIGURES)
    start = time.perf_counter()
    try:
        possible = _possible(figures)
        work(possible, scale, options.workers, options.cluster, options.out)
        _draw(possible, options.out)
        _finish(figures, options.out)
    except KeyboardInterrupt:
        print("Stopped. What is finished is kept: run the same command again.", flush=True)
        # As any exit does, remove semaphores; unlike it, wait for nobody.
        util._run_finalizers(0)  # type: ignore[attr-defined]
        os._exit(130)  # at once: a pool whose workers were killed may never end by itself
    print(f"{time.perf_counter() - start:.0f} s in all")


def _report(out: Path) -> None:
    figures = [figure for figure in FIGURES if is_made(figure.name, out)]
    if not figures:
        sys.exit(f"Error: no figures in {out}: run `python -m paper --out {out}` first")
    make_folder(out)
    _draw(figures, out)
    _finish(figures, out)


def _possible(figures: list[Figure]) -> list[Figure]:
    """Return the figures that can be made here, and say why the others cannot."""
    missing = {figure.name: figure.missing() for figure in figures}
    for name, reason in missing.items():
        if reason:
            print(_wrap(f"{name} is left out: {reason}"))
    return [figure for figure in figures if not missing[figure.name]]


def _draw(figures: Sequence[Figure], out: Path) -> None:
    for figure in figures:
        with one_line_errors(out), _of_this_version(figure, out):
            draw(figure, out)


@contextlib.contextmanager
def _of_this_version(figure: Figure, out: Path) -> Iterator[None]:
    """Say which figure has whole tables that are not what this version makes."""
    try:
        yield
    except DamagedError:
        raise
    except (ValueError, KeyError, IndexError) as error:
        sys.exit(
            f"Error: {out / figure.name}: expected the tables that `python -m paper {figure.name}` "
            f"of this version writes; run it again ({error!r})"
        )


def _finish(figures: Sequence[Figure], out: Path) -> None:
    finished = [figure for figure in figures if is_made(figure.name, out)]
    with one_line_errors(out):
        page = write_report(
            FIGURES, out, absent=[figure for figure in figures if figure not in finished]
        )
        claims = [claim for _, claim in collect_claims(finished, out)]
    if finished:
        print(_table(claims))
        print(_wrap(conclude(claims)))
        pictures = ", ".join(str(out / figure.name / f"{figure.name}.png") for figure in finished)
        print(_wrap(f"The figures, each beside its SVG and CSV files: {pictures}"))
    print(_wrap(f"The report, with all cases of each claim: {page}"))


def _table(claims: Sequence[Claim]) -> str:
    """Return verdicts and the numbers that decide them, a block for each setting of MOGRO."""
    width = max(len(str(claim.closest.number)) for claim in claims)
    lines = [f"{'verdict':16}{'number [95 %]':{width}}  claim"]
    for setting in dict.fromkeys(claim.setting for claim in claims):
        lines += ["", f"MOGRO {setting}:" if setting else "Other claims:"]
        lines += [_row(claim, width) for claim in claims if claim.setting == setting]
    if any(claim.closest.outcome is Outcome.SAME for claim in claims):
        lines += ["", "No difference: a ratio within 0.9 to 1.1; the claim is not reproduced."]
    return "\n".join([*lines, ""])


def _row(claim: Claim, width: int) -> str:
    case = claim.closest
    verdict = f"{case.outcome if case.outcome is Outcome.SAME else claim.word:16}"
    if sys.stdout.isatty():
        verdict = f"\033[{_COLOURS[claim.verdict]}m{verdict}\033[0m"
    indent = " " * (16 + width + 2)
    name = _wrap(claim.name, indent=indent).lstrip()
    return f"{verdict}{case.number!s:{width}}  {name}"


def _wrap(text: str, *, indent: str = "") -> str:
    """Return text in lines that fit the terminal; no word is broken."""
    return textwrap.fill(
        text,
        shutil.get_terminal_size().columns,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
