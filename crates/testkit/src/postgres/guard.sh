# Runs a PostgreSQL and sees to it that it goes. Arguments: the folder of everything, then the server's command line.
# Says its process id once it is ready. Then a line names the signal that it is to be ended with; an end without a line means
# that whoever started this is gone, or done, and everything goes.
"$@" >>"$0/log" 2>&1 </dev/null &
server=$!
is_ready() {
  [ "$(sed -n '1p; 8s/ *$//p' "$0/data/postmaster.pid" 2>/dev/null)" = "$server
ready" ]
}
until is_ready; do
  kill -0 "$server" 2>/dev/null || exit 1
  sleep 0.02
done
echo "$server"
if read -r signal; then
  kill "-$signal" "$server" 2>/dev/null
  wait "$server"
else
  kill -QUIT "$server" 2>/dev/null
  wait "$server"
  rm -rf "$0"
fi
