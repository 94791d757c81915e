/* The primitives, in the order in which help lists them. */
#include "primitive/args.h"

extern const lr_primitive
    lr_primitive_job,
    lr_primitive_window,
    lr_primitive_watermark,
    lr_primitive_extract,
    lr_primitive_scd2_join,
    lr_primitive_group,
    lr_primitive_merge,
    lr_primitive_overwrite_partition,
    lr_primitive_insert_new,
    lr_primitive_full_load,
    lr_primitive_scd2_merge,
    lr_primitive_delete_missing,
    lr_primitive_apply_changes,
    lr_primitive_reconcile,
    lr_primitive_partitions,
    lr_primitive_lateness,
    lr_primitive_query,
    lr_primitive_execute;

const lr_primitive *const lr_primitives[] = {
    &lr_primitive_job,
    &lr_primitive_window,
    &lr_primitive_watermark,
    &lr_primitive_extract,
    &lr_primitive_scd2_join,
    &lr_primitive_group,
    &lr_primitive_merge,
    &lr_primitive_overwrite_partition,
    &lr_primitive_insert_new,
    &lr_primitive_full_load,
    &lr_primitive_scd2_merge,
    &lr_primitive_delete_missing,
    &lr_primitive_apply_changes,
    &lr_primitive_reconcile,
    &lr_primitive_partitions,
    &lr_primitive_lateness,
    &lr_primitive_query,
    &lr_primitive_execute,
    NULL};
