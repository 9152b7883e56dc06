"""What obp estimates from the arrays of a file, and how fast; run by a Python that has it."""

import json
import sys
import time

import numpy as np
from obp import ope


def main(path: str) -> None:
    """Print values and seconds as JSON."""
    log = np.load(path)
    rewards, arms, logged = log["rewards"], log["arms"], log["logged"]
    action_dist = log["probabilities"][:, :, None]
    predictions = log["predictions"]
    objectives = rewards.shape[1]
    estimators = {
        "ips": ope.InverseProbabilityWeighting(),
        "snips": ope.SelfNormalizedInverseProbabilityWeighting(),
        "dr": ope.DoublyRobust(),
        "sndr": ope.SelfNormalizedDoublyRobust(),
    }
    columns = [np.ascontiguousarray(rewards[:, m]) for m in range(objectives)]
    models = [np.ascontiguousarray(predictions[:, :, m])[:, :, None] for m in range(objectives)]
    results = {}
    for name, estimator in estimators.items():
        seconds, first = [], []
        for _ in range(5):
            values, total = [], 0.0
            for m in range(objectives):
                without_model = name in ("ips", "snips")
                arguments = {} if without_model else {"estimated_rewards_by_reg_model": models[m]}
                start = time.process_time()
                values.append(
                    estimator.estimate_policy_value(
                        reward=columns[m],
                        action=arms,
                        pscore=logged,
                        action_dist=action_dist,
                        position=np.zeros(len(arms), dtype=int),
                        **arguments,
                    )
                )
                last = time.process_time() - start
                total += last
                if m == 0:
                    first.append(last)
            seconds.append(total)
        results[name] = {"values": [float(v) for v in values], "seconds": seconds, "first": first}
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
