/* Runs of the workers simulator under Chic-plus, for its evolution: the mean completion time of a workload.

   Does what WorkersWorld does with a scheduling event at each arrival and completion, and decides as weighted_plan and
   hull_greedy do, but with the hull of a training model in place of the hull of each of its jobs: the costs of two jobs
   of a model are proportional, except for the rounding to ms. See _plus_runs.py for the call. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define NS_PER_MS 1000000
#define FEATURES 11
#define MOST_RESOURCES 8
#define MIXES 4
#define LEAST_PRICE 1e-3
#define PASSES 3
#define MOST_LOG 10.0
#define NONE (-1) /* the column of a job that waits */

typedef struct {
    int32_t jobs, models, resources, changed; /* changed: only a job with other workers or PSs loses an iteration */
    const int64_t *capacity;
    const int32_t *first;       /* columns of model m, fastest first: first[m] to first[m + 1] - 1 */
    const int64_t *time, *use;  /* ns of an iteration and resources, of each column */
    const int64_t *most;        /* the largest use of each resource in a column of each model */
    const int64_t *pair;        /* ns of an iteration with one worker and one PS, of each model */
    const double *rate;         /* of each column, over that of the model's fastest */
    const double *share;        /* dominant share with one worker and one PS, of each model */
    const int64_t *submit, *iterations;
    const int32_t *model;
} Workload;

typedef struct {
    int32_t hidden;
    const double *weight[3], *bias[3], *linear; /* the bias of the last layer is the same for all jobs */
} Network;

typedef struct {
    int32_t column; /* of the step's end */
    double slope;   /* rate per unit of size, for a job of weight 1 */
} Step;

typedef struct {
    int32_t active, *job, *chosen, *best, *next, *heap; /* the jobs in the cluster, in the order of arrival */
    int64_t *asked;               /* whole iterations that are left of each active job now */
    int64_t *left, *since, *end;  /* of each job: iterations left at the start of its segment, and the segment's times */
    int32_t *held;                /* the column of each job */
    double *alone, *weight, *features, *size, *key;
    Step *steps;         /* of model m: from first[m], steps_of[m] of them */
    int32_t *steps_of, *order;
} State;

/* Fill in the features of the active jobs, as _features does. */
static void look(const Workload *w, State *s) {
    double total = 0, shares = 0, mean = 0;
    for (int32_t i = 0; i < s->active; i++) {
        total += s->alone[i];
        mean += log(s->alone[i]);
        shares += w->share[w->model[s->job[i]]];
    }
    mean /= s->active;
    for (int32_t i = 0; i < s->active * FEATURES; i++) s->features[i] = 0;
    for (int32_t i = 0; i < s->active; i++) {
        double *f = s->features + i * FEATURES;
        f[8] += s->alone[i];
        for (int32_t k = 0; k < i; k++) {
            double *g = s->features + k * FEATURES, q = s->alone[i] / s->alone[k], q3 = q * q * q;
            double one = 1 / (1 + q), three = 1 / (1 + q3), ten = 1 / (1 + q3 * q3 * q3 * q);
            double smaller = q < 1 ? s->alone[i] : s->alone[k];
            f[0] += one, f[1] += three, f[2] += ten, f[8] += smaller;
            g[0] += 1 - one, g[1] += 1 - three, g[2] += 1 - ten, g[8] += smaller;
        }
    }
    for (int32_t i = 0; i < s->active; i++) {
        int32_t m = w->model[s->job[i]];
        double *f = s->features + i * FEATURES;
        double pair = (double)((s->asked[i] * w->pair[m] + NS_PER_MS - 1) / NS_PER_MS);
        for (int32_t k = 0; k < 3; k++) f[k] = log1p(f[k]);
        f[3] = log(s->alone[i]) - mean;
        f[4] = log(pair / s->alone[i]);
        f[5] = log((double)s->active);
        f[6] = log(shares);
        f[7] = s->alone[i] / total;
        f[8] /= total;
        f[9] = log(w->share[m]);
        f[10] = f[2] * f[5];
    }
}

/* Weigh the active jobs by the network. */
static void weigh(const Network *n, State *s) {
    double mean = 0, one[n->hidden], two[n->hidden];
    for (int32_t i = 0; i < s->active; i++) {
        const double *f = s->features + i * FEATURES;
        double found = 0;
        for (int32_t h = 0; h < n->hidden; h++) {
            double sum = n->bias[0][h];
            for (int32_t k = 0; k < FEATURES; k++) sum += n->weight[0][h * FEATURES + k] * f[k];
            one[h] = sum > 0 ? sum : 0;
        }
        for (int32_t h = 0; h < n->hidden; h++) {
            double sum = n->bias[1][h];
            for (int32_t k = 0; k < n->hidden; k++) sum += n->weight[1][h * n->hidden + k] * one[k];
            two[h] = sum > 0 ? sum : 0;
            found += n->weight[2][h] * two[h];
        }
        for (int32_t k = 0; k < FEATURES; k++) found += n->linear[k] * f[k];
        s->weight[i] = found;
        mean += found / s->active;
    }
    for (int32_t i = 0; i < s->active; i++)
        s->weight[i] = exp(fmax(-MOST_LOG, fmin(MOST_LOG, s->weight[i] - mean)));
}

