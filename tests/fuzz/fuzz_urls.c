/* Connection strings as they are shown: no password comes through, whatever
 * stands around it. */
#include "fuzz.h"
#include "run/url.h"

static const char secret[] = "Pa55word!";

static void shows_no(const char *url)
{
    lr_arena a = {0};
    const char *shown = lr_url_shown(&a, url);
    CLAIM(shown != NULL);
    if (strstr(shown, secret) != NULL) fprintf(stderr, "%s\nas %s\n", url, shown);
    CLAIM(strstr(shown, secret) == NULL);
    lr_arena_free(&a);
}

/* Text without the bytes that would end the part it is put into. */
static char *without(const char *z, const char *bytes)
{
    char *out = malloc(strlen(z) + 1), *p = out;
    for (; *z != 0; z++)
        if (strchr(bytes, *z) == NULL) *p++ = *z;
    *p = 0;
    if (strstr(out, secret) != NULL) *out = 0; /* then it is no secret */
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *whole = fuzz_text(data, size), *url = malloc(2 * size + 400);
    lr_arena a = {0};
    CLAIM(lr_url_shown(&a, whole) != NULL);
    lr_arena_free(&a);
    char *user = without(whole, "@/?#:"), *word = without(whole, " '\\\t\n\r\f\v="), *query = without(whole, "&#?=@/");
    snprintf(url, 2 * size + 400, "postgresql://%s:%s@host/db", user, secret);
    shows_no(url);
    snprintf(url, 2 * size + 400, "third=postgresql://%s:%s@host/db", user, secret);
    shows_no(url);
    snprintf(url, 2 * size + 400, "postgres://host/db?x=%s&password=%s&y=%s", query, secret, query);
    shows_no(url);
    snprintf(url, 2 * size + 400, "host=%s password=%s dbname=%s", word, secret, word);
    shows_no(url);
    snprintf(url, 2 * size + 400, "host=h password='%s' dbname='%s'", secret, word);
    shows_no(url);
    snprintf(url, 2 * size + 400, "host=h  password  =  %s  sslpassword = %s x='%s'", secret, secret, word);
    shows_no(url);
    free(user);
    free(word);
    free(query);
    free(whole);
    free(url);
    return 0;
}
