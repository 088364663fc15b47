#!/bin/sh
# SPDX-License-Identifier: MIT
# What kgate refuses before anything starts: one sentence, a status, and a line
# in the audit log where there is a policy to break.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/snapshot.sh
. "$KG_SRCDIR/tests/lib/snapshot.sh"
# shellcheck source=tests/faults/faults.sh
. "$KG_SRCDIR/tests/faults/faults.sh"

world_require
new_home
new_project

# told STATUS REGEX LINES NAME - the last run was refused, with these lines in
# the log
told() {
	refused "$1" "$2" "$4"
	is "$(audit_since)" "$3" "$4: ${3:-no line} in the log"
}

# --- usage ----------------------------------------------------------------------

config 'network: off'
snapshot_take before "$PROJECT"
while IFS='|' read -r regex words; do
	audit_mark
	# shellcheck disable=SC2086 # words without blanks
	run "$KGATE" $words
	told 125 "$regex" '' "kgate $words"
done <<END_OF_USAGE
no command.*run|
frobnicate|frobnicate
unknown flag|--frobnicate
no command|run
no command|run --
no command|run --trace
frobnicate.*run|run --frobnicate -- touch started
--timeout|run --tiemout 3 -- touch started
unknown flag.*-x|run -x -- touch started
--timeout|run --timeout
--timeout.*forever|run --timeout forever -- touch started
--timeout|run --timeout 0 -- touch started
--trace|run --trace=yes -- touch started
--allow-net.*a_b!c|run --allow-net a_b!c -- touch started
--allow-net|run --allow-net web.test:0 -- touch started
--allow-net|run --allow-net web.test:53 -- touch started
--allow-net|run --allow-net * -- touch started
--allow-path|run --allow-path :rw -- touch started
END_OF_USAGE
snapshot_same before 'nothing was started, nothing is left'

# In a mode without a list of hosts, one more can't be what was meant.
config 'network: open'
audit_mark
run "$KGATE" run --allow-net web.test -- touch started
refused 125 'open' '--allow-net in open'
config 'network: off'
audit_mark
run "$KGATE" run --allow-path "$PROJECT/../nothing" -- touch started
refused 125 'nothing.*No such file' 'a path that is not there'
unlike "$(audit_since)" launch 'a path that is not there: no launch in the log'

# --- the config -----------------------------------------------------------------

# wrong REGEX NAME [FLAG...] - the config, from standard input, is refused
wrong() {
	wrong_regex=$1
	wrong_name=$2
	shift 2
	config
	audit_mark
	run "$KGATE" run "$@" -- touch started
	told 125 "$wrong_regex" block:config "$wrong_name"
}

file='\.kgate/config\.yaml'
wrong "$file:1:1: " 'text that is no mapping' <<'END_OF_CONFIG'
just words
END_OF_CONFIG
wrong "$file:[12]:[0-9]+: " 'what is not YAML' <<'END_OF_CONFIG'
network: [off
hosts: ]]
END_OF_CONFIG
wrong "$file:1:10: .*sideways.*off.*restricted.*open" 'an unknown mode' \
	<<'END_OF_CONFIG'
network: sideways
END_OF_CONFIG
wrong "$file:2:1: .*hots.*hosts" 'an unknown key' <<'END_OF_CONFIG'
network: restricted
hots: [web.test]
END_OF_CONFIG
wrong "$file:2:1: .*deny_read" 'a key that this version cannot obey' \
	<<'END_OF_CONFIG'
network: off
deny_read: [.env]
END_OF_CONFIG
wrong "$file:2:1: " 'a key that is there twice' <<'END_OF_CONFIG'
network: off
network: open
END_OF_CONFIG
wrong "$file:1:8: " 'a list that is none' <<'END_OF_CONFIG'
hosts: web.test
END_OF_CONFIG
wrong "$file:1:9: .*127\.1" 'an odd address' <<'END_OF_CONFIG'
hosts: [127.1]
END_OF_CONFIG
wrong "$file:1:9: .*70000" 'a wrong value among right ones' --allow-net web.test \
	<<'END_OF_CONFIG'
hosts: [web.test:70000]
END_OF_CONFIG
wrong "$file:1:9: .*begins with /" 'a relative path' <<'END_OF_CONFIG'
paths: [somewhere]
END_OF_CONFIG
wrong "$file:1:9: .*No such file" 'a path that is not there' <<'END_OF_CONFIG'
paths: [/srv/not/there]
END_OF_CONFIG
wrong "$file: .*bytes" 'more than a megabyte' <<END_OF_CONFIG
#$(head -c 1100000 /dev/zero | tr '\0' x)
END_OF_CONFIG

