/*
 * Reads members of a bundle in the caller's order.
 *
 * The archive is read forward only. A member that is wanted later waits in memory, within BUNDLE_AHEAD_MAX
 * bytes for all of them. Beyond that, the members that are wanted last are dropped, and `limit` becomes the
 * place of the first dropped one. At the end of the archive the next pass begins if a dropped member is still
 * wanted. A pass looks for all members before the limit: those not found by its end are not in the archive.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "bundle/reader.h"
#include "base/banned.h"

#define NEVER SIZE_MAX

enum state {
    UNREAD, /* not found yet, or dropped */
    WAITING,
    ABSENT, /* not in the archive, or after its damage */
    TOO_LARGE,
};

struct member {
    size_t next; /* the next place where it is wanted, or NEVER */
    enum state state;
    struct buf bytes; /* if it is WAITING */
};

/* A place in the caller's order, and the next one of the same member. */
struct place {
    struct member *member;
    size_t again; /* the next place of the same member, or NEVER */
};

struct bundle_members {
    char *path;
    struct age_identities *by;
    uint64_t most;
    struct strlist names; /* by place */
    struct place *places;
    struct member *members;
    struct names by_name;
    size_t at;         /* places before this one are done */
    size_t limit;      /* this pass has dropped no member that is wanted before this place */
    uint64_t waiting;  /* bytes in memory */
    struct reader *r;  /* NULL: no pass is open */
    struct err damage; /* the first error of a pass, or ERR_NONE */
};

/* ---- places -------------------------------------------------------------------------------------------- */

static int number_places(struct bundle_members *m, struct err *err)
{
    size_t n = m->names.n;
    m->places = calloc(n + 1, sizeof *m->places);
    m->members = calloc(n + 1, sizeof *m->members);
    if (!m->places || !m->members)
        return err_nomem(err);
    /* Backwards, so that each place gets the next one of its member. */
    for (size_t i = n; i-- > 0;) {
        const struct member *known = names_get(&m->by_name, m->names.items[i]);
        struct member *member = known ? &m->members[known - m->members] : &m->members[i];
        if (!known && names_add(&m->by_name, m->names.items[i], member, err) < 0)
            return -1;
        m->places[i] = (struct place){member, known ? member->next : NEVER};
        member->next = i;
    }
    return 0;
}

static void drop_bytes(struct bundle_members *m, struct member *member)
{
    if (member->state != WAITING)
        return;
    m->waiting -= member->bytes.len;
    buf_release(&member->bytes);
    member->state = UNREAD;
}

/* Ends the need for the member at this place. */
static void finish_place(struct bundle_members *m, size_t place)
{
    struct member *member = m->places[place].member;
    if (member->next != place)
        return;
    member->next = m->places[place].again;
    if (member->next == NEVER)
        drop_bytes(m, member);
}

static void finish_places_before(struct bundle_members *m, size_t place)
{
    for (; m->at < place; m->at++)
        finish_place(m, m->at);
}

/* ---- a pass -------------------------------------------------------------------------------------------- */

/* Makes room for a member of `size` bytes that is wanted at `place`. False: this member must be dropped. */
static bool make_room(struct bundle_members *m, uint64_t size, size_t place)
{
    while (m->waiting > 0 && m->waiting + size > BUNDLE_AHEAD_MAX && m->limit > place + 1) {
        struct member *last = m->places[--m->limit].member;
        if (last->next == m->limit)
            drop_bytes(m, last);
    }
    if (size <= BUNDLE_AHEAD_MAX && m->waiting + size <= BUNDLE_AHEAD_MAX)
        return true;
    m->limit = place;
    return false;
}

static int read_bytes(struct bundle_members *m, const struct reader_member *met, struct member *member,
                      struct err *err)
{
    struct buf bytes = BUF_INIT(met->size);
    if (reader_read_all(m->r, &bytes, err) < 0 || buf_check(&bytes, met->path, err) < 0) {
        buf_release(&bytes);
        return -1;
    }
    member->bytes = bytes;
    member->state = WAITING;
    m->waiting += bytes.len;
    return 0;
}

