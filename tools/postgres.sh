#!/bin/sh
# tools/postgres.sh COMMAND...: run a command with a PostgreSQL server of its own, which is gone afterwards. It listens
# on a socket in a temporary folder only; the command finds it through PGHOST, PGUSER and PGDATABASE. Status 77: no
# server is installed.

bin=$(command -v initdb 2> /dev/null)
if [ -z "$bin" ]; then
  bin=$(ls -d /usr/lib/postgresql/*/bin/initdb 2> /dev/null | sort -V | tail -n 1)
fi
[ -n "$bin" ] || { echo "* no PostgreSQL server is installed (Debian: postgresql)" >&2; exit 77; }
bin=$(dirname "$bin")

dir=$(mktemp -d) || exit 1
# The server refuses to run as root.
as=
if [ "$(id -u)" -eq 0 ]; then
  user=postgres
  id "$user" > /dev/null 2>&1 || user=nobody
  chown "$user" "$dir"
  as="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups"
fi
stop_server() {
  (cd "$dir" && $as "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop > /dev/null 2>&1)
  rm -rf "$dir"
}
trap stop_server EXIT
trap 'exit 1' HUP INT TERM

(cd "$dir" && $as "$bin/initdb" -D "$dir/data" -U gpcalib -A trust -E UTF8 --locale=C --no-sync > "$dir/log" 2>&1 &&
  $as "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/server.log" \
    -o "-c listen_addresses='' -c unix_socket_directories='$dir' -c fsync=off" start >> "$dir/log" 2>&1) || {
  cat "$dir/log" "$dir/server.log" >&2 2> /dev/null
  exit 1
}
PGHOST=$dir PGUSER=gpcalib PGDATABASE=postgres "$@"
