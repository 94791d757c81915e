/* The statements of scd2_merge. */
#include "sql/scd2_pieces.h"
#include <string.h>

static lr_sql column(const lr_sql *q, const char *qualifier, const char *name)
{
    return lr_sql_column(q->arena, qualifier, name);
}

void lr_scd2_instant(const lr_scd2 *s, lr_sql *q, const char *qualifier, const char *name, const lr_type *type)
{
    lr_sql c = column(q, qualifier, name);
    s->d->instant(q, &c, LR_ISO, s->zone, type);
}

void lr_scd2_open_end(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    lr_sql c = column(q, qualifier, s->to);
    lr_sqlf(q, "(%Q IS NULL OR %Q >= '9999-12-31')", &c, &c);
}

/* "q.a, q.b" */
void lr_scd2_list(lr_sql *q, const char *qualifier, const char **names, int n)
{
    for (int i = 0; i < n; i++) {
        lr_sql c = column(q, qualifier, names[i]);
        lr_sqlf(q, i == 0 ? "%Q" : ", %Q", &c);
    }
}

void lr_scd2_columns(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    lr_scd2_list(q, qualifier, s->key, s->nkey);
    if (s->ntrack > 0) lr_sqlf(q, ", ");
    lr_scd2_list(q, qualifier, s->track, s->ntrack);
}

void lr_scd2_same_key(const lr_scd2 *s, lr_sql *q, const char *a, const char *b)
{
    for (int i = 0; i < s->nkey; i++) lr_sqlf(q, i == 0 ? "%I.%I = %I.%I" : " AND %I.%I = %I.%I", a, s->key[i], b, s->key[i]);
}

/* The version of the dimension that holds the moment. */
void lr_scd2_covers(const lr_scd2 *s, lr_sql *q, const lr_sql *moment)
{
    lr_scd2_instant(s, q, "dim", s->from, s->from_type);
    lr_sqlf(q, " <= %Q AND (", moment);
    lr_scd2_open_end(s, q, "dim");
    lr_sqlf(q, " OR %Q < ", moment);
    lr_scd2_instant(s, q, "dim", s->to, s->to_type);
    lr_sqlf(q, ")");
}

int lr_scd2_is_loose(const lr_scd2 *s, const char *name)
{
    int at = lr_field_find(s->d, s->dim, name);
    return at >= 0 && s->dim->fields[at].loose;
}

/* Does the version say something else than the sighting in this column? */
static void differs(const lr_scd2 *s, lr_sql *q, const char *before, int i, const char *after)
{
    lr_sql a = column(q, "dim", s->track[i]), b = column(q, "new", s->track[i]);
    lr_sqlf(q, "%s", before);
    s->d->distinct(q, &a, &b, lr_scd2_is_loose(s, s->track[i]));
    lr_sqlf(q, "%s", after);
}

lr_sql lr_scd2_seen_instant(const lr_scd2 *s, lr_sql *q)
{
    const lr_type text = lr_type_words("text");
    lr_sql at = column(q, "seen", "at"), moment = lr_sql_new(q->arena), out = lr_sql_new(q->arena);
    s->d->moment(&moment, &at, LR_ISO, s->zone, &text, s->from_type);
    s->d->instant(&out, &moment, LR_ISO, s->zone, s->from_type);
    return out;
}

void lr_scd2_seen_from(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    lr_sql seen = lr_scd2_seen_instant(s, q);
    if (lr_zone_is_utc(s->zone)) {
        lr_sqlf(q, " AND \"seen\".\"at\" >= CAST(%I.%I AS text)", qualifier, s->from);
        return;
    }
    lr_sqlf(q, " AND %Q >= ", &seen);
    lr_scd2_instant(s, q, qualifier, s->from, s->from_type);
}

/* A key as the text of lrun_scd2_seen. */
void lr_scd2_key_text(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    for (int i = 0; i < s->nkey; i++) {
        if (i > 0) lr_sqlf(q, " || ',' || ");
        if (s->nkey == 1) lr_sqlf(q, "CAST(%I.%I AS text)", qualifier, s->key[i]);
        else lr_sqlf(q, "%s(CAST(%I.%I AS text))", s->d->quote, qualifier, s->key[i]);
    }
}

