# Keeps one server and its directory for as long as the test process lives.
#
# The statics of a Rust program are not dropped at its end, and a killed program runs nothing at all. What does
# happen, even after `kill -9`, is that its end of this script's standard input closes. Then the server is stopped
# and its directory removed.
#
# Usage: sh supervise.sh DIRECTORY SIGNAL INITIALISE SERVER
#   SIGNAL      ends the server at once, leaving nothing behind
#   INITIALISE  shell command, run once by the order `initialise`
#   SERVER      shell command, run by the order `start`
# The working directory of both is DIRECTORY, where their output is kept in `log`. Each order is answered by a line.

directory=$1 signal=$2 initialise=$3 server=$4
pid=

mkdir -m 700 "$directory" && cd "$directory" || exit 1
exec 2>>log
# The end of the test process orphans this process group, and where a process of it is stopped (a frozen server),
# the kernel then hangs up on all of it.
trap '' HUP
echo ready

while read -r order; do
    case $order in
    initialise)
        sh -c "$initialise" </dev/null >>log
        echo "$?"
        ;;
    start)
        sh -c "exec $server" </dev/null >>log &
        pid=$!
        echo "$pid"
        ;;
    wait)
        wait "$pid"
        pid=
        echo ended
        ;;
    esac
done

if [ -n "$pid" ]; then
    kill -s "$signal" "$pid"
    # A frozen process heeds only KILL.
    kill -s CONT "$pid"
    wait "$pid"
fi
cd / && rm -rf "$directory"