for kind in fifo directory; do
	rm -rf "$HOME/.kgate/config.yaml"
	case $kind in
	fifo) mkfifo "$HOME/.kgate/config.yaml" ;;
	directory) mkdir "$HOME/.kgate/config.yaml" ;;
	esac
	audit_mark
	run "$KGATE" run -- touch started
	told 125 'config\.yaml.*regular' block:config "a $kind in its place"
	under "$ms" 2000 "a $kind in its place: at once"
done
rm -rf "$HOME/.kgate/config.yaml"
config 'network: off'
chmod 0666 "$HOME/.kgate/config.yaml"
audit_mark
run "$KGATE" run -- touch started
told 125 'config\.yaml.*writ' block:config 'a config that others can write'
chmod 0600 "$HOME/.kgate/config.yaml"
audit_mark
run "$KGATE" run --config "$HOME/other.yaml" -- touch started
told 125 'other\.yaml.*No such file' block:config 'a config that is not there'
audit_mark
run "$KGATE" run --config "$(printf '/no\nsuch\033[2J\177file')" -- touch started
told 125 'open /no.such.\[2J.file: No such file' block:config \
	'a config with an odd name'
is "$(tr -d '\n' <"$run_msg" | tr -cd '\001-\037\177' | wc -c)" 0 \
	'which sends nothing odd to a terminal'
snapshot_same before 'nothing was started, nothing is left'

# What a later version will obey isn't passed over by this one.
echo 'network: off' >.kgate.yaml
audit_mark
run "$KGATE" run -- touch started
told 125 '\.kgate\.yaml' block:backend "a project's policy"
mkdir -p sub/deeper .git
cd sub/deeper || exit 99
audit_mark
run "$KGATE" run -- touch started
told 125 '\.kgate\.yaml' block:backend "the policy of a project's repository"
rmdir ../../.git
run "$KGATE" run -- true
is "$rc" 0 'without a repository the one above does not matter'
cd "$PROJECT" || exit 99
rm -r .kgate.yaml sub
etc=$tap_scratch/etc
cp -R /etc "$etc" 2>/dev/null
mkdir "$etc/kgate"
echo 'network: off' >"$etc/kgate/policy.yaml"
fault "--put $etc /etc"
audit_mark
faulty "$KGATE" run -- touch started
told 125 '/etc/kgate/policy\.yaml' block:backend "an administrator's policy"
no_faults
snapshot_take before "$PROJECT"

# --- places ---------------------------------------------------------------------

mkdir -p "$HOME/.kgate/sub"
real_home=$(getent passwd "$(id -u)" | cut -d : -f 6)
for place in "$HOME" "$HOME/.." "$HOME/.kgate" "$HOME/.kgate/sub" "$real_home" \
	/ /home /etc /usr /usr/lib /proc/self /sys /dev /run /tmp /var /srv
do
	cd "$place" || exit 99
	audit_mark
	run "$KGATE" run -- touch started
	case $place in
	"$HOME"*) name="a working directory ~${place#"$HOME"}" ;;
	*) name="a working directory $place" ;;
	esac
	told 126 "'/.*'$|'/'$" block:policy "$name"
done
cd "$PROJECT" || exit 99
# shellcheck disable=SC2088 # kgate's, not the shell's
for path in "$HOME" / "$HOME/.." "$HOME/.kgate" "$HOME/.kgate/config.yaml" /etc
do
	audit_mark
	run "$KGATE" run --allow-path "$path" -- touch started
	told 126 'allow-path.*refused' block:policy \
		"--allow-path ~${path#"$HOME"}"
done
ln -s "$HOME" home
audit_mark
run "$KGATE" run --allow-path home -- touch started
told 126 'refused' block:policy '--allow-path of a link to it'
rm home
config 'network: off' 'paths: ["~"]'
audit_mark
run "$KGATE" run -- touch started
told 126 "config\.yaml:2:9: .*refused" block:policy 'paths: [~]'
like "$(audit_text reason)" "config\.yaml:2:9: .*refused" \
	'the log has the reason'
config 'network: off'
snapshot_differs before
is "$(printf '%s\n' "$differences" | grep -vE "^(gone:|new: ) file $PROJECT ")" \
	'' 'nothing was started, nothing is left'

run "$KGATE" run -- touch started
[ -e started ]
ok $? 'and where nothing is refused, the command does what it does'

done_testing
