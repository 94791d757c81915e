/* The statements of scd2_merge. */
#include "sql/scd2.h"
#include <string.h>

static lr_sql column(const lr_sql *q, const char *qualifier, const char *name)
{
    return lr_sql_column(q->arena, qualifier, name);
}

static void instant(const lr_scd2 *s, lr_sql *q, const char *qualifier, const char *name, const lr_type *decl)
{
    lr_sql c = column(q, qualifier, name);
    s->d->instant(q, &c, LR_ISO, s->zone, decl);
}

static void open_end(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    lr_sql c = column(q, qualifier, s->to);
    lr_sqlf(q, "(%Q IS NULL OR %Q >= '9999-12-31')", &c, &c);
}

/* "q.a, q.b" */
static void list(lr_sql *q, const char *qualifier, const char **names, int n)
{
    for (int i = 0; i < n; i++) {
        lr_sql c = column(q, qualifier, names[i]);
        lr_sqlf(q, i == 0 ? "%Q" : ", %Q", &c);
    }
}

static void columns(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    list(q, qualifier, s->key, s->nkey);
    if (s->ntrack > 0) lr_sqlf(q, ", ");
    list(q, qualifier, s->track, s->ntrack);
}

static void same_key(const lr_scd2 *s, lr_sql *q, const char *a, const char *b)
{
    for (int i = 0; i < s->nkey; i++) lr_sqlf(q, i == 0 ? "%I.%I = %I.%I" : " AND %I.%I = %I.%I", a, s->key[i], b, s->key[i]);
}

/* The version of the dimension that holds the moment. */
static void covers(const lr_scd2 *s, lr_sql *q, const lr_sql *moment)
{
    instant(s, q, "dim", s->from, s->from_decl);
    lr_sqlf(q, " <= %Q AND (", moment);
    open_end(s, q, "dim");
    lr_sqlf(q, " OR %Q < ", moment);
    instant(s, q, "dim", s->to, s->to_decl);
    lr_sqlf(q, ")");
}

static int is_loose(const lr_scd2 *s, const char *name)
{
    int at = lr_field_find(s->d, s->dim, name);
    return at >= 0 && s->dim->fields[at].loose;
}

/* Does the version say something else than the sighting in this column? */
static void differs(const lr_scd2 *s, lr_sql *q, const char *before, int i, const char *after)
{
    lr_sql a = column(q, "dim", s->track[i]), b = column(q, "new", s->track[i]);
    lr_sqlf(q, "%s", before);
    s->d->distinct(q, &a, &b, is_loose(s, s->track[i]));
    lr_sqlf(q, "%s", after);
}

/* A key as the text of lrun_scd2_seen. */
static void key_text(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    for (int i = 0; i < s->nkey; i++) {
        if (i > 0) lr_sqlf(q, " || ',' || ");
        if (s->nkey == 1) lr_sqlf(q, "CAST(%I.%I AS text)", qualifier, s->key[i]);
        else lr_sqlf(q, "%s(CAST(%I.%I AS text))", s->d->quote, qualifier, s->key[i]);
    }
}

static lr_sql absent_instant(const lr_scd2 *s, lr_sql *q)
{
    lr_sql value = lr_sql_new(q->arena), out = lr_sql_new(q->arena);
    s->d->typed(&value, s->absent, s->from_decl);
    s->d->instant(&out, &value, LR_ISO, s->zone, s->from_decl);
    return out;
}

static lr_sql sighting_instant(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    lr_sql out = lr_sql_new(q->arena);
    instant(s, &out, qualifier, s->from, s->from_decl);
    return out;
}

/* A first moment as an end: columns of one type need nothing. */
static void as_end(const lr_scd2 *s, lr_sql *q, const lr_sql *at)
{
    if (strcmp(s->from_decl->native, s->to_decl->native) == 0) lr_sqlf(q, "%Q", at);
    else s->d->moment(q, at, LR_ISO, s->zone, s->from_decl, s->to_decl);
}

static void insert_sightings(const lr_scd2 *s, lr_sql *q, const lr_table *t, const char *of)
{
    lr_sqlf(q, "INSERT INTO %T (", t);
    columns(s, q, NULL);
    lr_sqlf(q, ", %I) SELECT ", s->from);
    columns(s, q, of);
}

