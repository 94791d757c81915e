/* test_timestyle.c - how times are written, and when their texts sort as they do. */
#include "check.h"

#include "../../runtime/base/calendar.h"
#include "../../runtime/base/timestyle.h"
#include <string.h>

static int styles(const char *text) { return lr_time_styles(text, strlen(text)); }

static void test_styles(void)
{
    CHECK(styles("2026-01-20") == (LR_STYLE_DATE | LR_STYLE_LOCAL | LR_STYLE_SHORT | LR_STYLE_EITHER));
    CHECK((styles("2026-01-20 09:30:00") & 31) == (LR_STYLE_LOCAL | LR_STYLE_SHORT | LR_STYLE_LONG | LR_STYLE_EITHER));
    CHECK((styles("2026-01-20 00:00:00") & 31) == (LR_STYLE_LOCAL | LR_STYLE_LONG | LR_STYLE_EITHER));
    CHECK((styles("2026-01-20 00:00:00.5") & LR_STYLE_SHORT) != 0);
    CHECK((styles("2026-01-20 09:30:00.500") & (LR_STYLE_SHORT | LR_STYLE_LONG)) == 0);
    CHECK((styles("2026-01-20T09:30:00") & (LR_STYLE_SHORT | LR_STYLE_LONG)) == 0);
    CHECK((styles("2026-01-20T09:30:00") & styles("2026-01-20T23:59:59")) > LR_STYLE_LOCAL);
    CHECK((styles("2026-01-20T09:30:00") & styles("2026-01-20 09:30:00")) == LR_STYLE_LOCAL);
    const char *const none[] = {"", "2026-01", "2026-02-30", "2026-13-01", "20260120", "2026-01-20 24:00:00", "2026-01-20 09:30:00+01",
                                "2026-01-20 09:30:00Z", "2026-01-20 09:30:00.", "2026-01-20 9:30", "2026-01-20x09:30:00", "2026-01-20 09:30:0"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (!CHECK(styles(none[i]) == 0)) fprintf(stderr, "  %s\n", none[i]);
}

/* Wherever lr_styles_sort says yes, texts of those styles compare as their instants. */
static void test_order(void)
{
    static const char *const all[] = {
        "2026-01-19", "2026-01-20", "2026-01-21", "2026-01-19 00:00", "2026-01-20 00:00", "2026-01-20 09:30", "2026-01-20T00:00",
        "2026-01-20T09:30", "2026-01-20 00:00:00", "2026-01-21 00:00:00", "2026-01-20 09:30:00", "2026-01-20 23:59:59", "2026-01-20T00:00:00",
        "2026-01-20T09:30:00", "2026-01-20 09:30:00.5", "2026-01-20 00:00:00.5", "2026-01-20 00:00:00.000", "2026-01-20 09:30:00.000",
        "2026-01-20 09:30:00.500", "2026-01-20 09:30:00.123", "2026-01-20 09:30:00.123456", "2026-01-20 09:30:00.500000",
        "2026-01-20T09:30:00.500", "2026-01-20T09:30:00.000000", "2026-01-21T00:00:00.000"};
    const int n = (int)(sizeof all / sizeof *all);
    int sorted = 0;
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++)
            for (int at = 0; at < n; at++) {
                const char *bounds[] = {all[from], all[to]}, *others[] = {all[from], all[to], all[at]};
                if (!lr_styles_sort(styles(bounds[0]) & styles(bounds[1]), styles(all[at]))) continue;
                sorted++;
                for (int b = 0; b < 2; b++)
                    for (int o = 0; o < 3; o++) {
                        lr_time x = {0}, y = {0};
                        CHECK(lr_time_parse(bounds[b], strlen(bounds[b]), lr_zone_utc(), &x) == 0);
                        CHECK(lr_time_parse(others[o], strlen(others[o]), lr_zone_utc(), &y) == 0);
                        int text = strcmp(others[o], bounds[b]);
                        /* what a version asks: at or after its start, before its end */
                        if (!CHECK((text >= 0) == (y.us >= x.us) && (text < 0) == (y.us < x.us)))
                            fprintf(stderr, "  %s beside the bound %s\n", others[o], bounds[b]);
                    }
            }
    CHECK(sorted > 1000);
    CHECK(!lr_styles_sort(styles("2026-01-20 00:00:00"), styles("2026-01-20")));
    CHECK(!lr_styles_sort(styles("2026-01-20T00:00:00"), styles("2026-01-20 00:00:00")));
    CHECK(lr_styles_sort(LR_STYLE_ANY, LR_STYLE_ANY));
}

int main(void)
{
    test_styles();
    test_order();
    return check_done();
}
