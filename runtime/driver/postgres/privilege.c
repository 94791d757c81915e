/* What a role lacks, as the GRANT that gives it. The server names the object
 * only; which privilege it was asked for is read from the statement. */
#include "driver/postgres/internal.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SELECTS = 1, INSERTS = 2, UPDATES = 4, DELETES = 8 };

/* Does the text before p end with the word? */
static int follows(const char *sql, const char *p, const char *word)
{
    size_t n = strlen(word);
    while (p > sql && isspace((unsigned char)p[-1])) p--;
    return (size_t)(p - sql) >= n && strncasecmp(p - n, word, n) == 0;
}

/* What the statement does with a table of that name, and its name with the
 * schema as it stands there. */
static int uses(const char *sql, const char *name, char *full, size_t size)
{
    char quoted[160];
    int found = 0;
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    snprintf(full, size, "%s", quoted);
    for (const char *at = sql; (at = strstr(at, quoted)) != NULL; at++) {
        const char *start = at, *end = at + strlen(quoted);
        if (*end == '.') continue; /* a column's qualifier */
        if (start > sql + 2 && start[-1] == '.' && start[-2] == '"') {
            for (start -= 2; start > sql && start[-1] != '"'; start--) continue;
            if (start > sql) start--;
        }
        int first = found == 0;
        if (follows(sql, start, "MERGE INTO")) found |= SELECTS | INSERTS | UPDATES;
        else if (follows(sql, start, "INSERT INTO")) found |= strstr(sql, " DO UPDATE") != NULL ? SELECTS | INSERTS | UPDATES : INSERTS;
        else if (follows(sql, start, "UPDATE")) found |= UPDATES | SELECTS;
        else if (follows(sql, start, "DELETE FROM")) found |= DELETES | SELECTS;
        else if (follows(sql, start, "COPY")) found |= strstr(end, "FROM STDIN") != NULL ? INSERTS : SELECTS;
        else if (follows(sql, start, "FROM") || follows(sql, start, "JOIN") || follows(sql, start, "USING")) found |= SELECTS;
        if (first && found != 0) snprintf(full, size, "%.*s", (int)(end - start), start);
    }
    /* of an INSERT as a sink makes it only the table is known */
    const char *word = sql + strspn(sql, " \n\t(");
    if (found == 0) found = strncasecmp(word, "INSERT", 6) == 0 || (sql[0] == '"') ? INSERTS : SELECTS;
    return found;
}

/* "permission denied for KIND NAME": the name, NULL for another message. */
static const char *after(const char *message, const char *kind)
{
    const char *start = "permission denied for ";
    size_t n = strlen(start), k = strlen(kind);
    return strncmp(message, start, n) == 0 && strncmp(message + n, kind, k) == 0 && message[n + k] == ' ' ? message + n + k + 1 : NULL;
}

void lr_pg_privilege_hint(lr_conn *c, const char *message, const char *sql, lr_err *e)
{
    static const char *const kinds[] = {"table", "view", "materialized view", "foreign table", "relation"};
    const char *role = PQuser(c->pg), *name = NULL;
    char full[300], list[64] = "";
    if (sql == NULL) sql = "";
    const char *word = sql + strspn(sql, " \n\t(");
    for (size_t i = 0; name == NULL && i < sizeof kinds / sizeof kinds[0]; i++) name = after(message, kinds[i]);
    if (name != NULL) {
        static const char *const words[] = {"SELECT", "INSERT", "UPDATE", "DELETE"};
        int needs = uses(sql, name, full, sizeof full);
        for (int i = 0; i < 4; i++) {
            if ((needs & 1 << i) == 0) continue;
            size_t n = strlen(list);
            snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "", words[i]);
        }
        size_t n = strlen(e->message);
        snprintf(e->message + n, sizeof e->message - n, ", which takes %s", list);
        if (strncmp(name, "lrun_", 5) == 0)
            lr_hint(e, "GRANT SELECT, INSERT, UPDATE, DELETE on every table lrun_* of the ledger TO \"%s\"", role);
        else
            lr_hint(e, "GRANT %s ON %s TO \"%s\"", list, full, role);
    } else if ((name = after(message, "schema")) != NULL) {
        int makes = strncasecmp(word, "CREATE", 6) == 0;
        size_t n = strlen(e->message);
        snprintf(e->message + n, sizeof e->message - n, ", which takes %s", makes ? "CREATE" : "USAGE");
        lr_hint(e, "GRANT %s ON SCHEMA \"%s\" TO \"%s\"%s", makes ? "CREATE" : "USAGE", name, role,
                makes ? "; or use another schema: --ledger-schema NAME for the ledger, into = \"schema.table\" for a target" : "");
    } else if ((name = after(message, "database")) != NULL) {
        size_t n = strlen(e->message);
        snprintf(e->message + n, sizeof e->message - n, ", which takes CREATE");
        lr_hint(e, "make the schema beforehand, or GRANT CREATE ON DATABASE \"%s\" TO \"%s\"", name, role);
    } else if (strncmp(message, "must be owner of ", 17) == 0) {
        lr_hint(e, "only the owner may do this: do it once as the owner, or make \"%s\" the owner", role);
    } else {
        lr_hint(e, "grant \"%s\" the privilege that is named; README, PostgreSQL, lists what a role needs", role);
    }
}

/* The server's own words may be in another language; its functions are not. */
static int refused_by(const PGresult *r, const char *message, const char *function, const char *words)
{
    const char *where = PQresultErrorField(r, PG_DIAG_SOURCE_FUNCTION);
    return (where != NULL && strcmp(where, function) == 0) || strncmp(message, words, strlen(words)) == 0;
}

int lr_pg_policy_hint(lr_conn *c, const PGresult *r, const char *message, lr_err *e)
{
    const char *role = PQuser(c->pg), *name = c->how.name != NULL ? c->how.name : "source";
    if (refused_by(r, message, "check_enable_rls", "query would be affected by row-level security policy")) {
        if (c->shared)
            lr_hint(e, "ALTER ROLE \"%s\" BYPASSRLS lets it see all rows; if a part is meant, write source = { url = \"...\", "
                       "row_security = true } and warehouse = { url = \"...\", row_security = true } in connections.lua", role);
        else
            lr_hint(e, "ALTER ROLE \"%s\" BYPASSRLS lets it see all rows; if a part is meant, write %s = { url = \"...\", "
                       "row_security = true } in connections.lua", role, name);
        return 1;
    }
    if (!refused_by(r, message, "ExecWithCheckOptions", "new row violates row-level security policy")) return 0;
    lr_hint(e, "the policy's WITH CHECK refuses the row: leave it out with where, correct the policy, or load as a role with BYPASSRLS");
    return 1;
}