/* Reads a found member if it is wanted and there is room. */
static int read_if_wanted(struct bundle_members *m, const struct reader_member *met, const struct member *now,
                          struct err *err)
{
    const struct member *found = names_get(&m->by_name, met->path);
    struct member *member = found ? &m->members[found - m->members] : NULL;
    if (!member || member->state != UNREAD || member->next == NEVER)
        return 0;
    if (met->size > m->most)
        member->state = TOO_LARGE;
    else if (member == now || (member->next < m->limit && make_room(m, met->size, member->next)))
        return read_bytes(m, met, member, err);
    return 0;
}

static void end_pass(struct bundle_members *m)
{
    for (size_t i = m->at; i < m->limit; i++)
        if (m->places[i].member->state == UNREAD)
            m->places[i].member->state = ABSENT;
    reader_free(m->r);
    m->r = NULL;
}

static int begin_pass(struct bundle_members *m, struct err *err)
{
    m->limit = m->names.n;
    return reader_open(m->path, m->by, &m->r, err);
}

/* Reads the next member. A damaged archive ends the pass. */
static int read_next(struct bundle_members *m, const struct member *now, struct err *err)
{
    const struct reader_member *met = NULL;
    struct err why = ERR_INIT;
    int rc = reader_next_file(m->r, &met, &why);
    if (rc == 0 && met)
        rc = read_if_wanted(m, met, now, &why);
    if (rc < 0 && (why.kind == ERR_CANCELLED || why.out_of_memory)) {
        reader_free(m->r);
        m->r = NULL;
        if (err)
            *err = why;
        return -1;
    }
    if (rc < 0 && m->damage.kind == ERR_NONE)
        m->damage = why;
    if (rc < 0 || !met)
        end_pass(m);
    return 0;
}

static int find_member(struct bundle_members *m, const struct member *now, struct err *err)
{
    while (now->state == UNREAD)
        if ((!m->r && begin_pass(m, err) < 0) || read_next(m, now, err) < 0)
            return -1;
    return 0;
}

/* ---- for callers --------------------------------------------------------------------------------------- */

int bundle_members_new(const struct bundle_wanted *wanted, struct bundle_members **ret, struct err *err)
{
    struct bundle_members *m = calloc(1, sizeof *m);
    int rc = m ? 0 : err_nomem(err);
    if (rc == 0) {
        m->by = wanted->by;
        m->most = wanted->most;
        m->path = strdup(wanted->path);
        rc = m->path ? 0 : err_nomem(err);
    }
    for (size_t i = 0; rc == 0 && i < wanted->members.n; i++)
        rc = strlist_add(&m->names, wanted->members.items[i], err);
    if (rc == 0)
        rc = number_places(m, err);
    if (rc < 0) {
        bundle_members_free(m);
        return -1;
    }
    *ret = m;
    return 0;
}

void bundle_members_pause(struct bundle_members *m)
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
    free(m->places);
    names_release(&m->by_name);
    strlist_release(&m->names);
    free(m->path);
    free(m);
}

static int report_unread(const struct bundle_members *m, const struct member *member, const char *name,
                         struct err *err)
{
    if (member->state == TOO_LARGE)
        return err_set(err, ERR_FAILED, "%s is larger than %" PRIu64 " bytes", name, m->most);
    if (m->damage.kind == ERR_NONE)
        return err_set(err, ERR_NOT_FOUND, "there is no %s in it", name);
    if (err)
        *err = m->damage;
    return -1;
}

/* Moves the bytes to the caller, or copies them if they are wanted again. */
static int return_bytes(struct bundle_members *m, struct member *member, const char *name, struct buf *ret,
                        struct err *err)
{
    if (m->places[m->at].again == NEVER) {
        m->waiting -= member->bytes.len;
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
    const struct member *found = names_get(&m->by_name, name);
    struct member *member = found ? &m->members[found - m->members] : NULL;
    int rc;
    if (!member || member->next == NEVER)
        return bundle_member_bytes(m->path, m->by, name, ret, err);
    finish_places_before(m, member->next);
    if (find_member(m, member, err) < 0)
        return -1;
    rc = member->state == WAITING ? return_bytes(m, member, name, ret, err)
                                  : report_unread(m, member, name, err);
    finish_places_before(m, m->at + 1);
    if (m->at == m->names.n)
        bundle_members_pause(m);
    return rc;
}
