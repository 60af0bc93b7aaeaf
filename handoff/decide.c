#include "handoff/decide.h"

#include "base/banned.h"

const char *readers_text(enum readers readers)
{
    switch (readers) {
    case READERS_TEAM:
        return "readable by its members";
    case READERS_SIGNED_IN:
        return "readable by everybody with an account";
    case READERS_ANYONE:
        return "readable by anyone";
    case READERS_UNKNOWN:
        break;
    }
    return "readable by users that the tracker does not report";
}

/* A confidential issue in a place that outsiders can read does not hide its attachments, because in GitLab
 * attachments belong to the project. The rule is the same for all trackers, so that users can remember it. */
int decide_bundle(const struct facts *f, const char *place, struct err *err)
{
    if (f->encrypted || f->plaintext_i_know)
        return 0;
    if (f->readers == READERS_TEAM && (!f->existing || f->confidential))
        return 0;
    if (f->readers == READERS_TEAM)
        err_set(err, ERR_DENIED,
                "the bundle is not encrypted, and the issue in %s is not confidential: an internal note does "
                "not hide its attachments",
                place);
    else
        err_set(err, ERR_DENIED, "the bundle is not encrypted, and the attachments in %s are %s", place,
                readers_text(f->readers));
    return err_hint(err, "encrypt it (--for TEAM, --encrypt-to); --plaintext-i-know sends it as it is");
}

bool decide_needs_note(const struct facts *f)
{
    return !f->confidential;
}

bool decide_summary(const struct facts *f, bool internal)
{
    return f->confidential || internal;
}
