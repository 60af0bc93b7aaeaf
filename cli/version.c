#include <archive.h>
#include <curl/curl.h>
#include <jansson.h>
#include <libssh2.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <yaml.h>
#include <zlib.h>

#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "base/banned.h"

static int run_version(int argc, char **argv, struct err *err)
{
    if (argc > 0) {
        err_set(err, ERR_USAGE, "version takes no argument: \"%.60s\"", argv[0]);
        return exit_status_of(err);
    }
    int major = 0, minor = 0, patch = 0;
    yaml_get_version(&major, &minor, &patch);
    printf("profgrab %s\n", PROFGRAB_VERSION);
    printf("libssh2 %s\n", libssh2_version(0));
    printf("libcurl %s\n", curl_version_info(CURLVERSION_NOW)->version);
    printf("%s\n", OpenSSL_version(OPENSSL_VERSION));
    printf("zlib %s\n", zlibVersion());
    printf("libarchive %s\n", archive_version_details());
    printf("jansson %s\n", JANSSON_VERSION);
    printf("libyaml %d.%d.%d\n", major, minor, patch);
    return EXIT_OK;
}

const struct command command_version = {
    .name = "version",
    .synopsis = "",
    .summary = "print the versions of profgrab and its libraries",
    .run = run_version,
};
