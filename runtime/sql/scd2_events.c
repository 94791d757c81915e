/* All that is known of the keys that scd2_merge makes anew, and what it remembers. */
#include "sql/scd2_pieces.h"
#include <string.h>

static lr_sql column(const lr_sql *q, const char *qualifier, const char *name)
{
    return lr_sql_column(q->arena, qualifier, name);
}

/* A date that was run without the key says that it was gone then: another value of
 * that date is a conflict. A part of all keys, or a run_start, says less. */
static int rank_of_gone(const lr_scd2 *s)
{
    return s->at_mode || (s->inside != NULL && s->inside->len > 0) ? LR_SCD2_GONE : LR_SCD2_VALUE;
}

static void event_head(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "INSERT INTO %T (", &s->events);
    lr_scd2_columns(s, q, NULL);
    lr_sqlf(q, ", %I, %I, %I, %I, %I) SELECT ", s->from, LR_SCD2_TO, LR_SCD2_WAS, LR_SCD2_THERE, LR_SCD2_RANK);
}

static void ends(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "INSERT INTO %T (", &s->events);
    lr_scd2_list(q, NULL, s->key, s->nkey);
    lr_sqlf(q, ", %I, %I, %I, %I) SELECT ", s->from, LR_SCD2_WAS, LR_SCD2_THERE, LR_SCD2_RANK);
    lr_scd2_list(q, "dim", s->key, s->nkey);
    lr_sql to = column(q, "dim", s->to);
    lr_sqlf(q, ", ");
    s->d->moment(q, &to, LR_ISO, s->zone, s->to_type, s->from_type);
    lr_sqlf(q, ", 0, 0, %d FROM (SELECT ", rank_of_gone(s));
    lr_scd2_list(q, "all", s->key, s->nkey);
    lr_sqlf(q, ", \"all\".%I, lead(", s->to);
    lr_scd2_instant(s, q, "all", s->from, s->from_type);
    lr_sqlf(q, ") OVER (PARTITION BY ");
    lr_scd2_list(q, "all", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY ");
    lr_scd2_instant(s, q, "all", s->from, s->from_type);
    lr_sqlf(q, ") AS \"lrun_next\" FROM %T AS \"all\" JOIN %T AS \"k\" ON ", &s->dim->table, &s->keys);
    lr_scd2_same_key(s, q, "all", "k");
    lr_sqlf(q, ") AS \"dim\" WHERE NOT ");
    lr_scd2_open_end(s, q, "dim");
    lr_sqlf(q, " AND (\"dim\".\"lrun_next\" IS NULL OR \"dim\".\"lrun_next\" > ");
    lr_scd2_instant(s, q, "dim", s->to, s->to_type);
    lr_sqlf(q, ")");
}

/* From each new event on the first sighting that changed nothing: what the
 * version of its moment says. later: without the event's own moment, at which
 * what is remembered may be outranked. */
