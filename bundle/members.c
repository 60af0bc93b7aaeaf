/*
 * Reads members of a bundle in the caller's order.
 *
 * The archive is read forward only. Members that are wanted later are cached, up to BUNDLE_CACHE_MAX bytes in
 * total. If there is too little room, the members that are wanted last are dropped, and `limit` becomes the
 * position of the first dropped member. The member that the caller waits for is read even if the cache has no
 * room. At the end of the archive the next pass begins if a dropped member is still wanted. A pass searches
 * for all members that are wanted before the limit; a member that it does not find is not in the archive.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "bundle/reader.h"
#include "base/banned.h"

#define NO_POSITION SIZE_MAX

enum state {
    UNREAD, /* not found yet, or dropped */
    CACHED,
    ABSENT, /* not in the archive, or behind the damaged part */
    TOO_LARGE,
};

struct member {
    size_t next; /* the next position at which the member is wanted, or NO_POSITION */
    enum state state;
    struct buf bytes; /* if the member is CACHED */
};

/* A position in the caller's order. */
struct position {
    struct member *member;
    size_t next_use; /* the next position of the same member, or NO_POSITION */
};

struct bundle_members {
    char *path;
    struct age_identities *identities;
    uint64_t max_bytes;
    struct strlist names; /* by position */
    struct position *positions;
    struct member *members;
    struct name_map by_name;
    size_t at;             /* positions before this one are finished */
    size_t limit;          /* this pass has dropped no member that is wanted before this position */
    uint64_t cached_bytes; /* the size of all cached members */
    struct reader *r;      /* NULL: no pass is open */
    struct err damage;     /* the first error of a pass, or ERR_NONE */
};

/* ---- positions ----------------------------------------------------------------------------------------- */

static int number_positions(struct bundle_members *m, struct err *err)
{
    size_t n = m->names.n;
    m->positions = calloc(n + 1, sizeof *m->positions);
    m->members = calloc(n + 1, sizeof *m->members);
    if (!m->positions || !m->members)
        return err_nomem(err);
    /* Backwards, because each position stores the next position of the same member. */
    for (size_t i = n; i-- > 0;) {
        const struct member *known = name_map_get(&m->by_name, m->names.items[i]);
        struct member *member = known ? &m->members[known - m->members] : &m->members[i];
        if (!known && name_map_add(&m->by_name, m->names.items[i], member, err) < 0)
            return -1;
        m->positions[i] = (struct position){member, known ? member->next : NO_POSITION};
        member->next = i;
    }
    return 0;
}

static void drop_bytes(struct bundle_members *m, struct member *member)
{
    if (member->state != CACHED)
        return;
    m->cached_bytes -= member->bytes.len;
    buf_release(&member->bytes);
    member->state = UNREAD;
}

/* Drops the member at this position, unless a later position has it too. */
static void finish_position(struct bundle_members *m, size_t position)
{
    struct member *member = m->positions[position].member;
    if (member->next != position)
        return;
    member->next = m->positions[position].next_use;
    if (member->next == NO_POSITION)
        drop_bytes(m, member);
}

static void finish_positions_before(struct bundle_members *m, size_t position)
{
    for (; m->at < position; m->at++)
        finish_position(m, m->at);
}

/* ---- a pass -------------------------------------------------------------------------------------------- */

/* Makes room in the cache for a member of `size` bytes that is wanted at `position`. Returns false if the
 * member does not fit. */
static bool make_room(struct bundle_members *m, uint64_t size, size_t position)
{
    while (m->cached_bytes > 0 && m->cached_bytes + size > BUNDLE_CACHE_MAX && m->limit > position + 1) {
        struct member *last = m->positions[--m->limit].member;
        if (last->next == m->limit)
            drop_bytes(m, last);
    }
    if (size <= BUNDLE_CACHE_MAX && m->cached_bytes + size <= BUNDLE_CACHE_MAX)
        return true;
    m->limit = position;
    return false;
}

static int read_bytes(struct bundle_members *m, const struct reader_member *entry, struct member *member,
                      struct err *err)
{
    struct buf bytes = BUF_INIT(entry->size);
    if (reader_read_all(m->r, &bytes, err) < 0 || buf_check(&bytes, entry->path, err) < 0) {
        buf_release(&bytes);
        return -1;
    }
    member->bytes = bytes;
    member->state = CACHED;
    m->cached_bytes += bytes.len;
    return 0;
}

/* Caches the current member of the archive if it is wanted and there is room. `awaited` is the member that
 * the caller waits for, which is cached even without room. */
static int read_if_wanted(struct bundle_members *m, const struct reader_member *entry,
                          const struct member *awaited, struct err *err)
{
    const struct member *found = name_map_get(&m->by_name, entry->path);
    struct member *member = found ? &m->members[found - m->members] : NULL;
    if (!member || member->state != UNREAD || member->next == NO_POSITION)
        return 0;
    if (entry->size > m->max_bytes)
        member->state = TOO_LARGE;
    else if (member == awaited || (member->next < m->limit && make_room(m, entry->size, member->next)))
        return read_bytes(m, entry, member, err);
    return 0;
}

