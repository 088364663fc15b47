/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/wrapper.h"

#include <ctype.h>
#include <string.h>

#include "common/util.h"
#include "supervisor/shell_word.h"

#define NAME_BYTES 64 /* longer names are in no table */

#define COMMAND	 KG_WRAPPER_COMMAND
#define SCRIPT	 KG_WRAPPER_SCRIPT
#define SCRIPTS	 KG_WRAPPER_SCRIPTS
#define SHELL	 KG_WRAPPER_SHELL
#define CODE	 KG_WRAPPER_CODE
#define NONE	 KG_WRAPPER_NONE
#define ASSIGNS	 KG_WRAPPER_ASSIGNS
#define PERMUTES KG_WRAPPER_PERMUTES
#define ONE_DASH KG_WRAPPER_ONE_DASH
#define DASH	 KG_WRAPPER_DASH

/*
 * Options without a mark take no argument and aren't listed.  In an option's
 * entry the last character says what it means:
 *
 *	:  argument that nothing runs	$  shell text, or a program
 *	?  argument in the same word	=  script in the program's language
 *	!  nothing runs			@  KEY=VALUE
 *	>  the rest is a command	%  more of the command line
 *	&  the same, up to ; or +
 */
static const struct kg_wrapper rows[] = {
	/* clang-format off */

	/* Shells */
	{ "sh bash dash zsh ksh ksh93 mksh lksh oksh pdksh ash rbash yash "
	  "posh hush sh.distrib bash-static zsh-static", "", .inner = SHELL },
	{ "csh tcsh bsd-csh", "c$", .inner = NONE },
	{ "fish", "c$ C$ command$ init-command$", .inner = NONE },
	{ "elvish xonsh nu oil osh ysh", "c$ commands$", .inner = NONE },

	/* What shells have built in, with programs of the same names */
	{ "eval", "", .inner = SCRIPT },
	{ "trap", "l! p!", .inner = SCRIPTS },
	{ "command", "v! V!", .inner = COMMAND },
	{ "exec", "a$", .inner = COMMAND },
	{ "builtin noglob nocorrect -", "", .inner = COMMAND },
	{ "repeat", "", .inner = COMMAND, .operands = 1 },
	{ "time gtime", "f: o: format: output: V!", .inner = COMMAND },

	/* Wrappers of POSIX, GNU and util-linux */
	{ "env genv", "u: C: a$ S% unset: chdir: argv0$ split-string%",
	  .inner = COMMAND, .flags = ASSIGNS | DASH },
	{ "nice gnice", "n: adjustment:", .inner = COMMAND },
	{ "ionice", "c: n: p! P! u! class: classdata: pid! pgid! uid!",
	  .inner = COMMAND },
	{ "nohup setsid chronic ifne zrun eatmydata nocache torsocks torify "
	  "tsocks proxychains unbuffer dbus-run-session catchsegv caffeinate",
	  "", .inner = COMMAND },
	{ "timeout gtimeout", "k: s: kill-after: signal:", .inner = COMMAND,
	  .operands = 1 },
	{ "stdbuf gstdbuf", "i: o: e: input: output: error:",
	  .inner = COMMAND },
	{ "xargs gxargs", "a: d: E: I: L: n: P: s: i? e? l? arg-file: "
	  "delimiter: max-args: max-procs: max-chars: process-slot-var:",
	  .inner = COMMAND },
	{ "chroot gchroot", "u: g: G: n? userspec: groups:", .inner = COMMAND,
	  .operands = 1 },
	{ "unshare", "R: w: S: G: l: root: wd: setuid: setgid: propagation: "
	  "setgroups: map-user: map-group: map-users: map-groups: monotonic: "
	  "boottime: load-interp:", .inner = COMMAND },
	{ "nsenter", "t: S: G: N: W: m? u? i? n? p? C? U? T? r? w? target: "
	  "setuid: setgid: net-socket: wdns:", .inner = COMMAND },
	{ "setarch linux32 linux64 i386 i486 i586 i686 athlon x86_64 aarch64 "
	  "armv7l uname26 ppc ppc32 ppc64", "", .inner = COMMAND },
	{ "taskset", "p! pid!", .inner = COMMAND, .operands = 1 },
	{ "chrt", "p! m! T: P: D: pid! max! sched-runtime: sched-period: "
	  "sched-deadline:", .inner = COMMAND, .operands = 1 },
	{ "prlimit", "p: o: c? d? e? f? i? l? m? n? q? r? s? t? u? v? x? y? "
	  "pid: output:", .inner = COMMAND },
	{ "setpriv", "d! reuid: ruid: euid: regid: rgid: egid: groups: "
	  "inh-caps: ambient-caps: bounding-set: securebits: pdeathsig: "
	  "selinux-label: apparmor-profile: landlock-access: landlock-rule: "
	  "dump!", .inner = COMMAND },
	{ "runcon", "t: u: r: l: type: user: role: range:", .inner = COMMAND,
	  .operands = 1 },
	{ "numactl", "C: m: N: i: P: p: s! H! physcpubind: membind: "
	  "cpunodebind: interleave: preferred: show! hardware!",
	  .inner = COMMAND },
	{ "flock", "w: E: c$ wait: timeout: conflict-exit-code: command$",
	  .inner = COMMAND, .operands = 1 },
	{ "script", "c$ E: I: O: B: T: m: o: t? command$ echo: log-in: "
	  "log-out: log-io: log-timing: logging-format: output-limit:",
	  .flags = PERMUTES },
	{ "watch", "n: q: s: interval: equexit: shotsdir:", .inner = SCRIPT },
	{ "start-stop-daemon", "x$ a$ exec$ startas$", .flags = PERMUTES },

	/* Other users */
	{ "sudo", "C: D: g: h: p: R: r: T: t: U: u: e! l! v! V! close-from: "
	  "chdir: group: host: prompt: chroot: role: command-timeout: type: "
	  "other-user: user: edit! list! validate! version!", .inner = COMMAND,
	  .flags = ASSIGNS },
	{ "doas", "C: u: L!", .inner = COMMAND },
	{ "pkexec", "user:", .inner = COMMAND },
	{ "su", "c$ g: G: s$ T? w: command$ session-command$ group: "
	  "supp-group: shell$ whitelist-environment:",
	  .flags = PERMUTES | DASH },
	{ "runuser", "u: c$ g: G: s$ T? w: user: command$ session-command$ "
	  "group: supp-group: shell$ whitelist-environment:", .inner = COMMAND,
	  .flags = PERMUTES | DASH },
	{ "gosu su-exec setuidgid", "", .inner = COMMAND, .operands = 1 },

	/* Many programs in one file: the applet's name is the next word */
	{ "busybox* toybox* sbase-box", "list! list-full! install!",
	  .inner = COMMAND },
	{ "coreutils", "coreutils-prog$ coreutils-prog-shebang$",
	  .flags = PERMUTES },

	/* The dynamic loader */
	{ "ld.so ld-linux*.so* ld-musl-*.so* ld64.so* ld-lsb*.so* ld-2.*.so",
	  "preload: library-path: audit: argv0$ inhibit-rpath: list! verify! "
	  "glibc-hwcaps-prepend: glibc-hwcaps-mask: list-tunables! "
	  "list-diagnostics!", .inner = COMMAND },

	/* Watching, tracing, measuring */
	{ "strace", "a: b: e: E: I: o: O: p: P: s: S: u: U: X: columns: "
	  "detach-on: env: interruptible: output: summary-sort-by: "
	  "string-limit: trace: trace-path: attach: user: const-print-style: "
	  "summary-columns: summary-syscall-overhead: kvm: inject: fault: "
	  "signal: status: read: write: abbrev: verbose: raw: trace-fds:",
	  .inner = COMMAND },
	{ "ltrace", "a: A: D: e: F: l: n: o: p: s: u: w: x: align: config: "
	  "debug: library: indent: output: where:", .inner = COMMAND },
	{ "gdb", "args> ex= iex= eval-command= init-eval-command= x: ix: c: "
	  "s: e: d: D: p: b: l: command: init-command: symbols: exec: se: "
	  "core: pid: cd: directory: data-directory: tty: u:", .inner = COMMAND,
	  .flags = ONE_DASH },
	{ "lldb", "o= O= k= one-line= one-line-before-file= s: S: c: n: p: "
	  "a: f: source: core: attach-name: attach-pid: arch: file:",
	  .inner = COMMAND },
	{ "valgrind", "", .inner = COMMAND },
	{ "rr", "", .inner = COMMAND, .first = "record"  },
	{ "perf", "e: o: F: p: c: C: D: m: r: I: event: output: pid: cpu: "
	  "repeat: delay:", .inner = COMMAND, .first = "stat record trace"  },
	{ "hyperfine", "w: r: m: M: p$ s: c$ S$ n: L: P: prepare$ setup$ "
	  "cleanup$ conclude$ shell$ warmup: runs: min-runs: max-runs: style: "
	  "command-name: parameter-list: export-json: export-csv: "
	  "export-markdown: input: output:", .inner = SCRIPTS,
	  .flags = PERMUTES },
	{ "entr", "s$", .inner = COMMAND },

	/* Sessions and services */
	{ "systemd-run", "u: p: E: M: H: t? unit: property: setenv: "
	  "description: slice: uid: gid: nice: working-directory: host: "
	  "machine: on-active: on-boot: on-startup: on-unit-active: "
	  "on-unit-inactive: on-calendar: timer-property: path-property: "
	  "socket-property: service-type:", .inner = COMMAND },
	{ "systemd-inhibit systemd-cat", "t: p: what: who: why: mode: "
	  "identifier: priority: stderr-priority: level-prefix:",
	  .inner = COMMAND },
	{ "xvfb-run", "n: e: f: p: s: w: server-num: error-file: auth-file: "
	  "xauth-protocol: server-args: wait:", .inner = COMMAND },
	{ "fakeroot", "l: i: s: b: lib: faked:", .inner = COMMAND },
	{ "faketime", "f: p: m?", .inner = COMMAND, .operands = 1 },
	{ "proot", "r: b: w: q: R: S: k: rootfs: bind: cwd: mount: pwd: "
	  "qemu: kernel-release:", .inner = COMMAND },
	{ "firejail tini dumb-init catatonit", "r: p:", .inner = COMMAND },
	{ "ssh-agent", "a: E: P: t: O: k!", .inner = COMMAND },
	{ "xterm uxterm urxvt rxvt konsole xfce4-terminal", "e> x>",
	  .flags = PERMUTES | ONE_DASH },
	{ "tmux", "c: n: s: t: x: y: F: e: l: S: L: f:", .inner = SCRIPT,
	  .first = "new new-session neww new-window splitw split-window popup "
	  "display-popup run run-shell respawn-pane respawn-window"  },
	{ "screen", "S: c: t: e: h: p: s: T:", .inner = COMMAND },

	/* Runners of other projects' tools */
	{ "uv poetry pipenv pdm rye hatch", "p: python: with: extra: group: "
	  "project: directory:", .inner = COMMAND, .first = "run"  },
	{ "bundle", "", .inner = COMMAND, .first = "exec"  },
	{ "npx bunx uvx pnpx", "p: c$ package: call$ from: with: python:",
	  .inner = COMMAND },
	{ "npm pnpm yarn", "c$ p: call$ package:", .inner = COMMAND,
	  .first = "exec x dlx"  },
	{ "conda mamba micromamba", "n: p: name: prefix: cwd:",
	  .inner = COMMAND, .first = "run"  },
	{ "direnv", "", .inner = COMMAND, .operands = 1, .first = "exec"  },
	{ "nix-shell", "p: I: A: run$ command$ packages: attr: arg: argstr:",
	  .flags = PERMUTES },
	{ "kgate", "allow-path: allow-net: config: audit: timeout: "
	  "report-fd:", .inner = COMMAND, .first = "run"  },

	/* Files found, sent, packed, sorted: programs named by an option */
	{ "find gfind", "exec& execdir& ok& okdir&",
	  .flags = PERMUTES | ONE_DASH },
	{ "fd fdfind", "x& X& exec& exec-batch& t: e: E: d: j: S: o: c: "
	  "type: extension: exclude: max-depth:", .flags = PERMUTES },
	{ "parallel sem", "j: P: a: S: n: N: L: I: s: E: d: C: W: jobs: "
	  "arg-file: sshlogin: max-args: max-replace-args: max-lines: "
	  "max-procs: max-chars: delay: delimiter: colsep: joblog: timeout: "
	  "retries: results: tempdir: tmpdir: workdir: basefile: return: "
	  "load: memfree: nice: halt: arg-sep: arg-file-sep: recstart: "
	  "recend: block: tagstring: profile: shuf: semaphorename: id: env:",
	  .inner = KG_WRAPPER_PARALLEL },
	{ "pee mispipe", "", .inner = SCRIPTS },
	{ "tar gtar bsdtar", "f: C: b: T: X: g: H: K: L: N: V: F$ I$ "
	  "to-command$ use-compress-program$ rsh-command$ rmt-command$ "
	  "info-script$ new-volume-script$ checkpoint-action@ file: "
	  "directory: files-from: exclude: exclude-from: transform:",
	  .flags = PERMUTES },
	{ "sort gsort", "k: t: o: S: T: compress-program$ key: "
	  "field-separator: output: buffer-size: temporary-directory:",
	  .flags = PERMUTES },
	{ "split gsplit", "a: b: C: l: n: t: filter$ bytes: lines: number:",
	  .flags = PERMUTES },
	{ "rsync", "e$ f: B: M: T: rsh$ exclude: include: filter: bwlimit:",
	  .flags = PERMUTES },
	{ "ssh", "o@ b: c: D: E: e: F: I: i: J: L: l: m: O: p: Q: R: S: W: "
	  "w: B:", .inner = NONE },
	{ "scp sftp", "o@ S$ P: i: F: J: c: l: B: b: R: s: X:",
	  .flags = PERMUTES },
	{ "make gmake", "C: f: I: W: o: E= eval= directory: file: makefile: "
	  "include-dir: what-if: old-file:", .flags = PERMUTES | ASSIGNS },
	{ "cmake", "E>", .flags = PERMUTES },
	{ "man", "P$ C: R: L: m: M: S: e: p: r? pager$ manpath: sections:",
	  .flags = PERMUTES },

	/* git, and those of its subcommands that run something */
	{ "git", "C: c@ git-dir: work-tree: namespace: super-prefix: "
	  "config-env: attr-source:", .inner = KG_WRAPPER_GIT },
	{ "git-bisect", "", .inner = COMMAND, .first = "run"  },
	{ "git-submodule", "", .inner = SCRIPT, .first = "foreach"  },
	{ "git-rebase", "x$ s: X: C: exec$ strategy: strategy-option: onto:",
	  .flags = PERMUTES },
	{ "git-difftool", "x$ t: extcmd$ tool:", .flags = PERMUTES },
	{ "git-clone", "u$ c@ o: b: j: upload-pack$ config@ origin: branch: "
	  "depth: template: reference:", .flags = PERMUTES },
	{ "git-fetch git-pull git-ls-remote", "o: upload-pack$ depth:",
	  .flags = PERMUTES },
	{ "git-push git-send-pack", "o: receive-pack$ exec$",
	  .flags = PERMUTES },
	{ "git-filter-branch", "d: env-filter$ tree-filter$ index-filter$ "
	  "parent-filter$ msg-filter$ commit-filter$ tag-name-filter$ "
	  "setup$", .flags = PERMUTES },

	/* Interpreters: options that hold a script */
	{ "python pypy micropython ipython jython python-dbg",
	  "c= m! W: X: Q:", .inner = NONE },
	{ "perl", "e= E= I: M? m? i? F? x? d? D?", .inner = NONE },
	{ "ruby jruby truffleruby", "e= r: I: C: E: F? i? x? K? T? W? "
	  "require: encoding:", .inner = NONE },
	{ "node nodejs ts-node tsx", "e= p= pe= eval= print= r: C: require: "
	  "import: loader: experimental-loader: conditions: input-type:",
	  .flags = ONE_DASH },
	{ "bun", "e= p= eval= print= r: preload: cwd: config:", .inner = NONE },
	{ "deno crystal", "ext: config: import-map: lock: cert:", .inner = CODE,
	  .first = "eval"  },
	{ "awk gawk mawk nawk original-awk goawk bwk", "F: v: f! E! i: l: "
	  "e= source= field-separator: assign: file! exec! include: load:",
	  .inner = CODE },
	{ "php php-cgi php-cli", "r= B= R= E= d: c: z: t: f! F! S! "
	  "run= process-begin= process-code= process-end= define: php-ini:",
	  .inner = NONE },
	{ "lua luajit texlua", "e= l:", .inner = NONE },
	{ "expect", "c= f!", .inner = NONE },
	{ "Rscript R littler", "e= f! file!", .inner = NONE },
	{ "guile", "c= l: L: C: x: e: s!", .inner = NONE },
	{ "julia", "e= E= L: eval= print= load:", .inner = NONE },
	{ "elixir iex", "e= r: S! eval= rpc-eval=", .inner = NONE },
	{ "erl", "eval=", .flags = PERMUTES | ONE_DASH },
	{ "scala groovy raku rakudo ocaml ghc swift gforth osascript jshell",
	  "e=", .inner = NONE },
	{ "clojure clj bb", "e= eval=", .inner = NONE },
	{ "racket sbcl ecl octave emacs", "e= eval= execute= l: load:",
	  .flags = PERMUTES | ONE_DASH },
	{ "pwsh powershell", "c= C= command= Command=", .flags = ONE_DASH },

	/* clang-format on */
};

