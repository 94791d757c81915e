/* Opening and closing the databases of a run. */
#include "run/session.h"
#include "driver/sqlite/sqlite.h"
#include "run/module.h"
#include "run/stop.h"
#include "run/url.h"
#include <stdio.h>
#include <string.h>

int lr_driver_for(const char *url, const lr_driver **out, lr_err *e)
{
    if (strncmp(url, "sqlite:", 7) == 0) {
        *out = &lr_sqlite_driver;
        return 0;
    }
    if (strncmp(url, "postgresql://", 13) == 0 || strncmp(url, "postgres://", 11) == 0 || lr_url_is_words(url)) {
        if (lr_url_check(url, e) != 0) return -1;
        static const lr_driver *postgres;
        lr_driver_entry entry = NULL;
        lr_buf why = {0};
        if (postgres == NULL) *(void **)&entry = lr_module_symbol("lrun_pg.so", LRUN_DRIVER_SYMBOL, &why);
        if (postgres == NULL && entry != NULL && entry()->abi == LRUN_DRIVER_ABI) postgres = entry();
        if (postgres == NULL) {
            lr_fail(e, LR_UNREACHABLE, "the PostgreSQL driver lrun_pg.so cannot be loaded%s%s", why.len > 0 ? ": " : "",
                    why.len > 0 ? why.data : "");
            lr_hint(e, "it belongs beside lrun or into ../lib/lrun; LRUN_LIBDIR names another folder");
        }
        lr_buf_free(&why);
        *out = postgres;
        return postgres != NULL && lr_dialect_of(postgres) != NULL ? 0 : -1;
    }
    lr_arena a = {0};
    lr_fail(e, LR_USAGE, "\"%s\" is no connection that lrun knows", lr_url_shown(&a, url));
    lr_arena_free(&a);
    return lr_hint(e, "write sqlite:path/to/file.db or postgresql://user@host/database");
}

static lr_open how_to_open(const lr_place *p, int lock_timeout_ms)
{
    lr_open how = {.url = p->url, .lock_timeout_ms = lock_timeout_ms, .name = p->name, .row_security = p->row_security};
    how.poll = lr_stop_poll;
    how.stopped = lr_stop_reason;
    return how;
}

/* Make a source usable, or keep the reason why it is not. */
static void open_place(lr_session *s, lr_place *p, const lr_session_config *cfg)
{
    const lr_place *w = s->warehouse;
    lr_err *e = &p->problem;
    int same = p->driver == w->driver ? w->driver->same(w->conn, p->url, e) : 0;
    if (same < 0) return;
    if (same > 0) {
        if (p->row_security != w->row_security) {
            lr_fail(e, LR_USAGE, "row_security is true for one of %s and warehouse, which are one database", p->name);
            lr_hint(e, "give both row_security = true in connections.lua, or neither");
            return;
        }
        p->conn = w->conn;
        p->same = 1;
        return;
    }
    lr_open how = how_to_open(p, cfg->lock_timeout_ms);
    how.readonly = 1;
    int reached = p->driver == w->driver ? w->driver->reach(w->conn, &how, p->name, e) : 0;
    if (reached < 0) return;
    if (reached > 0) {
        p->conn = w->conn;
        p->schema = p->name;
        return;
    }
    if (p->driver->open(&how, &p->conn, e) == 0) p->own = 1;
}

static int not_ours(const lr_place *w, lr_err *e)
{
    lr_fail(e, LR_UNREACHABLE, "%s: lrun has not written this warehouse before, and it must exist", w->shown);
    return lr_hint(e, "correct the path, or leave must_exist out for the first run");
}

static int open_warehouse(lr_session *s, const lr_session_config *cfg, lr_err *e)
{
    lr_place *w = s->warehouse;
    int there = w->driver->probe(w->url, e);
    if (there < 0) return -1;
    s->fresh = !there;
    lr_open how = how_to_open(w, cfg->lock_timeout_ms);
    how.readonly = s->readonly;
    how.create = !s->readonly;
    how.temporary = cfg->temporary;
    /* A plan of a first run has no warehouse to read: an empty one stands in. */
    if (s->readonly && s->fresh) how.url = "sqlite::memory:";
    if (s->fresh && cfg->must_exist) return not_ours(w, e);
    if (w->driver->open(&how, &w->conn, e) != 0) return -1;
    w->own = 1;
    if (w->dialect->warehouse != NULL && w->dialect->warehouse(w->driver, w->conn, e) != 0) return -1;
    if (!cfg->must_exist) return 0;
    lr_table ledger = {s->ledger_schema, "lrun_schema"};
    lr_relation rel;
    if (w->dialect->relation(w->driver, w->conn, &s->arena, &ledger, 0, &rel, e) != 0) return -1;
    return rel.exists ? 0 : not_ours(w, e);
}

