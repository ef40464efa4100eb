# Runs node.sh until standard input ends, which it does when our caller is gone, however it went. Then it ends
# everything and removes what is left: the control groups and the folder.
dir=$1 name=$4
unshare --mount --pid --fork --kill-child=KILL sh "${0%/*}/node.sh" "$@" </dev/null >"$dir/log/node" 2>&1 &
read -r _ || :
kill -KILL $! 2>/dev/null
wait
for _ in 1 2 3 4 5 6 7 8 9 10; do
	groups=$(find /sys/fs/cgroup -depth -type d -path "*/$name*" 2>/dev/null)
	[ -n "$groups" ] || break
	echo "$groups" | xargs rmdir 2>/dev/null
	sleep 0.2
done
rm -rf "$dir"