static void next_sightings(const lr_scd2 *s, lr_sql *q, const char *of, int all, int later, int there, int gone)
{
    lr_value name = lr_text(of);
    const lr_type text = lr_type_words("text");
    lr_sql at = column(q, "e", "lrun_at"), seen = column(q, "seen", "at");
    lr_sql value = lr_sql_new(q->arena), when = lr_sql_new(q->arena), moment = lr_sql_new(q->arena), mine = lr_sql_new(q->arena);
    s->d->moment(&value, &at, LR_ISO, s->zone, &text, s->from_type);
    s->d->instant(&when, &value, LR_ISO, s->zone, s->from_type);
    s->d->moment(&moment, &seen, LR_ISO, s->zone, &text, s->from_type);
    event_head(s, q);
    lr_scd2_list(q, "e", s->key, s->nkey);
    if (s->ntrack > 0) lr_sqlf(q, ", ");
    lr_scd2_list(q, "dim", s->track, s->ntrack);
    lr_sqlf(q, ", %Q, NULL, 0, CASE WHEN \"dim\".%I IS NULL THEN 0 ELSE 1 END, CASE WHEN \"dim\".%I IS NULL THEN %d ELSE %d END FROM (SELECT ",
            &value, s->key[0], s->key[0], gone, there);
    lr_scd2_list(q, "k", s->key, s->nkey);
    lr_sqlf(q, ", (SELECT \"seen\".\"at\" FROM %T AS \"seen\" WHERE \"seen\".\"dim\" = %V AND \"seen\".\"key\" = ", &s->seen, &name);
    if (all) lr_sqlf(q, "''");
    else lr_scd2_key_text(s, q, "k");
    lr_scd2_seen_from(s, q, "k");
    if (later) {
        lr_scd2_instant(s, &mine, "k", s->from, s->from_type);
        lr_sqlf(q, " AND ");
        s->d->instant(q, &moment, LR_ISO, s->zone, s->from_type);
        lr_sqlf(q, " > %Q", &mine);
    }
    if (lr_zone_is_utc(s->zone)) lr_sqlf(q, " ORDER BY \"seen\".\"at\" LIMIT 1");
    else {
        lr_sql seen_at = lr_scd2_seen_instant(s, q);
        lr_sqlf(q, " ORDER BY %Q LIMIT 1", &seen_at);
    }
    lr_sqlf(q, ") AS \"lrun_at\" FROM %T AS \"k\") AS \"e\" LEFT JOIN %T AS \"dim\" ON ", &s->events, &s->dim->table);
    lr_scd2_same_key(s, q, "dim", "e");
    lr_sqlf(q, " AND ");
    lr_scd2_covers(s, q, &when);
    lr_sqlf(q, " WHERE \"e\".\"lrun_at\" IS NOT NULL");
}

static void versions(const lr_scd2 *s, lr_sql *q)
{
    lr_value name = lr_text(s->present_name);
    event_head(s, q);
    lr_scd2_columns(s, q, "dim");
    lr_sqlf(q, ", \"dim\".%I, \"dim\".%I, 1, 1, ", s->from, s->to);
    if (s->remembers) {
        lr_sqlf(q, "CASE WHEN EXISTS (SELECT 1 FROM %T AS \"seen\" WHERE \"seen\".\"dim\" = %V AND \"seen\".\"key\" = ", &s->seen, &name);
        lr_scd2_key_text(s, q, "dim");
        lr_sqlf(q, " AND \"seen\".\"at\" = CAST(\"dim\".%I AS text)) THEN %d ELSE %d END", s->from, LR_SCD2_PRESENT, LR_SCD2_VALUE);
    } else {
        lr_sqlf(q, "%d", LR_SCD2_VALUE);
    }
    lr_sqlf(q, " FROM %T AS \"dim\" JOIN %T AS \"k\" ON ", &s->dim->table, &s->keys);
    lr_scd2_same_key(s, q, "dim", "k");
}

int lr_scd2_events(const lr_scd2 *s, int kind, lr_sql *q)
{
    switch (kind) {
    case 0:
        event_head(s, q);
        lr_scd2_columns(s, q, "new");
        lr_sqlf(q, ", \"new\".%I, NULL, 0, 1, \"new\".%I FROM %T AS \"new\" JOIN %T AS \"k\" ON ", s->from, LR_SCD2_RANK, &s->sightings, &s->keys);
        lr_scd2_same_key(s, q, "new", "k");
        return 1;
    case 1:
        if (s->absent == NULL) return 0;
        event_head(s, q);
        lr_scd2_list(q, "k", s->key, s->nkey);
        for (int i = 0; i < s->ntrack; i++) lr_sqlf(q, ", NULL");
        lr_sqlf(q, ", ");
        s->d->typed(q, s->absent, s->from_type);
        lr_sqlf(q, ", NULL, 0, 0, %d FROM %T AS \"k\"", rank_of_gone(s), &s->keys);
        lr_scd2_without(s, q, "k", &s->sightings, "new");
        return 1;
    case 2:
        if (s->remembers) next_sightings(s, q, s->dim_name, 0, 0, LR_SCD2_VALUE, rank_of_gone(s));
        return s->remembers;
    case 3: case 4:
        if (!s->remembers || (kind == 4 && !s->at_mode)) return 0;
        next_sightings(s, q, s->all_name, 1, kind == 4, s->at_mode ? LR_SCD2_OF_DATE : LR_SCD2_VALUE, rank_of_gone(s));
        return 1;
    case 5: case 6:
        if (s->remembers) next_sightings(s, q, s->at_name, 1, kind == 6, LR_SCD2_PRESENT, LR_SCD2_GONE);
        return s->remembers;
    case 7:
        versions(s, q);
        return 1;
    default:
        ends(s, q);
        return 1;
    }
}

