/* Tries what its conversation's last answer names, and scores 0 if that fails,
 * as if the answer were wrong. */
#include "merit_reward.h"
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static int asked(merit_str answer, const char *word) {
    merit_str s = {word, 0};
    while (word[s.len]) s.len++;
    return merit_equal(answer, s);
}

static int opened(const char *path, const char *mode) {
    FILE *f = fopen(path, mode);
    if (f) fclose(f);
    return f != NULL;
}

static void score(const merit_rollout *r, merit_output *out) {
    merit_str answer = merit_answer(r);
    struct stat s;
    time_t now = time(NULL);
    int done = localtime(&now) != NULL;
    if (asked(answer, "read")) done = opened("/etc/passwd", "r");
    if (asked(answer, "write")) done = opened("/tmp/log.txt", "w");
    if (asked(answer, "relative")) done = opened("data/answers.json", "r");
    if (asked(answer, "stat")) done = stat("/data", &s) == 0;
    if (asked(answer, "mkdir")) done = mkdir("/tmp/x", 0700) == 0;
    merit_score(out, done);
}
MERIT_REGISTER(score)
