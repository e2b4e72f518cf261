/* Simulated annealing over lists of runs for total_jct.

   A candidate has a node for each task and an order of all runs. Serial schedule generation decodes it: each run, after
   the runs that it needs, starts as early as its node has room. See annealed_lists.py for the call. All state lies in
   the caller's arrays, so that a search continues over several calls and several threads may search at once. Times,
   demands and capacities are below 2^30. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define IMPOSSIBLE ((int64_t)1 << 60)
/* Shares of the moves: a run elsewhere in the order, a task on another node, two tasks that swap nodes; the rest moves
   all runs of a job. */
#define MOVE_RUN 0.45
#define MOVE_TASK 0.35
#define SWAP_NODES 0.10
/* Distance of a short move in the order, and the share of task moves that take a second task of the job along. */
#define SHORT 8
#define TOGETHER 0.3

typedef struct {
    int32_t tasks, nodes, resources, runs, jobs, horizon;
    const int32_t *task;                 /* of each run */
    const int32_t *job, *duration;       /* of each task */
    const int32_t *ready;                /* of each job */
    const int32_t *demand, *capacity;    /* tasks x resources, nodes x resources */
    const int32_t *allowed;              /* tasks x nodes */
    const int32_t *first, *source, *lag; /* sources of run v: first[v] to first[v + 1] - 1; lag: between two nodes */
} Lists;

typedef struct {
    int32_t *order, *node;                         /* the current candidate */
    int32_t *best_order, *best_node, *best_start;  /* the best one, with the start of each run */
    int64_t current, best;                         /* sums of the jobs' completions */
    uint64_t random[2];
} Search;

typedef struct {
    int32_t *used; /* nodes x horizon x resources */
    int32_t *start, *completion;
    int32_t *new_order, *new_node, *key;
    char *placed;
    int32_t latest;
} Work;

