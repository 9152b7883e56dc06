"""One page that a person wants to read: figures, claims, settings, and how long it took."""

import base64
import html
from collections.abc import Sequence
from pathlib import Path

from mogro._files import write_whole
from mogro.experiments import claims as checks
from mogro.experiments import table
from mogro.experiments.claims import Claim
from mogro.experiments.figure import Figure
from mogro.experiments.reproduce import manifest_of, tables_of
from mogro.experiments.scale import Scale

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1c2733; max-width: 1080px;
       margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 2rem; margin-bottom: .2rem; } h2 { margin-top: 3rem; }
p.lead { color: #51606e; max-width: 46rem; }
nav a { margin-right: 1rem; } a { color: #0072B2; text-decoration: none; }
figure { margin: 1.2rem 0; } figure img { width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .7rem;
         border-bottom: 1px solid #e3e8ed; }
th { color: #51606e; font-weight: 600; } td.number { white-space: nowrap;
     font-variant-numeric: tabular-nums; }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-size: .85rem;
         white-space: nowrap; }
.yes { background: #d9efe6; color: #00563f; } .no { background: #f9e0d2; color: #8a3c00; }
.part { background: #fdf1cf; color: #6d5200; }
details { font-size: .9rem; color: #51606e; } summary { cursor: pointer; }
.note { background: #f4f6f8; border-radius: .5rem; padding: .6rem 1rem; }
@media (max-width: 45rem) {
  table { display: block; overflow-x: auto; }
  .claims, .claims tbody, .claims tr, .claims td, .claims th { display: block; border: 0; }
  .badge { white-space: normal; } .claims > thead { display: none; }
  .claims td, .claims th { padding: .05rem 0; }
  .claims > tbody > tr { padding: .55rem 0; border-bottom: 1px solid #e3e8ed; }
}
"""

# What a reader has to know who is to trust the verdicts.
_CHANGED = (
    "The limits of the checks were set before the first full run. After small runs had been "
    "looked at, three measures were changed: running times are processor time, not time on the "
    "clock; the lower-bound instances have more repeats and other numbers of rounds; and a "
    "fairness index counted as positive by its mean, no longer by its smallest value. After the "
    "first full runs a review found wrong measures, which were mended while the limits stayed: "
    "positive again means in every instance; the paper's estimate of the index has to settle, not "
    "only the exact one; intervals of ratios are Student's for the logarithm, as a bootstrap of "
    "so few instances was too narrow; a comparison of two ratios is paired; rounds of exploration "
    "are counted, not read off checkpoints; Pareto optimality on wine needs the whole interval on "
    "its side; balance and skew are judged by both indices, members of fronts by instance, the "
    "objective region by a difference; and what cannot be told has no verdict. Claims that had "
    "been left out were added then, with limits taken from claims like them: regret after "
    "exploration for every weighting, what round robin pulls, fair policies and free exploration "
    "with varying contexts, the best policy under both regrets, what the time of MOGRO follows. "
    "Policies that are timed now take turns in one process. What round robin pulls was first "
    "measured as the share of such pulls, then as that of all others, with the number in sight; "
    "the verdict was the same. Not checked: that MOL-TS is slow because of its optimistic "
    "sampling."
)


def claims_of(figures: Sequence[Figure], out: Path) -> list[tuple[Figure, Claim]]:
    """Return the claims of the figures that were made, from their tables on disk."""
    found = []
    for figure in figures:
        data = tables_of(figure, out)
        if data is not None:
            found += [(figure, claim) for claim in figure.claims(data)]
    return found


def write_report(figures: Sequence[Figure], out: Path, *, absent: Sequence[Figure] = ()) -> Path:
    """Write ``claims.csv`` and ``report.html`` for the figures that were made; return the page.

    For those of ``absent`` it says why they could not be made; of others it is silent.
    """
    claims = claims_of(figures, out)
    table.write(out / "claims.csv", checks.as_table([(f.name, c) for f, c in claims]))
    made = [figure for figure in figures if tables_of(figure, out) is not None]
    links = "".join(f'<a href="#{f.name}">{_text(f.title)}</a> ' for f in made)
    body = [
        "<h1>Multi-objective linear bandits, reproduced</h1>",
        '<p class="lead">What the paper on greedy choices with a randomised objective (MOGRO) '
        "claims, run again on this machine. Every number below was computed from the CSV files "
        "beside this page; d, K and M are the numbers of features, arms and objectives, MOLB and "
        "MOL the families of the baselines.</p>",
        "<details><summary>What was changed after runs had been looked at</summary>"
        f'<p class="note">{_CHANGED}</p></details>',
        f'<nav><a href="#claims">Claims</a> {links}<a href="#settings">Settings</a></nav>',
        _summary(claims, small=[f for f in made if _smaller(f, out)]),
        *(_section(figure, claims, out) for figure in made),
        *(_absent(figure) for figure in absent),
        _settings(made, out),
    ]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>mogro: report</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )
    path = out / "report.html"
    with write_whole(path, parents=True) as file:
        file.write(page.encode())
    return path


def _smaller(figure: Figure, out: Path) -> bool:
    """Tell whether a figure was made with less than the paper has."""
    return Scale(**manifest_of(figure, out)["scale"]).smaller_than_paper(figure.rounds)


def _summary(claims: list[tuple[Figure, Claim]], *, small: list[Figure]) -> str:
    verdicts = [claim.verdict.split(" (")[0] for _, claim in claims]
    held, failed, untold = (
        verdicts.count(word) for word in ("reproduced", "not reproduced", "too few runs")
    )
    depends = len(claims) - held - failed - untold
    groups = (
        ("Claims of the paper's experiments", [c for c in claims if not _beyond(*c)]),
        ("Beyond the paper", [c for c in claims if _beyond(*c)]),
    )
    rows = "".join(
        f'<tr><th colspan="3">{heading}</th></tr>' + "".join(_line(*claim) for claim in group)
        for heading, group in groups
        if group
    )
    warning = (
        '<p class="note">A small run: fewer instances, repeats or rounds than the paper has in '
        f"{', '.join(_text(figure.title) for figure in small)}. Verdicts of a full run may "
        "differ.</p>"
        if small
        else ""
    )
    return (
        f'<h2 id="claims">Claims</h2>{warning}<p>{len(claims)} claims: '
        f"{held} reproduced, {failed} not reproduced, {depends} depend on something"
        f"{f', {untold} had too few runs' if untold else ''}. The number is that of the case "
        "that fails most clearly or, if none does, that holds least clearly; what it means and all "
        "other cases stand with the figure.</p><table class='claims'><thead><tr><th>Claim</th>"
        "<th>Number and 95 % interval</th><th>Verdict</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _beyond(figure: Figure, claim: Claim) -> bool:
    return figure.beyond or claim.beyond


def _line(figure: Figure, claim: Claim) -> str:
    return (
        f'<tr><td><a href="#{figure.name}">{_text(claim.name)}</a></td>'
        f'<td class="number">{claim.closest.number}</td><td>{_badge(claim)}</td></tr>'
    )


def _section(figure: Figure, claims: list[tuple[Figure, Claim]], out: Path) -> str:
    image = base64.b64encode((out / figure.name / f"{figure.name}.png").read_bytes()).decode()
    own = [claim for other, claim in claims if other is figure]
    files = sorted(path.name for path in (out / figure.name).glob("*.csv"))
    links = ", ".join(f'<a href="{figure.name}/{name}">{name}</a>' for name in files)
    listed = "".join(_claim(claim) for claim in own)
    judged = (
        "<table class='claims'><thead><tr><th>Claim</th><th>Measure</th>"
        "<th>Number and 95 % interval</th><th>Verdict</th></tr></thead>"
        f"<tbody>{listed}</tbody></table>"
    )
    return (
        f'<h2 id="{figure.name}">{_text(figure.title)}</h2><p>{_text(figure.about)}</p>'
        f'<figure><img alt="{_text(figure.title)}" src="data:image/png;base64,{image}"></figure>'
        f"{_shown(figure, out)}{judged if own else ''}<p>Data: {links}; drawing: "
        f'<a href="{figure.name}/{figure.name}.svg">SVG</a>.</p>'
    )


def _shown(figure: Figure, out: Path) -> str:
    """Return the tables that a figure wants to be read."""
    data = tables_of(figure, out) or {}
    found = []
    for name in figure.shown:
        heads = "".join(f"<th>{_text(column.replace('_', ' '))}</th>" for column in data[name])
        columns = [
            [f"{value:.3g}" if isinstance(value, float) else _text(value) for value in column]
            for column in (column.tolist() for column in data[name].values())
        ]
        rows = "".join(
            "<tr>" + "".join(f"<td class='number'>{cell}</td>" for cell in row) + "</tr>"
            for row in zip(*columns, strict=True)
        )
        found.append(f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>")
    return "".join(found)


def _claim(claim: Claim) -> str:
    cases = "".join(
        f"<tr><td>{_text(case.where)}</td><td class='number'>{case.number}</td>"
        f"<td>{case.outcome}</td></tr>"
        for case in claim.cases
    )
    more = (
        f"<details><summary>all {len(claim.cases)} cases</summary><table>{cases}</table></details>"
        if len(claim.cases) > 1
        else ""
    )
    return (
        f"<tr><td>{_text(claim.says)}{more}</td><td>{_text(claim.measure)}</td>"
        f'<td class="number">{claim.closest.number}</td><td>{_badge(claim)}</td></tr>'
    )


def _absent(figure: Figure) -> str:
    return (
        f'<h2 id="{figure.name}">{_text(figure.title)}</h2>'
        f'<p class="note">Not made here: {_text(figure.missing() or "")}.</p>'
    )


def _settings(figures: list[Figure], out: Path) -> str:
    rows = []
    for figure in figures:
        made = manifest_of(figure, out)
        scale = made["scale"]
        versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
        others = len(made["together with"])
        share = f" for {others} figures" if others > 1 else ""
        rows.append(
            f"<tr><td>{_text(figure.title)}</td><td>{scale['instances']} instances x "
            f"{scale['repeats']} repeats, seed {scale['seed']}"
            f"{', quick' if scale['quick'] else ''}"
            f"{', ' + str(scale['rounds']) + ' rounds' if scale['rounds'] else ''}</td>"
            f"<td class='number'>{made['seconds']:.0f} s{share}</td><td>{_text(versions)}<br>"
            f"{_text(_short(made['commit']))}, {_text(made['made'])}</td></tr>"
        )
    return (
        '<h2 id="settings">Settings</h2><p>Baselines: ridge 1, parameter bound 1, delta = 1 / T, '
        "sigma = the noise of the environment, epsilon = 0.1; Thompson sampling selects by random "
        "weights, as in the paper's experiments. MOGRO: B = 1 and the paper's exploration unless a "
        "figure says otherwise. Every policy meets the same instances, contexts and noise. "
        "Intervals take instances as the sample; repeats within an instance are averaged first. "
        "Pieces kept from an earlier run count no time.</p>"
        "<table><thead><tr><th>Figure</th><th>Scale</th><th>Time</th><th>Made with</th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _short(commit: str | None) -> str:
    name, *mark = (commit or "no commit").split("-")
    return "-".join([name[:12], *mark])


def _badge(claim: Claim) -> str:
    kind = {"reproduced": "yes", "not reproduced": "no"}.get(claim.verdict, "part")
    return f'<span class="badge {kind}">{_text(claim.verdict)}</span>'


def _text(value: object) -> str:
    return html.escape(str(value))
