/* All that is known of the keys that scd2_merge makes anew, and what it remembers. */
#include "sql/scd2_pieces.h"
#include <string.h>

static lr_sql column(const lr_sql *q, const char *qualifier, const char *name)
{
    return lr_sql_column(q->arena, qualifier, name);
}

static void event_head(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "INSERT INTO %T (", &s->events);
    lr_scd2_columns(s, q, NULL);
    lr_sqlf(q, ", %I, %I, %I, %I) SELECT ", s->from, LR_SCD2_TO, LR_SCD2_WAS, LR_SCD2_THERE);
}

static void ends(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "INSERT INTO %T (", &s->events);
    lr_scd2_list(q, NULL, s->key, s->nkey);
    lr_sqlf(q, ", %I, %I, %I) SELECT ", s->from, LR_SCD2_WAS, LR_SCD2_THERE);
    lr_scd2_list(q, "dim", s->key, s->nkey);
    lr_sql to = column(q, "dim", s->to);
    lr_sqlf(q, ", ");
    s->d->moment(q, &to, LR_ISO, s->zone, s->to_decl, s->from_decl);
    lr_sqlf(q, ", 0, 0 FROM (SELECT ");
    lr_scd2_list(q, "all", s->key, s->nkey);
    lr_sqlf(q, ", \"all\".%I, lead(", s->to);
    lr_scd2_instant(s, q, "all", s->from, s->from_decl);
    lr_sqlf(q, ") OVER (PARTITION BY ");
    lr_scd2_list(q, "all", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY ");
    lr_scd2_instant(s, q, "all", s->from, s->from_decl);
    lr_sqlf(q, ") AS \"lrun_next\" FROM %T AS \"all\" JOIN %T AS \"k\" ON ", &s->dim->table, &s->keys);
    lr_scd2_same_key(s, q, "all", "k");
    lr_sqlf(q, ") AS \"dim\" WHERE NOT ");
    lr_scd2_open_end(s, q, "dim");
    lr_sqlf(q, " AND (\"dim\".\"lrun_next\" IS NULL OR \"dim\".\"lrun_next\" > ");
    lr_scd2_instant(s, q, "dim", s->to, s->to_decl);
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
    lr_scd2_list(q, "e", s->key, s->nkey);
    if (s->ntrack > 0) lr_sqlf(q, ", ");
    lr_scd2_list(q, "dim", s->track, s->ntrack);
    lr_sqlf(q, ", %Q, NULL, 0, CASE WHEN \"dim\".%I IS NULL THEN 0 ELSE 1 END FROM (SELECT ", &value, s->key[0]);
    lr_scd2_list(q, "k", s->key, s->nkey);
    lr_sqlf(q, ", (SELECT min(\"seen\".\"at\") FROM %T AS \"seen\" WHERE \"seen\".\"dim\" = %V AND \"seen\".\"key\" = ", &s->seen, &name);
    if (all) lr_sqlf(q, "''");
    else lr_scd2_key_text(s, q, "k");
    lr_sqlf(q, " AND \"seen\".\"at\" >= CAST(\"k\".%I AS text)) AS \"lrun_at\" FROM %T AS \"k\") AS \"e\" LEFT JOIN %T AS \"dim\" ON ",
            s->from, &s->events, &s->dim->table);
    lr_scd2_same_key(s, q, "dim", "e");
    lr_sqlf(q, " AND ");
    lr_scd2_covers(s, q, &when);
    lr_sqlf(q, " WHERE \"e\".\"lrun_at\" IS NOT NULL");
}

int lr_scd2_events(const lr_scd2 *s, int kind, lr_sql *q)
{
    switch (kind) {
    case 0:
        event_head(s, q);
        lr_scd2_columns(s, q, "new");
        lr_sqlf(q, ", \"new\".%I, NULL, 0, 1 FROM %T AS \"new\" JOIN %T AS \"k\" ON ", s->from, &s->sightings, &s->keys);
        lr_scd2_same_key(s, q, "new", "k");
        return 1;
    case 1:
        if (s->absent == NULL) return 0;
        event_head(s, q);
        lr_scd2_list(q, "k", s->key, s->nkey);
        for (int i = 0; i < s->ntrack; i++) lr_sqlf(q, ", NULL");
        lr_sqlf(q, ", ");
        s->d->typed(q, s->absent, s->from_decl);
        lr_sqlf(q, ", NULL, 0, 0 FROM %T AS \"k\"", &s->keys);
        lr_scd2_without(s, q, "k", &s->sightings, "new");
        return 1;
    case 2: case 3:
        next_sightings(s, q, kind == 3);
        return 1;
    case 4:
        event_head(s, q);
        lr_scd2_columns(s, q, "dim");
        lr_sqlf(q, ", \"dim\".%I, \"dim\".%I, 1, 1 FROM %T AS \"dim\" JOIN %T AS \"k\" ON ", s->from, s->to, &s->dim->table, &s->keys);
        lr_scd2_same_key(s, q, "dim", "k");
        return 1;
    default:
        ends(s, q);
        return 1;
    }
}

