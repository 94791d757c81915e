/* How times are written, see timestyle.h. */
#include "base/timestyle.h"
#include "base/calendar.h"

/* Two digits from low to high. */
static int pair_of(const char *p, int low, int high)
{
    if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9') return -1;
    int n = (p[0] - '0') * 10 + p[1] - '0';
    return n >= low && n <= high ? n : -1;
}

static int is_day(const char *p)
{
    if (pair_of(p, 0, 99) < 0 || pair_of(p + 2, 0, 99) < 0 || p[4] != '-' || p[7] != '-') return 0;
    int month = pair_of(p + 5, 1, 12), year = pair_of(p, 0, 99) * 100 + pair_of(p + 2, 0, 99);
    return month > 0 && pair_of(p + 8, 1, lr_days_in_month(year, month)) > 0;
}

static int fixed_style(size_t n, int t)
{
    int length = n == 16 ? 0 : n == 19 ? 1 : n == 23 ? 2 : n == 26 ? 3 : -1;
    return length < 0 ? 0 : LR_STYLE_FIXED << (t ? 4 + length : length);
}

int lr_time_styles(const char *p, size_t n)
{
    const int day = LR_STYLE_DATE | LR_STYLE_LOCAL | LR_STYLE_SHORT | LR_STYLE_EITHER;
    if (n < 10 || !is_day(p)) return 0;
    if (n == 10) return day;
    if (n < 16 || (p[10] != ' ' && p[10] != 'T') || p[13] != ':') return 0;
    int hour = pair_of(p + 11, 0, 23), minute = pair_of(p + 14, 0, 59);
    if (hour < 0 || minute < 0) return 0;
    int out = LR_STYLE_LOCAL | fixed_style(n, p[10] == 'T');
    if (n == 16) return out;
    int second = n >= 19 && p[16] == ':' ? pair_of(p + 17, 0, 59) : -1;
    if (second < 0 || (n > 19 && (n == 20 || p[19] != '.'))) return 0;
    for (size_t i = 20; i < n; i++)
        if (p[i] < '0' || p[i] > '9') return 0;
    if (p[10] == 'T' || (n > 19 && p[n - 1] == '0')) return out;
    out |= LR_STYLE_LONG | LR_STYLE_EITHER;
    return n == 19 && hour + minute + second == 0 ? out : out | LR_STYLE_SHORT;
}

int lr_styles_sort(int bounds, int times)
{
    /* a bare date is before all that begins with it, and after all of the day before */
    if ((bounds & LR_STYLE_DATE) && (times & LR_STYLE_LOCAL)) return 1;
    if ((bounds & LR_STYLE_SHORT) && (times & LR_STYLE_EITHER)) return 1;
    return (bounds & times & ~(LR_STYLE_DATE | LR_STYLE_LOCAL | LR_STYLE_EITHER)) != 0;
}
