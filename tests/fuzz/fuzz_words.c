/* What a statement's words tell: nothing is read past its end, and a COMMIT
 * behind any blanks and comments is seen. */
#include "driver/postgres/words.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *comment = malloc(size + 64);
    lr_pg_told told;
    lr_pg_words(text, &told);
    CLAIM(!(told.empty && told.readonly));
    CLAIM(!told.control || told.forbidden != NULL);
    for (char *p = text; *p != 0; p++)
        if (*p == '*' || *p == '/' || *p == '\n' || *p == '\r') *p = ' ';
    snprintf(comment, size + 64, "/*%s*/ COMMIT", text);
    lr_pg_words(comment, &told);
    CLAIM(told.control);
    snprintf(comment, size + 64, "--%s\nDELETE FROM lrun_runs", text);
    lr_pg_words(comment, &told);
    CLAIM(strcmp(told.ledger, "lrun_runs") == 0 && !told.readonly);
    free(text);
    free(comment);
    return 0;
}