void lr_scd2_states(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = lr_scd2_sighting_instant(s, q, "e");
    lr_sqlf(q, "INSERT INTO %T (", &s->states);
    lr_scd2_columns(s, q, NULL);
    lr_sqlf(q, ", %I, %I, %I, %I, %I, %I) SELECT ", s->from, LR_SCD2_TO, LR_SCD2_WAS, LR_SCD2_THERE, LR_SCD2_KEPT, LR_SCD2_TWICE);
    lr_scd2_columns(s, q, "e");
    lr_sqlf(q, ", \"e\".%I, \"e\".%I, \"e\".%I, \"e\".%I, CASE WHEN \"e\".%I = 0 THEN coalesce(lag(\"e\".%I) OVER w, 0) "
               "WHEN coalesce(lag(\"e\".%I) OVER w, 0) = 0",
            s->from, LR_SCD2_TO, LR_SCD2_WAS, LR_SCD2_THERE, LR_SCD2_THERE, LR_SCD2_THERE, LR_SCD2_THERE);
    for (int i = 0; i < s->ntrack; i++) {
        lr_sql now = column(q, "e", s->track[i]), before = lr_sql_new(q->arena);
        lr_sqlf(&before, "(lag(%Q) OVER w)", &now);
        lr_sqlf(q, " OR ");
        s->d->distinct(q, &now, &before, lr_scd2_is_loose(s, s->track[i]));
    }
    lr_sqlf(q, " THEN 1 ELSE 0 END, CASE WHEN (lag(%Q) OVER w) = %Q THEN 1 ELSE 0 END FROM %T AS \"e\" WINDOW w AS (PARTITION BY ", &at, &at,
            &s->events);
    lr_scd2_list(q, "e", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY %Q, \"e\".%I DESC)", &at, LR_SCD2_WAS);
}

void lr_scd2_conflicts(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "SELECT ");
    lr_scd2_list(q, "v", s->key, s->nkey);
    lr_sqlf(q, ", \"v\".%I FROM %T AS \"v\" WHERE \"v\".%I = 1 AND \"v\".%I = 1 GROUP BY ", s->from, &s->states, LR_SCD2_TWICE, LR_SCD2_KEPT);
    lr_scd2_list(q, "v", s->key, s->nkey);
    lr_sqlf(q, ", \"v\".%I ORDER BY ", s->from);
    lr_scd2_list(q, "v", s->key, s->nkey);
    lr_sqlf(q, " LIMIT 5");
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
    lr_scd2_key_text(s, q, qualifier);
    lr_sqlf(q, ", ");
}

int lr_scd2_keep(const lr_scd2 *s, int kind, lr_sql *q)
{
    if (kind == 0) {
        keep_head(s, q, "v");
        lr_sqlf(q, "CAST(\"v\".%I AS text) FROM %T AS \"v\" WHERE \"v\".%I = 0 AND \"v\".%I = 0", s->from, &s->states, LR_SCD2_KEPT,
                LR_SCD2_TWICE);
    } else if (kind == 1) {
        lr_sql at = lr_scd2_sighting_instant(s, q, "new");
        keep_head(s, q, "new");
        lr_sqlf(q, "CAST(\"new\".%I AS text) FROM %T AS \"new\" LEFT JOIN %T AS \"k\" ON ", s->from, &s->sightings, &s->keys);
        lr_scd2_same_key(s, q, "k", "new");
        lr_sqlf(q, " LEFT JOIN %T AS \"dim\" ON ", &s->dim->table);
        lr_scd2_same_key(s, q, "dim", "new");
        lr_sqlf(q, " AND ");
        lr_scd2_instant(s, q, "dim", s->from, s->from_decl);
        lr_sqlf(q, " = %Q WHERE \"k\".%I IS NULL AND \"dim\".%I IS NULL", &at, s->key[0], s->key[0]);
        if (s->absent != NULL && s->inside->len == 0) { /* the note of all keys says it */
            lr_sql then = lr_scd2_absent_instant(s, q);
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