lr_sql lr_scd2_absent_instant(const lr_scd2 *s, lr_sql *q)
{
    lr_sql value = lr_sql_new(q->arena), out = lr_sql_new(q->arena);
    s->d->typed(&value, s->absent, s->from_type);
    s->d->instant(&out, &value, LR_ISO, s->zone, s->from_type);
    return out;
}

lr_sql lr_scd2_sighting_instant(const lr_scd2 *s, lr_sql *q, const char *qualifier)
{
    lr_sql out = lr_sql_new(q->arena);
    lr_scd2_instant(s, &out, qualifier, s->from, s->from_type);
    return out;
}

/* A first moment as an end: columns of one type need nothing. */
static void as_end(const lr_scd2 *s, lr_sql *q, const lr_sql *at)
{
    if (strcmp(s->from_type->native, s->to_type->native) == 0) lr_sqlf(q, "%Q", at);
    else s->d->moment(q, at, LR_ISO, s->zone, s->from_type, s->to_type);
}

static void insert_sightings(const lr_scd2 *s, lr_sql *q, const lr_table *t, const char *of)
{
    lr_sqlf(q, "INSERT INTO %T (", t);
    lr_scd2_columns(s, q, NULL);
    lr_sqlf(q, ", %I, %I) SELECT ", s->from, LR_SCD2_RANK);
    lr_scd2_columns(s, q, of);
}

void lr_scd2_take(const lr_scd2 *s, const lr_sql *rows, lr_sql *q)
{
    insert_sightings(s, q, &s->sightings, "rows");
    lr_sqlf(q, ", \"rows\".%I, %d FROM (%Q) AS \"rows\"", s->from, LR_SCD2_VALUE, rows);
}

void lr_scd2_there(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = lr_scd2_sighting_instant(s, q, "new"), then = lr_scd2_absent_instant(s, q);
    insert_sightings(s, q, &s->sightings, "new");
    lr_sqlf(q, ", ");
    s->d->typed(q, s->absent, s->from_type);
    lr_sqlf(q, ", %d FROM (SELECT ", LR_SCD2_PRESENT);
    lr_scd2_columns(s, q, "all");
    lr_sqlf(q, ", \"all\".%I, row_number() OVER (PARTITION BY ", s->from);
    lr_scd2_list(q, "all", s->key, s->nkey);
    lr_sql order = lr_scd2_sighting_instant(s, q, "all");
    lr_sqlf(q, " ORDER BY %Q DESC) AS \"lrun_nth\" FROM %T AS \"all\") AS \"new\" WHERE \"new\".\"lrun_nth\" = 1 AND %Q < %Q", &order,
            &s->sightings, &at, &then);
}

/* The rows under a name whose key is not in the table; comes after their FROM. */
void lr_scd2_without(const lr_scd2 *s, lr_sql *q, const char *of, const lr_table *t, const char *name)
{
    lr_sql keys = lr_sql_new(q->arena);
    lr_sqlf(&keys, "SELECT ");
    lr_scd2_list(&keys, NULL, s->key, s->nkey);
    lr_sqlf(&keys, " FROM %T", t);
    s->d->unmatched(q, of, &keys, name, s->key, s->nkey);
}

void lr_scd2_changed_keys(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = lr_scd2_sighting_instant(s, q, "new");
    lr_sqlf(q, "INSERT INTO %T (", &s->keys);
    lr_scd2_list(q, NULL, s->key, s->nkey);
    lr_sqlf(q, ") SELECT ");
    lr_scd2_list(q, "new", s->key, s->nkey);
    /* a join: SQLite makes an index for it if it has none, and for NOT EXISTS it does not */
    lr_sqlf(q, " FROM %T AS \"new\" LEFT JOIN %T AS \"dim\" ON ", &s->sightings, &s->dim->table);
    lr_scd2_same_key(s, q, "dim", "new");
    lr_sqlf(q, " AND ");
    lr_scd2_covers(s, q, &at);
    for (int i = 0; i < s->ntrack; i++) differs(s, q, " AND NOT (", i, ")");
    lr_scd2_without(s, q, "new", &s->simple, "simple");
    lr_sqlf(q, " AND \"dim\".%I IS NULL GROUP BY ", s->key[0]);
    lr_scd2_list(q, "new", s->key, s->nkey);
}

