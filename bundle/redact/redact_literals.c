#include "bundle/redact/redact_literals.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/redact/redact_escape.h"

#include "base/banned.h"

/* A node takes up to 64 bytes of memory while the tables grow. */
enum { MAX_NODES = 1 << 19 };

/* A prefix of a string. A search is at a node if the last bytes that it read are this prefix, and no longer
 * prefix matches. */
struct redact_literal_node {
    uint32_t parent, fail; /* fail: the node of the longest shorter prefix with which this prefix ends */
    uint16_t depth;        /* bytes of the prefix */
    uint16_t weak_length,
        strong_length; /* the length of the longest string with which the prefix ends; 0: none */
    unsigned char c;   /* the last byte */
};

void redact_literals_release(struct redact_literals *l)
{
    free(l->nodes);
    hash_index_release(&l->edges);
    *l = (struct redact_literals){0};
}

/* An edge to look up. */
struct edge {
    const struct redact_literals *literals;
    uint32_t parent;
    unsigned char c;
};

static bool is_edge(const void *ctx, uint32_t index)
{
    const struct edge *edge = ctx;
    const struct redact_literal_node *node = &edge->literals->nodes[index + 1];
    return node->parent == edge->parent && node->c == edge->c;
}

static uint64_t hash_edge(const struct redact_literals *l, uint32_t parent, unsigned char c)
{
    return hash_index_mix(l->edges.seed, (uint64_t)parent << 8 | c);
}

/* Returns the child of a node by a byte; 0: none. */
static uint32_t find_child(const struct redact_literals *l, uint32_t parent, unsigned char c)
{
    if (parent == 0 && !l->first_bytes[c])
        return 0;
    const struct edge edge = {l, parent, c};
    uint32_t number = hash_index_find(&l->edges, hash_edge(l, parent, c), is_edge, &edge);
    return number == HASH_INDEX_NONE ? 0 : number + 1;
}

static int add_child(struct redact_literals *l, uint32_t parent, unsigned char c, struct err *err)
{
    if (l->n == MAX_NODES)
        return err_set(err, ERR_FAILED, "its requests contain too many different secrets");
    if (array_reserve((void **)&l->nodes, &l->cap, l->n + 1, sizeof *l->nodes, err) < 0 ||
        hash_index_add(&l->edges, hash_edge(l, parent, c), err) < 0)
        return -1;
    l->nodes[l->n] = (struct redact_literal_node){
        .parent = parent, .c = c, .depth = (uint16_t)(l->nodes[parent].depth + 1)};
    l->n++;
    l->first_bytes[c] = l->first_bytes[c] || parent == 0;
    return 0;
}

static int add_root(struct redact_literals *l, struct err *err)
{
    if (array_reserve((void **)&l->nodes, &l->cap, 1, sizeof *l->nodes, err) < 0)
        return -1;
    l->nodes[0] = (struct redact_literal_node){0};
    l->n = 1;
    hash_index_seed(&l->edges);
    return 0;
}

int redact_literals_add(struct redact_literals *l, struct str text, enum redact_literal_kind kind,
                        struct err *err)
{
    uint32_t node = 0;
    if (text.n == 0 || text.n > REDACT_LITERAL_MAX)
        return 0;
    if (!l->nodes && add_root(l, err) < 0)
        return -1;
    l->longest = text.n > l->longest ? text.n : l->longest;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)tolower((unsigned char)text.p[i]);
        uint32_t child = find_child(l, node, c);
        if (child == 0) {
            if (add_child(l, node, c, err) < 0)
                return -1;
            child = (uint32_t)(l->n - 1);
        }
        node = child;
    }
    if (kind != REDACT_LITERAL_AT_CUTS)
        l->nodes[node].weak_length = (uint16_t)text.n;
    if (kind == REDACT_LITERAL_STRONG)
        l->nodes[node].strong_length = (uint16_t)text.n;
    return 0;
}

/* Returns the node after one more byte. */
static uint32_t next_node(const struct redact_literals *l, uint32_t node, unsigned char c)
{
    uint32_t child;
    while ((child = find_child(l, node, c)) == 0 && node != 0)
        node = l->nodes[node].fail;
    return child;
}

/* Sorts the nodes by depth, into an array of l->n. */
static int sort_nodes(const struct redact_literals *l, uint32_t *order, struct err *err)
{
    uint32_t *begin = calloc(REDACT_LITERAL_MAX + 2, sizeof *begin);
    if (!begin)
        return err_nomem(err);
    for (size_t i = 0; i < l->n; i++)
        begin[l->nodes[i].depth + 1]++;
    for (size_t depth = 1; depth < REDACT_LITERAL_MAX + 2; depth++)
        begin[depth] += begin[depth - 1];
    for (size_t i = 0; i < l->n; i++)
        order[begin[l->nodes[i].depth]++] = (uint32_t)i;
    free(begin);
    return 0;
}

static void link_node(struct redact_literals *l, uint32_t number)
{
    struct redact_literal_node *node = &l->nodes[number];
    node->fail = node->depth > 1 ? next_node(l, l->nodes[node->parent].fail, node->c) : 0;
    const struct redact_literal_node *fail = &l->nodes[node->fail];
    /* A length that differs from the depth is the result of an earlier call. */
    if (node->weak_length != node->depth)
        node->weak_length = fail->weak_length;
    if (node->strong_length != node->depth)
        node->strong_length = fail->strong_length;
}

int redact_literals_link(struct redact_literals *l, struct err *err)
{
    if (!l->nodes)
        return 0;
    uint32_t *order = calloc(l->n, sizeof *order);
    if (!order)
        return err_nomem(err);
    int rc = sort_nodes(l, order, err);
    for (size_t i = 1; rc == 0 && i < l->n; i++) /* the first is the root */
        link_node(l, order[i]);
    free(order);
    return rc;
}

