/* lrun: incremental loads and backfills, each run one warehouse transaction. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return lr_cli_main(argc, argv);
}
