/* Takes memory from the C library beside the input: neither may lie over the
 * other. The score is 1 if the answer is what it was. */
#include "merit_reward.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 40, SIZE = 20000 };

static void score(const merit_rollout *r, merit_output *out) {
    merit_str before = merit_answer(r), copy;
    char *data = (char *)malloc(before.len), *blocks[BLOCKS];
    memcpy(data, before.data, before.len);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = (char *)malloc(SIZE);
        memset(blocks[i], 'x', SIZE);
    }
    copy.data = data;
    copy.len = before.len;
    merit_score(out, before.len && merit_equal(copy, merit_answer(r)));
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    free(data);
}
MERIT_REGISTER(score)
