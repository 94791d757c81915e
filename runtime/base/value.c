/* value.c - making values. */
#include "lrun/value.h"

#include <string.h>

lr_value lr_null(void)
{
    return (lr_value){ .type = LR_NULL, .i = 0 };
}

lr_value lr_int(int64_t i)
{
    return (lr_value){ .type = LR_INT, .i = i };
}

lr_value lr_real(double r)
{
    return (lr_value){ .type = LR_REAL, .r = r };
}

lr_value lr_text(const char *z)
{
    return z ? lr_textn(z, strlen(z)) : lr_null();
}

lr_value lr_textn(const char *p, size_t n)
{
    return (lr_value){ .type = LR_TEXT, .s = { p, n } };
}

lr_value lr_blobn(const char *p, size_t n)
{
    return (lr_value){ .type = LR_BLOB, .s = { p, n } };
}
