/* Commands and options, and the parser that knows nothing but these tables. */
#include "cli/options.h"
#include "base/mem.h"
#include "primitive/args.h"
#include "run/url.h"
#include <stdlib.h>
#include <string.h>

const lr_command lr_commands[] = {
    {"run", "lrun JOB.lua [--logical-date D] [--run-start T]", "run a job once",
     "One run is one transaction of the warehouse: rows, watermark, ledger and check commit together or not at all.\n"
     "The word run may be left out. JOB.lua is a path.", 1, 1},
    {"backfill", "lrun backfill JOB.lua --from D --to D", "each logical date of a range, oldest first, each its own run",
     "One date at a time, with the same job as every night; each is one transaction, and its reconcile is inside it.\n"
     "It stops at the first date that fails or differs; that date is as it was before. The same command then goes on\n"
     "where it stopped; after the last date there is nothing to do. Watermarks stay where they are.", 1, 1},
    {"reconcile", "lrun reconcile JOB.lua --from D --to D [--rows]", "each date of a range: source against warehouse, nothing written",
     "Runs the job's reconcile alone; writes are left out. A job with a watermark is compared up to it. Status 3 where\n"
     "a date differs: the weekly check for rows that came later than the lookback. --rows compares every row by checksum\n"
     "and names up to 10 keys for each date, by the key of reconcile, of the write, or of the table.", 1, 1},
    {"plan", "lrun plan JOB.lua [--logical-date D | --from D --to D]", "windows and SQL, nothing written",
     "Reads are real, writes are listed. A warehouse that does not exist is not made.\n"
     "With --from and --to it lists the dates that a backfill would run, and why it would skip the others.", 1, 1},
    {"status", "lrun status [JOB]", "watermark and last run of each job",
     "JOB is a path or a job's name; without it every job of the ledger.", 0, 1},
    {"runs", "lrun runs [JOB] [--last N]", "the ledger's runs, the latest first",
     "JOB is a path or a job's name. --last N shows that many (10).", 0, 1},
    {"watermark", "lrun watermark JOB [NAME] [--set V | --clear]", "show, set or clear a watermark",
     "JOB is a path or a job's name; NAME is the watermark's, default without one.\n"
     "--set takes a date, a date and time, or a whole number. --clear makes the next run a first run.", 1, 2},
    {"accept", "lrun accept JOB.lua [--logical-date D]", "accept columns that the source has dropped, renamed or retyped",
     "Shows which columns of the job's targets have changed in the source since the last run, and records that this is\n"
     "right; the next run then goes on. Nothing else is written. A dropped column keeps its values in the target. A new\n"
     "column still needs new_columns = \"add\" or \"ignore\" in the write. JOB.lua is a path.", 1, 1},
    {"repl", "lrun repl [JOB.lua]", "a prompt with the primitives and SQL",
     "SQL, Lua and primitives in one prompt. A line that starts with a SQL word, or ends with ;, is SQL.\n"
     "What is written waits for commit; rollback takes it back. \\q or Ctrl-D leaves.", 0, 1},
    {"learn", "lrun learn [WORD] | learn grade FILE --scenario ID", "a course about such jobs, from the first one on",
     "", 0, 3},
    {"init", "lrun init DIR", "a new project: connections, one job, one test",
     "Files that are there are left alone.", 1, 1},
    {"help", "lrun help [TOPIC]", "a page for each command and primitive", "", 0, 1},
    {NULL, NULL, NULL, NULL, 0, 0}};

