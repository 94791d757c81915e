/* A second connection to a database that is attached beside the warehouse: it sees
 * that database alone, so the SQL of a job means its tables and catalog only. Both
 * connections have to see one state of it. */
#include "run/alone.h"
#include <string.h>

#define MOST_TRIES 10

static int attached(const lr_session *s, const lr_place *p)
{
    return p != s->warehouse && p->conn != NULL && p->schema != NULL && strcmp(p->url, "sqlite::memory:") != 0;
}

static int open_alone(lr_session *s, lr_place *p, lr_err *e)
{
    lr_place *alone = lr_alloc(&s->arena, sizeof *alone);
    if (p->alone != NULL) return 0;
    *alone = *p;
    alone->schema = NULL;
    alone->conn = NULL;
    if (lr_session_second(s, p, &alone->conn, e) != 0) return lr_step(e, "connection \"%s\"", p->name);
    p->alone = alone;
    return 0;
}

/* How often others have committed to each attached database, as the warehouse's
 * connection sees it. */
static int read_versions(lr_run *run, int64_t *out, lr_err *e)
{
    lr_session *s = run->session;
    for (int i = 0; i < s->n; i++) {
        const lr_place *p = &s->places[i];
        lr_cursor *k;
        const lr_value *row;
        if (p->alone == NULL) continue;
        lr_sql q = lr_sql_new(&run->arena);
        p->dialect->commits(&q, p->schema);
        if (p->driver->query(p->conn, lr_sql_text(&q, p->dialect), NULL, 0, &k, e) != 0) return -1;
        int got = p->driver->next(k, &row, e);
        if (got == 1) out[i] = row[0].i;
        p->driver->finish(k);
        if (got < 0) return -1;
    }
    return 0;
}

static void rollback_all(lr_session *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->places[i].alone != NULL) s->places[i].driver->rollback(s->places[i].alone->conn);
}

static int begin_all(lr_session *s, lr_err *e)
{
    for (int i = 0; i < s->n; i++) {
        const lr_place *p = &s->places[i];
        if (p->alone != NULL && p->driver->begin(p->alone->conn, 0, e) != 0) return lr_step(e, "connection \"%s\"", p->name);
    }
    return 0;
}

/* Others' commits are counted before and after both have begun: where the counts
 * are equal, nothing was committed in between. */
int lr_alone_begin(lr_run *run, int (*begin)(lr_run *run, lr_err *e), lr_err *e)
{
    lr_session *s = run->session;
    int open = 0;
    for (int i = 0; i < s->n; i++)
        if (s->wants_alone && attached(s, &s->places[i]) && open_alone(s, &s->places[i], e) != 0) return -1;
    for (int i = 0; i < s->n; i++) open |= s->places[i].alone != NULL;
    if (!open) return begin(run, e);
    int64_t *before = lr_alloc(&run->arena, (size_t)s->n * sizeof *before), *after = lr_alloc(&run->arena, (size_t)s->n * sizeof *after);
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        if (read_versions(run, before, e) != 0) return -1;
        if (begin_all(s, e) != 0 || begin(run, e) != 0) {
            rollback_all(s);
            return -1;
        }
        int failed = read_versions(run, after, e);
        if (failed == 0 && memcmp(before, after, (size_t)s->n * sizeof *before) == 0) return 0;
        rollback_all(s);
        s->warehouse->driver->rollback(s->warehouse->conn);
        if (failed != 0) return -1;
    }
    lr_fail(e, LR_BUSY, "another process commits to the source so often that two connections see no common state of it");
    return lr_hint(e, "run again, or read a copy of the source: VACUUM INTO 'copy.db'");
}

void lr_alone_end(lr_run *run)
{
    rollback_all(run->session);
}

int lr_alone(lr_run *run, const lr_place *p, const lr_place **out, lr_err *e)
{
    lr_session *s = run->session;
    *out = p;
    if (!attached(s, p)) return 0;
    if (p->alone == NULL && run->open && !run->job->manual) {
        s->wants_alone = 1;
        lr_fail(e, LR_FAILED, "the SQL for \"%s\" needs a connection of its own", p->name);
        e->retry = LR_RETRY_FREE;
        return lr_doom(run, e);
    }
    if (open_alone(s, (lr_place *)p, e) != 0) return -1;
    *out = p->alone;
    return 0;
}
