#include "fetch/estimate.h"

#include "base/banned.h"

/* Sizes of text, which is not compressed: the bytes of a goroutine in a full dump (debug=2); the bytes of a
 * stack in a grouped dump (debug=1), and the largest number of stacks in such a dump. */
#define GOROUTINE_BYTES 700
#define STACK_BYTES 500
#define MAX_STACKS 500

/* The size of a custom profile of the program. */
static const struct kind_size custom_size = {.base_bytes = 500, .record_bytes = 150};

static struct kind_size find_size(const struct plan_item *item, const struct kind *kind)
{
    if (!kind)
        return custom_size;
    if (item->form == FORM_TEXT && kind->arguments & KIND_ARG_TEXT_FORMS)
        return (struct kind_size){.record_bytes = GOROUTINE_BYTES};
    if (item->form == FORM_TEXT || item->form == FORM_GROUPED)
        return (struct kind_size){
            .base_bytes = STACK_BYTES, .record_bytes = STACK_BYTES, .max_records = MAX_STACKS};
    return kind->size;
}

int64_t estimate_records(const struct plan_item *item, const struct index_page *index)
{
    const struct kind *kind = kind_find(item->kind);
    const struct index_entry *entry = index ? index_find(index, kind ? kind->endpoint : item->kind) : NULL;
    return entry ? entry->count : -1;
}

uint64_t estimate_bytes(const struct plan_item *item, const struct index_page *index)
{
    const struct kind *kind = kind_find(item->kind);
    struct kind_size size = find_size(item, kind);
    int64_t counted = estimate_records(item, index);
    uint64_t records = counted > 0 ? (uint64_t)counted : 0;
    if (size.max_records > 0 && records > size.max_records)
        records = size.max_records;
    /* The counts are untrusted: do not compute a product above the item's limit. */
    if (size.record_bytes > 0 && records > item->max_bytes / size.record_bytes)
        return item->max_bytes;
    uint64_t bytes =
        size.base_bytes + records * size.record_bytes + (uint64_t)item->timed_ms * size.second_bytes / 1000;
    return bytes < item->max_bytes ? bytes : item->max_bytes;
}
