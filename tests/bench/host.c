/* host DATABASE - the least that a program of lrun's libraries can do: open a
 * Lua state with its libraries, and a database as far as its first page. */
#include "bench.h"
#include <lauxlib.h>
#include <lualib.h>

int main(int argc, char **argv)
{
    if (argc != 2) die("usage", "host DATABASE");
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    sqlite3 *db = open_database(argv[1]);
    run(db, "PRAGMA schema_version");
    sqlite3_close(db);
    lua_close(L);
    return 0;
}