void lr_scd2_take(const lr_scd2 *s, const lr_sql *rows, lr_sql *q)
{
    insert_sightings(s, q, &s->sightings, "rows");
    lr_sqlf(q, ", \"rows\".%I FROM (%Q) AS \"rows\"", s->from, rows);
}

void lr_scd2_there(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = sighting_instant(s, q, "new"), then = absent_instant(s, q);
    insert_sightings(s, q, &s->sightings, "new");
    lr_sqlf(q, ", ");
    s->d->typed(q, s->absent, s->from_decl);
    lr_sqlf(q, " FROM (SELECT ");
    columns(s, q, "all");
    lr_sqlf(q, ", \"all\".%I, row_number() OVER (PARTITION BY ", s->from);
    list(q, "all", s->key, s->nkey);
    lr_sql order = sighting_instant(s, q, "all");
    lr_sqlf(q, " ORDER BY %Q DESC) AS \"lrun_nth\" FROM %T AS \"all\") AS \"new\" WHERE \"new\".\"lrun_nth\" = 1 AND %Q < %Q", &order,
            &s->sightings, &at, &then);
}

/* The rows under a name whose key is not in the table; comes after their FROM. */
static void without(const lr_scd2 *s, lr_sql *q, const char *of, const lr_table *t, const char *name)
{
    lr_sql keys = lr_sql_new(q->arena);
    lr_sqlf(&keys, "SELECT ");
    list(&keys, NULL, s->key, s->nkey);
    lr_sqlf(&keys, " FROM %T", t);
    s->d->unmatched(q, of, &keys, name, s->key, s->nkey);
}

void lr_scd2_changed_keys(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = sighting_instant(s, q, "new");
    lr_sqlf(q, "INSERT INTO %T (", &s->keys);
    list(q, NULL, s->key, s->nkey);
    lr_sqlf(q, ") SELECT ");
    list(q, "new", s->key, s->nkey);
    /* a join: SQLite makes an index for it if it has none, and for NOT EXISTS it does not */
    lr_sqlf(q, " FROM %T AS \"new\" LEFT JOIN %T AS \"dim\" ON ", &s->sightings, &s->dim->table);
    same_key(s, q, "dim", "new");
    lr_sqlf(q, " AND ");
    covers(s, q, &at);
    for (int i = 0; i < s->ntrack; i++) differs(s, q, " AND NOT (", i, ")");
    without(s, q, "new", &s->simple, "simple");
    lr_sqlf(q, " AND \"dim\".%I IS NULL GROUP BY ", s->key[0]);
    list(q, "new", s->key, s->nkey);
}

void lr_scd2_gone_keys(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = absent_instant(s, q);
    lr_sqlf(q, "INSERT INTO %T (", &s->keys);
    list(q, NULL, s->key, s->nkey);
    lr_sqlf(q, ") SELECT ");
    list(q, "dim", s->key, s->nkey);
    lr_sqlf(q, " FROM (SELECT * FROM %T WHERE 1=1%Q) AS \"dim\"", &s->dim->table, s->inside);
    without(s, q, "dim", &s->sightings, "new");
    lr_sqlf(q, " AND ");
    covers(s, q, &at);
    lr_sqlf(q, " GROUP BY ");
    list(q, "dim", s->key, s->nkey);
}

/* No sighting that changed nothing is known from the moment on. */
static void nothing_after(const lr_scd2 *s, lr_sql *q, int all)
{
    lr_value name = lr_text(all ? s->all_name : s->dim_name);
    lr_sqlf(q, " AND NOT EXISTS (SELECT 1 FROM %T AS \"seen\" WHERE \"seen\".\"dim\" = %V AND \"seen\".\"key\" = ", &s->seen, &name);
    if (all) lr_sqlf(q, "''");
    else key_text(s, q, "new");
    lr_sqlf(q, " AND \"seen\".\"at\" >= CAST(\"new\".%I AS text))", s->from);
}

