/*
 * Prints a manual page in mdoc(7) as plain text, so that `profgrab help TOPIC` needs neither man nor an
 * installed page. Supports only the macros of our own pages. Reference: mandoc's mdoc(7).
 *
 * The macros are .Sh .Ss .Pp .Nm .Nd .Bl (-tag, -enum, -bullet) .It .El .Bd -literal .Ed .Dl, and within
 * lines Ar Cm Ev Fl Li Ns Op Pa Pq Ql Sx Sy Va Xr. Comments, .Dd, .Dt and .Os are ignored. The name of any
 * other macro is printed as a word.
 */
#ifndef CLI_ARGS_MDOC_H
#define CLI_ARGS_MDOC_H

#include <stdio.h>

/* Prints the page `source`, folded to columns_prose_max(out). */
void mdoc_print(const char *source, FILE *out);

#endif
