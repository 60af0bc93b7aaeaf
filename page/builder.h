/* The builder of a page. The files page/builder*.c share it; page/page.h has an overview. */
#ifndef PAGE_BUILDER_H
#define PAGE_BUILDER_H

#include "page/writer.h"

/* The largest sizes of an inflated profile and of the page, in bytes. page_limits_capture is smaller, because
 * the user of a capture or a hand-off waits for the bundle or its copy. page_limits_on_request is for other
 * commands. */
struct page_limits {
    uint64_t profile, page;
    const char *too_large; /* the reason why a larger profile is not drawn */
};
extern const struct page_limits page_limits_capture, page_limits_on_request;
/* The page reserves 1/PAGE_RESERVED_PART of its size for comparisons, which it writes last. */
#define PAGE_RESERVED_PART 8

/* The ways to draw a file. */
enum { PAGE_AS_PROFILE = 1, PAGE_AS_DUMP = 2 };

/* A file that may be drawn. The manifest owns the texts, except `title`, which the builder frees. */
struct page_file {
    char *title;
    struct page_entry entry;
    unsigned draw_as; /* PAGE_AS_PROFILE, PAGE_AS_DUMP or both; 0: not drawn */
    const char *why;  /* the reason why it is not drawn */
    /* A text of unknown type: the builder tries to read it as a dump of goroutines. If it is not a dump, it
     * gets no entry. */
    bool is_unknown_type;
    bool was_read;

    /* For comparisons (builder_compare.c). */
    const char *argument;
    bool is_baseline;   /* --against named its host */
    int pair;           /* 1 or 2: which snapshot of a pair it is; 0: none */
    bool is_later;      /* the second snapshot of a complete pair */
    size_t pair_number; /* the pair of its process, from 1 on; 0: none */
    /* The comparison of hosts, the process and the fleet to which the file belongs, as numbers from 1 on. 0:
     * it belongs to none. */
    size_t comparison, process, fleet;
};

struct page_builder {
    const struct page_limits *limits;
    struct page_writer *page;
    const struct manifest *manifest; /* NULL: none */
    struct page_file *files;
    size_t n, cap;
    struct name_map by_path; /* the elements of `files`, by their paths */
    struct findings findings;
    bool makes_findings; /* false if the manifest has them already, and for without_end */
    bool without_end;    /* the builder makes no comparisons and no findings (struct page_progress) */
    struct page_comparisons *comparisons;
    struct page_progress *progress; /* NULL: progress is not recorded */
};

/* Call it before reading a file. Returns true if this process has used up progress->reading_ms of CPU time
 * (0: no limit). The caller must then leave out that file, which the function has already counted in
 * progress->left_out. */
bool page_progress_leaves_out_next(struct page_progress *progress);
/* Records which file is being read; NULL: none. */
void page_builder_record_progress(struct page_builder *builder, const struct page_file *file);
/* Records that all files were read, and that comparisons and findings come next. */
void page_builder_record_end(struct page_builder *builder);
/* Makes the builder record its files in `progress`, and leave out the file progress->without, or comparisons
 * and findings if progress->without_end. Call it before the first file. */
void page_builder_apply_progress(struct page_builder *builder, struct page_progress *progress);

/* Lists the files of the manifest (NULL: none), which must outlive the builder, and begins the page. Call
 * page_builder_release even after a failure. */
int page_builder_init(struct page_builder *builder, const struct page_limits *limits,
                      const struct manifest *manifest, const struct page_output *to, struct err *err);
void page_builder_release(struct page_builder *builder);

/* Fills `files` from the manifest. */
int page_builder_list(struct page_builder *builder, struct err *err);

/* Draws a file as its `draw_as` requires. A file that cannot be drawn gets an entry with the reason. */
int page_builder_draw(struct page_builder *builder, const struct page_file *file, const struct buf *bytes,
                      struct err *err);
/* Returns whether the cause of an error is the file that was read. The page is then made without that
 * file. */
static inline bool page_builder_is_file_error(const struct err *why)
{
    return why->kind == ERR_FAILED || why->kind == ERR_UNRECOGNIZED || why->kind == ERR_LIMIT ||
           why->kind == ERR_UNSUPPORTED;
}

/* Adds an entry with the reason `why` for a file that cannot be drawn; adds none if the file is_unknown_type.
 * If the file is not the cause of `why` (page_builder_is_file_error), returns `why` as the error. */
int page_builder_add_failed(struct page_builder *builder, const struct page_file *file,
                            const struct buf *bytes, const struct err *why, struct err *err);
/* Add the picture of a file that was read, and its findings (unless there is a summary, or the file is the
 * later one of a pair). page_builder_add_profile also adds the profile to its fleet and its comparison. */
int page_builder_add_profile(struct page_builder *builder, const struct page_file *file,
                             struct profile *profile, struct err *err);
int page_builder_add_dump(struct page_builder *builder, const struct page_file *file,
                          const struct goroutines *goroutines, struct err *err);

/* Adds entries for the files that are missing, and for those that are not drawn. */
int page_builder_add_rest(struct page_builder *builder, struct err *err);
/* Writes the findings and the rest of the page. Without a manifest, the page's name and time come from
 * `bundle`. */
int page_builder_finish(struct page_builder *builder, struct page_bundle *bundle, struct err *err);
/* Ends the page of a bundle. Call it after all files are drawn. Calls page_builder_compare_finish,
 * page_builder_add_rest and page_builder_finish. */
int page_builder_finish_bundle(struct page_builder *builder, struct err *err);

/* ---- comparisons (builder_compare.c) ---------------------------------------------------------------- */

/* Groups the files: target and baseline hosts, two snapshots of one process, hosts of one service. */
int page_builder_compare_plan(struct page_builder *builder, struct err *err);
/* Returns whether any file belongs to a comparison. */
bool page_builder_compares(const struct page_builder *builder);
void page_builder_compare_release(struct page_builder *builder);

/* Merges a profile into its side. Afterwards the caller may only free the profile. */
int page_builder_compare_merge(struct page_builder *builder, const struct page_file *file,
                               struct profile *profile, struct err *err);
/* Stores a file's bytes for the growth between two snapshots. Draws the pairs of the process once all its
 * files are read. */
int page_builder_compare_store(struct page_builder *builder, const struct page_file *file,
                               const struct buf *bytes, struct err *err);
/* Draws all other comparisons, and adds their findings. */
int page_builder_compare_finish(struct page_builder *builder, struct err *err);

/* Lists the fleets that have enough hosts for the page. The caller frees *ret. */
int page_builder_list_fleets(const struct page_builder *builder, struct page_named_fleet **ret, size_t *ret_n,
                             struct err *err);

#endif
