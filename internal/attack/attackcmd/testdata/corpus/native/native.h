/* What the compiled rewards of the corpus use of Merit's header, for a native program: check.py
   compiles a reward with it instead of that header, passes the reply and the truth as arguments, and
   reads the score. */
#define MERIT_REWARD_H /* so that the reward's own include adds nothing */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct { const char *data; uint32_t len; } merit_str;
typedef struct { struct { merit_str text; } ground_truth; merit_str answer; } merit_rollout;
typedef struct { double score; int valid; } merit_output;

static merit_str merit_string(const char *s) { return (merit_str){s, (uint32_t)strlen(s)}; }
static merit_str merit_slice(merit_str s, uint32_t from, uint32_t to) { return (merit_str){s.data + from, to - from}; }
static int merit_equal(merit_str a, merit_str b) { return a.len == b.len && !memcmp(a.data, b.data, a.len); }
static int merit_starts_with(merit_str s, merit_str p) { return s.len >= p.len && !memcmp(s.data, p.data, p.len); }
static merit_str merit_trim(merit_str s) {
    while (s.len && strchr(" \t\r\n", s.data[0])) s.data++, s.len--;
    while (s.len && strchr(" \t\r\n", s.data[s.len - 1])) s.len--;
    return s;
}
static merit_str merit_answer(const merit_rollout *r) { return r->answer; }
static void merit_score(merit_output *out, double score) { out->score = score, out->valid = 1; }
static void merit_reason(merit_output *out, merit_str reason) { (void)out, (void)reason; }
static void merit_invalid(merit_output *out, merit_str reason) { out->valid = 0, merit_reason(out, reason); }

#define MERIT_REGISTER(f)                                                                            \
    int main(int argc, char **argv) {                                                                \
        merit_rollout r = {{merit_string(argc > 2 ? argv[2] : "")}, merit_string(argc > 1 ? argv[1] : "")}; \
        merit_output out = {0, 0};                                                                   \
        (void)merit_starts_with, (void)merit_slice;                                                  \
        f(&r, &out);                                                                                 \
        if (!out.valid) return 3;                                                                    \
        printf("%.17g\n", out.score);                                                                \
        return 0;                                                                                    \
    }
