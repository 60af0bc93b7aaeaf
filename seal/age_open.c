/* Opens a file with identities: the search for its file key (age_unwrap.c) and the reader (age_reader.c). */
#include <string.h>

#include "seal/age_identity.h"
#include "seal/age_reader.h"
#include "base/banned.h"

/* Starts with a file key from the identities, or with the cached key of the last file. */
static int start_with_identities(struct age_reader *r, struct age_identities *identities, const char *header,
                                 struct err *err)
{
    unsigned char file_key[AGE_FILE_KEY];
    bool is_cached = identities && identities->has_last && strcmp(identities->last_header, header) == 0;
    int rc = 0;
    if (is_cached)
        memcpy(file_key, identities->last_key, sizeof file_key);
    else
        rc = age_identities_unwrap(identities, age_reader_header(r), file_key, err);
    if (rc == 0)
        rc = age_reader_unlock(r, file_key, err);
    if (rc == 0 && identities) {
        identities->has_last = true;
        memcpy(identities->last_header, header, sizeof identities->last_header);
        memcpy(identities->last_key, file_key, sizeof file_key);
    }
    explicit_bzero(file_key, sizeof file_key);
    return rc;
}

int age_reader_open(int fd, struct age_identities *identities, struct age_reader **ret, struct err *err)
{
    struct age_reader *r = NULL;
    char header[SHA256_HEX];
    if (age_reader_read_header(fd, age_identities_cancel_fd(identities), &r, err) < 0)
        return -1;
    int rc = age_reader_hash_header(r, header, err);
    if (rc == 0)
        rc = start_with_identities(r, identities, header, err);
    if (rc < 0)
        age_reader_free(r);
    else
        *ret = r;
    return rc;
}
