#!/bin/sh
# deps.sh WHY PACKAGE... - install Debian packages that are missing.
# Says nothing and asks no network when all is there.
set -u
why=$1
shift

missing=
for p in "$@"; do
    case $(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null) in
    installed) ;;
    *) missing="$missing $p" ;;
    esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "missing $why (as Debian names them):$missing; install them, there is no apt-get here" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "missing $why:$missing; install them as root, there is no sudo here" >&2
        exit 1
    fi
    as_root=sudo
fi

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing \
        </dev/null >>"$log" 2>&1
}
echo "installing $why:$missing"
install && exit 0
# The lists are missing or old.
$as_root apt-get update -q </dev/null >>"$log" 2>&1
install && exit 0
cat "$log" >&2
echo "could not install:$missing" >&2
exit 1