/* The rate of a column for a job of weight 1: 1 for the fastest. */
static double rate_of(const Workload *w, int32_t column) { return column == NONE ? 0 : w->rate[column]; }

/* Find each model's upper hull of rate over size, from waiting. */
static void hulls(const Workload *w, State *s, const double *price) {
    for (int32_t m = 0; m < w->models; m++) {
        int32_t from = w->first[m], count = w->first[m + 1] - from, *order = s->order, steps = 0;
        Step *hull = s->steps + from;
        for (int32_t k = 0; k < count; k++) { /* slow columns are small: nearly in order */
            int32_t c = from + count - 1 - k, at = k;
            s->size[c] = 0;
            for (int32_t r = 0; r < w->resources; r++) s->size[c] += price[r] * (double)w->use[c * w->resources + r];
            for (; at > 0 && s->size[order[at - 1]] >= s->size[c]; at--) order[at] = order[at - 1];
            order[at] = c;
        }
        for (int32_t k = 0; k < count; k++) {
            int32_t c = order[k];
            double rate = rate_of(w, c), slope;
            if (steps && rate <= rate_of(w, hull[steps - 1].column)) continue;
            for (;; steps--) {
                int32_t last = steps ? hull[steps - 1].column : NONE;
                double run = s->size[c] - (steps ? s->size[last] : 0);
                slope = run > 0 ? (rate - rate_of(w, last)) / run : INFINITY;
                if (!steps || slope < hull[steps - 1].slope) break;
            }
            hull[steps++] = (Step){c, slope};
        }
        s->steps_of[m] = steps;
    }
}

static double slope_at(const Workload *w, const State *s, int32_t i) {
    return s->weight[i] * s->steps[w->first[w->model[s->job[i]]] + s->next[i]].slope;
}

static void sift(State *s, int32_t count, int32_t at) {
    for (;;) {
        int32_t best = at;
        for (int32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            double a = s->key[s->heap[child]], b = s->key[s->heap[best]];
            if (a > b || (a == b && s->heap[child] < s->heap[best])) best = child;
        }
        if (best == at) return;
        int32_t kept = s->heap[at];
        s->heap[at] = s->heap[best];
        s->heap[best] = kept;
        at = best;
    }
}

static int fits(const Workload *w, int32_t column, int32_t held, const int64_t *free) {
    for (int32_t r = 0; r < w->resources; r++) {
        int64_t more = w->use[column * w->resources + r] - (held == NONE ? 0 : w->use[held * w->resources + r]);
        if (more > free[r]) return 0;
    }
    return 1;
}

static void take(const Workload *w, int32_t column, int32_t held, int64_t *free) {
    for (int32_t r = 0; r < w->resources; r++)
        free[r] -= w->use[column * w->resources + r] - (held == NONE ? 0 : w->use[held * w->resources + r]);
}

/* Choose a column for each active job, into `chosen`, as hull_greedy does. */
static void decide(const Workload *w, State *s) {
    int32_t resources = w->resources, short_of[MOST_RESOURCES];
    int64_t free[MOST_RESOURCES];
    double mix[MOST_RESOURCES], price[MOST_RESOURCES], best = -1;
    for (int32_t r = 0; r < resources; r++) {
        int64_t worst = 0;
        for (int32_t i = 0; i < s->active; i++) worst += w->most[w->model[s->job[i]] * resources + r];
        short_of[r] = worst > w->capacity[r];
        mix[r] = 1;
    }
    for (int32_t pass = 0; pass < MIXES; pass++) {
        int32_t count = 0;
        for (int32_t r = 0; r < resources; r++) {
            double capacity = w->capacity[r] > 1 ? (double)w->capacity[r] : 1;
            price[r] = short_of[r] ? mix[r] / capacity : 0;
            free[r] = w->capacity[r];
        }
        hulls(w, s, price);
        for (int32_t i = 0; i < s->active; i++) {
            s->chosen[i] = NONE;
            s->next[i] = 0;
            s->key[i] = slope_at(w, s, i);
            s->heap[count++] = i;
        }
        for (int32_t at = count / 2 - 1; at >= 0; at--) sift(s, count, at);
        while (count) {
            int32_t i = s->heap[0], m = w->model[s->job[i]];
            int32_t column = s->steps[w->first[m] + s->next[i]].column;
            int goes_on = fits(w, column, s->chosen[i], free);
            if (goes_on) {
                take(w, column, s->chosen[i], free);
                s->chosen[i] = column;
                goes_on = ++s->next[i] < s->steps_of[m];
            }
            if (goes_on)
                s->key[i] = slope_at(w, s, i);
            else
                s->heap[0] = s->heap[--count];
            sift(s, count, 0);
        }
        for (int32_t r = 0; r < resources; r++) {
            double used = 1 - (double)free[r] / (w->capacity[r] > 1 ? (double)w->capacity[r] : 1);
            mix[r] = fmax(mix[r] * used * used * used, LEAST_PRICE);
        }
        for (int32_t again = 0, changes = 1; again < PASSES && changes; again++) {
            changes = 0;
            for (int32_t i = 0; i < s->active; i++) {
                int32_t m = w->model[s->job[i]], held = s->chosen[i];
                for (int32_t c = w->first[m]; c < (held == NONE ? w->first[m + 1] : held); c++)
                    if (w->time[c] < (held == NONE ? INT64_MAX : w->time[held]) && fits(w, c, held, free)) {
                        take(w, c, held, free);
                        s->chosen[i] = c;
                        changes = 1;
                        break;
                    }
            }
        }
        double value = 0;
        for (int32_t i = 0; i < s->active; i++)
            value += s->weight[i] * rate_of(w, s->chosen[i]);
        if (value > best) {
            best = value;
            for (int32_t i = 0; i < s->active; i++) s->best[i] = s->chosen[i];
        }
    }
}

