/* test_decimal.c - exact sums, and doubles as shortest decimals. */
#include "check.h"

#include "../../runtime/base/decimal.h"
#include "../../runtime/base/mem.h"

#include <float.h>
#include <math.h>

#define CHECK_FREE(expr, want) do { char *got = (expr); CHECK_STR(got, want); free(got); } while (0)

static int add(lr_sum *s, const char *z, int sign)
{
    return lr_sum_text(s, z, strlen(z), sign);
}

static char *sum_of(const char *a, const char *b)
{
    lr_sum s = { 0 };
    if (add(&s, a, 1) || (b && add(&s, b, 1))) CHECK(!"a number");
    char *text = lr_sum_format(&s);
    lr_sum_free(&s);
    return text;
}

static void syntax(void)
{
    static const char *const good[] = { "0", "-0", "+1", "1.", ".5", "-.5e3", "00012.500", "1e1000",
                                        "1E-1000", "1e+5", "123456789012345678901234567890" };
    static const char *const bad[] = { "", "-", ".", "e5", "1e", "1e+", "1e1001", "1.2.3", " 1",
                                       "1 ", "0x10", "NaN", "Infinity", "1,5", "--1", "1e5.0",
                                       "1e99999999999999999999", "+.", "\xD9\xA1" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(lr_is_decimal(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lr_sum s = { 0 };
        lr_sum_int(&s, 7, 1);
        CHECK(!lr_is_decimal(bad[i], strlen(bad[i])));
        CHECK_INT(add(&s, bad[i], 1), -1);
        CHECK_FREE(lr_sum_format(&s), "7");
        lr_sum_free(&s);
    }
    CHECK(!lr_is_decimal("1\0", 2));
    CHECK(!lr_is_decimal("1\0002", 3));
    CHECK(lr_is_decimal("12x", 2));
}

static void texts(void)
{
    CHECK_FREE(sum_of("-0", NULL), "0");
    CHECK_FREE(sum_of("-0.000", NULL), "0");
    CHECK_FREE(sum_of("00012.500", NULL), "12.5");
    CHECK_FREE(sum_of("-.5e3", NULL), "-500");
    CHECK_FREE(sum_of("1e-3", NULL), "0.001");
    CHECK_FREE(sum_of("0e1000", "0e-1000"), "0");
    CHECK_FREE(sum_of("1e30", "1e-30"),
               "1000000000000000000000000000000.000000000000000000000000000001");
    CHECK_FREE(sum_of("123456789012345678901234567890", "0.1"), "123456789012345678901234567890.1");
    CHECK_FREE(sum_of("999999999999999999999999999999999999999", "1"),
               "1000000000000000000000000000000000000000");
    CHECK_FREE(sum_of("-1000000000000000000000000000000000000000", "1"),
               "-999999999999999999999999999999999999999");
    CHECK_FREE(sum_of("0.1", "-1e40"), "-9999999999999999999999999999999999999999.9");
    char digits[401], twice[402];
    memset(digits, '4', 400);
    memset(twice, '8', 400);
    digits[400] = twice[400] = 0;
    CHECK_FREE(sum_of(digits, digits), twice);
    memset(digits, '9', 400);
    twice[0] = '1';
    memset(twice + 1, '0', 400);
    twice[401] = 0;
    CHECK_FREE(sum_of(digits, "1"), twice);
    digits[200] = '.';
    CHECK_FREE(sum_of(digits, NULL), digits);
    char *zero = lr_decimal_minus(digits, digits);
    CHECK_STR(zero, "0");
    free(zero);
}

static void integers(void)
{
    lr_sum s = { 0 };
    int64_t out;
    CHECK(lr_sum_is_int64(&s, &out) && out == 0);
    lr_sum_int(&s, INT64_MIN, 1);
    CHECK(lr_sum_is_int64(&s, &out) && out == INT64_MIN);
    lr_sum_int(&s, INT64_MIN, 1);
    CHECK_FREE(lr_sum_format(&s), "-18446744073709551616");
    CHECK(!lr_sum_is_int64(&s, &out));
    lr_sum_int(&s, INT64_MIN, -1);
    lr_sum_int(&s, INT64_MIN, -1);
    CHECK_INT(lr_sum_sign(&s), 0);
    for (int i = 0; i < 1000000; i++) lr_sum_int(&s, INT64_MAX, 1);
    CHECK_FREE(lr_sum_format(&s), "9223372036854775807000000");
    add(&s, "1e50", 1);
    for (int i = 0; i < 1000000; i++) lr_sum_int(&s, INT64_MAX, -1);
    add(&s, "1e50", -1);
    CHECK_FREE(lr_sum_format(&s), "0");
    lr_sum_int(&s, INT64_MAX, 1);
    CHECK(lr_sum_is_int64(&s, &out) && out == INT64_MAX);
    add(&s, "0.5", 1);
    CHECK(!lr_sum_is_int64(&s, &out));
    add(&s, "0.5", 1);
    CHECK(!lr_sum_is_int64(&s, &out));
    CHECK_FREE(lr_sum_format(&s), "9223372036854775808");
    lr_sum_free(&s);
    lr_sum_scaled(&s, 5, -40, 1);
    lr_sum_scaled(&s, 25, 50, -1);
    CHECK_FREE(lr_sum_format(&s), "49999999999999999999999999999999999999999."
                                  "99999999999999999999999999999999999999999999999975");
    lr_sum_free(&s);
}

/* The plain text of a double is that of a sum of it alone. */
static void plain(double v)
{
    char text[50];
    lr_sum s = { 0 };
    size_t n = lr_real_plain(v, text, sizeof text);
    CHECK_INT(lr_sum_real(&s, v, 1), 0);
    char *sum = lr_sum_format(&s);
    if (n == 0) CHECK(strlen(sum) + 2 >= sizeof text);
    else CHECK_STR(text, sum);
    if (n > 0) CHECK_INT((long long)n, (long long)strlen(sum));
    free(sum);
    lr_sum_free(&s);
}

static void plain_reals(void)
{
    static const double some[] = { 0, -0.0, 1, -1, 0.1, 22.35, -22.5, 1e15, 1e21, 1e22, 1e25, 1e40, 1e47, 1e48, 1e300, 1e-7, 123456789.125,
                                   1e-20, 1e-45, 1e-46, 1e-47, 5e-324, 0.30000000000000004, 1.7976931348623157e308, 9007199254740993.0, -1e46 };
    char text[50];
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) plain(some[i]);
    for (int i = 0; i < 200000; i++) {
        plain((double)check_between(0, 100000000) / (double[]){ 1, 10, 100, 1000 }[i % 4]);
        plain(ldexp((double)check_between(-INT32_MAX, INT32_MAX), (int)check_between(-130, 70)));
    }
    CHECK_INT((long long)lr_real_plain(NAN, text, sizeof text), 0);
    CHECK_INT((long long)lr_real_plain(-INFINITY, text, sizeof text), 0);
}

static void reals(void)
{
    lr_sum s = { 0 };
    for (int i = 0; i < 10; i++) CHECK_INT(lr_sum_real(&s, 0.1, 1), 0);
    CHECK_FREE(lr_sum_format(&s), "1");
    CHECK_INT(lr_sum_real(&s, NAN, 1), -1);
    CHECK_INT(lr_sum_real(&s, INFINITY, 1), -1);
    CHECK_INT(lr_sum_real(&s, -INFINITY, -1), -1);
    CHECK_INT(lr_sum_real(&s, -0.0, 1), 0);
    CHECK_FREE(lr_sum_format(&s), "1");
    for (int i = 0; i < 10; i++) lr_sum_real(&s, 0.1, -1);
    CHECK_FREE(lr_sum_format(&s), "0");
    for (int i = 0; i < 1000000; i++) lr_sum_real(&s, 22.35, 1);
    CHECK_FREE(lr_sum_format(&s), "22350000");
    lr_sum_real(&s, 0.1 + 0.2, 1);
    CHECK_FREE(lr_sum_format(&s), "22350000.30000000000000004");
    lr_sum_free(&s);
    lr_sum_real(&s, 1e23, 1);
    CHECK_FREE(lr_sum_format(&s), "100000000000000000000000");
    lr_sum_real(&s, 5e-324, 1);
    lr_sum_real(&s, 1e23, -1);
    char want[400] = "0.";
    memset(want + 2, '0', 323);
    strcpy(want + 325, "5");
    CHECK_FREE(lr_sum_format(&s), want);
    lr_sum_real(&s, DBL_MAX, 1);
    lr_sum_real(&s, 5e-324, -1);
    lr_sum_real(&s, DBL_MAX, -1);
    CHECK_FREE(lr_sum_format(&s), "0");
    lr_sum_free(&s);
    CHECK_INT(lr_sum_real(&s, 9007199254740993.0, 1), 0);
    CHECK_FREE(lr_sum_format(&s), "9007199254740992");
    lr_sum_free(&s);
}

/* A random decimal of one of several kinds. */
static void random_decimal(char *out)
{
    int kind = (int)check_between(0, 5), n = 0;
    int whole = (int)check_between(kind == 4 ? 30 : 1, kind == 4 ? 60 : kind == 3 ? 25 : 8);
    int fraction = (int)check_between(0, kind < 2 ? 3 : kind == 4 ? 60 : 20);
    if (check_random() & 1) out[n++] = '-';
    for (int i = 0; i < whole; i++) out[n++] = (char)('0' + check_between(0, 10));
    if (fraction) out[n++] = '.';
    for (int i = 0; i < fraction; i++) out[n++] = (char)('0' + check_between(0, 10));
    out[n] = 0;
    if (kind == 2) sprintf(out + n, "e%d", (int)check_between(-50, 50));
}

static void order_does_not_matter(void)
{
    for (int round = 0; round < 400; round++) {
        char v[40][160];
        int n = (int)check_between(1, 40);
        lr_sum a = { 0 }, b = { 0 };
        for (int i = 0; i < n; i++) {
            random_decimal(v[i]);
            add(&a, v[i], 1);
        }
        for (int i = n - 1; i > 0; i--) {
            int k = (int)check_between(0, i + 1);
            char t[160];
            memcpy(t, v[i], sizeof t);
            memmove(v[i], v[k], sizeof t);
            memcpy(v[k], t, sizeof t);
        }
        for (int i = 0; i < n; i++) add(&b, v[i], 1);
        char *x = lr_sum_format(&a), *y = lr_sum_format(&b);
        CHECK_STR(y, x);
        CHECK(lr_is_decimal(x, strlen(x)));
        CHECK_INT(lr_decimal_compare(x, y), 0);
        CHECK_FREE(sum_of(x, NULL), x);
        CHECK_INT(add(&a, x, -1), 0);
        CHECK_FREE(lr_sum_format(&a), "0");
        for (int i = 0; i < n; i++) add(&b, v[i], -1);
        CHECK_FREE(lr_sum_format(&b), "0");
        free(x);
        free(y);
        lr_sum_free(&a);
        lr_sum_free(&b);
    }
}

static void comparing(void)
{
    CHECK_INT(lr_decimal_compare("1.0", "1"), 0);
    CHECK_INT(lr_decimal_compare("1e2", "100.000"), 0);
    CHECK_INT(lr_decimal_compare("-1", "1"), -1);
    CHECK_INT(lr_decimal_compare("10", "9"), 1);
    CHECK_INT(lr_decimal_compare("0.10000000000000000000000000000000000000000001", "0.1"), 1);
    CHECK(lr_decimal_close("1.00", "1.01", "0.01"));
    CHECK(!lr_decimal_close("1.00", "1.0100001", "0.01"));
    CHECK(lr_decimal_close("1.01", "1", "0.01"));
    CHECK(!lr_decimal_close("1.0100001", "1.00", "0.01"));
    CHECK(lr_decimal_close("5", "5.0", "0"));
    CHECK(!lr_decimal_close("5", "5.1", "0"));
    CHECK_FREE(lr_decimal_minus("22.00", "22.01"), "-0.01");
    CHECK_FREE(lr_decimal_minus("-5", "-5.0"), "0");
    CHECK_FREE(lr_decimal_scaled("22", 2), "22.00");
    CHECK_FREE(lr_decimal_scaled("22.5", 2), "22.50");
    CHECK_FREE(lr_decimal_scaled("22.555", 2), "22.555");
    CHECK_FREE(lr_decimal_scaled("-0", 2), "0.00");
    CHECK_FREE(lr_decimal_scaled("-0.001", 5), "-0.00100");
    CHECK_FREE(lr_decimal_scaled("1e3", 0), "1000");
    for (int i = 0; i < 2000; i++) { /* minus agrees with compare */
        char a[160], b[160];
        random_decimal(a);
        if (check_random() & 1) random_decimal(b);
        else strcpy(b, a);
        char *d = lr_decimal_minus(a, b), *r = lr_decimal_minus(b, a);
        int c = lr_decimal_compare(a, b);
        CHECK_INT(c, d[0] == '-' ? -1 : strcmp(d, "0") != 0);
        CHECK_STR(d + (d[0] == '-'), r + (r[0] == '-'));
        CHECK(lr_decimal_close(a, b, d + (d[0] == '-')));
        free(d);
        free(r);
    }
}

static double any_double(void)
{
    uint64_t bits = check_random();
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

static void reads_back(double v)
{
    char out[40], shorter[40];
    lr_format_real(v, out);
    double back = strtod(out, NULL);
    CHECK(memcmp(&back, &v, 8) == 0);
    CHECK(strlen(out) < 26 && strpbrk(out, ".e"));
    int count = 0, zeros = 0;
    for (const char *p = out; *p && *p != 'e'; p++) {
        if (*p < '0' || *p > '9') continue;
        if (*p == '0') zeros++;
        else count += count ? zeros + 1 : 1, zeros = 0;
    }
    if (count <= 1) return;
    snprintf(shorter, sizeof shorter, "%.*e", count - 2, v);
    CHECK(strtod(shorter, NULL) != v);
}

static void shortest(void)
{
    static const struct { double v; const char *want; } known[] = {
        { 0.1, "0.1" }, { 5, "5.0" }, { -0.0, "-0.0" }, { 0, "0.0" }, { 100, "100.0" },
        { 22.35, "22.35" }, { 0.1 + 0.2, "0.30000000000000004" }, { 1e300, "1e+300" },
        { 1e15, "1e+15" }, { 1e14, "100000000000000.0" }, { 1e23, "1e+23" }, { 0.0001, "0.0001" },
        { 0.00001, "1e-05" }, { 5e-324, "5e-324" }, { -1.5e-7, "-1.5e-07" },
        { 1234567890123456.0, "1234567890123456.0" }, { 9007199254740993.0, "9007199254740992.0" },
        { DBL_MAX, "1.7976931348623157e+308" }, { DBL_MIN, "2.2250738585072014e-308" },
        { 0x1p-44, "5.684341886080802e-14" }, { 0x1p-1021, "4.450147717014403e-308" },
        { NAN, "NaN" }, { INFINITY, "Infinity" }, { -INFINITY, "-Infinity" },
    };
    char out[40];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK_STR(lr_format_real(known[i].v, out), known[i].want);
    for (int e = -1074; e < 1024; e++) reads_back(ldexp(1, e));
    clock_t stop = clock() + 2 * CLOCKS_PER_SEC;
    for (int i = 0; i < 2000000 && (i % 1000 || clock() < stop); i++) {
        double v = any_double();
        if (isfinite(v)) reads_back(v);
        reads_back((double)check_between(-10000000, 10000000) / 100);
        reads_back((double)check_between(-1000000, 1000000) / 1e6 + 0.1);
        reads_back(ldexp((double)check_random(), (int)check_between(-70, 10)));
    }
}

static void surviving(void)
{
    static const char *const yes[] = { "0", "-0", "0.1", "22.350", "123456789012345", "1e22", "1e300",
                                       "9007199254740992", "0.000000000000000000001" };
    static const char *const no[] = { "9007199254740993", "0.1234567890123456789", "1e400", "x", "",
                                      "100000000000000000000000000000001", "1e-400", "1 " };
    for (int i = 0; i < 9; i++) CHECK(lr_decimal_survives_real(yes[i], strlen(yes[i])));
    for (int i = 0; i < 8; i++) CHECK(!lr_decimal_survives_real(no[i], strlen(no[i])));
    CHECK(lr_decimal_survives_real("12.5garbage", 4));
    char zeros[300];
    memset(zeros, '0', 300);
    memcpy(zeros, "12.5", 4);
    CHECK(lr_decimal_survives_real(zeros, 300));
    for (int i = 0; i < 20000; i++) {
        char text[160], out[40];
        random_decimal(text);
        lr_format_real(strtod(text, NULL), out);
        CHECK_INT(lr_decimal_survives_real(text, strlen(text)), lr_decimal_compare(text, out) == 0);
    }
}

int main(void)
{
    check_seed();
    syntax();
    texts();
    integers();
    reals();
    plain_reals();
    order_does_not_matter();
    comparing();
    shortest();
    surviving();
    return check_done();
}