int lr_session_open(lr_session *s, const lr_session_config *cfg, lr_err *e)
{
    int must_exist = cfg->must_exist;
    if (cfg->n > LR_MAX_CONNECTIONS) return lr_fail(e, LR_USAGE, "more than %d connections", LR_MAX_CONNECTIONS);
    s->readonly = cfg->readonly;
    s->lock_timeout_ms = cfg->lock_timeout_ms;
    for (int i = 0; i < cfg->n; i++) {
        const lr_named *named = &cfg->named[i];
        lr_place *p = &s->places[s->n];
        p->name = lr_dup(&s->arena, named->name);
        p->url = lr_dup(&s->arena, named->url);
        p->shown = lr_url_shown(&s->arena, named->url);
        if (lr_driver_for(p->url, &p->driver, e) != 0) return lr_step(e, "connection \"%s\"", p->name);
        p->dialect = lr_dialect_of(p->driver);
        p->row_security = named->row_security;
        if (p->row_security && !p->dialect->has_row_security) {
            lr_fail(e, LR_USAGE, "connection \"%s\": row_security is true, and a %s database has no row level security", p->name, p->dialect->name);
            return lr_hint(e, "leave row_security out");
        }
        s->n++;
        if (strcmp(p->name, "warehouse") != 0) continue;
        s->warehouse = p;
        s->ledger_schema = lr_dup(&s->arena, named->ledger_schema);
        must_exist = must_exist || named->must_exist;
    }
    if (s->warehouse == NULL) {
        lr_fail(e, LR_USAGE, "no warehouse is configured");
        return lr_hint(e, "pass --warehouse sqlite:path.db, set LRUN_WAREHOUSE, or write connections.lua");
    }
    if (s->ledger_schema != NULL && !s->warehouse->dialect->has_schemas) {
        lr_fail(e, LR_USAGE, "--ledger-schema %s: a %s database has no schemas", s->ledger_schema, s->warehouse->dialect->name);
        return lr_hint(e, "leave ledger_schema out");
    }
    /* A missing source must not leave a new, empty warehouse behind. */
    for (int i = 0; i < s->n; i++) {
        lr_place *p = &s->places[i];
        if (strcmp(p->name, "source") != 0 || strcmp(p->url, s->warehouse->url) == 0) continue;
        int there = p->driver->probe(p->url, e);
        if (there == 0 && strcmp(p->url, "sqlite::memory:") != 0) {
            lr_fail(e, LR_UNREACHABLE, "%s: no such database", p->shown);
            lr_hint(e, "correct the path, or make the database first");
        }
        if (e->status != LR_OK) return lr_step(e, "connection \"source\"");
    }
    /* Without a source there is nothing to fill a new warehouse from. */
    lr_place *source = NULL;
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->places[i].name, "source") == 0) source = &s->places[i];
    if (source == NULL && !cfg->readonly && s->warehouse->driver->probe(s->warehouse->url, e) == 0 &&
        strcmp(s->warehouse->url, "sqlite::memory:") != 0) {
        lr_fail(e, LR_USAGE, "no source is configured, and the warehouse %s does not exist", s->warehouse->shown);
        return lr_hint(e, "pass --source sqlite:path.db, set LRUN_SOURCE, or write connections.lua");
    }
    if (e->status != LR_OK) return -1;
    lr_session_config mine = *cfg;
    mine.must_exist = must_exist;
    if (open_warehouse(s, &mine, e) != 0) return lr_step(e, "connection \"warehouse\"");
    for (int i = 0; i < s->n; i++) {
        lr_place *p = &s->places[i];
        if (p == s->warehouse) continue;
        open_place(s, p, cfg);
        if (p->problem.status != LR_OK && strcmp(p->name, "source") == 0) {
            *e = p->problem;
            return lr_step(e, "connection \"source\"");
        }
    }
    return 0;
}

int lr_place_relation(const lr_place *p, lr_arena *a, const char *name, int all, lr_relation *out, lr_err *e)
{
    lr_table t;
    if (p->dialect->resolve(p->driver, p->conn, a, p->schema, name, &t, e) != 0) return -1;
    return p->dialect->relation(p->driver, p->conn, a, &t, all, out, e);
}

int lr_session_second(lr_session *s, const lr_place *p, lr_conn **out, lr_err *e)
{
    lr_open how = how_to_open(p, s->lock_timeout_ms);
    how.is_open = 1;
    how.readonly = 1;
    return p->driver->open(&how, out, e);
}

int lr_session_reopen(lr_session *s, lr_place *p, lr_err *e)
{
    lr_open how = how_to_open(p, s->lock_timeout_ms);
    lr_conn *fresh = NULL, *old = p->conn;
    how.readonly = p != s->warehouse;
    if (p->driver->open(&how, &fresh, e) != 0) return -1;
    /* places of the same database share the connection */
    for (int i = 0; i < s->n; i++)
        if (s->places[i].conn == old) s->places[i].conn = fresh;
    p->driver->close(old);
    return 0;
}

void lr_session_close(lr_session *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->places[i].own && &s->places[i] != s->warehouse) s->places[i].driver->close(s->places[i].conn);
    for (int i = 0; i < s->n; i++)
        if (s->places[i].alone != NULL) s->places[i].driver->close(s->places[i].alone->conn);
    if (s->warehouse != NULL && s->warehouse->own) s->warehouse->driver->close(s->warehouse->conn);
    lr_arena_free(&s->arena);
    memset(s, 0, sizeof *s);
}

int lr_session_place(lr_session *s, const char *name, lr_place **out, lr_err *e)
{
    for (int i = 0; i < s->n; i++) {
        if (strcmp(s->places[i].name, name) != 0) continue;
        if (s->places[i].problem.status != LR_OK) {
            *e = s->places[i].problem;
            return lr_step(e, "connection \"%s\"", name);
        }
        *out = &s->places[i];
        return 0;
    }
    lr_buf known = {0};
    for (int i = 0; i < s->n; i++) lr_buf_printf(&known, "%s%s", i > 0 ? ", " : "", s->places[i].name);
    int source = strcmp(name, "source") == 0;
    lr_fail(e, LR_FAILED, "no connection is named \"%s\"", name);
    lr_hint(e, "known: %s; pass --%s%sURL, or add it to connections.lua", known.data, source ? "" : "connection ",
            source ? "source " : lr_printf(&s->arena, "%s=", name));
    lr_buf_free(&known);
    return -1;
}