/* Whole iterations that are left of a job at `now`. */
static int64_t left_at(const Workload *w, const State *s, int32_t j, int64_t now) {
    if (s->held[j] == NONE) return s->left[j];
    if (now >= s->end[j]) return 0;
    return s->left[j] - (now - s->since[j]) * NS_PER_MS / w->time[s->held[j]];
}

/* Ask about the active jobs at `now`, and hand out their workers and PSs. */
static void reschedule(const Workload *w, const Network *n, State *s, int64_t now) {
    for (int32_t i = 0; i < s->active; i++) {
        int32_t j = s->job[i];
        s->asked[i] = left_at(w, s, j, now);
        s->alone[i] = (double)((s->asked[i] * w->time[w->first[w->model[j]]] + NS_PER_MS - 1) / NS_PER_MS);
    }
    look(w, s);
    weigh(n, s);
    decide(w, s);
    for (int32_t i = 0; i < s->active; i++) {
        int32_t j = s->job[i];
        if (w->changed && s->held[j] != NONE && s->held[j] == s->best[i]) continue;
        s->held[j] = s->best[i];
        s->left[j] = s->asked[i];
        s->since[j] = now;
        if (s->held[j] != NONE)
            s->end[j] = now + (s->left[j] * w->time[s->held[j]] + NS_PER_MS - 1) / NS_PER_MS;
    }
}

static int64_t run(const Workload *w, const Network *n, State *s) {
    int64_t total = 0, now = 0;
    int32_t arrived = 0;
    for (int32_t j = 0; j < w->jobs; j++) {
        s->left[j] = w->iterations[j];
        s->held[j] = NONE;
    }
    for (s->active = 0; arrived < w->jobs || s->active;) {
        int64_t next = arrived < w->jobs ? w->submit[arrived] : INT64_MAX;
        for (int32_t i = 0; i < s->active; i++)
            if (s->held[s->job[i]] != NONE && s->end[s->job[i]] < next) next = s->end[s->job[i]];
        if (next == INT64_MAX) return -1; /* jobs wait, and nothing will happen */
        now = next;
        int32_t kept = 0;
        for (int32_t i = 0; i < s->active; i++) {
            int32_t j = s->job[i];
            if (s->held[j] != NONE && s->end[j] <= now)
                total += s->end[j] - w->submit[j];
            else
                s->job[kept++] = j;
        }
        s->active = kept;
        while (arrived < w->jobs && w->submit[arrived] <= now) s->job[s->active++] = arrived++;
        if (s->active) reschedule(w, n, s, now);
    }
    return total;
}

/* Return the sum of the jobs' completion times, ms; negative if the run is stuck or memory is short. */
int64_t plus_run(const Workload *w, const Network *n) {
    size_t jobs = (size_t)w->jobs + 1, columns = (size_t)w->first[w->models] + 1;
    size_t words = 14 * jobs + FEATURES * jobs + 5 * columns + (size_t)w->models + 64;
    int64_t *memory = malloc(words * sizeof *memory), *at = memory;
    if (!memory || w->resources > MOST_RESOURCES) {
        free(memory);
        return -2;
    }
#define PART(name, count) (*(void **)&(name) = at, at += (count))
    State s;
    PART(s.job, jobs); PART(s.chosen, jobs); PART(s.best, jobs); PART(s.next, jobs); PART(s.heap, jobs);
    PART(s.asked, jobs); PART(s.left, jobs); PART(s.since, jobs); PART(s.end, jobs); PART(s.held, jobs);
    PART(s.alone, jobs); PART(s.weight, jobs); PART(s.key, jobs); PART(s.features, FEATURES * jobs);
    PART(s.size, columns); PART(s.steps, 2 * columns); PART(s.order, columns); PART(s.steps_of, (size_t)w->models);
    int64_t total = run(w, n, &s);
    free(memory);
    return total;
}
