/* The primitives that are no statement: job, window, watermark. Their work is
 * done elsewhere; what they take is described here with the others. */
#include "primitive/args.h"

static const lr_option job_options[] = {
    {"name", LR_ARG_STRING, 0, "the file's name without .lua", "the job's name in the ledger; may hold param \"...\""},
    {"grain", LR_ARG_STRING, 0, "day", "\"hour\", \"day\", \"week\", \"month\" or \"year\"; given, run_start is the start of the current one"},
    {"zone", LR_ARG_STRING, 0, "UTC", "time zone of days and of times without an offset, such as \"Europe/Berlin\""},
    {"transaction", LR_ARG_STRING, 0, "one for the run", "\"manual\", only in the sandbox of learn: each execute commits by itself, or BEGIN and COMMIT stand in one"},
};

static const lr_option window_options[] = {
    {"since", LR_ARG_MARK, 1, NULL, "a watermark: watermark() or watermark { ... }"},
    {"lookback", LR_ARG_SPAN | LR_ARG_INT, 0, NULL, "how far before the watermark to read again: days(2); a number where the watermark is one"},
};

static const lr_option watermark_options[] = {
    {"name", LR_ARG_STRING, 0, "default", "another watermark of the same job"},
    {"start", LR_ARG_STRING | LR_ARG_TIME | LR_ARG_INT, 0, NULL, "where a first run begins, and no later window starts before it; without it, at the first row"},
    {"advance", LR_ARG_STRING, 0, "run_start", "\"run_start\", or \"newest\": the newest value that was loaded"},
    {"closed", LR_ARG_BOOL, 0, "true; false where insert_new writes",
     "with newest and no lookback: read the rows at the saved value again, so that a row that comes later with the same value is "
     "not lost; the first write decides, and false is the open start of 0.1.0"},
};

#define COUNT(options) (sizeof options / sizeof options[0])

const lr_primitive lr_primitive_job = {
    .name = "job",
    .summary = "the job's name, grain and zone; first in the file, once, with literals and param only",
    .options = job_options,
    .noptions = COUNT(job_options),
    .returns = "nothing",
    .refuses = "a place other than the first; an unknown grain or zone",
    .example = "job { grain = \"day\" }",
};

const lr_primitive lr_primitive_window = {
    .name = "window",
    .summary = "a half-open window [start, stop): window() is the logical date's grain, window \"2026-01-20\" that day, "
               "window(\"2026-01-19\", \"2026-01-22\") that range",
    .options = window_options,
    .noptions = COUNT(window_options),
    .returns = "a window with .start and .stop; prints as [2026-01-20, 2026-01-21)",
    .refuses = "a stop before its start; a second window on one watermark; window() without --logical-date",
    .example = "window { since = watermark(), lookback = days(2) }",
    .idea = "half-open intervals: Dijkstra, EWD831",
};

const lr_primitive lr_primitive_watermark = {
    .name = "watermark",
    .summary = "the job's saved watermark; it is set at commit, to run_start or to the newest value that was loaded",
    .first_name = NULL,
    .options = watermark_options,
    .noptions = COUNT(watermark_options),
    .returns = "a watermark for window { since = ... }; prints its saved value",
    .refuses = "a value saved with other --param values; rows of one window given to insert_new and to another write, unless closed says "
               "whether its start is inside",
    .example = "watermark { start = \"2026-01-01\", advance = \"newest\" }",
};