void lr_scd2_gone_keys(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = lr_scd2_absent_instant(s, q);
    lr_sqlf(q, "INSERT INTO %T (", &s->keys);
    lr_scd2_list(q, NULL, s->key, s->nkey);
    lr_sqlf(q, ") SELECT ");
    lr_scd2_list(q, "dim", s->key, s->nkey);
    lr_sqlf(q, " FROM (SELECT * FROM %T WHERE 1=1%Q) AS \"dim\"", &s->dim->table, s->inside);
    lr_scd2_without(s, q, "dim", &s->sightings, "new");
    lr_sqlf(q, " AND ");
    lr_scd2_covers(s, q, &at);
    lr_sqlf(q, " GROUP BY ");
    lr_scd2_list(q, "dim", s->key, s->nkey);
}

/* No sighting that changed nothing is known from the moment on. */
static void nothing_after(const lr_scd2 *s, lr_sql *q, const char *of, int all)
{
    lr_value name = lr_text(of);
    lr_sqlf(q, " AND NOT EXISTS (SELECT 1 FROM %T AS \"seen\" WHERE \"seen\".\"dim\" = %V AND \"seen\".\"key\" = ", &s->seen, &name);
    if (all) lr_sqlf(q, "''");
    else lr_scd2_key_text(s, q, "new");
    lr_scd2_seen_from(s, q, "new");
    lr_sqlf(q, ")");
}

void lr_scd2_simple(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = lr_scd2_sighting_instant(s, q, "new");
    insert_sightings(s, q, &s->simple, "new");
    lr_sqlf(q, ", \"new\".%I, \"new\".%I FROM ", s->from, LR_SCD2_RANK);
    if (s->once) lr_sqlf(q, "%T AS \"new\"", &s->sightings);
    else {
        lr_sqlf(q, "(SELECT \"one\".*, count(*) OVER (PARTITION BY ");
        lr_scd2_list(q, "one", s->key, s->nkey);
        lr_sqlf(q, ") AS \"lrun_times\" FROM %T AS \"one\") AS \"new\"", &s->sightings);
    }
    lr_sqlf(q, " LEFT JOIN %T AS \"dim\" ON ", &s->dim->table);
    lr_scd2_same_key(s, q, "dim", "new");
    lr_sqlf(q, " AND ");
    lr_scd2_open_end(s, q, "dim");
    /* the version that is open begins before and says something else; or the key is new */
    lr_sqlf(q, " WHERE %sCASE WHEN \"dim\".%I IS NULL THEN NOT EXISTS (SELECT 1 FROM %T AS \"old\" WHERE ",
            s->once ? "" : "\"new\".\"lrun_times\" = 1 AND ", s->key[0], &s->dim->table);
    lr_scd2_same_key(s, q, "old", "new");
    lr_sqlf(q, ") ELSE ");
    lr_scd2_instant(s, q, "dim", s->from, s->from_type);
    lr_sqlf(q, " < %Q AND (1 = 0", &at);
    for (int i = 0; i < s->ntrack; i++) differs(s, q, " OR ", i, "");
    lr_sqlf(q, ") END");
    const char *names[] = {s->dim_name, s->all_name, s->at_name};
    for (int i = 0; s->remembers && i < 3; i++) nothing_after(s, q, names[i], i > 0);
}

static void stamp(const lr_scd2 *s, lr_sql *q, const char *before)
{
    if (s->stamp == NULL) return;
    lr_sqlf(q, "%s", before);
    s->d->typed(q, &s->stamp_value, s->stamp_type);
}

void lr_scd2_end_simple(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = column(q, "n", s->from);
    lr_sqlf(q, "UPDATE %T AS \"target\" SET %I = ", &s->dim->table, s->to);
    as_end(s, q, &at);
    if (s->stamp != NULL) lr_sqlf(q, ", %I", s->stamp);
    stamp(s, q, " = ");
    lr_sqlf(q, " FROM %T AS \"n\" WHERE ", &s->simple);
    lr_scd2_same_key(s, q, "target", "n");
    lr_sqlf(q, " AND ");
    lr_scd2_open_end(s, q, "target");
}

