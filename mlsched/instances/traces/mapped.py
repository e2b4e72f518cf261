"""Public logs with their own columns, as data: the field of each column (`columns`), and notes.

Acme: github.com/InternLM/AcmeTrace (Kalos and Seren), Hu et al., "Characterization of Large Language Model Development
in the Datacenter", NSDI 2024. Alibaba: github.com/alibaba/clusterdata, cluster-trace-gpu-v2025 (Yang et al., NSDI 2025)
and cluster-trace-v2026-spot-gpu (Duan et al., ASPLOS 2026).
"""

from __future__ import annotations

from mlsched.instances.traces import own
from mlsched.instances.traces.builder import TraceBuilder
from mlsched.instances.traces.columns import columns_of
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.source import Text, csv_header, csv_rows


def _format_of_fields(name: str, fields: str, others: str, notes: tuple[str, ...]) -> TraceFormat:
    """Return the format of a log by its fields ("submit=submit_time ...") and the other columns that it has."""
    read = dict(field.split("=") for field in fields.split())
    columns = tuple(column.partition(":")[0] for column in read.values())

    def read_log(text: Text, jobs: TraceBuilder) -> None:
        header = csv_header(text)
        text.line += 1
        of_fields = columns_of(text, header, read, {})
        text.line -= 1
        jobs.unread = tuple(name for name in header if name not in columns)
        own.read_rows(text, of_fields, lambda names: csv_rows(text, names, {}), jobs)

    return TraceFormat(name, (*columns, *others.split()), read_log, notes)


_ACME = (
    "id=job_id user=user nodes=node_num gpus=gpu_num cpus=cpu_num status=state submit=submit_time start=start_time "
    "end=end_time duration=duration"
)
FORMATS = (
    _format_of_fields(
        "acme-kalos", _ACME, "mem_per_pod_GB fail_time stop_time queue gpu_time", ("Memory is not read.",)
    ),
    _format_of_fields("acme-seren", _ACME, "type queue gpu_time", ("The log has no memory.",)),
    _format_of_fields(
        "alibaba-v2025",
        "id=instance_sn group=app_name gpus=gpu_request cpus=cpu_request memory=memory_request:gib "
        "submit=creation_time start=scheduled_time end=deletion_time",
        "role rdma_request max_instance_per_node",
        ("An instance is a job; RDMA, disks and the most instances of an application per node are not read.",),
    ),
    _format_of_fields(
        "alibaba-v2026-spot",
        "id=job_name group=organization gpu_type=gpu_model gpus=gpu_request cpus=cpu_request workers=worker_num "
        "submit=submit_time duration=duration qos=job_type",
        "",
        ("GPUs and CPUs are those of each worker. The log does not say when its jobs started.",),
    ),
)