void redact_literals_search(struct redact_literal_search *search, const struct redact_literals *literals,
                            struct str text, bool weak)
{
    search->literals = literals;
    search->text = text;
    search->weak = weak;
    search->cuts = false;
    search->escapes = literals->nodes && redact_has_escapes(text);
    search->done = 0;
    search->plain = search->decoded = (struct redact_literal_cursor){0};
}

void redact_literals_search_cuts(struct redact_literal_search *search)
{
    search->cuts = true;
}

/* Returns the position in the text of the last n bytes that a cursor read. */
static size_t find_begin(const struct redact_literal_search *s, const struct redact_literal_cursor *c,
                         size_t n)
{
    if (c == &s->plain || n == 0)
        return c->at - n;
    return s->begins[(c->n_read - (n < REDACT_ESCAPED_MAX ? n : REDACT_ESCAPED_MAX)) % REDACT_ESCAPED_MAX];
}

/* Returns whether the text may have been cut at `at`: `...` follows, or the end of a long text, perhaps with
 * a cut `...`. */
static bool is_cut(struct str text, size_t at)
{
    enum { CUT_MIN = 128, DOTS = 3 };
    size_t dots = 0;
    while (dots < DOTS && at + dots < text.n && text.p[at + dots] == '.')
        dots++;
    return dots == DOTS || (at + dots == text.n && text.n >= CUT_MIN);
}

/* Returns the length of the longest prefix that ends at `node` and is long enough to redact; 0: none.
 * `after`: bytes that were read after the node. */
static size_t prefix_length(const struct redact_literal_search *s, const struct redact_literal_cursor *c,
                            uint32_t node, size_t after)
{
    enum { MIN_LENGTH = 4, MIN_IN_WORD = 6 };
    size_t n = s->literals->nodes[node].depth;
    for (; n >= MIN_LENGTH && n < MIN_IN_WORD; n = s->literals->nodes[node].depth) {
        size_t begin = find_begin(s, c, n + after);
        if (begin == 0 || !isalnum((unsigned char)s->text.p[begin - 1]))
            break;
        node = s->literals->nodes[node].fail;
    }
    return n >= MIN_LENGTH ? n + after : 0;
}

/* Returns the length of a prefix of a string at a cut; 0: none. The cut may be inside an escape or
 * a character, for which messages have a question mark. */
static size_t cut_length(const struct redact_literal_search *s, const struct redact_literal_cursor *c)
{
    enum { LONGEST_ESCAPE = 9 };
    if (!s->cuts || !is_cut(s->text, c->at))
        return 0;
    size_t n = prefix_length(s, c, c->node, 0), after = c->n_read - c->escape.n_read;
    return n > 0 || after > LONGEST_ESCAPE ? n : prefix_length(s, c, c->escape.node, after);
}

/* Reads one byte or one escape; extends the match of the cursor by the strings that end at these bytes. */
static void read_unit(struct redact_literal_search *s, struct redact_literal_cursor *c)
{
    struct redact_unit u = {{(unsigned char)s->text.p[c->at]}, 1, 1};
    if (c == &s->decoded)
        u = redact_unit_read(s->text, c->at);
    size_t begin = c->at;
    if (u.length == 1 && u.bytes[0] != '\0' && strchr("\\%&?", u.bytes[0])) {
        c->escape.n_read = c->n_read;
        c->escape.node = c->node;
    }
    c->at += u.length;
    for (size_t i = 0; i < u.n_bytes; i++) {
        if (c == &s->decoded)
            s->begins[c->n_read % REDACT_ESCAPED_MAX] = begin;
        c->n_read++;
        c->node = next_node(s->literals, c->node, (unsigned char)tolower(u.bytes[i]));
        const struct redact_literal_node *node = &s->literals->nodes[c->node];
        size_t n = s->weak ? node->weak_length : node->strong_length;
        size_t cut = i + 1 == u.n_bytes ? cut_length(s, c) : 0;
        n = cut > n ? cut : n;
        if (n > 0) {
            size_t first = find_begin(s, c, n);
            c->begin = c->end == 0 || first < c->begin ? first : c->begin;
            c->end = c->at;
        }
    }
}

/* Finds the next match of one cursor, unless it has one already. */
static void find_match(struct redact_literal_search *s, struct redact_literal_cursor *c)
{
    if (c->end > s->done)
        return;
    c->begin = c->end = 0;
    while (c->at < s->text.n) {
        read_unit(s, c);
        /* No later string overlaps this match. */
        if (c->end > 0 && find_begin(s, c, s->literals->nodes[c->node].depth) >= c->end)
            break;
    }
}

bool redact_literals_next(struct redact_literal_search *s, size_t *ret_begin, size_t *ret_end)
{
    size_t begin = 0, end = 0, done = s->done;
    if (!s->literals->nodes)
        return false;
    for (bool grows = true; grows;) {
        struct redact_literal_cursor *first = &s->plain;
        find_match(s, &s->plain);
        if (s->escapes)
            find_match(s, &s->decoded);
        if (s->decoded.end > 0 && (first->end == 0 || s->decoded.begin < first->begin))
            first = &s->decoded;
        grows = first->end > 0 && (end == 0 || first->begin < end);
        if (!grows)
            break;
        begin = end == 0 ? first->begin : begin;
        s->done = end = first->end > end ? first->end : end;
    }
    if (end == 0)
        return false;
    *ret_begin = begin > done ? begin : done; /* a match longer than REDACT_ESCAPED_MAX may begin before */
    *ret_end = end;
    return true;
}
