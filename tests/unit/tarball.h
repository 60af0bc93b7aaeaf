/* Tarballs of other programs, built with libarchive, member by member. */
#ifndef TESTS_UNIT_TARBALL_H
#define TESTS_UNIT_TARBALL_H

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

struct tarball_member {
    const char *path;
    const char *text; /* the bytes that tarball_write writes; NULL: none */
    unsigned type;    /* 0: AE_IFREG */
    const char *link; /* the link's target; NULL: the member is no link */
    bool hard;        /* `link` is a hard link, else a symbolic one */
};

static inline void tarball_put(struct archive *a, const struct tarball_member *m, const void *p, size_t n)
{
    struct archive_entry *e = archive_entry_new();
    assert_non_null(e);
    archive_entry_set_pathname(e, m->path);
    archive_entry_set_filetype(e, m->type ? m->type : AE_IFREG);
    archive_entry_set_perm(e, 0777);
    archive_entry_set_size(e, (la_int64_t)n);
    if (m->link && m->hard)
        archive_entry_set_hardlink(e, m->link);
    else if (m->link)
        archive_entry_set_symlink(e, m->link);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    if (n)
        assert_int_equal(archive_write_data(a, p, n), n);
    archive_entry_free(e);
}

static inline struct archive *tarball_new(const char *path)
{
    struct archive *a = archive_write_new();
    assert_non_null(a);
    assert_int_equal(archive_write_set_format_pax_restricted(a), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter_gzip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_set_options(a, "gzip:compression-level=1"), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
    return a;
}

static inline void tarball_end(struct archive *a)
{
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

static inline void tarball_write(const char *path, const struct tarball_member *members, size_t n)
{
    struct archive *a = tarball_new(path);
    for (size_t i = 0; i < n; i++)
        tarball_put(a, &members[i], members[i].text, members[i].text ? strlen(members[i].text) : 0);
    tarball_end(a);
}

#endif