void lr_scd2_simple(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = sighting_instant(s, q, "new");
    insert_sightings(s, q, &s->simple, "new");
    lr_sqlf(q, ", \"new\".%I FROM ", s->from);
    if (s->once) lr_sqlf(q, "%T AS \"new\"", &s->sightings);
    else {
        lr_sqlf(q, "(SELECT \"one\".*, count(*) OVER (PARTITION BY ");
        list(q, "one", s->key, s->nkey);
        lr_sqlf(q, ") AS \"lrun_times\" FROM %T AS \"one\") AS \"new\"", &s->sightings);
    }
    lr_sqlf(q, " LEFT JOIN %T AS \"dim\" ON ", &s->dim->table);
    same_key(s, q, "dim", "new");
    lr_sqlf(q, " AND ");
    open_end(s, q, "dim");
    /* the version that is open begins before and says something else; or the key is new */
    lr_sqlf(q, " WHERE %sCASE WHEN \"dim\".%I IS NULL THEN NOT EXISTS (SELECT 1 FROM %T AS \"old\" WHERE ",
            s->once ? "" : "\"new\".\"lrun_times\" = 1 AND ", s->key[0], &s->dim->table);
    same_key(s, q, "old", "new");
    lr_sqlf(q, ") ELSE ");
    instant(s, q, "dim", s->from, s->from_decl);
    lr_sqlf(q, " < %Q AND (1 = 0", &at);
    for (int i = 0; i < s->ntrack; i++) differs(s, q, " OR ", i, "");
    lr_sqlf(q, ") END");
    for (int all = 0; s->remembers && all < 2; all++) nothing_after(s, q, all);
}

static void stamp(const lr_scd2 *s, lr_sql *q, const char *before)
{
    if (s->stamp == NULL) return;
    lr_sqlf(q, "%s", before);
    s->d->typed(q, &s->stamp_value, s->stamp_decl);
}

void lr_scd2_end_simple(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = column(q, "n", s->from);
    lr_sqlf(q, "UPDATE %T AS \"target\" SET %I = ", &s->dim->table, s->to);
    as_end(s, q, &at);
    if (s->stamp != NULL) lr_sqlf(q, ", %I", s->stamp);
    stamp(s, q, " = ");
    lr_sqlf(q, " FROM %T AS \"n\" WHERE ", &s->simple);
    same_key(s, q, "target", "n");
    lr_sqlf(q, " AND ");
    open_end(s, q, "target");
}

static void insert_head(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "INSERT INTO %T (", &s->dim->table);
    columns(s, q, NULL);
    lr_sqlf(q, ", %I, %I", s->from, s->to);
    if (s->stamp != NULL) lr_sqlf(q, ", %I", s->stamp);
    lr_sqlf(q, ")%s SELECT ", s->d->overriding);
    columns(s, q, "n");
    lr_sqlf(q, ", \"n\".%I, ", s->from);
}

void lr_scd2_begin_simple(const lr_scd2 *s, lr_sql *q)
{
    lr_value forever = lr_text("9999-12-31");
    insert_head(s, q);
    s->d->typed(q, &forever, s->to_decl);
    stamp(s, q, ", ");
    lr_sqlf(q, " FROM %T AS \"n\"", &s->simple);
}

static void event_head(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "INSERT INTO %T (", &s->events);
    columns(s, q, NULL);
    lr_sqlf(q, ", %I, %I, %I, %I) SELECT ", s->from, LR_SCD2_TO, LR_SCD2_WAS, LR_SCD2_THERE);
}

static void ends(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "INSERT INTO %T (", &s->events);
    list(q, NULL, s->key, s->nkey);
    lr_sqlf(q, ", %I, %I, %I) SELECT ", s->from, LR_SCD2_WAS, LR_SCD2_THERE);
    list(q, "dim", s->key, s->nkey);
    lr_sql to = column(q, "dim", s->to);
    lr_sqlf(q, ", ");
    s->d->moment(q, &to, LR_ISO, s->zone, s->to_decl, s->from_decl);
    lr_sqlf(q, ", 0, 0 FROM (SELECT ");
    list(q, "all", s->key, s->nkey);
    lr_sqlf(q, ", \"all\".%I, lead(", s->to);
    instant(s, q, "all", s->from, s->from_decl);
    lr_sqlf(q, ") OVER (PARTITION BY ");
    list(q, "all", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY ");
    instant(s, q, "all", s->from, s->from_decl);
    lr_sqlf(q, ") AS \"lrun_next\" FROM %T AS \"all\" JOIN %T AS \"k\" ON ", &s->dim->table, &s->keys);
    same_key(s, q, "all", "k");
    lr_sqlf(q, ") AS \"dim\" WHERE NOT ");
    open_end(s, q, "dim");
    lr_sqlf(q, " AND (\"dim\".\"lrun_next\" IS NULL OR \"dim\".\"lrun_next\" > ");
    instant(s, q, "dim", s->to, s->to_decl);
    lr_sqlf(q, ")");
}