/* Settings whose value is run: of git, of ssh, of tar. */
static const char *const keys[] = {
	"core.pager",
	"core.editor",
	"core.sshcommand",
	"core.gitproxy",
	"core.askpass",
	"core.fsmonitor",
	"core.alternaterefscommand",
	"sequence.editor",
	"pager.*",
	"alias.*",
	"diff.external",
	"diff.*.command",
	"diff.*.textconv",
	"difftool.*.cmd",
	"mergetool.*.cmd",
	"merge.*.driver",
	"filter.*.clean",
	"filter.*.smudge",
	"filter.*.process",
	"credential.helper",
	"credential.*.helper",
	"interactive.difffilter",
	"gpg.program",
	"gpg.*.program",
	"gpg.ssh.defaultkeycommand",
	"remote.*.uploadpack",
	"remote.*.receivepack",
	"uploadpack.packobjectshook",
	"trailer.*.command",
	"trailer.*.cmd",
	"web.browser",
	"browser.*.cmd",
	"man.*.cmd",
	"sendemail.smtpserver",
	"sendemail.sendmailcmd",
	"proxycommand",
	"localcommand",
	"knownhostscommand",
	"exec",
};

/* Variables whose value common programs run. */
static const char *const variables[] = {
	"PAGER",
	"GIT_PAGER",
	"MANPAGER",
	"SYSTEMD_PAGER",
	"EDITOR",
	"VISUAL",
	"GIT_EDITOR",
	"GIT_SEQUENCE_EDITOR",
	"GIT_SSH",
	"GIT_SSH_COMMAND",
	"GIT_PROXY_COMMAND",
	"GIT_EXTERNAL_DIFF",
	"GIT_ASKPASS",
	"SSH_ASKPASS",
	"SUDO_ASKPASS",
	"RSYNC_RSH",
	"CVS_RSH",
	"SVN_SSH",
	"BROWSER",
	"LESSOPEN",
	"LESSCLOSE",
	"PROMPT_COMMAND",
	"SHELL",
};

