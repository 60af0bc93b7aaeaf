/*
 * Prints the findings on files: `findings [KIND=]FILE...`, each on a line as `RULE FUNCTION: TEXT`, with `-`
 * for no function. Two dumps of goroutines of one process are one argument: goroutines=OLDER,NEWER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/pprof.h"
#include "findings/findings.h"
#include "base/banned.h"

#define MAX_BYTES ((size_t)64 << 20)

static int add_goroutines(struct findings *found, char *paths, const struct finding_subject *s,
                          struct err *err)
{
    struct buf bytes[2] = {BUF_INIT(MAX_BYTES), BUF_INIT(MAX_BYTES)};
    struct str dumps[2];
    const char *names[2];
    struct goroutines *g = NULL;
    char *rest = NULL;
    size_t n = 0;
    int rc = 0;
    for (char *path = strtok_r(paths, ",", &rest); path && n < 2 && rc == 0;
         path = strtok_r(NULL, ",", &rest)) {
        rc = file_read(path, &bytes[n], err);
        dumps[n] = (struct str){buf_str(&bytes[n]), bytes[n].len};
        names[n++] = path;
    }
    if (rc == 0)
        rc = goroutines_read(&(struct goroutines_input){dumps, names, n, MAX_BYTES}, &g, err);
    if (rc == 0)
        rc = findings_add_goroutines(found, g, s, err);
    goroutines_free(g);
    buf_release(&bytes[0]);
    buf_release(&bytes[1]);
    return rc;
}

static int add_profile(struct findings *found, const char *path, const struct finding_subject *s,
                       struct err *err)
{
    struct buf bytes = BUF_INIT(MAX_BYTES);
    struct profile *p = NULL;
    int rc = file_read(path, &bytes, err);
    if (rc == 0)
        rc = profile_parse_buf(&bytes, MAX_BYTES, &p, err);
    if (rc == 0)
        rc = findings_add_profile(found, p, s, err);
    profile_free(p);
    buf_release(&bytes);
    return rc;
}

int main(int argc, char **argv)
{
    struct findings found = FINDINGS_INIT;
    struct err err = ERR_INIT;
    int rc = 0;
    for (int i = 1; i < argc && rc == 0; i++) {
        char *equals = strchr(argv[i], '=');
        struct finding_subject s = {
            .host = "host", .service = "service", .file = equals ? equals + 1 : argv[i]};
        if (equals)
            *equals = '\0';
        s.kind = equals ? argv[i] : NULL;
        rc = equals && strcmp(argv[i], "goroutines") == 0 ? add_goroutines(&found, equals + 1, &s, &err)
                                                          : add_profile(&found, s.file, &s, &err);
    }
    if (rc == 0)
        rc = findings_finish(&found, &err);
    for (size_t i = 0; i < found.n && rc == 0; i++)
        printf("%s %s: %s\n", found.items[i].rule->id, found.items[i].look_at ? found.items[i].look_at : "-",
               found.items[i].text);
    if (rc < 0)
        fprintf(stderr, "findings: %s\n", err.msg);
    findings_release(&found);
    return rc < 0;
}