const lr_cli_option lr_cli_options[] = {
    {"logical-date", 0, LR_TAKES_VALUE, "D", " run plan accept repl ", "the date that the run is about: 2026-01-20; week: its Monday; hour: 2026-01-20T05"},
    {"run-start", 0, LR_TAKES_VALUE, "T", " run backfill reconcile plan accept repl ", "the instant that the run is fixed to, instead of the clock"},
    {"allow-open", 0, LR_TAKES_NOTHING, NULL, " run backfill reconcile plan accept repl ", "run a logical date whose window is not over"},
    {"from", 0, LR_TAKES_VALUE, "D", " backfill reconcile plan ", "the first logical date"},
    {"to", 0, LR_TAKES_VALUE, "D", " backfill reconcile plan ", "the last logical date, which is run too"},
    {"again", 0, LR_TAKES_NOTHING, NULL, " backfill plan ", "run the finished dates too"},
    {"accept-change", 0, LR_TAKES_NOTHING, NULL, " backfill plan ", "go on though the job file has changed since the stop"},
    {"take-over", 0, LR_TAKES_NOTHING, NULL, " backfill plan ", "go on for an owner on another host that is gone"},
    {"no-reconcile", 0, LR_TAKES_NOTHING, NULL, " backfill plan ", "run a job that compares nothing"},
    {"rows", 0, LR_TAKES_NOTHING, NULL, " reconcile ", "compare every row too, and name the keys that differ"},
    {"dry-run", 0, LR_TAKES_NOTHING, NULL, " run backfill plan ", "the same as plan"},
    {"last", 0, LR_TAKES_VALUE, "N", " runs ", "how many runs to show"},
    {"scenario", 0, LR_TAKES_VALUE, "ID", " learn ", "the scenario to grade against, or a scenario's file"},
    {"seed", 0, LR_TAKES_VALUE, "N", " learn ", "a variant: other dates, ids and amounts; 0 is the scenario as written"},
    {"variants", 0, LR_TAKES_VALUE, "N", " learn ", "grade: how many variants are played after that seed (1; with --seed 0)"},
    {"junit", 0, LR_TAKES_VALUE, "FILE", " learn ", "grade: write the grades as JUnit's XML too"},
    {"dir", 0, LR_TAKES_VALUE, "DIR", " learn ", "the course's folder"},
    {"pg", 0, LR_TAKES_VALUE, "URL", " learn ", "a PostgreSQL to learn on, in schemas that are dropped again"},
    {"at", 0, LR_TAKES_VALUE, "N", " learn ", "show and try: after step N, in place of where you are"},
    {"job", 'f', LR_TAKES_VALUE, "FILE", " learn ", "check: another job than the lesson's; it is not counted"},
    {"file", 0, LR_TAKES_NOTHING, NULL, " learn ", "reset: the job as it was at first"},
    {"db", 0, LR_TAKES_NOTHING, NULL, " learn ", "reset: before the first step"},
    {"all", 0, LR_TAKES_NOTHING, NULL, " learn ", "reset: both, and what is known of the lesson"},
    {"plain", 0, LR_TAKES_NOTHING, NULL, " learn ", "a list in place of the drawn time line"},
    {"set", 0, LR_TAKES_VALUE, "V", " watermark ", "save this value"},
    {"clear", 0, LR_TAKES_NOTHING, NULL, " watermark ", "forget the value"},
    {"source", 0, LR_TAKES_VALUE, "URL", NULL, "the source: sqlite:path.db or postgresql://..."},
    {"warehouse", 0, LR_TAKES_VALUE, "URL", NULL, "the warehouse: sqlite:path.db or postgresql://..."},
    {"connection", 0, LR_TAKES_MANY, "NAME=URL", NULL, "a further connection, or another URL for a known one"},
    {"must-exist", 0, LR_TAKES_NOTHING, NULL, NULL, "refuse a warehouse that lrun has not written before"},
    {"ledger-schema", 0, LR_TAKES_VALUE, "NAME", NULL, "the schema of the ledger's tables, where the engine has schemas"},
    {"param", 0, LR_TAKES_MANY, "NAME=VALUE", " run backfill reconcile plan accept repl watermark ", "a parameter that the job reads with param \"NAME\""},
    {"max-seconds", 0, LR_TAKES_VALUE, "N", NULL, "stop after N seconds, a backfill as a whole, and roll back"},
    {"max-memory", 0, LR_TAKES_VALUE, "SIZE", NULL, "the most memory for the job's Lua: 64M, 2G (1G)"},
    {"lock-timeout", 0, LR_TAKES_VALUE, "10s", NULL, "how long to wait for another run's lock: 500ms, 10s, 2m (10s)"},
    {"yes", 'y', LR_TAKES_NOTHING, NULL, NULL, "answer yes to every question"},
    {"json", 0, LR_TAKES_NOTHING, NULL, NULL, "one JSON object per line on standard output, nothing else there"},
    {"quiet", 'q', LR_TAKES_NOTHING, NULL, NULL, "say nothing but errors"},
    {"verbose", 'v', LR_TAKES_NOTHING, NULL, NULL, "show each SQL statement with its time and rows"},
    {"color", 0, LR_TAKES_VALUE, "auto|always|never", NULL, "colours; NO_COLOR is respected"},
    {"version", 0, LR_TAKES_NOTHING, NULL, NULL, "print the version"},
    {"help", 'h', LR_TAKES_NOTHING, NULL, NULL, "print the command's page"},
    {NULL, 0, LR_TAKES_NOTHING, NULL, NULL, NULL}};

static const char *nth_command(void *arg, int i)
{
    (void)arg;
    return lr_commands[i].name;
}

static const char *nth_option(void *arg, int i)
{
    (void)arg;
    return lr_cli_options[i].name;
}

static const lr_cli_option *find_option(const char *name, size_t n)
{
    for (const lr_cli_option *o = lr_cli_options; o->name != NULL; o++)
        if (strlen(o->name) == n && strncmp(o->name, name, n) == 0) return o;
    return NULL;
}

/* A word where none belongs may be a connection's URL. */
static int say_word(lr_err *e, const char *format, const char *first, const char *word)
{
    lr_arena a = {0};
    lr_buf b = {0};
    lr_buf_printf(&b, format, first, lr_url_shown(&a, word));
    lr_fail(e, LR_USAGE, "%s", b.data);
    lr_buf_free(&b);
    lr_arena_free(&a);
    return -1;
}