/* "PARTITION BY key, more ORDER BY moment, the highest rank first, versions that
 * are there before what says the same" */
static void in_turn(const lr_scd2 *s, lr_sql *q, const char *more, int by_moment)
{
    lr_sqlf(q, "(PARTITION BY ");
    lr_scd2_list(q, "e", s->key, s->nkey);
    if (more != NULL) lr_sqlf(q, ", \"e\".%I", more);
    lr_sqlf(q, " ORDER BY ");
    if (by_moment) lr_sqlf(q, "\"e\".\"lrun_at\", ");
    lr_sqlf(q, "\"e\".%I DESC, \"e\".%I DESC", LR_SCD2_RANK, LR_SCD2_WAS);
}

static lr_sql numbered(lr_sql *q, const char *name, int i)
{
    return column(q, "e", lr_printf(q->arena, "%s_%d", name, i));
}

/* The events with what each says (lrun_said_i: a presence says what the value
 * before it does) and what the highest of its moment says (lrun_top_i). */
static void ranked(const lr_scd2 *s, lr_sql *q)
{
    lr_sql at = lr_scd2_sighting_instant(s, q, "e");
    lr_sqlf(q, "(SELECT \"e\".*");
    for (int i = 0; i < s->ntrack; i++) {
        lr_sql said = numbered(q, "lrun_said", i);
        lr_sqlf(q, ", first_value(%Q) OVER m AS \"lrun_top_%d\"", &said, i);
    }
    lr_sqlf(q, ", first_value(\"e\".%I) OVER m AS \"lrun_top\", first_value(\"e\".%I) OVER m AS \"lrun_top_there\" FROM (SELECT \"e\".*", LR_SCD2_RANK,
            LR_SCD2_THERE);
    for (int i = 0; i < s->ntrack; i++) {
        lr_sql now = column(q, "e", s->track[i]);
        lr_sqlf(q, ", CASE WHEN \"e\".%I = %d AND \"e\".\"lrun_values\" > 0 THEN first_value(%Q) OVER v ELSE %Q END AS \"lrun_said_%d\"",
                LR_SCD2_RANK, LR_SCD2_PRESENT, &now, &now, i);
    }
    lr_sqlf(q, " FROM (SELECT \"e\".*, sum(CASE WHEN \"e\".%I >= %d AND \"e\".%I = 1 THEN 1 ELSE 0 END) OVER ", LR_SCD2_RANK, LR_SCD2_OF_DATE,
            LR_SCD2_THERE);
    in_turn(s, q, NULL, 1);
    lr_sqlf(q, " ROWS UNBOUNDED PRECEDING) AS \"lrun_values\" FROM (SELECT \"e\".*, %Q AS \"lrun_at\" FROM %T AS \"e\") AS \"e\") AS \"e\" WINDOW v AS ",
            &at, &s->events);
    in_turn(s, q, "lrun_values", 1);
    lr_sqlf(q, ")) AS \"e\" WINDOW m AS ");
    in_turn(s, q, "lrun_at", 0);
    lr_sqlf(q, ")) AS \"e\"");
}

/* Does the event hold at its moment: nothing outranks it, or it is a version that
 * says the same? */
static void holds(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "(\"e\".%I = \"e\".\"lrun_top\" OR (\"e\".%I = 1 AND \"e\".\"lrun_top_there\" = 1", LR_SCD2_RANK, LR_SCD2_WAS);
    for (int i = 0; i < s->ntrack; i++) {
        lr_sql said = numbered(q, "lrun_said", i), top = numbered(q, "lrun_top", i);
        lr_sqlf(q, " AND NOT (");
        s->d->distinct(q, &said, &top, lr_scd2_is_loose(s, s->track[i]));
        lr_sqlf(q, ")");
    }
    lr_sqlf(q, "))");
}

