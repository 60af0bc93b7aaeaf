#ifndef CLI_TERM_PROGRAM_H
#define CLI_TERM_PROGRAM_H

/* The path of the running program, with links resolved, as a new string; NULL if it is unknown. */
char *program_path(void);

#endif
