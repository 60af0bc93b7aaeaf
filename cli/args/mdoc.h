/*
 * Prints a manual page in mdoc(7) as plain text: what our own pages use of it, so that `profgrab help TOPIC`
 * needs neither man nor an installed page. Reference: mandoc's mdoc(7).
 *
 * Understood are .Sh .Ss .Pp .Nm .Nd .Bl (-tag, -enum, -bullet) .It .El .Bd -literal .Ed .Dl, and within
 * lines Ar Cm Ev Fl Li Ns Op Pa Pq Ql Sx Sy Va Xr. Any other macro is printed as its words.
 */
#ifndef CLI_ARGS_MDOC_H
#define CLI_ARGS_MDOC_H

#include <stdio.h>

/* `source` is a whole page; lines are folded as columns_page(out) has it. */
void mdoc_print(const char *source, FILE *out);

#endif
