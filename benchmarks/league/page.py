"""The page of the league, from its tables alone."""

from html import escape
from pathlib import Path

import numpy as np

from benchmarks.league.season import FAVOURITE, MEASURES, SAMPLE
from benchmarks.league.worlds import ROUNDS, WORLDS
from mogro.simulation import ConfidenceInterval
from paper.lab.files import write_file
from paper.lab.reproduce import Tables, read_manifest, read_tables
from paper.lab.scale import Scale
from paper.lab.tables import distinct, select
from paper.report.page import document

_STYLE = """
body { max-width: 1160px; } .ranks { overflow-x: auto; } .ranks td { white-space: nowrap; }
.ranks table { font-size: .72rem; } .ranks th, .ranks td { padding: .25rem .3rem; }
.ranks th:first-child { position: sticky; left: 0; background: #fff; min-width: 5.5rem; }
@media (max-width: 45rem) { .ranks table { display: table; overflow: visible; } }
"""
_BADGES = {"wins": "yes", "loses": "no", "level": "open"}


def write_page(out: Path) -> Path:
    """Write ``league.html`` from the tables in ``out``; return where it is."""
    tables = read_tables("league", out)
    body = [
        "<h1>The league</h1>",
        f'<p class="conclusion">{escape(conclude(tables))}</p>',
        '<p class="lead">Every policy in every world of a fixed list, all with the same '
        "instances, contexts and noise. "
        f"A policy is judged by its {MEASURES[_measure(tables)]} in the end: its rank, and where "
        "that may lie at 95 % (differences paired by instance), bold where it may be the first; "
        f"below it the {MEASURES[_regret(tables)]}, "
        "and where means stay, how unfair it is: 1 less the share of pulls that serves the weights "
        "that are served least (in the column of that name, the mean of these worlds). Intervals "
        "show when you point at a cell. A dash: the policy knows arms by their place, and they do "
        "not stay. Policies that are made for another goal (generalised Gini, Frank-Wolfe, LinUCB "
        "for the mean reward) are judged by this one all the same.</p>",
        _matrix(tables),
        f"<h2>{FAVOURITE} against the best policy that is none of its kind</h2>",
        _favourite(tables),
        "<h2>Worlds</h2><table><tbody>",
        *(
            f"<tr><th>{escape(world.name)}</th><td>{escape(world.about)}</td></tr>"
            for world in WORLDS
        ),
        "</tbody></table><h2>Settings</h2>",
        _settings(out),
    ]
    page = document("mogro: league", "".join(body), style=_STYLE)
    write_file(out / "league.html", page.encode())
    return out / "league.html"


def conclude(tables: Tables) -> str:
    """Say who leads, and where MOGRO wins and loses."""
    favourite = tables["favourite"]
    parts = []
    for outcome in _BADGES:
        worlds = select(favourite, outcome=outcome)["world"].tolist()
        if worlds:
            words = {"wins": "wins in", "loses": "loses in", "level": "is level with the best in"}
            parts.append(f"{words[outcome]} {', '.join(worlds)}")
    first = tables["standing"]["policy"].tolist()[0]
    rank = tables["standing"]["mean_rank"].tolist()[0]
    return (
        f"Best mean rank by {MEASURES[_measure(tables)]}: {first}, {rank:.1f}. Against the best "
        f"policy that is none of its kind, {FAVOURITE} {'; it '.join(parts)}."
    )


def _measure(tables: Tables) -> str:
    """Return what ranks are made of."""
    return str(tables["standing"]["measure"][0])


def _regret(tables: Tables) -> str:
    """Return which regret is shown."""
    return "pareto" if _measure(tables) == "pareto" else "effective"


def _matrix(tables: Tables) -> str:
    worlds = [name for (name,) in distinct(tables["ranks"], "world")]
    heads = "".join(
        f"<th>{escape(name)}</th>" for name in ("policy", "mean rank", "unfair", *worlds)
    )
    rows = []
    standing = tables["standing"]
    columns = (standing[name].tolist() for name in ("policy", "mean_rank", "unfair"))
    for policy, *means in zip(*columns, strict=True):
        numbers = "".join(f"<td class='number'>{text}</td>" for text in _shown(*means))
        cells = "".join(_cell(tables, world, str(policy)) for world in worlds)
        rows.append(f"<tr><th>{escape(policy)}</th>{numbers}{cells}</tr>")
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="ranks">{table}</div>'


def _shown(rank: float, unfair: float) -> tuple[str, str]:
    return f"{rank:.1f}", f"{unfair:.2f}" if np.isfinite(unfair) else "&ndash;"


def _cell(tables: Tables, world: str, policy: str) -> str:
    row = {k: v.tolist() for k, v in select(tables["ranks"], world=world, policy=policy).items()}
    if not row["rank"]:
        return "<td>&ndash;</td>"
    (rank,), (low,), (high,) = row["rank"], row["rank_low"], row["rank_high"]
    span = f"{rank}" if low == high else f"{rank} ({low}&ndash;{high})"
    regret, unfair = (
        ConfidenceInterval(*(row[f"{measure}{end}"][0] for end in ("", "_low", "_high")))
        for measure in (_regret(tables), "unfair")
    )
    text = f"<b>{span}</b>" if low == 1 else span
    below, title = f"{regret.value:.3g}", f"regret {regret}"
    if unfair.known:
        below, title = f"{below} &middot; {unfair.value:.2f}", f"{title}, unfair {unfair}"
    return f"<td title='{title}'>{text}<br><span class='tally'>{below}</span></td>"


def _favourite(tables: Tables) -> str:
    rows = "".join(
        f"<tr><td>{escape(world)}</td><td>{escape(rival)}</td>"
        f"<td class='number'>{own:.3g}</td><td class='number'>{theirs:.3g}</td>"
        f"<td class='number'>{ConfidenceInterval(value, low, high)}</td>"
        f'<td><span class="badge {_BADGES[outcome]}">{escape(outcome)}</span></td></tr>'
        for world, rival, own, theirs, value, low, high, outcome in zip(
            *(column.tolist() for column in tables["favourite"].values()), strict=True
        )
    )
    heads = ("world", "best other policy", FAVOURITE, "it", "difference, paired", "")
    columns = "".join(f"<th>{head}</th>" for head in heads)
    return f"<table class='claims'><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"


def _settings(out: Path) -> str:
    manifest = read_manifest("league", out)
    scale = Scale(**manifest["scale"])
    instances, repeats = scale.sample(*SAMPLE)
    versions = ", ".join(f"{name} {number}" for name, number in manifest["versions"].items())
    files = ("regrets", "ranks", "standing", "favourite")
    links = ", ".join(f'<a href="league/{name}.csv">{name}.csv</a>' for name in files)
    return (
        f"<p>{instances} instances of each world, {repeats} repeats in each, "
        f"{scale.horizon(ROUNDS)} rounds, seed {scale.seed}. Policies have their defaults; those "
        "with a confidence radius are told the noise of the world (1/2 where rewards are bounded) "
        "and delta = 1 / T. Instances are the sample, repeats are averaged first. "
        f"{manifest['seconds']:.0f} s; {escape(versions)}; {escape(manifest['made'])}. "
        f"Data: {links}.</p>"
    )
