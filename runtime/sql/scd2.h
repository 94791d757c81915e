/* scd2.h - the statements that keep a type 2 dimension. They are the same on
 * every engine but for what the dialect writes into them.
 *
 * A version of a key is what was seen of it from valid_from on. All that was ever
 * seen is known: the versions' first moments, the moments at which a key was gone
 * (valid_to without a version that follows), and the sightings that changed
 * nothing, which lrun_scd2_seen keeps; for an extract that ends the keys it does
 * not have, once for all keys. So the versions of a key can be made anew from its
 * sightings, old and new, in whatever order they came. Of those that changed
 * nothing only the first from each new one on matters: it ends what is new.
 *
 * A sighting with a time of its own is a value. That a full extract had the key is
 * its presence at run_start: it says that the key was there, with the value that
 * it had by then. At one moment a value outranks a presence, and a presence that
 * the key was gone. A version that a presence began is noted as such, so that a
 * value of that very moment takes its place.
 */
#ifndef LRUN_SQL_SCD2_H
#define LRUN_SQL_SCD2_H

#include "sql/dialect.h"

typedef struct lr_scd2 {
    const lr_dialect *d;
    const lr_zone *zone;
    const lr_relation *dim;
    const char *dim_name;    /* as lrun_scd2_seen has it */
    const char *all_name;    /* the same, for extracts of all keys at a logical date */
    const char *at_name;     /* for those with times of their own, at run_start */
    const char *present_name; /* versions that a presence began */
    int at_mode;             /* sightings have times of their own */
    const char **key, **track;
    int nkey, ntrack;
    const char *from, *to;   /* columns */
    const lr_type *from_type, *to_type;
    const char *stamp;       /* or NULL */
    const lr_type *stamp_type;
    lr_value stamp_value;
    const lr_value *absent;  /* keys that are not among the sightings were gone then; or NULL */
    const lr_sql *inside;    /* " AND ...": only versions of it may end by that; empty: all */
    lr_table seen;           /* the ledger's */
    int remembers;           /* it holds something of this dimension */
    int once;                /* the source's own constraint: a key is sighted once at most */
    lr_table sightings;      /* key, track, from, rank: what is new */
    lr_table keys;           /* key: those whose versions must be made anew */
    lr_table simple;         /* key, track, from: one sighting each, later than all that is known */
    lr_table events;         /* key, track, from, and LR_SCD2_EXTRA: all that is known of them */
    lr_table states;         /* the same, told apart */
} lr_scd2;

/* More columns of events and states: the version's old end, whether one began
 * there, whether the key was there, what outranks what at one moment; and of
 * states: whether it differs from what was before, and whether that was at the
 * same moment. */
#define LR_SCD2_TO "lrun_to"
#define LR_SCD2_WAS "lrun_was"
#define LR_SCD2_THERE "lrun_there"
#define LR_SCD2_RANK "lrun_rank"
#define LR_SCD2_KEPT "lrun_kept"
#define LR_SCD2_TWICE "lrun_twice"

/* INSERT INTO sightings from a SELECT of key, track, from. */
void lr_scd2_take(const lr_scd2 *s, const lr_sql *rows, lr_sql *q);
/* With absent: what was sighted before that moment was there then too. */
void lr_scd2_there(const lr_scd2 *s, lr_sql *q);

/* INSERT INTO keys: sightings that the version of their moment does not show, and
 * that are not simple; with absent, versions of keys that are gone. */
void lr_scd2_changed_keys(const lr_scd2 *s, lr_sql *q);
void lr_scd2_gone_keys(const lr_scd2 *s, lr_sql *q);

/* INSERT INTO simple; then the dimension's changes for them: the open version
 * ends, a new one begins. */
void lr_scd2_simple(const lr_scd2 *s, lr_sql *q);
void lr_scd2_end_simple(const lr_scd2 *s, lr_sql *q);
void lr_scd2_begin_simple(const lr_scd2 *s, lr_sql *q);

enum { LR_SCD2_GONE, LR_SCD2_PRESENT, LR_SCD2_OF_DATE, LR_SCD2_VALUE };

/* INSERT INTO events, in this order: new sightings, keys that are gone, the next
 * sightings of a key and of all keys that changed nothing, versions, ends.
 * Returns 0 where there is no such kind. */
int lr_scd2_events(const lr_scd2 *s, int kind, lr_sql *q);
#define LR_SCD2_KINDS 9

/* INSERT INTO states: those that hold, then the versions that do not any more. */
void lr_scd2_states(const lr_scd2 *s, lr_sql *q);
void lr_scd2_outranked(const lr_scd2 *s, lr_sql *q);

/* A SELECT of key and moment with two different states. */
void lr_scd2_conflicts(const lr_scd2 *s, lr_sql *q);

/* The dimension's own changes. */
void lr_scd2_delete(const lr_scd2 *s, lr_sql *q);
void lr_scd2_update(const lr_scd2 *s, lr_sql *q);
void lr_scd2_insert(const lr_scd2 *s, lr_sql *q);

/* Columns that the dimension has only now are no change: the version of each
 * key's first sighting takes their values, where all else is as sighted. */
void lr_scd2_fill(const lr_scd2 *s, const char *const *added, int n, lr_sql *q);

/* SELECT 1 for each row of lrun_scd2_seen that is of this dimension. */
void lr_scd2_memory(const lr_scd2 *s, lr_sql *q);
/* DELETE FROM lrun_scd2_seen: of a dimension that is gone or emptied. */
void lr_scd2_forget(const lr_scd2 *s, lr_sql *q);

/* DELETE FROM lrun_scd2_seen: notes of versions that a presence does not begin. */
void lr_scd2_unmark(const lr_scd2 *s, lr_sql *q);

/* INSERT INTO lrun_scd2_seen, four kinds: of keys made anew, of sightings that
 * changed nothing, of all keys at once, of versions that a presence began. 0 as above. */
int lr_scd2_keep(const lr_scd2 *s, int kind, lr_sql *q);
#define LR_SCD2_KEEPS 4

#endif