/* From each new event on the first sighting that changed nothing: what the
 * version of its moment says. */
static void next_sightings(const lr_scd2 *s, lr_sql *q, int all)
{
    lr_value name = lr_text(all ? s->all_name : s->dim_name);
    const lr_type text = lr_type_words("text");
    lr_sql at = column(q, "e", "lrun_at"), value = lr_sql_new(q->arena), when = lr_sql_new(q->arena);
    s->d->moment(&value, &at, LR_ISO, s->zone, &text, s->from_decl);
    s->d->instant(&when, &value, LR_ISO, s->zone, s->from_decl);
    event_head(s, q);
    list(q, "e", s->key, s->nkey);
    if (s->ntrack > 0) lr_sqlf(q, ", ");
    list(q, "dim", s->track, s->ntrack);
    lr_sqlf(q, ", %Q, NULL, 0, CASE WHEN \"dim\".%I IS NULL THEN 0 ELSE 1 END FROM (SELECT ", &value, s->key[0]);
    list(q, "k", s->key, s->nkey);
    lr_sqlf(q, ", (SELECT min(\"seen\".\"at\") FROM %T AS \"seen\" WHERE \"seen\".\"dim\" = %V AND \"seen\".\"key\" = ", &s->seen, &name);
    if (all) lr_sqlf(q, "''");
    else key_text(s, q, "k");
    lr_sqlf(q, " AND \"seen\".\"at\" >= CAST(\"k\".%I AS text)) AS \"lrun_at\" FROM %T AS \"k\") AS \"e\" LEFT JOIN %T AS \"dim\" ON ",
            s->from, &s->events, &s->dim->table);
    same_key(s, q, "dim", "e");
    lr_sqlf(q, " AND ");
    covers(s, q, &when);
    lr_sqlf(q, " WHERE \"e\".\"lrun_at\" IS NOT NULL");
}

int lr_scd2_events(const lr_scd2 *s, int kind, lr_sql *q)
{
    switch (kind) {
    case 0:
        event_head(s, q);
        columns(s, q, "new");
        lr_sqlf(q, ", \"new\".%I, NULL, 0, 1 FROM %T AS \"new\" JOIN %T AS \"k\" ON ", s->from, &s->sightings, &s->keys);
        same_key(s, q, "new", "k");
        return 1;
    case 1:
        if (s->absent == NULL) return 0;
        event_head(s, q);
        list(q, "k", s->key, s->nkey);
        for (int i = 0; i < s->ntrack; i++) lr_sqlf(q, ", NULL");
        lr_sqlf(q, ", ");
        s->d->typed(q, s->absent, s->from_decl);
        lr_sqlf(q, ", NULL, 0, 0 FROM %T AS \"k\"", &s->keys);
        without(s, q, "k", &s->sightings, "new");
        return 1;
    case 2: case 3:
        next_sightings(s, q, kind == 3);
        return 1;
    case 4:
        event_head(s, q);
        columns(s, q, "dim");
        lr_sqlf(q, ", \"dim\".%I, \"dim\".%I, 1, 1 FROM %T AS \"dim\" JOIN %T AS \"k\" ON ", s->from, s->to, &s->dim->table, &s->keys);
        same_key(s, q, "dim", "k");
        return 1;
    }
    ends(s, q);
    return 1;
}

void lr_scd2_states(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = sighting_instant(s, q, "e");
    lr_sqlf(q, "INSERT INTO %T (", &s->states);
    columns(s, q, NULL);
    lr_sqlf(q, ", %I, %I, %I, %I, %I, %I) SELECT ", s->from, LR_SCD2_TO, LR_SCD2_WAS, LR_SCD2_THERE, LR_SCD2_KEPT, LR_SCD2_TWICE);
    columns(s, q, "e");
    lr_sqlf(q, ", \"e\".%I, \"e\".%I, \"e\".%I, \"e\".%I, CASE WHEN \"e\".%I = 0 THEN coalesce(lag(\"e\".%I) OVER w, 0) "
               "WHEN coalesce(lag(\"e\".%I) OVER w, 0) = 0",
            s->from, LR_SCD2_TO, LR_SCD2_WAS, LR_SCD2_THERE, LR_SCD2_THERE, LR_SCD2_THERE, LR_SCD2_THERE);
    for (int i = 0; i < s->ntrack; i++) {
        lr_sql now = column(q, "e", s->track[i]), before = lr_sql_new(q->arena);
        lr_sqlf(&before, "(lag(%Q) OVER w)", &now);
        lr_sqlf(q, " OR ");
        s->d->distinct(q, &now, &before, is_loose(s, s->track[i]));
    }
    lr_sqlf(q, " THEN 1 ELSE 0 END, CASE WHEN (lag(%Q) OVER w) = %Q THEN 1 ELSE 0 END FROM %T AS \"e\" WINDOW w AS (PARTITION BY ", &at, &at,
            &s->events);
    list(q, "e", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY %Q, \"e\".%I DESC)", &at, LR_SCD2_WAS);
}

