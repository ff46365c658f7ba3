#include "emit/attention.h"

#include "emit/gemm_size.h"

static int64_t take(int64_t *at, int64_t count)
{
    int64_t here = *at;
    *at += round_up(count * 4, 64);
    return here;
}

AttentionScratch attention_layout(const Op *op)
{
    AttentionScratch s = {0};
    int64_t t = op->operand[1]->type.dim[1], d = op->operand[1]->type.dim[3];
    int64_t columns = round_up(op->type.dim[3], 32);
    s.segments = take(&s.bytes, round_up(t, 32));
    s.keys = take(&s.bytes, round_up(t, 32) * d);
    s.values = take(&s.bytes, columns * t);
    s.queries = take(&s.bytes, (int64_t)QUERY_BLOCK * d);
    s.scores = take(&s.bytes, (int64_t)QUERY_BLOCK * KEY_BLOCK);
    s.weights = take(&s.bytes, (int64_t)QUERY_BLOCK * KEY_BLOCK);
    s.sums = take(&s.bytes, QUERY_BLOCK * columns);
    s.sums_pitch = columns;
    s.max = take(&s.bytes, QUERY_BLOCK);
    s.total = take(&s.bytes, QUERY_BLOCK);
    return s;
}

int64_t attention_scratch(const Op *op)
{
    return attention_layout(op).bytes;
}
