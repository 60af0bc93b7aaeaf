/* Checks before an upload that the readers of the place and of the issue are still the same. */
#include "handoff/job.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static int set_change_error(const struct handoff_job *j, const struct facts *before, struct err *err)
{
    if (j->facts.readers != before->readers)
        err_set(err, ERR_DENIED, "%s %s: %s now, and %s when the hand-off began", j->type->place,
                j->request->project, readers_text(j->facts.readers), readers_text(before->readers));
    else if (before->confidential && !j->facts.confidential)
        err_set(err, ERR_DENIED, "the %s is not confidential any more", j->type->issue);
    else
        err_set(err, ERR_DENIED, "%s %s is not as it was when the hand-off began", j->type->place,
                j->request->project);
    return err_hint(err, "nothing was uploaded; check who can read there before you repeat it");
}

int job_read_flag(struct handoff_job *j, bool *ret, struct err *err)
{
    *ret = j->facts.confidential;
    return j->facts.confidential && !j->options->dry_run ? j->type->read_back(j, ret, err) : 0;
}

int job_recheck_readers(struct handoff_job *j, struct err *err)
{
    struct facts before = j->facts;
    bool packages_public = j->packages_public;
    char project[sizeof j->project];
    snprintf(project, sizeof project, "%s", j->project);
    if (j->type->read_place(j, err) < 0)
        return -1;
    bool same = j->facts.readers == before.readers && (j->facts.confidential || !before.confidential) &&
                j->packages_public == packages_public && strcmp(j->project, project) == 0;
    if (!same && !j->options->dry_run)
        return set_change_error(j, &before, err);
    /* Restore the flag that was read back: read_place reads only the flag of an issue that existed before. */
    j->facts = before;
    if (!before.existing && job_read_flag(j, &j->facts.confidential, err) < 0)
        return -1;
    return j->facts.confidential == before.confidential ? 0 : set_change_error(j, &before, err);
}