void lr_scd2_conflicts(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "SELECT ");
    list(q, "v", s->key, s->nkey);
    lr_sqlf(q, ", \"v\".%I FROM %T AS \"v\" WHERE \"v\".%I = 1 AND \"v\".%I = 1 GROUP BY ", s->from, &s->states, LR_SCD2_TWICE, LR_SCD2_KEPT);
    list(q, "v", s->key, s->nkey);
    lr_sqlf(q, ", \"v\".%I ORDER BY ", s->from);
    list(q, "v", s->key, s->nkey);
    lr_sqlf(q, " LIMIT 5");
}

/* Where one state follows another; the next one ends it. */
static void boundaries(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "(SELECT \"v\".*, lead(\"v\".%I) OVER (PARTITION BY ", s->from);
    list(q, "v", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY ");
    instant(s, q, "v", s->from, s->from_decl);
    lr_sqlf(q, ") AS \"lrun_next\" FROM %T AS \"v\" WHERE \"v\".%I = 1) AS \"n\"", &s->states, LR_SCD2_KEPT);
}

/* The end of a version, as the column holds it. */
static void end_of(const lr_scd2 *s, lr_sql *q)
{
    lr_value forever = lr_text("9999-12-31");
    lr_sql next = column(q, "n", "lrun_next");
    lr_sqlf(q, "coalesce(");
    as_end(s, q, &next);
    lr_sqlf(q, ", ");
    s->d->typed(q, &forever, s->to_decl);
    lr_sqlf(q, ")");
}

void lr_scd2_delete(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "DELETE FROM %T WHERE (", &s->dim->table);
    list(q, NULL, s->key, s->nkey);
    lr_sqlf(q, ", %I) IN (SELECT ", s->from);
    list(q, "v", s->key, s->nkey);
    lr_sqlf(q, ", \"v\".%I FROM %T AS \"v\" WHERE \"v\".%I = 1 AND \"v\".%I = 0)", s->from, &s->states, LR_SCD2_WAS, LR_SCD2_KEPT);
}

void lr_scd2_update(const lr_scd2 *s, lr_sql *q)
{
    lr_sql next = column(q, "n", "lrun_next"), old = column(q, "n", LR_SCD2_TO), new_end = lr_sql_new(q->arena), old_end = lr_sql_new(q->arena);
    s->d->instant(&new_end, &next, LR_ISO, s->zone, s->from_decl);
    s->d->instant(&old_end, &old, LR_ISO, s->zone, s->to_decl);
    lr_sqlf(q, "UPDATE %T AS \"target\" SET %I = ", &s->dim->table, s->to);
    end_of(s, q);
    if (s->stamp != NULL) lr_sqlf(q, ", %I", s->stamp);
    stamp(s, q, " = ");
    lr_sqlf(q, " FROM ");
    boundaries(s, q);
    lr_sqlf(q, " WHERE ");
    same_key(s, q, "target", "n");
    lr_sqlf(q, " AND \"target\".%I = \"n\".%I AND \"n\".%I = 1 AND CASE WHEN %Q IS NULL OR %Q >= '9999-12-31' THEN \"n\".\"lrun_next\" IS NOT NULL "
               "ELSE \"n\".\"lrun_next\" IS NULL OR %Q <> %Q END", s->from, s->from, LR_SCD2_WAS, &old, &old, &new_end, &old_end);
}