/* Does the version say something else now? */
static void altered(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "(\"e\".%I = 1 AND (1 = 0", LR_SCD2_WAS);
    for (int i = 0; i < s->ntrack; i++) {
        lr_sql said = numbered(q, "lrun_said", i), now = column(q, "e", s->track[i]);
        lr_sqlf(q, " OR ");
        s->d->distinct(q, &said, &now, lr_scd2_is_loose(s, s->track[i]));
    }
    lr_sqlf(q, "))");
}

static void state_head(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "INSERT INTO %T (", &s->states);
    lr_scd2_columns(s, q, NULL);
    lr_sqlf(q, ", %I, %I, %I, %I, %I, %I, %I) SELECT ", s->from, LR_SCD2_TO, LR_SCD2_WAS, LR_SCD2_THERE, LR_SCD2_RANK, LR_SCD2_KEPT, LR_SCD2_TWICE);
    lr_scd2_list(q, "e", s->key, s->nkey);
}

void lr_scd2_states(const lr_scd2 *s, lr_sql *q)
{
    state_head(s, q);
    for (int i = 0; i < s->ntrack; i++) {
        lr_sql said = numbered(q, "lrun_said", i);
        lr_sqlf(q, ", %Q", &said);
    }
    lr_sqlf(q, ", \"e\".%I, \"e\".%I, CASE WHEN ", s->from, LR_SCD2_TO);
    altered(s, q);
    lr_sqlf(q, " THEN 0 ELSE \"e\".%I END, \"e\".%I, \"e\".\"lrun_top\", CASE WHEN \"e\".%I = 0 THEN coalesce(lag(\"e\".%I) OVER w, 0) "
               "WHEN coalesce(lag(\"e\".%I) OVER w, 0) = 0",
            LR_SCD2_WAS, LR_SCD2_THERE, LR_SCD2_THERE, LR_SCD2_THERE, LR_SCD2_THERE);
    for (int i = 0; i < s->ntrack; i++) {
        lr_sql now = numbered(q, "lrun_said", i), before = lr_sql_new(q->arena);
        lr_sqlf(&before, "(lag(%Q) OVER w)", &now);
        lr_sqlf(q, " OR ");
        s->d->distinct(q, &now, &before, lr_scd2_is_loose(s, s->track[i]));
    }
    lr_sqlf(q, " THEN 1 ELSE 0 END, CASE WHEN (lag(\"e\".\"lrun_at\") OVER w) = \"e\".\"lrun_at\" THEN 1 ELSE 0 END FROM ");
    ranked(s, q);
    lr_sqlf(q, " WHERE ");
    holds(s, q);
    lr_sqlf(q, " WINDOW w AS (PARTITION BY ");
    lr_scd2_list(q, "e", s->key, s->nkey);
    lr_sqlf(q, " ORDER BY \"e\".\"lrun_at\", \"e\".%I DESC)", LR_SCD2_WAS);
}

void lr_scd2_outranked(const lr_scd2 *s, lr_sql *q)
{
    state_head(s, q);
    if (s->ntrack > 0) lr_sqlf(q, ", ");
    lr_scd2_list(q, "e", s->track, s->ntrack);
    lr_sqlf(q, ", \"e\".%I, \"e\".%I, 1, 1, %d, 0, 1 FROM ", s->from, LR_SCD2_TO, LR_SCD2_GONE);
    ranked(s, q);
    lr_sqlf(q, " WHERE \"e\".%I = 1 AND (NOT ", LR_SCD2_WAS);
    holds(s, q);
    lr_sqlf(q, " OR ");
    altered(s, q);
    lr_sqlf(q, ")");
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

/* "dim IN (...)": all that is noted of the dimension. */
static void of_this(const lr_scd2 *s, lr_sql *q)
{
    const char *names[] = {s->dim_name, s->all_name, s->at_name, s->present_name};
    lr_sqlf(q, "dim IN (");
    for (int i = 0; i < 4; i++) {
        lr_value name = lr_text(names[i]);
        lr_sqlf(q, i == 0 ? "%V" : ", %V", &name);
    }
    lr_sqlf(q, ")");
}

void lr_scd2_memory(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "SELECT 1 FROM %T WHERE ", &s->seen);
    of_this(s, q);
}

void lr_scd2_forget(const lr_scd2 *s, lr_sql *q)
{
    lr_sqlf(q, "DELETE FROM %T WHERE ", &s->seen);
    of_this(s, q);
}

