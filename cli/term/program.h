#ifndef CLI_TERM_PROGRAM_H
#define CLI_TERM_PROGRAM_H

/* The file this program runs from, links followed. A new string, NULL when it cannot be told. */
char *program_path(void);

#endif
