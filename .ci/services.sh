# What the tests of server mode need: Chromium, PostgreSQL and Redis. Sourced by run.

as_root() { [ "$(id -u)" = 0 ]; }

install() { # package...
    if as_root && command -v apt-get >/dev/null; then
        say "installing $*"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    else
        echo "missing: $* (install it, or run as root where apt-get is at hand)" >&2
        return 1
    fi
}

ensure_chromium() {
    command -v chromium >/dev/null || command -v google-chrome >/dev/null || install chromium chromium-driver
}

ensure_redis() {
    command -v redis-server >/dev/null || install redis-server
    redis-cli -h 127.0.0.1 ping >/dev/null 2>&1 && return
    say "Redis is installed but stopped: starting one for this run"
    redis-server --port 6379 --bind 127.0.0.1 --save '' --dir "$SCRATCH" \
        --daemonize yes --pidfile "$SCRATCH/redis.pid" >/dev/null
    until_true 20 redis-cli -h 127.0.0.1 ping
}

ensure_postgresql() {
    command -v psql >/dev/null && command -v pg_ctlcluster >/dev/null || install postgresql
    if ! pg_isready -q -h 127.0.0.1; then
        say "PostgreSQL is installed but stopped: starting it"
        pg_lsclusters -h | while read -r version name _; do pg_ctlcluster "$version" "$name" start || true; done
        until_true 30 pg_isready -q -h 127.0.0.1
    fi
}

# Prints a URL that may create databases: the user's own role without a password where the server trusts
# local connections, else a role with a password made for this run.
postgresql_url() {
    local role password
    role=$(id -un)
    if psql -qAt -h 127.0.0.1 -U "$role" -d postgres -c 'SELECT 1' </dev/null >/dev/null 2>&1; then
        echo "postgres://$role@127.0.0.1:5432/lockstep_ci"
        return
    fi
    as_root || { echo "PostgreSQL lets $role in neither by trust nor could a role be made" >&2; return 1; }
    password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    su postgres -c 'psql -q -v ON_ERROR_STOP=1' <<SQL
DO \$\$ BEGIN CREATE ROLE lockstep_ci SUPERUSER LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END \$\$;
ALTER ROLE lockstep_ci PASSWORD '$password';
SQL
    echo "postgres://lockstep_ci:$password@127.0.0.1:5432/lockstep_ci"
}

until_true() { # seconds command...
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "gave up waiting for: $*" >&2; return 1; }
        sleep 0.5
    done
}