/* The next word of a list separated by blanks; false behind the last. */
static bool next_word(const char **list, const char **ret, size_t *ret_len)
{
	*list += strspn(*list, " ");
	*ret = *list;
	*ret_len = strcspn(*list, " ");
	*list += *ret_len;
	return *ret_len > 0;
}

static bool has_name(const char *list, const char *name)
{
	char pattern[NAME_BYTES];
	const char *word;
	size_t len;

	while (next_word(&list, &word, &len)) {
		/* No pattern begins with a special character. */
		if (*word != *name || len >= sizeof(pattern))
			continue;
		memcpy(pattern, word, len);
		pattern[len] = '\0';
		if (kg_shell_word_matches(pattern, name))
			return true;
	}
	return false;
}

static const struct kg_wrapper *find_name(const char *name)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(rows); i++)
		if (has_name(rows[i].names, name))
			return &rows[i];
	return NULL;
}

/* python3.12, lua5.4, guile-3.0 and the like, when the name has no row. */
const struct kg_wrapper *kg_wrapper_find(const char *name)
{
	const struct kg_wrapper *row = find_name(name);
	char bare[NAME_BYTES];
	size_t len = strlen(name);

	if (row || len >= sizeof(bare))
		return row;
	memcpy(bare, name, len + 1);
	while (len > 0 && strchr("0123456789.-", bare[len - 1]))
		bare[--len] = '\0';
	return len > 0 && name[len] ? find_name(bare) : NULL;
}

