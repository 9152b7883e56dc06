"""One page that a person wants to read: conclusion, claims, figures, settings."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from string import Template

from paper.lab.files import write_file
from paper.lab.reproduce import is_made, read_manifest, read_tables
from paper.lab.scale import Scale
from paper.lab.tables import Table, to_csv
from paper.report.claims import Claim, Claims, Verdict, conclude
from paper.report.drawings import panel_folder
from paper.report.figure import Figure

_BADGES = {
    Verdict.REPRODUCED: "yes",
    Verdict.NOT_REPRODUCED: "no",
    Verdict.UNDECIDED: "open",
}


def document(title: str, body: str, *, style: str = "") -> str:
    """Return a whole page."""
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), style=style, body=body)


def collect_claims(figures: Sequence[Figure], out: Path) -> Claims:
    """Return the claims of the figures that were made, from their tables on disk."""
    return Claims(
        [
            (figure.name, replace(claim, beyond=figure.beyond or claim.beyond))
            for figure in figures
            if is_made(figure.name, out)
            for claim in figure.claims(read_tables(figure.name, out))
        ]
    )


def write_report(figures: Sequence[Figure], out: Path, *, absent: Sequence[Figure] = ()) -> Path:
    """Write ``claims.csv`` and ``report.html`` for the figures that were made; return the page.

    For those of ``absent`` it says why they could not be made; of others it is silent.
    """
    claims = collect_claims(figures, out)
    write_file(out / "claims.csv", to_csv(claims.columns()))
    finished = [figure for figure in figures if is_made(figure.name, out)]
    links = "".join(f'<a href="#{f.name}">{escape(f.title)}</a> ' for f in finished)
    conclusion = conclude([claim for _, claim in claims])
    body = [
        "<h1>Multi-objective linear bandits, reproduced</h1>",
        f'<p class="conclusion">{escape(conclusion)}</p>' if claims else "",
        '<p class="lead">What the paper on greedy choices with a randomised objective (MOGRO) '
        "claims, run again on this machine. Every number below was computed from the CSV files "
        "beside this page; d, K and M are the numbers of features, arms and objectives, MOLB and "
        "MOL the families of the baselines.</p>",
        f'<nav><a href="#claims">Claims</a> {links}<a href="#settings">Settings</a></nav>',
        _summary(claims, small=[f for f in finished if _smaller(f, out)]),
        *(_section(figure, claims, out) for figure in finished),
        *(_absent(figure) for figure in absent),
        _settings(finished, out),
    ]
    page = document("mogro: report", "".join(body))
    write_file(out / "report.html", page.encode())
    return out / "report.html"


def _smaller(figure: Figure, out: Path) -> bool:
    scale = Scale(**read_manifest(figure.name, out)["scale"])
    return scale.smaller_than_own(figure.rounds, figure.sample)


def _summary(claims: Claims, *, small: Sequence[Figure]) -> str:
    judged = [claim for claim in claims if not claim[1].check]
    groups = (
        ("Claims of the paper's experiments", [c for c in judged if not c[1].beyond]),
        ("Beyond the paper's experiments", [c for c in judged if c[1].beyond]),
        ("Checks: they could not come out otherwise", [c for c in claims if c[1].check]),
    )
    rows = "".join(
        f'<tr><th colspan="4">{heading}</th></tr>' + "".join(_line(*claim) for claim in group)
        for heading, group in groups
        if group
    )
    titles = ", ".join(escape(figure.title) for figure in small)
    warning = f"Fewer instances, repeats or rounds than a full run has, in {titles}. Verdicts of "
    return (
        '<h2 id="claims">Claims</h2>'
        + (f'<p class="note">A small run. {warning}a full run may differ.</p>' if small else "")
        + "<p>A claim is reproduced if the whole interval is on its side in every case, not "
        "reproduced if it is wholly on the other side in some case, and undecided otherwise; a "
        "ratio within 0.9 to 1.1 is no difference. The number is that of the case that decides; "
        "what it means and all other cases stand with the figure.</p>"
        "<table class='claims'><thead><tr><th>Claim</th><th>MOGRO</th>"
        "<th>Number and 95 % interval</th><th>Verdict</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _line(figure: str, claim: Claim) -> str:
    return (
        f'<tr><td><a href="#{figure}">{escape(claim.name)}</a></td>'
        f"<td>{escape(claim.setting)}</td>"
        f'<td class="number">{claim.closest.number}</td><td>{_badge(claim)}</td></tr>'
    )


def _section(figure: Figure, claims: Claims, out: Path) -> str:
    judged_here = [claim for name, claim in claims if name == figure.name]
    files = sorted(path.name for path in (out / figure.name).glob("*.csv"))
    links = ", ".join(f'<a href="{figure.name}/{name}">{name}</a>' for name in files)
    claims_html = "".join(_claim(claim) for claim in judged_here)
    judged = (
        "<table class='claims'><thead><tr><th>Claim</th><th>Measure</th>"
        "<th>Number and 95 % interval</th><th>Verdict</th></tr></thead>"
        f"<tbody>{claims_html}</tbody></table>"
    )
    return (
        f'<h2 id="{figure.name}">{escape(figure.title)}</h2><p>{escape(figure.about)}</p>'
        f"{_panels(figure, out)}{_shown(figure, out)}{judged if judged_here else ''}"
        f'<p>Data: {links}; drawing: <a href="{figure.name}/{figure.name}.svg">SVG</a>.</p>'
    )


def _panels(figure: Figure, out: Path) -> str:
    """Return the panels of a figure, in its grid, or one under the other on a narrow screen."""
    images = {path.stem: path.read_bytes() for path in panel_folder(figure, out).glob("*.png")}
    names = sorted(name for name in images if name.startswith("panel"))
    entries = "".join(_image(images[n]) for n in sorted(images) if n.startswith("legend"))
    panels = "".join(
        _image(images[name], figure.title if name == names[0] else "") for name in names
    )
    widths = [_width(images[name]) for name in names if name.startswith("panel-0-")]
    return (
        f'<a class="panels" style="--columns: {" ".join(f"{w}fr" for w in widths)}" '
        f'href="{figure.name}/{figure.name}.svg"><span class="legend">{entries}</span>{panels}</a>'
    )


def _image(png: bytes, alt: str = "") -> str:
    data = base64.b64encode(png).decode()
    return f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}">'


def _width(png: bytes) -> int:
    return int.from_bytes(png[16:20])  # of the header


def _shown(figure: Figure, out: Path) -> str:
    """Return the tables that a figure wants to be read."""
    data = read_tables(figure.name, out)
    return "".join(_table(data[name]) for name in figure.shown)


def _table(data: Table) -> str:
    heads = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in data)
    rows = "".join(
        "<tr>" + "".join(f'<td class="number">{_cell(value)}</td>' for value in row) + "</tr>"
        for row in zip(*(column.tolist() for column in data.values()), strict=True)
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))


def _claim(claim: Claim) -> str:
    cases = "".join(
        f"<tr><td>{escape(case.where)}</td><td class='number'>{case.number}</td>"
        f"<td>{case.outcome}</td></tr>"
        for case in claim.cases
    )
    more = (
        f"<details><summary>all {len(claim.cases)} cases</summary><table>{cases}</table></details>"
        if len(claim.cases) > 1
        else ""
    )
    setting = f" <em>MOGRO {escape(claim.setting)}.</em>" if claim.setting else ""
    return (
        f"<tr><td>{escape(claim.says)}{setting}{more}</td><td>{escape(claim.measure)}</td>"
        f'<td class="number">{claim.closest.number}</td><td>{_badge(claim)}</td></tr>'
    )


def _absent(figure: Figure) -> str:
    return (
        f'<h2 id="{figure.name}">{escape(figure.title)}</h2>'
        f'<p class="note">Not made here: {escape(figure.missing() or "")}.</p>'
    )


def _settings(figures: list[Figure], out: Path) -> str:
    rows = []
    for figure in figures:
        manifest = read_manifest(figure.name, out)
        versions = ", ".join(f"{name} {number}" for name, number in manifest["versions"].items())
        others = len(manifest["together with"])
        share = f" for {others} figures" if others > 1 else ""
        rows.append(
            f"<tr><td>{escape(figure.title)}</td><td>{escape(_scale(figure, out))}</td>"
            f"<td class='number'>{manifest['seconds']:.0f} s{share}</td><td>{escape(versions)}<br>"
            f"{escape(_short(manifest['commit']))}, {escape(manifest['made'])}</td></tr>"
        )
    return (
        '<h2 id="settings">Settings</h2><p>Baselines: ridge 1, parameter bound 1, delta = 1 / T, '
        "sigma = the noise of the environment, epsilon = 0.1; Thompson sampling selects by random "
        "weights, as in the paper's experiments. MOGRO is at mogro's default unless a figure says "
        "otherwise. Every policy meets the same instances, contexts and noise. "
        "Intervals take instances as the sample; repeats within an instance are averaged first. "
        "Tasks kept from an earlier run count no time.</p>"
        "<table><thead><tr><th>Figure</th><th>Scale</th><th>Time</th><th>Made with</th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _short(commit: str | None) -> str:
    name, *mark = (commit or "no commit").split("-")
    return "-".join([name[:12], *mark])


def _scale(figure: Figure, out: Path) -> str:
    scale = Scale(**read_manifest(figure.name, out)["scale"])
    instances, repeats = scale.sample(*figure.sample)
    return (
        f"{instances} instances x {repeats} repeats, {scale.horizon(figure.rounds)} rounds, "
        f"seed {scale.seed}{', quick' * scale.quick}"
    )


def _badge(claim: Claim) -> str:
    """Return the verdict and, where cases differ, how many came out how."""
    differ = len({case.outcome for case in claim.cases}) > 1
    tally = f'<br><span class="tally">{escape(claim.tally)}</span>' if differ else ""
    return f'<span class="badge {_BADGES[claim.verdict]}">{escape(claim.word)}</span>{tally}'
