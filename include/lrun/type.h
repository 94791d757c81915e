/* type.h - a column's type as a value.
 *
 * An engine describes each of its columns by an lr_type. Above the engine
 * nobody reads `native`, which is copied word for word between two databases
 * of one engine; decisions are made by the kind and its numbers.
 *
 * The idea of one type system between engines is that of Arrow's schema and of
 * JDBC's java.sql.Types; what is asked of it here is one question only: what
 * does a value of one type lose in another (lr_type_loss)?
 */
#ifndef LRUN_TYPE_H
#define LRUN_TYPE_H

typedef enum lr_kind {
    LR_KIND_ANY,       /* says nothing: a column without a type, an expression of SQLite */
    LR_KIND_INTEGER,   /* bits */
    LR_KIND_DECIMAL,   /* precision, scale */
    LR_KIND_REAL,      /* bits */
    LR_KIND_BOOL,
    LR_KIND_DATE,
    LR_KIND_TIMESTAMP, /* a date and a time of day, without a zone; fraction */
    LR_KIND_INSTANT,   /* a time with its zone; fraction */
    LR_KIND_TEXT,      /* length, collation */
    LR_KIND_PADDED,    /* text whose blanks at the end mean nothing; length */
    LR_KIND_BYTES,
    LR_KIND_UUID,
    LR_KIND_JSON,
    LR_KIND_OTHER      /* of the engine's own: known by its text; length, fraction or scale where it has such a limit */
} lr_kind;

typedef struct lr_type {
    lr_kind kind;
    int bits;               /* INTEGER: 16, 32, 64; REAL: 32, 64 */
    int precision, scale;   /* DECIMAL: digits, and how many of them after the point; -1: no limit */
    int length;             /* characters, of OTHER bytes; -1: no limit */
    int fraction;           /* digits of a second; -1: no limit */
    unsigned dynamic : 1;   /* the engine keeps a value of another class in such a column too (SQLite) */
    unsigned clock : 1;     /* a time of day: a date in a text would be dropped */
    unsigned cuts : 1;      /* keeps only some fields of its values, as interval day to hour does */
    const char *collation;  /* how its text compares, by the engine's name for it; NULL: by its bytes */
    const char *engine;     /* whose type it is; NULL: a job declared it */
    const char *native;     /* the type as the engine writes it; "" for none */
} lr_type;

/* What a value of one type loses in a column of another. */
typedef enum lr_loss {
    LR_LOSS_NONE,  /* every value is kept */
    LR_LOSS_VALUE, /* some values are: each has to be looked at */
    LR_LOSS_TYPE   /* none is */
} lr_loss;

/* Why a value may not be kept; bits. */
enum {
    LR_LOSES_RANGE = 1 << 0,    /* an integer of fewer bits */
    LR_LOSES_DIGITS = 1 << 1,   /* more digits than precision and scale hold, or a fraction into an integer */
    LR_LOSES_NEAREST = 1 << 2,  /* a double that stands for another number, or a number beyond the digits of a double */
    LR_LOSES_LENGTH = 1 << 3,
    LR_LOSES_FRACTION = 1 << 4, /* digits of a second */
    LR_LOSES_DAY = 1 << 5,      /* a time of day into a date */
    LR_LOSES_ZONE = 1 << 6,     /* a local time that does not occur, or occurs twice */
    LR_LOSES_CLASS = 1 << 7,    /* a value of a class that the column does not keep */
    LR_LOSES_FORM = 1 << 8      /* the engine's own cast may change it: its text tells */
};

/* Both as a statement of one database copies it: from is the type of the
 * expression, to the column's. *why (may be NULL) is set to the reasons. */
lr_loss lr_type_loss(const lr_type *from, const lr_type *to, unsigned *why);

/* A type that a job or a database without types of its own declares in words:
 * "DECIMAL(10,2)", "timestamp", "BIGINT". Words, never the beginning of one,
 * tell the kind; unknown ones say nothing. native is the text itself. */
lr_type lr_type_words(const char *declared);

/* Nothing is known. */
lr_type lr_type_none(void);

int lr_kind_is_number(lr_kind k); /* INTEGER, DECIMAL, REAL */
int lr_kind_is_time(lr_kind k);   /* DATE, TIMESTAMP, INSTANT */
int lr_kind_is_text(lr_kind k);   /* TEXT, PADDED */

/* May two values that differ under one type be the same under the other? Then a
 * unique key of the first proves nothing of the second. */
int lr_type_merges_values(const lr_type *from, const lr_type *to);

#endif