static uint64_t draw(uint64_t *state) {
    uint64_t a = state[0], b = state[1];
    state[0] = b;
    a ^= a << 23;
    state[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
    return state[1] + b;
}

static double share(uint64_t *state) { return (double)(draw(state) >> 11) / 9007199254740992.0; }

static int32_t below(uint64_t *state, int32_t n) { return (int32_t)((draw(state) >> 33) % (uint64_t)n); }

/* Start a run as early as its sources and its node allow; -1 beyond the horizon. */
static int32_t place(const Lists *in, Work *work, int32_t run, const int32_t *node) {
    int32_t task = in->task[run], on = node[task], length = in->duration[task], resources = in->resources;
    int32_t time = in->ready[in->job[task]];
    for (int32_t e = in->first[run]; e < in->first[run + 1]; e++) {
        int32_t source = in->source[e], of = in->task[source];
        int32_t end = work->start[source] + in->duration[of] + (node[of] != on ? in->lag[e] : 0);
        if (end > time) time = end;
    }
    if (length) {
        const int32_t *demand = in->demand + task * resources, *capacity = in->capacity + on * resources;
        int32_t *row = work->used + (size_t)on * in->horizon * resources;
        int32_t fitting = 0;
        while (fitting < length) {
            if (time >= in->horizon) return -1;
            const int32_t *at = row + (size_t)time * resources;
            int32_t fits = 1;
            for (int32_t r = 0; r < resources && fits; r++) fits = at[r] + demand[r] <= capacity[r];
            fitting = fits ? fitting + 1 : 0;
            time++;
        }
        for (int32_t t = time - length; t < time; t++)
            for (int32_t r = 0; r < resources; r++) row[(size_t)t * resources + r] += demand[r];
        if (time > work->latest) work->latest = time;
        time -= length;
    }
    work->start[run] = time;
    work->placed[run] = 1;
    return time + length;
}

/* Place a run after its sources; whether all fit within the horizon. */
static int place_after_sources(const Lists *in, Work *work, int32_t run, const int32_t *node) {
    if (work->placed[run]) return 1;
    for (int32_t e = in->first[run]; e < in->first[run + 1]; e++)
        if (!place_after_sources(in, work, in->source[e], node)) return 0;
    int32_t end = place(in, work, run, node), job = in->job[in->task[run]];
    if (end > work->completion[job]) work->completion[job] = end;
    return end >= 0;
}

/* The sum of the jobs' completions under an order and nodes. */
static int64_t decode(const Lists *in, Work *work, const int32_t *order, const int32_t *node) {
    for (int32_t n = 0; n < in->nodes; n++)
        memset(work->used + (size_t)n * in->horizon * in->resources, 0,
               sizeof(int32_t) * (size_t)work->latest * in->resources);
    work->latest = 0;
    memset(work->placed, 0, in->runs);
    memset(work->completion, 0, sizeof(int32_t) * in->jobs);
    for (int32_t i = 0; i < in->runs; i++)
        if (!place_after_sources(in, work, order[i], node)) return IMPOSSIBLE;
    int64_t total = 0;
    for (int32_t j = 0; j < in->jobs; j++) total += work->completion[j];
    return total;
}

static void move_run(const Lists *in, int32_t *order, uint64_t *random) {
    int32_t from = below(random, in->runs), to;
    if (share(random) < 0.5)
        to = below(random, in->runs);
    else
        to = from + below(random, 2 * SHORT + 1) - SHORT;
    to = to < 0 ? 0 : to >= in->runs ? in->runs - 1 : to;
    int32_t run = order[from];
    if (from < to)
        memmove(order + from, order + from + 1, sizeof(int32_t) * (to - from));
    else
        memmove(order + to + 1, order + to, sizeof(int32_t) * (from - to));
    order[to] = run;
}

/* Put a task, and sometimes another one of its job, on another node; whether that is allowed. */
static int move_task(const Lists *in, int32_t *node, uint64_t *random) {
    int32_t task = below(random, in->tasks), to = below(random, in->nodes);
    if (to == node[task]) to = (to + 1) % in->nodes;
    if (!in->allowed[task * in->nodes + to]) return 0;
    node[task] = to;
    if (share(random) < TOGETHER) {
        int32_t other = below(random, in->tasks);
        if (in->job[other] == in->job[task] && in->allowed[other * in->nodes + to]) node[other] = to;
    }
    return 1;
}

static int swap_nodes(const Lists *in, int32_t *node, uint64_t *random) {
    int32_t a = below(random, in->tasks), b = below(random, in->tasks), of_a = node[a], of_b = node[b];
    if (!in->allowed[a * in->nodes + of_b] || !in->allowed[b * in->nodes + of_a]) return 0;
    node[a] = of_b;
    node[b] = of_a;
    return 1;
}

/* Move all runs of a job by the same number of places, earlier or later. */
static void move_job(const Lists *in, Work *work, uint64_t *random) {
    int32_t job = below(random, in->jobs), earlier = share(random) < 0.5, places = 1 + below(random, in->runs / 3 + 1);
    int32_t *order = work->new_order, *key = work->key;
    for (int32_t i = 0; i < in->runs; i++) {
        int32_t own = in->job[in->task[order[i]]] == job;
        key[i] = 2 * i + (own ? (earlier ? -2 * places - 1 : 2 * places + 1) : 0);
    }
    for (int32_t i = 1; i < in->runs; i++) {
        int32_t value = key[i], run = order[i], at = i - 1;
        for (; at >= 0 && key[at] > value; at--) {
            key[at + 1] = key[at];
            order[at + 1] = order[at];
        }
        key[at + 1] = value;
        order[at + 1] = run;
    }
}

static void *take(char **memory, size_t size) {
    void *part = *memory;
    *memory += (size + 15) & ~(size_t)15;
    return part;
}

/* Continue a search by `moves` candidates at one temperature; 0 without memory, otherwise 1. With 0 moves only decode
   the current candidate, which becomes the best one. */
int anneal_lists(const Lists *in, Search *search, int64_t moves, double temperature) {
    size_t runs = sizeof(int32_t) * in->runs, tasks = sizeof(int32_t) * in->tasks;
    size_t used = sizeof(int32_t) * (size_t)in->nodes * in->horizon * in->resources;
    size_t all = used + 3 * runs + tasks + sizeof(int32_t) * in->jobs + in->runs + 8 * 16;
    char *block = calloc(1, all), *memory = block;
    if (!block) return 0;
    Work work;
    work.used = take(&memory, used);
    work.start = take(&memory, runs);
    work.new_order = take(&memory, runs);
    work.key = take(&memory, runs);
    work.new_node = take(&memory, tasks);
    work.completion = take(&memory, sizeof(int32_t) * in->jobs);
    work.placed = take(&memory, in->runs);
    work.latest = 0;
    if (!moves) {
        search->current = search->best = decode(in, &work, search->order, search->node);
        memcpy(search->best_order, search->order, runs);
        memcpy(search->best_node, search->node, tasks);
        memcpy(search->best_start, work.start, runs);
    }
    for (int64_t move = 0; move < moves; move++) {
        memcpy(work.new_order, search->order, runs);
        memcpy(work.new_node, search->node, tasks);
        double kind = share(search->random);
        int changed = 1;
        if (kind < MOVE_RUN)
            move_run(in, work.new_order, search->random);
        else if (kind < MOVE_RUN + MOVE_TASK)
            changed = move_task(in, work.new_node, search->random);
        else if (kind < MOVE_RUN + MOVE_TASK + SWAP_NODES)
            changed = swap_nodes(in, work.new_node, search->random);
        else
            move_job(in, &work, search->random);
        if (!changed) continue;
        int64_t value = decode(in, &work, work.new_order, work.new_node);
        if (value > search->current &&
            share(search->random) >= exp((double)(search->current - value) / temperature))
            continue;
        search->current = value;
        memcpy(search->order, work.new_order, runs);
        memcpy(search->node, work.new_node, tasks);
        if (value < search->best) {
            search->best = value;
            memcpy(search->best_order, work.new_order, runs);
            memcpy(search->best_node, work.new_node, tasks);
            memcpy(search->best_start, work.start, runs);
        }
    }
    free(block);
    return 1;
}