enum kg_wrapper_option kg_wrapper_option(const struct kg_wrapper *row,
					 const char *name, size_t len)
{
	enum kg_wrapper_option near = KG_WRAPPER_PLAIN;
	const char *list = row->options, *word;
	size_t word_len;

	while (next_word(&list, &word, &word_len)) {
		if (word_len - 1 < len || memcmp(word, name, len) != 0)
			continue;
		if (word_len - 1 == len)
			return (enum kg_wrapper_option)word[len];
		if (len > 1)
			near = (enum kg_wrapper_option)word[word_len - 1];
	}
	return near;
}

bool kg_wrapper_expects(const struct kg_wrapper *row, const char *word)
{
	return has_name(row->first, word);
}

bool kg_wrapper_runs_key(const char *key, size_t len)
{
	char lower[NAME_BYTES];
	size_t i;

	if (len >= sizeof(lower))
		return false;
	for (i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)key[i]);
	lower[len] = '\0';
	for (i = 0; i < KG_ARRAY_LEN(keys); i++)
		if (kg_shell_word_matches(keys[i], lower))
			return true;
	return false;
}

bool kg_wrapper_runs_variable(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < KG_ARRAY_LEN(variables); i++)
		if (strlen(variables[i]) == len &&
		    memcmp(variables[i], name, len) == 0)
			return true;
	return false;
}
