#include "cli/args/quote.h"

#include <string.h>

#include "base/banned.h"

void quote_add_word(struct buf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-";
    if (*word && word[strspn(word, plain)] == '\0') {
        buf_adds(b, word);
        return;
    }
    buf_addc(b, '\'');
    for (; *word; word++)
        if (*word == '\'')
            buf_adds(b, "'\\''");
        else
            buf_addc(b, *word);
    buf_addc(b, '\'');
}
