/* Code for profiles of addresses: inlined calls, static functions, loops. */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) unsigned work_mix(unsigned a, unsigned b)
{
    a ^= b << 5;
    return a * 2654435761u;
}

static inline __attribute__((always_inline)) unsigned work_twice(unsigned a)
{
    a = work_mix(a, 3);
    return work_mix(a, 7);
}

__attribute__((noinline)) unsigned work_leaf(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += i % 3 ? work_twice(i) : work_mix(i, sum);
    return sum;
}

static __attribute__((noinline)) unsigned work_down(unsigned n)
{
    return n ? work_leaf(n) + work_down(n - 1) : work_twice(n);
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
    int numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = (int)(work_down((unsigned)argc + (unsigned)i) & 0xffff);
    qsort(numbers, 64, sizeof *numbers, by_value);
    printf("%s %d\n", argv[0], numbers[0]);
    return 0;
}
