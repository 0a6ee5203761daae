#!/usr/bin/env bash
# Man pages and completion: made by tools/make-docs, read by what reads them; and
# documents, which name nothing that is not there.
# also: asan
. "$(dirname "$0")/lib.sh"
commands=$(hark help --list)
plan $((41 + $(wc -w <<<"$commands")))

ok "make-docs writes all" "$ROOT/tools/make-docs" "$HARK" docs
is "one page a command, and one for hark" "$(cd docs && echo *.1)" \
	"$(for c in $commands; do echo "hark-$c.1"; done | LC_ALL=C sort |
		tr '\n' ' ')hark.1"
not_ok "make-docs fails with hark" "$ROOT/tools/make-docs" /bin/false docs2
is "and leaves no half page" "$(find docs2 -type f)" ""

# -- Man pages --

for command in $commands; do
	ok "hark-$command.1 is clean" mandoc -Tlint -W style "docs/hark-$command.1"
done
ok "hark.1 is clean" mandoc -Tlint -W style docs/hark.1
page=$(mandoc -Tutf8 docs/hark-run.1 | sed 's/.\x08//g')
like "a page names its command" "$page" 'hark-run - run a program'
like "and its options" "$page" '-p, --pid=PID'
like "hyphens can be pasted" "$page" 'hark run --native --stats'
like "hark(1) names the exit status" \
	"$(mandoc -Tutf8 docs/hark.1 | sed 's/.\x08//g')" 'EXIT STATUS.*125'

# -- Documents --

documents() { (cd "$ROOT" && tools/check-docs "$@"); }
ok "what the documents name is there" documents
cat >bad.md <<'END'
# One heading
`src/native/collect*.c`, `sigframe.h`, src/site/form, tests/end-to-end/NAME.sh,
`make check`, [good](#one-heading), [good](bad.md)
src/native/nativ.c, `nowhere.c`, [bad](gone.md), [bad](#two-headings), `make tea`
END
is "what is not there is told" "$(documents "$T/bad.md" | sed 's/.*: //' | tr '\n' ';')" \
	"there is no src/native/nativ.c;there is no nowhere.c;the link to gone.md leads nowhere;the link to #two-headings leads nowhere;there is no make tea;"

# -- bash --

ok "the bash script parses" bash -n docs/hark.bash
ok "and is clean" shellcheck -s bash docs/hark.bash

# in_bash WORD...: what the last word may become; the line is split as bash
# does it, also at equals signs
in_bash() {
	bash -c '. docs/hark.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_hark
printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | LC_ALL=C sort | tr '\n' ' '
}
touch here.hark "with space"
is "bash: commands" "$(in_bash hark doc)" "doctor "
is "bash: all of them" "$(in_bash hark "" | wc -w)" \
	"$(($(wc -w <<<"$commands") + 2))"
is "bash: options" "$(in_bash hark run --na)" "--native "
is "bash: options after options" "$(in_bash hark run -q --color = never --fol)" \
	"--follow "
is "bash: choices" "$(in_bash hark run --color = a)" "always auto "
is "bash: choices right after the sign" "$(in_bash hark run --color =)" \
	"always auto never "
is "bash: choices after a blank" "$(in_bash hark run --color n)" "never "
is "bash: files" "$(in_bash hark info her)" "here.hark "
is "bash: files with blanks are one word" \
	"$(in_bash hark info with)" "with space "
is "bash: the file of an option" "$(in_bash hark run -o her)" "here.hark "
like "bash: process ids" " $(in_bash hark run -p "")" " $$ "
like "bash: programs" "$(in_bash hark run --native mktem)" '^mktemp '
like "bash: programs behind two dashes" "$(in_bash hark run -- mktem)" '^mktemp '
is "bash: then files" "$(in_bash hark run ls --color = her)" "here.hark "
is "bash: commands for help" "$(in_bash hark help vers)" "version "
is "bash: nothing where nothing can be" "$(in_bash hark version x)" " "
is "bash: hidden options stay hidden" "$(in_bash hark help --c)" "--color "

# -- zsh --

# A key behind every line completes it, another one shows it and clears it.
cat >ask.zsh <<'END'
zmodload zsh/zpty
zpty z 'TERM=dumb zsh -f -i'
zpty -w z "PS1=; fpath=($PWD/docs \$fpath); autoload -Uz compinit
compinit -u -D; bindkey '^I' complete-word; stty -echo"
zpty -w z 'show() { print -r -- "<$BUFFER>"; BUFFER=; }; zle -N show
bindkey "^X" show; print RE""ADY'
zpty -r -m z out '*READY*'
for line; do
	zpty -w -n z "$line"$'\t\x18'
	zpty -r -m z out '*<*>*'
	print -r -- "${${out##*<}%%>*}"
done
zpty -d z
END
mapfile -t line < <(timeout 60 zsh -f ask.zsh 'hark doc' 'hark run --nat' \
	'hark run --color=al' 'hark help vers' 'hark info her' \
	'hark run -q -- mktem')
is "zsh: commands" "${line[0]:-}" "hark doctor "
is "zsh: options" "${line[1]:-}" "hark run --native "
is "zsh: choices" "${line[2]:-}" "hark run --color=always "
is "zsh: commands for help" "${line[3]:-}" "hark help version "
is "zsh: files" "${line[4]:-}" "hark info here.hark "
is "zsh: programs" "${line[5]:-}" "hark run -q -- mktemp "

# -- fish --

# shellcheck disable=SC2016  # fish expands it
in_fish() {
	HOME=$T fish --no-config -c 'source docs/hark.fish
complete -C $argv[1]' "$1" | cut -f1 | LC_ALL=C sort | tr '\n' ' '
}
is "fish: commands" "$(in_fish 'hark do')" "doctor "
is "fish: options" "$(in_fish 'hark run -q --nat')" "--native "
is "fish: choices" "$(in_fish 'hark run --color a')" "always auto "
is "fish: files" "$(in_fish 'hark info her')" "here.hark "
like "fish: programs" "$(in_fish 'hark run --native mktem')" 'mktemp '