static int unknown_option(const char *given, lr_err *e)
{
    char *name = lr_strdup(given);
    name[strcspn(name, "=")] = 0;
    const char *near = lr_nearest(name + strspn(name, "-"), nth_option, NULL);
    say_word(e, "%s%s", "unknown option ", name);
    if (near != NULL) lr_hint(e, "did you mean --%s? see lrun help", near);
    else lr_hint(e, "see lrun help");
    free(name);
    return -1;
}

static int add(lr_cli *c, const lr_cli_option *o, const char *value, lr_err *e)
{
    for (int i = 0; i < c->ngiven && o->takes == LR_TAKES_VALUE; i++)
        if (c->given[i].option == o) return lr_fail(e, LR_USAGE, "--%s is given twice", o->name);
    c->given[c->ngiven].option = o;
    c->given[c->ngiven++].value = value;
    return 0;
}

/* One option at argv[*i]; a value may be the next word. */
static int read_option(int argc, char **argv, int *i, lr_cli *c, lr_err *e)
{
    const char *word = argv[*i];
    const char *value = NULL;
    const lr_cli_option *o = NULL;
    if (word[1] == '-') {
        size_t n = strcspn(word + 2, "=");
        o = find_option(word + 2, n);
        if (o != NULL && word[2 + n] == '=') value = word + 3 + n;
    } else if (word[2] == 0) {
        for (const lr_cli_option *p = lr_cli_options; p->name != NULL; p++)
            if (p->letter == word[1]) o = p;
    }
    if (o == NULL) return unknown_option(word, e);
    if (o->takes == LR_TAKES_NOTHING) {
        if (value != NULL) return lr_fail(e, LR_USAGE, "--%s takes no value", o->name);
    } else if (value == NULL) {
        if (*i + 1 >= argc) {
            lr_fail(e, LR_USAGE, "--%s needs a value", o->name);
            return lr_hint(e, "write --%s %s", o->name, o->value);
        }
        value = argv[++*i];
    }
    return add(c, o, value, e);
}

static int looks_like_path(const char *word)
{
    size_t n = strlen(word);
    return strchr(word, '/') != NULL || (n > 4 && strcmp(word + n - 4, ".lua") == 0);
}

static int find_command(lr_cli *c, lr_err *e)
{
    const char *word = c->nargs > 0 ? c->args[0] : "help";
    c->bare = c->nargs == 0 && !lr_cli_has(c, "help") && !lr_cli_has(c, "version");
    for (const lr_command *k = lr_commands; k->name != NULL; k++)
        if (strcmp(k->name, word) == 0) {
            c->command = k;
            if (c->nargs > 0) {
                c->args++;
                c->nargs--;
            }
            return 0;
        }
    if (looks_like_path(word)) {
        c->command = &lr_commands[0];
        return 0;
    }
    const char *near = lr_nearest(word, nth_command, NULL);
    say_word(e, "%s\"%s\" is neither a command nor a job file", "", word);
    if (near != NULL) lr_hint(e, "did you mean lrun %s? a job is a path such as jobs/orders.lua", near);
    else lr_hint(e, "a job is a path such as jobs/orders.lua; see lrun help");
    return -1;
}

static int check(const lr_cli *c, lr_err *e)
{
    if (lr_cli_has(c, "help") || lr_cli_has(c, "version")) return 0;
    const lr_command *k = c->command;
    char padded[64];
    strcpy(padded, " ");
    strncat(padded, k->name, 60);
    strcat(padded, " ");
    for (int i = 0; i < c->ngiven; i++) {
        const lr_cli_option *o = c->given[i].option;
        if (o->of == NULL || strstr(o->of, padded) != NULL) continue;
        lr_fail(e, LR_USAGE, "%s does not take --%s", k->name, o->name);
        return lr_hint(e, "usage: %s", k->usage);
    }
    if (c->nargs < k->least || c->nargs > k->most) {
        if (c->nargs < k->least) lr_fail(e, LR_USAGE, "%s needs an argument", k->name);
        else say_word(e, "%s: \"%s\" is one argument too many", k->name, c->args[k->most]);
        return lr_hint(e, "usage: %s", k->usage);
    }
    return 0;
}

int lr_cli_parse(int argc, char **argv, lr_cli *c, lr_err *e)
{
    memset(c, 0, sizeof *c);
    c->words = c->args = lr_malloc((size_t)(argc + 1) * sizeof *c->args);
    c->given = lr_malloc((size_t)(argc + 1) * sizeof *c->given);
    int plain = 0;
    for (int i = 1; i < argc; i++) {
        if (plain || argv[i][0] != '-' || argv[i][1] == 0) c->args[c->nargs++] = argv[i];
        else if (strcmp(argv[i], "--") == 0) plain = 1;
        else if (read_option(argc, argv, &i, c, e) != 0) return -1;
    }
    c->command = NULL;
    if (find_command(c, e) != 0) return -1;
    return check(c, e);
}

void lr_cli_free(lr_cli *c)
{
    free(c->words);
    free(c->given);
}

int lr_cli_has(const lr_cli *c, const char *name)
{
    for (int i = 0; i < c->ngiven; i++)
        if (strcmp(c->given[i].option->name, name) == 0) return 1;
    return 0;
}
