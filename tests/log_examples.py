"""Logs written by hand in true shape, with what every row of them is."""

from __future__ import annotations

#: What `sacct --allusers --parsable2 --duplicates` prints: steps, an array, jobs that wait or run still, one that was
#: cancelled before it started and one that was cancelled later, a requeue, and a failed node.
SACCT = """\
JobID|User|Account|Partition|QOS|Priority|Submit|Eligible|Start|End|ElapsedRaw|Timelimit|ReqTRES|AllocTRES|State|\
NodeList|Restarts|Comment
100|ann|vision|a100|high|900|2024-03-01T08:00:00|2024-03-01T08:00:00|2024-03-01T08:01:00|2024-03-01T09:01:00|3600|\
1-00:00:00|cpu=32,gres/gpu:a100=16,mem=256G,node=2|cpu=32,gres/gpu=16,gres/gpu:a100=16,mem=256G,node=2|COMPLETED|\
gpu[01-02]|0|
100.batch||||||2024-03-01T08:01:00|Unknown|2024-03-01T08:01:00|2024-03-01T09:01:00|3600|||\
cpu=16,mem=128G,node=1|COMPLETED|gpu01||
100.0||||||2024-03-01T08:01:00|Unknown|2024-03-01T08:01:00|2024-03-01T09:01:00|3600|||\
cpu=32,node=2|COMPLETED|gpu[01-02]||
101_1|bob|nlp|a100,v100|normal|500|2024-03-01T08:05:00|2024-03-01T09:00:00|2024-03-01T09:02:00|2024-03-01T09:32:00|\
1800|01:00:00|cpu=8,gres/gpu=4,mem=64G|cpu=8,gres/gpu=4,mem=64G,node=1|COMPLETED|gpu01|0|
101_2|bob|nlp|a100,v100|normal|500|2024-03-01T08:05:00|2024-03-01T09:00:00|2024-03-01T09:03:00|2024-03-01T10:03:00|\
3600|01:00:00|cpu=8,gres/gpu=4,mem=64G|cpu=8,gres/gpu=4,mem=64G,node=1|TIMEOUT|gpu02|0|
101_[3-9%2]|bob|nlp|a100,v100|normal|500|2024-03-01T08:05:00|2024-03-01T09:00:00|Unknown|Unknown|0|01:00:00|\
cpu=8,gres/gpu=4,mem=64G||PENDING|None assigned|0|
102|cy|nlp|v100|normal|400|2024-03-01T08:10:00|2024-03-01T08:10:00|2024-03-01T08:20:00|Unknown|9000|UNLIMITED|\
cpu=4,gres/gpu=1|cpu=4,gres/gpu=1,node=1|RUNNING|v01|0|
103|cy|nlp|v100|normal|400|2024-03-01T08:11:00|2024-03-01T08:11:00|None|2024-03-01T08:12:00|0|01:00:00|\
cpu=4,gres/gpu=1||CANCELLED by 1003|None assigned|0|
104|cy|nlp|v100|normal|400|2024-03-01T08:12:00|2024-03-01T08:12:00|2024-03-01T08:12:30|2024-03-01T08:42:30|1800|\
01:00:00|cpu=4,gres/gpu:v100=1|cpu=4,gres/gpu=1,node=1|CANCELLED by 1003|v02|0|
105|dee|vision|v100|low|100|2024-03-01T08:20:00|2024-03-01T08:20:00|2024-03-01T08:21:00|2024-03-01T08:31:00|600|\
02:00:00|cpu=8,gres/gpu=2|cpu=8,gres/gpu=2,node=1|REQUEUED|v03|1|
105|dee|vision|v100|low|100|2024-03-01T08:31:00|2024-03-01T08:33:00|2024-03-01T08:40:00|2024-03-01T08:50:00|600|\
02:00:00|cpu=8,gres/gpu=2|cpu=8,gres/gpu=2,node=1|NODE_FAIL|v03|2|
105|dee|vision|v100|low|100|2024-03-01T08:50:00|2024-03-01T08:52:00|2024-03-01T09:00:00|2024-03-01T09:40:00|2400|\
02:00:00|cpu=8,gres/gpu=2|cpu=8,gres/gpu=2,node=1|COMPLETED|v01|2|
106|dee|vision|v100|low|100|2024-03-01T09:20:00|2024-03-01T09:20:00|2024-03-01T09:21:00|2024-03-01T09:51:00|1800|\
02:00:00|cpu=8,gres/gpu=2|cpu=8,gres/gpu=2,node=1|NODE_FAIL|v04|0|
107|dee|vision|v100|low|100|2024-03-01T09:30:00|2024-03-01T09:30:00|2024-03-01T09:31:00|2024-03-01T09:41:00|600|\
02:00:00|cpu=8,gres/gpu=2|cpu=8,gres/gpu=2,node=1|COMPLETED|v04|3|
108|dee|vision|v100|low|100|2024-03-01T09:40:00|2024-03-01T09:40:00|2024-03-01T09:41:00|2024-03-01T09:51:00|600|\
02:00:00|cpu=8,gres/gpu=2|cpu=8,gres/gpu=2,node=1|REQUEUED|v04|1|
"""

