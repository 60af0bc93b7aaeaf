/* Names of places. They are built and compared piece by piece, because a report has many nodes of equal
 * weight, which are sorted by name. */
#include <inttypes.h>
#include <stdio.h>

#include "pprof/graph/graph.h"
#include "base/banned.h"

struct name {
    struct str pieces[8];
    size_t n;
    char address[24], line[48]; /* the texts of two pieces */
};

static void add_piece(struct name *name, const char *p, size_t n)
{
    if (n)
        name->pieces[name->n++] = (struct str){p, n};
}

static void add_str(struct name *name, struct str s)
{
    add_piece(name, s.p, s.n);
}

/* ":12", ":12:5" */
static void add_line(struct name *name, const struct node_info *info)
{
    int n = snprintf(name->line, sizeof name->line, ":%" PRId64, info->line);
    if (info->column)
        n += snprintf(name->line + n, sizeof name->line - (size_t)n, ":%" PRId64, info->column);
    add_piece(name, name->line, (size_t)n);
}

static void add_objfile(struct name *name, struct str objfile)
{
    if (objfile.n == 0) {
        add_str(name, STR("<unknown>"));
        return;
    }
    add_str(name, STR("["));
    add_str(name, path_base(objfile));
    add_str(name, STR("]"));
}

static void make_pieces(const struct graph *g, const struct node_info *info, struct name *name)
{
    const struct profile *p = g->profile;
    struct str function = profile_str(p, info->name), file = profile_str(p, info->file);
    name->n = 0;
    if (info->address)
        add_piece(name, name->address,
                  (size_t)snprintf(name->address, sizeof name->address, "%016" PRIx64 " ", info->address));
    add_str(name, function);
    if (info->line || file.n) {
        add_piece(name, " ", function.n ? 1 : 0);
        add_str(name, file);
        if (info->line)
            add_line(name, info);
    } else if (function.n == 0) {
        add_objfile(name, profile_str(p, info->objfile));
    }
}

void node_name(const struct graph *g, const struct node_info *info, struct buf *to)
{
    struct name name;
    make_pieces(g, info, &name);
    for (size_t i = 0; i < name.n; i++)
        buf_add(to, name.pieces[i].p, name.pieces[i].n);
}

/* Compares the pieces as if each name were one text. */
static int compare_pieces(struct name *a, struct name *b)
{
    size_t i = 0, k = 0;
    while (i < a->n && k < b->n) {
        struct str *x = &a->pieces[i], *y = &b->pieces[k];
        size_t n = x->n < y->n ? x->n : y->n;
        int order = memcmp(x->p, y->p, n);
        if (order)
            return order;
        *x = (struct str){x->p + n, x->n - n};
        *y = (struct str){y->p + n, y->n - n};
        i += x->n == 0;
        k += y->n == 0;
    }
    return (i < a->n) - (k < b->n);
}

static bool has_only_name(const struct node_info *i)
{
    return i->name && !i->address && !i->line && !i->file;
}

int node_compare_names(const struct graph *g, const struct node_info *a, const struct node_info *b)
{
    if (a->address && b->address && a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (has_only_name(a) && has_only_name(b))
        return a->name == b->name
                   ? 0
                   : str_compare(profile_str(g->profile, a->name), profile_str(g->profile, b->name));
    struct name left, right;
    make_pieces(g, a, &left);
    make_pieces(g, b, &right);
    return compare_pieces(&left, &right);
}

/* Compares the texts that Go prints for the struct. */
int node_compare_all(const struct graph *g, const struct node_info *a, const struct node_info *b)
{
    struct name names[2];
    char numbers[2][2][96];
    for (int i = 0; i < 2; i++) {
        const struct node_info *info = i ? b : a;
        names[i].n = 0;
        add_str(&names[i], profile_str(g->profile, info->name));
        add_piece(&names[i], numbers[i][0],
                  (size_t)snprintf(numbers[i][0], 96, "  %" PRIu64 " ", info->address));
        add_str(&names[i], profile_str(g->profile, info->file));
        add_piece(&names[i], numbers[i][1],
                  (size_t)snprintf(numbers[i][1], 96, " %" PRId64 " %" PRId64 " %" PRId64 " ",
                                   info->start_line, info->line, info->column));
        add_str(&names[i], profile_str(g->profile, info->objfile));
        add_str(&names[i], STR("}"));
    }
    return compare_pieces(&names[0], &names[1]);
}
