#include "gateway/keyring.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"

struct keyring {
    pthread_mutex_t mutex;
};

int keyring_new(struct keyring **ret, struct err *err)
{
    struct keyring *k = calloc(1, sizeof *k);
    if (!k)
        return err_nomem(err);
    pthread_mutex_init(&k->mutex, NULL);
    *ret = k;
    return 0;
}

void keyring_free(struct keyring *k)
{
    if (!k)
        return;
    pthread_mutex_destroy(&k->mutex);
    free(k);
}
