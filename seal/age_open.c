/* Opens an encrypted file: finds its file key with the identities (age_unwrap.c), then gives the key to the
 * reader (age_reader.c). */
#include <string.h>

#include "seal/age_identity.h"
#include "seal/age_reader.h"
#include "base/banned.h"

/* Unlocks the reader with the cached key of the last file if its header is the same. Otherwise unlocks it
 * with the file key that the identities unwrap. */
static int unlock_reader(struct age_reader *r, struct age_identities *identities, const char *header_hash,
                         struct err *err)
{
    unsigned char file_key[AGE_FILE_KEY];
    bool is_cached =
        identities && identities->has_last_key && strcmp(identities->last_header_hash, header_hash) == 0;
    int rc = 0;
    if (is_cached)
        memcpy(file_key, identities->last_key, sizeof file_key);
    else
        rc = age_identities_unwrap(identities, age_reader_header(r), file_key, err);
    if (rc == 0)
        rc = age_reader_unlock(r, file_key, err);
    if (rc == 0 && identities) {
        identities->has_last_key = true;
        memcpy(identities->last_header_hash, header_hash, sizeof identities->last_header_hash);
        memcpy(identities->last_key, file_key, sizeof file_key);
    }
    explicit_bzero(file_key, sizeof file_key);
    return rc;
}

int age_reader_open(int fd, struct age_identities *identities, struct age_reader **ret, struct err *err)
{
    struct age_reader *r = NULL;
    char header_hash[SHA256_HEX];
    if (age_reader_read_header(fd, age_identities_cancel_fd(identities), &r, err) < 0)
        return -1;
    int rc = age_reader_hash_header(r, header_hash, err);
    if (rc == 0)
        rc = unlock_reader(r, identities, header_hash, err);
    if (rc < 0)
        age_reader_free(r);
    else
        *ret = r;
    return rc;
}
