/* Memory mapped in pages, and gzip inflated into it. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/gzip.h"
#include "proto/profile_store.h"
#include "base/banned.h"

/* Smaller ranges are not released, because the system call takes longer than the memory is worth. */
#define MIN_RELEASED ((size_t)256 << 10)

/* The highest compression ratio of deflate. */
#define DEFLATE_RATIO 1032

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int region_map(struct region *ret, size_t size, struct err *err)
{
    size_t page = page_size(), mapped = (size + REGION_PADDING + page - 1) / page * page;
    void *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return err_nomem(err);
    *ret = (struct region){.p = p, .mapped = mapped};
    return 0;
}

void region_release(struct region *r)
{
    if (r->mapped)
        munmap(r->p, r->mapped);
    *r = (struct region){0};
}

void region_release_pages(struct region *r, size_t from, size_t to)
{
    size_t page = page_size();
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to && to - from >= MIN_RELEASED && to <= r->mapped)
        madvise(r->p + from, to - from, MADV_DONTNEED);
}

static int set_size_error(uint64_t max_bytes, struct err *err)
{
    return err_set(err, ERR_LIMIT, "larger than %llu bytes when inflated", (unsigned long long)max_bytes);
}

/* Moves the bytes to a region of twice the size. */
static int enlarge_region(struct region *r, uint64_t max_bytes, struct err *err)
{
    struct region larger = {0};
    if (r->mapped > max_bytes)
        return set_size_error(max_bytes, err);
    if (region_map(&larger, 2 * r->mapped, err) < 0)
        return -1;
    memcpy(larger.p, r->p, r->n);
    larger.n = r->n;
    region_release(r);
    *r = larger;
    return 0;
}

/* Inflates the first member and removes it from `rest`. */
static int inflate_member(struct gzip *g, struct str *rest, uint64_t max_bytes, struct region *r,
                          struct err *err)
{
    for (;;) {
        struct gzip_member m = {
            .p = rest->p, .n = rest->n, .to = r->p + r->n, .room = r->mapped - REGION_PADDING - r->n};
        switch (gzip_inflate(g, &m)) {
        case GZIP_DONE:
            *rest = (struct str){rest->p + m.n_read, rest->n - m.n_read};
            r->n += m.n_written;
            return r->n > max_bytes ? set_size_error(max_bytes, err) : 0;
        case GZIP_NO_ROOM:
            if (enlarge_region(r, max_bytes, err) < 0)
                return -1;
            break;
        case GZIP_DAMAGED:
        default:
            return err_set(err, ERR_FAILED, "decompressing profile: the gzip data are damaged or cut short");
        }
    }
}

/* Guesses the inflated size from the last four bytes, limited to a plausible value. */
static size_t guess_size(const unsigned char *p, size_t n, uint64_t max_bytes)
{
    uint64_t declared = n < 4 ? 0
                              : (uint64_t)p[n - 4] | (uint64_t)p[n - 3] << 8 | (uint64_t)p[n - 2] << 16 |
                                    (uint64_t)p[n - 1] << 24;
    if (declared > n * (uint64_t)DEFLATE_RATIO)
        declared = n * 4;
    return (size_t)(declared < max_bytes ? declared : max_bytes);
}

static int inflate_all(const unsigned char *p, size_t n, uint64_t max_bytes, struct region *r,
                       struct err *err)
{
    struct str rest = {(const char *)p, n};
    struct gzip *g = gzip_new(err);
    int rc = g ? 0 : -1;
    while (rc == 0 && rest.n > 0)
        rc = inflate_member(g, &rest, max_bytes, r, err);
    gzip_free(g);
    return rc;
}

/* Real profiles inflate to four to ten times their size. */
#define PLAUSIBLE_AT_LEAST (UINT64_C(24) << 20)
#define PLAUSIBLE_RATIO 16

static int inflate_region(const unsigned char *p, size_t n, uint64_t max_bytes, struct region *r,
                          struct err *err)
{
    uint64_t plausible = PLAUSIBLE_AT_LEAST + (uint64_t)n * PLAUSIBLE_RATIO;
    uint64_t limit = plausible < max_bytes ? plausible : max_bytes;
    struct err why = ERR_INIT;
    if (region_map(r, guess_size(p, n, limit), &why) == 0 && inflate_all(p, n, limit, r, &why) == 0)
        return 0;
    if (why.kind == ERR_LIMIT && limit == plausible)
        err_hint(&why,
                 "an ordinary profile of its size inflates to less; if you trust the file, gunzip it first");
    region_release(r);
    if (err)
        *err = why;
    return -1;
}

int region_inflate(const void *p, size_t n, uint64_t max_bytes, struct region *ret, struct err *err)
{
    const unsigned char *bytes = p;
    struct region r = {0};
    if (n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) {
        if (inflate_region(bytes, n, max_bytes, &r, err) < 0)
            return -1;
        *ret = r;
        return 0;
    }
    if (n > max_bytes)
        return err_set(err, ERR_FAILED, "larger than %llu bytes", (unsigned long long)max_bytes);
    if (region_map(&r, n, err) < 0)
        return -1;
    memcpy(r.p, p, n);
    r.n = n;
    *ret = r;
    return 0;
}