static void insert_head(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "INSERT INTO %T (", &s->dim->table);
    lr_scd2_columns(s, q, NULL);
    lr_sqlf(q, ", %I, %I", s->from, s->to);
    if (s->stamp != NULL) lr_sqlf(q, ", %I", s->stamp);
    lr_sqlf(q, ")%s SELECT ", s->d->overriding);
    lr_scd2_columns(s, q, "n");
    lr_sqlf(q, ", \"n\".%I, ", s->from);
}

void lr_scd2_begin_simple(const lr_scd2 *s, lr_sql *q)
{
    lr_value forever = lr_text("9999-12-31");
    insert_head(s, q);
    s->d->typed(q, &forever, s->to_type);
    stamp(s, q, ", ");
    lr_sqlf(q, " FROM %T AS \"n\"", &s->simple);
}

/* Where one state follows another; the next one ends it. */
static void boundaries(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "(SELECT \"v\".*, lead(\"v\".%I) OVER (PARTITION BY ", s->from);
    lr_scd2_list(q, "v", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY ");
    lr_scd2_instant(s, q, "v", s->from, s->from_type);
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
    s->d->typed(q, &forever, s->to_type);
    lr_sqlf(q, ")");
}

void lr_scd2_delete(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "DELETE FROM %T WHERE (", &s->dim->table);
    lr_scd2_list(q, NULL, s->key, s->nkey);
    lr_sqlf(q, ", %I) IN (SELECT ", s->from);
    lr_scd2_list(q, "v", s->key, s->nkey);
    lr_sqlf(q, ", \"v\".%I FROM %T AS \"v\" WHERE \"v\".%I = 1 AND \"v\".%I = 0)", s->from, &s->states, LR_SCD2_WAS, LR_SCD2_KEPT);
}

void lr_scd2_update(const lr_scd2 *s, lr_sql *q)
{
    lr_sql next = column(q, "n", "lrun_next"), old = column(q, "n", LR_SCD2_TO), new_end = lr_sql_new(q->arena), old_end = lr_sql_new(q->arena);
    s->d->instant(&new_end, &next, LR_ISO, s->zone, s->from_type);
    s->d->instant(&old_end, &old, LR_ISO, s->zone, s->to_type);
    lr_sqlf(q, "UPDATE %T AS \"target\" SET %I = ", &s->dim->table, s->to);
    end_of(s, q);
    if (s->stamp != NULL) lr_sqlf(q, ", %I", s->stamp);
    stamp(s, q, " = ");
    lr_sqlf(q, " FROM ");
    boundaries(s, q);
    lr_sqlf(q, " WHERE ");
    lr_scd2_same_key(s, q, "target", "n");
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
    lr_sql at = lr_scd2_sighting_instant(s, q, "new"), order = lr_scd2_sighting_instant(s, q, "one");
    lr_sqlf(q, "UPDATE %T AS \"dim\" SET ", &s->dim->table);
    for (int i = 0; i < n; i++) lr_sqlf(q, i == 0 ? "%I = \"new\".%I" : ", %I = \"new\".%I", added[i], added[i]);
    lr_sqlf(q, " FROM (SELECT \"one\".*, row_number() OVER (PARTITION BY ");
    lr_scd2_list(q, "one", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY %Q) AS \"lrun_nth\" FROM %T AS \"one\") AS \"new\" WHERE \"new\".\"lrun_nth\" = 1 AND ", &order, &s->sightings);
    lr_scd2_same_key(s, q, "dim", "new");
    lr_sqlf(q, " AND ");
    lr_scd2_covers(s, q, &at);
    for (int i = 0; i < s->ntrack; i++) {
        int new = 0;
        for (int j = 0; j < n; j++) new |= strcmp(added[j], s->track[i]) == 0;
        if (!new) differs(s, q, " AND NOT (", i, ")");
    }
}