void lr_scd2_insert(const lr_scd2 *s, lr_sql *q)
{
    insert_head(s, q);
    end_of(s, q);
    stamp(s, q, ", ");
    lr_sqlf(q, " FROM ");
    boundaries(s, q);
    lr_sqlf(q, " WHERE \"n\".%I = 1 AND \"n\".%I = 0", LR_SCD2_THERE, LR_SCD2_WAS);
}

void lr_scd2_fill(const lr_scd2 *s, const char *const *added, int n, lr_sql *q)
{
    lr_sql at = sighting_instant(s, q, "new"), order = sighting_instant(s, q, "one");
    lr_sqlf(q, "UPDATE %T AS \"dim\" SET ", &s->dim->table);
    for (int i = 0; i < n; i++) lr_sqlf(q, i == 0 ? "%I = \"new\".%I" : ", %I = \"new\".%I", added[i], added[i]);
    lr_sqlf(q, " FROM (SELECT \"one\".*, row_number() OVER (PARTITION BY ");
    list(q, "one", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY %Q) AS \"lrun_nth\" FROM %T AS \"one\") AS \"new\" WHERE \"new\".\"lrun_nth\" = 1 AND ", &order, &s->sightings);
    same_key(s, q, "dim", "new");
    lr_sqlf(q, " AND ");
    covers(s, q, &at);
    for (int i = 0; i < s->ntrack; i++) {
        int new = 0;
        for (int j = 0; j < n; j++) new |= strcmp(added[j], s->track[i]) == 0;
        if (!new) differs(s, q, " AND NOT (", i, ")");
    }
}

void lr_scd2_memory(const lr_scd2 *s, lr_sql *q)
{
    lr_value name = lr_text(s->dim_name), all = lr_text(s->all_name);
    lr_sqlf(q, "SELECT 1 FROM %T WHERE dim = %V OR dim = %V", &s->seen, &name, &all);
}

void lr_scd2_forget(const lr_scd2 *s, lr_sql *q)
{
    lr_value name = lr_text(s->dim_name), all = lr_text(s->all_name);
    lr_sqlf(q, "DELETE FROM %T WHERE dim = %V OR dim = %V", &s->seen, &name, &all);
}

static void keep_head(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    lr_value name = lr_text(s->dim_name);
    lr_sqlf(q, "INSERT INTO %T (dim, key, at) SELECT DISTINCT CAST(%V AS text), ", &s->seen, &name);
    key_text(s, q, qualifier);
    lr_sqlf(q, ", ");
}

int lr_scd2_keep(const lr_scd2 *s, int kind, lr_sql *q)
{
    if (kind == 0) {
        keep_head(s, q, "v");
        lr_sqlf(q, "CAST(\"v\".%I AS text) FROM %T AS \"v\" WHERE \"v\".%I = 0 AND \"v\".%I = 0", s->from, &s->states, LR_SCD2_KEPT,
                LR_SCD2_TWICE);
    } else if (kind == 1) {
        lr_sql at = sighting_instant(s, q, "new");
        keep_head(s, q, "new");
        lr_sqlf(q, "CAST(\"new\".%I AS text) FROM %T AS \"new\" LEFT JOIN %T AS \"k\" ON ", s->from, &s->sightings, &s->keys);
        same_key(s, q, "k", "new");
        lr_sqlf(q, " LEFT JOIN %T AS \"dim\" ON ", &s->dim->table);
        same_key(s, q, "dim", "new");
        lr_sqlf(q, " AND ");
        instant(s, q, "dim", s->from, s->from_decl);
        lr_sqlf(q, " = %Q WHERE \"k\".%I IS NULL AND \"dim\".%I IS NULL", &at, s->key[0], s->key[0]);
        if (s->absent != NULL && s->inside->len == 0) { /* the note of all keys says it */
            lr_sql then = absent_instant(s, q);
            lr_sqlf(q, " AND %Q <> %Q", &at, &then);
        }
    } else {
        lr_value name = lr_text(s->all_name);
        /* an extract of a part says nothing of the keys outside it */
        if (s->absent == NULL || s->inside->len > 0) return 0;
        lr_sqlf(q, "INSERT INTO %T (dim, key, at) SELECT CAST(%V AS text), '', CAST(", &s->seen, &name);
        s->d->typed(q, s->absent, s->from_decl);
        lr_sqlf(q, " AS text) WHERE true");
    }
    lr_sqlf(q, " ON CONFLICT DO NOTHING");
    return 1;
}
