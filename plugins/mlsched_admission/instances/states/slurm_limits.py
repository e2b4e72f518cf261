"""GrpTRES limits of Slurm: of a job's QOS, of its partition's QOS, and of its association and all above it."""

from __future__ import annotations

from collections.abc import Iterable

from mlsched_admission.instances.states import slurm_values as sv
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.state import Amounts, Limit, State

#: Limits that are not modelled: their place in a QOS, and their name in words.
_BEYOND = {
    ("limits", "max", "tres", "per", "user"): "MaxTRESPerUser",
    ("limits", "max", "tres", "per", "account"): "MaxTRESPerAccount",
    ("limits", "max", "tres", "minutes", "per", "qos"): "GrpTRESRunMins",
}
_COUNTS = {
    ("limits", "max", "active_jobs", "count"): "GrpJobs",
    ("limits", "max", "jobs", "active_jobs", "per", "user"): "MaxJobsPerUser",
}


class Holders:
    """Sources of limits: QOS and associations by name, each with its GrpTRES."""

    def __init__(self, qos: dict[str, Entry], partitions: dict[str, Entry], associations: Iterable[Entry]) -> None:
        self.qos, self.partitions = qos, partitions
        self.totals: dict[str, Amounts] = {
            f"QOS {name}": sv.tres_amounts(one, "limits", "max", "tres", "total") for name, one in qos.items()
        }
        self.above: dict[str, str] = {}
        for one in associations:
            account, user, partition = one.text("account"), one.text("user"), one.text("partition")
            name = _association(account, user, partition)
            self.totals[name] = sv.tres_amounts(one, "max", "tres", "total")
            parent = account if user else one.text("parent_account")
            self.above[name] = _association(parent, "", "") if parent and name != _association(parent, "", "") else ""

    def holders_of(self, job: Entry) -> list[str]:
        """Return the holders that count a job."""
        holders = [f"QOS {job.text('qos')}"]
        partition = job.text("partition").split(",")[0]
        if partition in self.partitions and (own := self.partitions[partition].text("qos", "assigned")):
            holders.append(f"QOS {own}")
        account, user = job.text("account"), job.text("user_name")
        names = [_association(account, user, partition), _association(account, user, ""), _association(account, "", "")]
        name = next((name for name in names if name in self.totals), "")
        while name and name not in holders:
            holders.append(name)
            name = self.above.get(name, "")
        return [name for name in dict.fromkeys(holders) if self.totals.get(name)]

    def not_modelled(self, job: Entry) -> list[str]:
        """Return limits of the job's QOS that are not modelled."""
        one = self.qos.get(job.text("qos"))
        if one is None:
            return []
        features = [f"{word} of QOS {job.text('qos')}" for keys, word in _BEYOND.items() if one.get(*keys)]
        return features + [
            f"{word} of QOS {job.text('qos')}" for keys, word in _COUNTS.items() if sv.finite_count(one, *keys)
        ]


def _association(account: str, user: str, partition: str) -> str:
    words = [f"account {account}", f"user {user}" if user else "", f"partition {partition}" if partition else ""]
    return ", ".join(filter(None, words))


def limit_rows(
    state: State,
    holders: Holders,
    components_by_job: dict[str, list[tuple[Entry, Amounts]]],
    running: dict[str, list[tuple[Entry, Amounts]]],
    giving: dict[str, bool],
) -> list[Limit]:
    """Return a row per holder and resource that some requested job counts against.

    Args:
        state: State of the cluster.
        holders: Sources of limits.
        components_by_job, running: Name -> components of the job, each with its total request or amount.
        giving: True if evicting the unit returns its amounts (false if it is suspended).
    """
    rows: dict[tuple[str, str], Limit] = {}
    for name, components in components_by_job.items():
        for job, use in components:
            for holder in holders.holders_of(job):
                for resource, most in holders.totals[holder].items():
                    if use.get(resource):
                        row = rows.setdefault((holder, resource), Limit(f"{holder}: {resource}", most, {}, {}))
                        row.jobs[name] = row.jobs.get(name, 0) + use[resource]
    for name, components in running.items():
        for job, usage in components:
            for holder in holders.holders_of(job):
                for resource in holders.totals[holder]:
                    if (holder, resource) in rows and usage.get(resource):
                        row = rows[holder, resource]
                        row.remaining -= usage[resource]
                        if giving[name]:
                            row.units[name] = row.units.get(name, 0) + usage[resource]
    return [rows[key] for key in sorted(rows)]
