"""Claims that several figures check: which policy has the lowest regret, and which is fastest."""

from collections.abc import Iterable, Iterator

import numpy as np

from mogro.simulation import ConfidenceInterval
from paper.lab import contenders
from paper.lab.regrets import KINDS, MAIN_SIZES, SIZE, by_size
from paper.lab.tables import Table, select
from paper.lab.times import WHOLE_FRONT
from paper.report import statistics
from paper.report.claims import Claim, higher, lower

BASELINES = tuple(policy.label for policy in contenders.BASELINES)
OURS = (contenders.RW.label, contenders.RR.label)
BY_SETTING = {
    setting: tuple(policy.label for policy in ours)
    for setting, ours in contenders.BY_SETTING.items()
}

Numbers = Iterator[tuple[str, ConfidenceInterval]]


def other_sizes(data: Table) -> Table:
    """Return the rows of all sizes but those of the main figure, whose claims count there."""
    sizes = zip(*(data[name].tolist() for name in SIZE), strict=True)
    other = np.array([size not in MAIN_SIZES for size in sizes], dtype=np.bool_)
    return {name: column[other] for name, column in data.items()}


def against_best(data: Table, policy: str, kind: str) -> Numbers:
    """Give, for every size, a policy's final regret as a ratio to that of the best baseline."""
    for name, rows in by_size(data):
        best = min(BASELINES, key=lambda p: float(rows[p][kind].mean()))
        yield (
            f"{policy} at {name} against {best}",
            statistics.ratio(rows[policy][kind], rows[best][kind]),
        )


def lowest_regret(data: Table, *, where: str, headline: bool = False) -> list[Claim]:
    """Return the claims that MOGRO has the lowest regrets: each policy, for both settings."""
    return [
        Claim(
            f"{policy.partition(',')[0]} lowest {KINDS[kind]}, {where}",
            f"{policy.partition(',')[0]} has the lowest cumulative {KINDS[kind]} with {where}.",
            "final regret / that of the best baseline, below 1",
            lower(against_best(data, policy, kind)),
            setting=setting,
            headline=headline,
        )
        for setting, policies in BY_SETTING.items()
        for policy in policies
        for kind in KINDS
    ]


def regret_ratios(data: Table, policy: str, baseline: str) -> Numbers:
    """Give, for every size, the ratio of two policies' final effective regrets."""
    for name, rows in by_size(data):
        yield name, statistics.ratio(rows[policy]["effective"], rows[baseline]["effective"])


def share_since(data: Table, policies: Iterable[str], moment: str) -> Numbers:
    """Give what share of the final effective regret came since a moment: "explored" or "half"."""
    for policy in policies:
        for name, rows in by_size(data):
            total = rows[policy]["effective"]
            since = total - rows[policy][f"effective_{moment}"]
            yield f"{policy} at {name}", statistics.ratio(since, total)


def later_ratios(data: Table, policy: str, baseline: str) -> Numbers:
    """Give, for every size, the ratio of what two policies add in the second half."""
    for name, rows in by_size(data):
        added = (rows[p]["effective"] - rows[p]["effective_half"] for p in (policy, baseline))
        yield name, statistics.ratio(*added)


def epsilon_greedy_worst(data: Table, *, where: str) -> Claim:
    """Return the claim that epsilon-greedy is worst among the baselines."""

    def against_next() -> Numbers:
        for name, rows in by_size(data):
            others = [p for p in BASELINES if p != "MOLB-eps-greedy"]
            rival = max(others, key=lambda p: float(rows[p]["effective"].mean()))
            regret = rows["MOLB-eps-greedy"]["effective"]
            number = statistics.ratio(regret, rows[rival]["effective"])
            yield f"{name} against {rival}", number

    return Claim(
        f"epsilon-greedy worst, {where}",
        f"Among the baselines MOLB-epsilon-greedy has the highest effective Pareto regret with "
        f"{where}.",
        "its final regret / that of the worst other baseline, above 1",
        higher(against_next()),
    )


def next_best(data: Table, *, where: str) -> list[Claim]:
    """Return the claims that MOL-TS and MOLB-UCB come next: after MOGRO, before epsilon-greedy."""
    return [
        Claim(
            f"MOL-TS and MOLB-UCB come next, {where}",
            f"MOL-TS and MOLB-UCB follow next in effective Pareto regret with {where}; read as: "
            "behind MOGRO-RW and ahead of MOLB-epsilon-greedy.",
            "final regret / that of the policy behind it, below 1",
            lower(
                (f"{first} against {second} at {name}", number)
                for policy in ("MOL-TS", "MOLB-UCB")
                for first, second in ((ours, policy), (policy, "MOLB-eps-greedy"))
                for name, number in regret_ratios(data, first, second)
            ),
            setting=setting,
        )
        for setting, (ours, _) in BY_SETTING.items()
    ]


def fair_policies_pay(data: Table, *, where: str) -> Claim:
    """Return the claim that policies which aim at the whole Pareto front pay for it."""
    dearer = [
        (
            f"{policy} at {name}",
            statistics.double_ratio(
                *(rows[p][kind] for p in (policy, "MOGRO-RW") for kind in ("effective", "pareto"))
            ),
        )
        for name, rows in by_size(data)
        for policy in ("MOLB-eps-greedy", "MOLB-UCB")
    ]
    return Claim(
        f"fair policies pay in effective regret, {where}",
        "MOLB-epsilon-greedy and MOLB-UCB, which aim at the whole Pareto front, do relatively "
        f"worse in effective Pareto regret with {where}.",
        "their effective / Pareto regret, over that of MOGRO-RW, above 1",
        higher(dearer),
    )


def fastest(data: Table, *, where: str) -> list[Claim]:
    """Return the claims that MOGRO is fastest, with everything built as the paper built it."""

    def ratios(policies: Iterable[str]) -> Numbers:
        for name, rows in by_size(select(data, build=WHOLE_FRONT)):
            rival = min(BASELINES, key=lambda p: float(rows[p]["seconds"].mean()))
            for policy in policies:
                number = statistics.ratio(rows[policy]["seconds"], rows[rival]["seconds"])
                yield f"{policy} at {name} against {rival}", number

    return [
        Claim(
            f"MOGRO faster than the baselines, {where}",
            "Both MOGRO policies are significantly faster than all baselines, epsilon-greedy "
            f"included, at {where}.",
            "running time / that of the fastest baseline (one learner, whole front), below 1",
            lower(ratios(policies)),
            setting=setting,
        )
        for setting, policies in BY_SETTING.items()
    ]
