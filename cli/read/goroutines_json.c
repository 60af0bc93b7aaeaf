#include "cli/read/goroutines_json.h"

#include <jansson.h>
#include <stdio.h>

#include "cli/term/document.h"
#include "cli/term/standard_streams.h"

#include "base/banned.h"

/* The most bytes printed of a name in a dump, such as a function's. */
#define NAME_MAX_SHOWN 512

static json_t *text_json(struct str s)
{
    char text[NAME_MAX_SHOWN];
    return json_string(text_printable(text, sizeof text, s.p, s.n));
}

static json_t *frame_json(const struct goroutine_frame *frame)
{
    json_t *o = json_pack("{s:o}", "function", text_json(frame->function));
    if (o && frame->file_line.n > 0)
        json_object_set_new(o, "place", text_json(frame->file_line));
    return o;
}

static json_t *labels_json(const struct goroutines *g, const struct goroutine_group *group)
{
    json_t *list = json_array();
    for (size_t i = group->first_label; i != GOROUTINES_NONE; i = g->labels[i].next)
        json_array_append_new(list, json_pack("{s:o, s:I}", "text", text_json(g->labels[i].text), "count",
                                              (json_int_t)g->labels[i].count));
    return list;
}

static json_t *group_json(const struct goroutines *g, const struct goroutine_group *group)
{
    json_t *o = json_pack("{s:I}", "count", (json_int_t)group->count[1]), *frames = json_array();
    for (size_t i = 0; i < group->n_frames; i++)
        json_array_append_new(frames, frame_json(&g->frames[group->first_frame + i]));
    json_object_set_new(o, "frames", frames);
    if (g->n_dumps == 2)
        json_object_set_new(o, "before", json_integer((json_int_t)group->count[0]));
    if (group->state.n > 0)
        json_object_set_new(o, "state", text_json(group->state));
    if (group->creator.function.n > 0)
        json_object_set_new(o, "created_by", frame_json(&group->creator));
    if (group->wait_max > 0)
        json_object_set_new(o, "wait_minutes",
                            json_pack("{s:I, s:I, s:I}", "min", (json_int_t)group->wait_min, "median",
                                      (json_int_t)group->wait_median, "max", (json_int_t)group->wait_max));
    if (group->first_label != GOROUTINES_NONE)
        json_object_set_new(o, "labels", labels_json(g, group));
    if (group->more_labels > 0)
        json_object_set_new(o, "more_labels", json_integer((json_int_t)group->more_labels));
    return o;
}

static json_t *dumps_json(const struct goroutines *g, char *const *names)
{
    static const char *const forms[] = {"stacks", "grouped", "profile"};
    json_t *list = json_array();
    for (size_t i = 0; i < g->n_dumps; i++)
        json_array_append_new(list, json_pack("{s:o, s:s, s:I, s:b}", "source", text_json(str_of(names[i])),
                                              "form", forms[g->dumps[i].form], "goroutines",
                                              (json_int_t)g->dumps[i].total, "cut", g->dumps[i].cut));
    return list;
}

/* Prints one group after the other, because all groups as JSON would take much more memory than the dump. */
static int print_groups(const struct goroutines *g, struct err *err)
{
    putchar('[');
    for (size_t i = 0; i < g->n_groups; i++) {
        fputs(i == 0 ? "\n    " : ",\n    ", stdout);
        if (document_print_part(group_json(g, &g->groups[i]), 2, stdout, err) < 0)
            return -1;
    }
    fputs(g->n_groups > 0 ? "\n  ]" : "]", stdout);
    return 0;
}

int goroutines_json(const struct goroutines *g, char *const *names, struct err *err)
{
    fputs("{\n  \"dumps\": ", stdout);
    if (document_print_part(dumps_json(g, names), 1, stdout, err) < 0)
        return -1;
    fputs(",\n  \"groups\": ", stdout);
    if (print_groups(g, err) < 0)
        return -1;
    fputs("\n}\n", stdout);
    return standard_stream_flush(stdout, err);
}