static void end_pass(struct bundle_members *m)
{
    for (size_t i = m->at; i < m->limit; i++)
        if (m->positions[i].member->state == UNREAD)
            m->positions[i].member->state = ABSENT;
    reader_free(m->r);
    m->r = NULL;
}

static int begin_pass(struct bundle_members *m, struct err *err)
{
    m->limit = m->names.n;
    return reader_open(m->path, m->identities, &m->r, err);
}

/* Reads the next member. A damaged archive ends the pass. */
static int read_next(struct bundle_members *m, const struct member *awaited, struct err *err)
{
    const struct reader_member *entry = NULL;
    struct err why = ERR_INIT;
    int rc = reader_next_file(m->r, &entry, &why);
    if (rc == 0 && entry)
        rc = read_if_wanted(m, entry, awaited, &why);
    if (rc < 0 && (why.kind == ERR_CANCELLED || why.out_of_memory)) {
        reader_free(m->r);
        m->r = NULL;
        if (err)
            *err = why;
        return -1;
    }
    if (rc < 0 && m->damage.kind == ERR_NONE)
        m->damage = why;
    if (rc < 0 || !entry)
        end_pass(m);
    return 0;
}

/* Reads until the member is cached or known to be unreadable. */
static int await_member(struct bundle_members *m, const struct member *awaited, struct err *err)
{
    while (awaited->state == UNREAD)
        if ((!m->r && begin_pass(m, err) < 0) || read_next(m, awaited, err) < 0)
            return -1;
    return 0;
}

/* ---- for callers --------------------------------------------------------------------------------------- */

int bundle_members_new(const struct bundle_members_options *options, struct bundle_members **ret,
                       struct err *err)
{
    struct bundle_members *m = calloc(1, sizeof *m);
    int rc = m ? 0 : err_nomem(err);
    if (rc == 0) {
        m->identities = options->identities;
        m->max_bytes = options->max_bytes;
        m->path = strdup(options->path);
        rc = m->path ? 0 : err_nomem(err);
    }
    for (size_t i = 0; rc == 0 && i < options->members.n; i++)
        rc = strlist_add(&m->names, options->members.items[i], err);
    if (rc == 0)
        rc = number_positions(m, err);
    if (rc < 0) {
        bundle_members_free(m);
        return -1;
    }
    *ret = m;
    return 0;
}

void bundle_members_close_archive(struct bundle_members *m)
{
    reader_free(m->r);
    m->r = NULL;
}

void bundle_members_free(struct bundle_members *m)
{
    if (!m)
        return;
    reader_free(m->r);
    for (size_t i = 0; m->members && i < m->names.n; i++)
        buf_release(&m->members[i].bytes);
    free(m->members);
    free(m->positions);
    name_map_release(&m->by_name);
    strlist_release(&m->names);
    free(m->path);
    free(m);
}

static int report_unread(const struct bundle_members *m, const struct member *member, const char *name,
                         struct err *err)
{
    if (member->state == TOO_LARGE)
        return err_set(err, ERR_FAILED, "%s is larger than %" PRIu64 " bytes", name, m->max_bytes);
    if (m->damage.kind == ERR_NONE)
        return err_set(err, ERR_NOT_FOUND, "the bundle has no file %s", name);
    if (err)
        *err = m->damage;
    return -1;
}

/* Moves the bytes to the caller, or copies them if they are wanted again. */
static int return_bytes(struct bundle_members *m, struct member *member, const char *name, struct buf *ret,
                        struct err *err)
{
    if (m->positions[m->at].next_use == NO_POSITION) {
        m->cached_bytes -= member->bytes.len;
        member->state = UNREAD;
        member->bytes.max = ret->max;
        buf_release(ret);
        *ret = member->bytes;
        member->bytes = (struct buf)BUF_INIT(0);
        return 0;
    }
    buf_add(ret, member->bytes.data, member->bytes.len);
    return buf_check(ret, name, err);
}

int bundle_members_read(struct bundle_members *m, const char *name, struct buf *ret, struct err *err)
{
    const struct member *found = name_map_get(&m->by_name, name);
    struct member *member = found ? &m->members[found - m->members] : NULL;
    int rc;
    if (!member || member->next == NO_POSITION)
        return bundle_read_member(m->path, m->identities, name, ret, err);
    finish_positions_before(m, member->next);
    if (await_member(m, member, err) < 0)
        return -1;
    rc = member->state == CACHED ? return_bytes(m, member, name, ret, err)
                                 : report_unread(m, member, name, err);
    finish_positions_before(m, m->at + 1);
    if (m->at == m->names.n)
        bundle_members_close_archive(m);
    return rc;
}
