/* Parsers that the runner must fail: two take quadratic time (one of them refuses large inputs), one takes
 * cubic time, one takes too much memory. */
#include "tests/cost/cost.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static volatile size_t sink;

/* Trims the whole rest at each comma, as an old parser of goroutines' states did. */
static void trim_at_commas(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t end = n;
        while (p[i] == ',' && end > i && (p[end - 1] == ' ' || p[end - 1] == ','))
            end--;
        sink += end;
    }
}

/* Has limits that large inputs exceed, but takes long for inputs within them. */
static void trim_a_limited_number(const char *p, size_t n)
{
    if (n < (128 << 10))
        trim_at_commas(p, n < (32 << 10) ? n / 64 : n);
}

/* For each comma, visits all pairs of every fortieth byte before it. */
static void compare_all(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; p[i] == ',' && k < i; k += 40)
            for (size_t l = 0; l < k; l += 40)
                sink += (unsigned char)p[l];
}

static void take_memory(const char *p, size_t n)
{
    char *copy = malloc(40 * n + 1);
    if (copy)
        memset(copy, *p, 40 * n);
    sink += copy ? (size_t)copy[n] : 0;
    free(copy);
}

static const struct cost_grammar commas[] = {{"commas", "", ", ", "", NULL, 0}, {0}};

const struct cost_parser cost_broken_parsers[] = {
    {"a quadratic parser", trim_at_commas, commas, 1, 1u << 20},
    {"a quadratic parser with limits", trim_a_limited_number, commas, 1, 0},
    {"a cubic parser", compare_all, commas, 1, 1u << 20},
    {"a hungry parser", take_memory, commas, 30, 0},
    {0},
};
