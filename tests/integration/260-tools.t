#!/bin/sh
# SPDX-License-Identifier: MIT
# Ordinary programs work inside: the box is for work.

# shellcheck source=tests/lib/tap.sh
. "$KG_SRCDIR/tests/lib/tap.sh"
# shellcheck source=tests/lib/world.sh
. "$KG_SRCDIR/tests/lib/world.sh"
# shellcheck source=tests/lib/box.sh
. "$KG_SRCDIR/tests/lib/box.sh"

world_require
new_home
new_repo "$(mktemp -d /srv/kgt.XXXXXX)"
[ ! -x /usr/local/go/bin/go ] || PATH=$PATH:/usr/local/go/bin
export LC_ALL=C

# works MODE NAME WANT SCRIPT - a shell script of the box prints WANT; where its
# first word isn't installed, that is said and nothing tested
works() {
	if ! command -v "$2" >/dev/null; then
		diag "$2 isn't installed here"
		return
	fi
	box sh -ec "$4"
	is "$rc:$out" "0:$3" "$1: $2 works" || diag "$msg"
}

for mode in $MODES; do
	set_mode "$mode"

	# Home is there, empty, and can be filled.
	# shellcheck disable=SC2016 # for the shell inside
	box sh -ec 'ls -A ~; test -d "$HOME"; mkdir -p ~/.cache/a/b
		echo text >~/.cache/a/b/c; cat ~/.cache/a/b/c; cd; pwd'
	is "$rc:$out" "0:text
$HOME" "$mode: home is set, empty and writable"

	box git status --short --branch
	is "$rc:$msg" 0: "$mode: git status has no complaint"
	like "$out" '^## (main|master)$' "$mode: and tells the branch"
	works "$mode" git 'Second
First' 'git config --global user.name test
		git config --global user.email test@example.org
		echo more >>file; git commit -qam Second
		git checkout -q -b topic; git checkout -q -; git branch -qd topic
		git log --format=%s; git gc -q; git fsck --no-progress'
	is "$(git log -1 --format='%an %s' && git status --short)" \
		'test Second' "$mode: the commit is there outside"
	[ ! -e "$HOME/.gitconfig" ]
	ok $? "$mode: the global config was the box's"
	git reset -q --hard HEAD^
	git clone -q . "$tap_dir/clone" && rm -rf "$tap_dir/clone"
	ok $? "$mode: the repository is whole"

	# shellcheck disable=SC2016 # for the shell inside
	works "$mode" sh 'a b' 'x="a b"; echo "$x" | while read -r y; do
		echo "$y"; done'
	# shellcheck disable=SC2016 # for the shell inside
	works "$mode" bash '3 in' 'bash -c "a=(1 2 3); cat <(echo \${#a[@]} in)"'
	works "$mode" mv moved 'mkdir a b; touch a/f; mv a/f b/g; ln b/g a/h
		ln -s ../b/g a/s; chmod 0640 a/s; rm -r a b; echo moved'
	works "$mode" tar 'x/file' 'mkdir x; cp file x; tar -czf x.tgz x; rm -r x
		tar -xzf x.tgz; find x -type f; rm -r x x.tgz'
	# shellcheck disable=SC2016 # for the shell inside
	works "$mode" perl 42 'perl -MFile::Temp=tempfile -e "
		my (\$f) = tempfile(); print {\$f} 42; fork // die; wait;
		print 6 * 7, qq{\n} if \$\$ != getppid" | sort -u'
	works "$mode" make 'made' 'printf "all: out\n\t@cat out\nout:\n\t@echo \
made >out\n" >mk; make -sj2 -f mk; rm mk out'
	works "$mode" gcc 'compiled' 'cat >t.c <<-END
		#include <stdio.h>
		int main(void) { puts("compiled"); return 0; }
		END
		gcc -O1 -o t t.c; ./t; rm t t.c'
	works "$mode" python3 '[0, 1, 4]
thread
sub' 'python3 -c "
import multiprocessing, subprocess, tempfile, threading
def sq(x): return x * x
if __name__ == \"__main__\":
    with multiprocessing.Pool(2) as p: print(p.map(sq, range(3)))
    t = threading.Thread(target=lambda: print(\"thread\", flush=True))
    t.start(); t.join()
    tempfile.TemporaryFile().write(b\"x\")
    print(subprocess.check_output([\"echo\", \"sub\"]).decode(), end=\"\")
"'
	works "$mode" node 'async child' 'node -e "
		const { execSync } = require(\"child_process\");
		setTimeout(() => console.log(\"async\",
			execSync(\"echo child\").toString().trim()), 1)"'
	works "$mode" gdb 'exited normally' 'gdb -q -batch -ex run true 2>&1 |
		grep -o "exited normally"'
	works "$mode" strace '+++ exited with 0 +++' \
		'strace -o trace true; tail -n 1 trace; rm trace'
	works "$mode" script 'tty' 'script -qec "test -t 1 && printf tty" \
		/dev/null </dev/null'
	works "$mode" sed 'hello' 'sed -n 1p file'
	works "$mode" id "$(id -un)" 'id -un'
	works "$mode" date "$(date +%Z)" 'date +%Z'
	works "$mode" ip '127.0.0.1/8' \
		'ip -4 -o address show lo | grep -o "127.0.0.1/8"'
done
set_mode off

# Package managers, each with what needs no network.
works off npm 'kg-test
1.0.0' 'mkdir dep app; cd dep; npm init -y >/dev/null; cd ../app
	npm config set fund false; echo "{\"name\":\"kg-test\"}" >package.json
	npm install --offline --no-audit ../dep >/dev/null
	npm pkg get name | tr -d "\""; cat node_modules/dep/package.json |
		sed -n "s/.*\"version\": \"\(.*\)\".*/\1/p"; cd ..; rm -r dep app'
works off pip 'value' 'pip config set global.kg value >/dev/null
	pip config get global.kg; pip list >/dev/null 2>&1'
works off go 'example.org/proxy' 'go env -w GOPROXY=example.org/proxy
	go env GOPROXY; test -f ~/.config/go/env'
# It builds its own library first: once is enough.
[ "$tap_user" = root ] || works off go 'built' 'mkdir g; cd g
	go mod init kg.test 2>/dev/null
	printf "package main\nfunc main() { println(\"built\") }\n" >main.go
	go build -o out .; ./out 2>&1; test -d ~/.cache/go-build
	cd ..; rm -r g'
# shellcheck disable=SC2016 # for the shell inside
works off cargo 'Hello, world!' 'cargo new -q --vcs none c; cd c
	cargo run -q --offline; cd ..; rm -r c'
[ -z "$(find "$HOME" -mindepth 1 -not -path '*/.kgate*')" ]
ok $? 'nothing of theirs is in the real home'

# From a directory of PATH in the project, and not from one that isn't there.
mkdir bin && printf '#!/bin/sh\necho "own $*"\n' >bin/own && chmod +x bin/own
run env PATH="$PWD/bin:$HOME/bin:$PATH" "$KGATE" run -- own x
is "$rc:$out" '0:own x' 'a program of the project is found through PATH'
mkdir -p "$HOME/bin" && cp bin/own "$HOME/bin/hidden"
run env PATH="$HOME/bin:$PATH" "$KGATE" run -- hidden
is "$rc:$out" 127: 'one of home is not there'
one_sentence 'which is told in one sentence'

done_testing
