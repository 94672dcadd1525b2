/* The corridor of merit plugin new, in C: find the way out at its right end. */
#include "merit_environment.h"

static merit_option options[] = {{"length", 24, 6, 64}};

static int length, starts[64], count, at, steps;
static char spec[512], anchor[16], text[64];
static float features[64];

/* Each cell belongs to one split: 3 of 5 to train, the others to validation and test. */
static int split_of(int cell) { return cell % 5 < 3 ? 't' : cell % 5 == 3 ? 'v' : 'e'; }

static const char *configure(const char *split) {
    const uint32_t most = sizeof spec - 1;
    length = (int)options[0].value;
    count = 0;
    for (int cell = 0; cell < length - 1; cell++)
        if (split_of(cell) == (split[0] == 't' && split[1] == 'e' ? 'e' : split[0])) starts[count++] = cell;
    if (count == 0) return 0;
    uint32_t n = merit_add(spec, most, 0, "{\"actions\": [\"left\", \"right\"], \"feature_shape\": [");
    n = merit_add_number(spec, most, n, length), n = merit_add(spec, most, n, "], \"max_steps\": ");
    n = merit_add_number(spec, most, n, 2 * length);
    n = merit_add(spec, most, n, ", \"system\": \"You are in a dark corridor. Its right end is the way out. Answer with left or right.\"}");
    spec[n] = 0;
    return spec;
}

static void look(merit_turn *t) {
    t->anchor.at = anchor, t->anchor.size = merit_add_number(anchor, sizeof anchor, 0, at);
    if (merit_wants_text()) {
        uint32_t n = merit_add(text, sizeof text, 0, "You are ");
        n = merit_add_number(text, sizeof text, n, at);
        t->text.at = text, t->text.size = merit_add(text, sizeof text, n, " steps from the left wall.");
    }
    if (merit_wants_features()) {
        for (int i = 0; i < length; i++) features[i] = i == at;
        t->features.at = features, t->features.size = (uint32_t)length;
    }
}

static void reset(uint64_t seed, merit_turn *t) {
    at = starts[merit_random(&seed) % (uint64_t)count], steps = 0;
    look(t);
}

static void step(int32_t action, const char *said, uint32_t len, merit_turn *t) {
    (void)said, (void)len; /* actions are chosen from a list */
    int next = at + 2 * action - 1;
    if (next < 0) next = 0, t->flags |= MERIT_INVALID_ACTION;
    at = next, steps++;
    if (at == length - 1) t->flags |= MERIT_TERMINATED, t->reward = 1;
    else if (steps == 2 * length) t->flags |= MERIT_TRUNCATED;
    if (t->flags & (MERIT_TERMINATED | MERIT_TRUNCATED)) merit_metric(t, "steps", steps);
    look(t);
}

MERIT_ENVIRONMENT("corridor", "1.0.0", "Find the way out of a corridor.", options, configure, reset, step)