#: The Parallel Workloads Archive's format: a job that ran, one without what it was given, one that was cancelled before
#: it started, one that never ended, and one with a line for the whole and two for its parts.
SWF = """\
; Version: 2.2
; Computer: a cluster of 64 nodes
; MaxNodes: 64
; MaxProcs: 128
; UnixStartTime: 1700000000
  1    0    5   100    4   -1  -1    4   300   -1  1  7  2 -1  1  1 -1 -1
  2   10   -1  50.5   -1   -1  -1    8    -1   -1  0  8 -1 -1  1 -1  1 20
  3   20   30    -1   -1   -1  -1    4   300   -1  5  7  2 -1  1  1 -1 -1
  4   25    0    -1    4   -1  -1    4   300   -1 -1  7  2 -1  1  1 -1 -1
  5   30    2    90    2   -1  -1    2   100   -1  1  9  2 -1  2  1 -1 -1
  5   30    2    40    2   -1  -1    2   100   -1  2  9  2 -1  2  1 -1 -1
  5   30   50    50    2   -1  -1    2   100   -1  3  9  2 -1  2  1 -1 -1
"""

#: Gavel's and Shockwave's traces: tabs, no header; steps, scale factor, mode, priority, SLO, duration, arrival.
SHOCKWAVE = """\
LM (batch size 10)\tpython3 main.py --cuda\tlanguage_modeling\t--steps\t1\t134583\t1\tgns\t1\t-1.000000\t1418\t0
ResNet-18 (batch size 32)\tpython3 main.py\timage/cifar10\t--num_steps\t1\t143450\t2\taccordion\t1\t-1.000000\t3338\t55
ResNet-50 (batch size 64)\tpython3 main.py\timage/net\t--num_minibatches\t1\t41840\t4\tgns\t1\t-1.000000\t13462\t64
"""
SHOCKWAVE_READ = "header=no,separator=tab,submit=#12,duration=#11,gpus=#7,priority=#9"

#: Workers times GPUs, times with a zone, semicolons, and cells that are missing.
ODD_WORKERS = """\
Job Name;Owner;Queued At;Begin;Finish;Worker Num;Cards Per Worker;Tier
alpha;ann;2024-03-31T01:30:00+01:00;2024-03-31T01:40:00+01:00;2024-03-31T03:40:00+02:00;94;1;gold
beta;bob;2024-03-31T03:10:00+02:00;2024-03-31T03:20:00+02:00;2024-03-31T04:20:00+02:00;2;8;gold
gamma;bob;2024-03-31T03:15:00+02:00;;;4;1;iron
delta;;2024-03-31T03:30:00+02:00;2024-03-31T03:30:00+02:00;2024-03-31T03:45:00+02:00;;1;iron
"""
ODD_WORKERS_READ = (
    "submit=Queued At,start=Begin,end=Finish,gpus=Cards Per Worker,workers=Worker Num,qos=Tier,id=Job Name"
)

#: Milliseconds, shares of a GPU in percent, memory, types; one job on a node by name.
ODD_SHARES = """\
uid,arrive_ms,ran_ms,gpu_share_pct,ram_gib,model_wanted,ran_on
a,1000,60500,50,1.5,T4|V100,host-3
b,2500,60000,100,,T4,host-3
c,4000,60000,25.05,2,,host-4
"""
ODD_SHARES_READ = (
    "submit=arrive_ms,duration=ran_ms,gpus=gpu_share_pct:percent,memory=ram_gib,id=uid,gpu_type=model_wanted,"
    "node_names=ran_on"
)

#: No running times and no GPUs: both are the same for all.
ODD_CONSTANT = """\
who,when,team
ann,0,x
bob,60,y
"""
ODD_CONSTANT_READ = "submit=when,user=who,group=team,duration=3600,gpus=2,partition='batch'"

#: A list of machines of which only `read` tells what has GPUs.
ODD_NODES = """\
machine_name,gpu_capacity_num,cpu_num,pool_name
m1,8,96,train
m2,8,96,train
m3,4,64,infer
"""

#: Kubernetes pods: a job of a launcher and two workers, a pod alone, a job of which a pod waits still.
PODS = """\
metadata.name,batch.kubernetes.io/job-name,created,started,finished,gpu,cpu_milli,memory_mib,phase,node
train-0-launcher,train,2024-05-01T10:00:00Z,2024-05-01T10:00:10Z,2024-05-01T12:00:00Z,0,0,512,Succeeded,n1
train-0-worker-0,train,2024-05-01T10:00:00Z,2024-05-01T10:00:20Z,2024-05-01T12:00:20Z,8,64000,65536,Succeeded,n1
train-0-worker-1,train,2024-05-01T10:00:01Z,2024-05-01T10:00:40Z,2024-05-01T12:00:20Z,8,64000,65536,Succeeded,n2
notebook,,2024-05-01T10:05:00Z,2024-05-01T10:05:05Z,2024-05-01T11:05:05Z,1,4000,8192,Failed,n3
sweep-0,sweep,2024-05-01T10:06:00Z,2024-05-01T10:06:05Z,2024-05-01T11:05:05Z,1,4000,8192,Succeeded,n3
sweep-1,sweep,2024-05-01T10:06:00Z,,,1,4000,8192,Pending,
"""
PODS_READ = "start=started,end=finished,id=metadata.name"