void lr_scd2_unmark(const lr_scd2 *s, lr_sql *q)
{
    lr_value name = lr_text(s->present_name);
    lr_sqlf(q, "DELETE FROM %T WHERE dim = %V AND (key, at) IN (SELECT ", &s->seen, &name);
    lr_scd2_key_text(s, q, "v");
    lr_sqlf(q, ", CAST(\"v\".%I AS text) FROM %T AS \"v\" WHERE \"v\".%I >= %d OR (\"v\".%I = 0 AND \"v\".%I = 0) OR (\"v\".%I = %d AND \"v\".%I = 1))", s->from, &s->states,
            LR_SCD2_RANK, LR_SCD2_OF_DATE, LR_SCD2_TWICE, LR_SCD2_KEPT, LR_SCD2_RANK, LR_SCD2_GONE, LR_SCD2_WAS);
}

static void keep_head(const lr_scd2 *s, lr_sql *q, const char *of, const char *qualifier)
{
    lr_value name = lr_text(of);
    lr_sqlf(q, "INSERT INTO %T (dim, key, at) SELECT DISTINCT CAST(%V AS text), ", &s->seen, &name);
    lr_scd2_key_text(s, q, qualifier);
    lr_sqlf(q, ", ");
}

int lr_scd2_keep(const lr_scd2 *s, int kind, lr_sql *q)
{
    if (kind == 0) {
        /* also of a version that is one with the one before it now; presences are in the note of all keys */
        keep_head(s, q, s->dim_name, "v");
        lr_sqlf(q, "CAST(\"v\".%I AS text) FROM %T AS \"v\" WHERE \"v\".%I = 0 AND \"v\".%I = 0 AND (\"v\".%I = %d OR \"v\".%I = 0)", s->from,
                &s->states, LR_SCD2_KEPT, LR_SCD2_TWICE, LR_SCD2_RANK, LR_SCD2_VALUE, LR_SCD2_THERE);
    } else if (kind == 1) {
        lr_sql at = lr_scd2_sighting_instant(s, q, "new");
        keep_head(s, q, s->dim_name, "new");
        lr_sqlf(q, "CAST(\"new\".%I AS text) FROM %T AS \"new\" LEFT JOIN %T AS \"k\" ON ", s->from, &s->sightings, &s->keys);
        lr_scd2_same_key(s, q, "k", "new");
        lr_sqlf(q, " LEFT JOIN %T AS \"dim\" ON ", &s->dim->table);
        lr_scd2_same_key(s, q, "dim", "new");
        lr_sqlf(q, " AND ");
        lr_scd2_instant(s, q, "dim", s->from, s->from_type);
        lr_sqlf(q, " = %Q WHERE \"k\".%I IS NULL AND \"dim\".%I IS NULL", &at, s->key[0], s->key[0]);
        if (s->at_mode) lr_sqlf(q, " AND \"new\".%I = %d", LR_SCD2_RANK, LR_SCD2_VALUE);
        else if (s->absent != NULL && s->inside->len == 0) { /* the note of all keys says it */
            lr_sql then = lr_scd2_absent_instant(s, q);
            lr_sqlf(q, " AND %Q <> %Q", &at, &then);
        }
    } else if (kind == 3) {
        keep_head(s, q, s->present_name, "v");
        lr_sqlf(q, "CAST(\"v\".%I AS text) FROM %T AS \"v\" WHERE \"v\".%I = %d AND \"v\".%I = 1 AND \"v\".%I = 0", s->from, &s->states, LR_SCD2_RANK,
                LR_SCD2_PRESENT, LR_SCD2_KEPT, LR_SCD2_WAS);
    } else {
        lr_value name = lr_text(s->at_mode ? s->at_name : s->all_name);
        /* an extract of a part says nothing of the keys outside it */
        if (s->absent == NULL || s->inside->len > 0) return 0;
        lr_sqlf(q, "INSERT INTO %T (dim, key, at) SELECT CAST(%V AS text), '', CAST(", &s->seen, &name);
        s->d->typed(q, s->absent, s->from_type);
        lr_sqlf(q, " AS text) WHERE true");
    }
    lr_sqlf(q, " ON CONFLICT DO NOTHING");
    return 1;
}
