#!/usr/bin/env bash
# hark probe of everything in hand-written assembler: tables and strings among
# the code are never changed, and how many names are refused is said.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 14

build data

is "without probes nothing is changed" "$(./data)" ok
probe 'pid$target:a.out:*: { @[probefunc, probename] = count(); }' ./data
unharmed "all functions of a program with data among them"
like "how many are refused is said" "$err" '5 of [0-9]+ probes are impossible'
for f in plain_label further_label ruled_label unsized; do
	is "$f is proved to be code" \
		"$(awk -v f=$f '$1 == f && $2 == "entry" { print $3 }' shown)" 1000
done
is "what is not says why" \
	"$(hark probe -l --json -n 'a.out:*:' -- ./data |
		sed -n 's/.*"linked":"\([^"]*\)".*"refusal":"its label has no type.*/\1/p' |
		sort | xargs)" "call_bytes filling numbers pointer_label string"
try hark probe -n 'a.out:numbers:entry { @ = count(); }' -- ./data
is "one that is asked for by its name is refused" "$status" 125
like "with the reason" "$err" 'numbers:entry cannot be probed: its label has no type'
try hark profile -o prof -- ./data
is "a profiled program: its data is not changed either" "$status:$out" 0:ok

# -- A program without any library --

cat >bare.S <<'END'
	.text
	.globl	_start
_start:	call	work
	mov	$1, %eax
	mov	$1, %edi
	lea	.Lsaid(%rip), %rsi
	mov	$4, %edx
	syscall
	lea	.Lwhole(%rip), %rsi
	lea	.Lcopy(%rip), %rdi
	mov	$.Lend - .Lwhole, %ecx
	repe cmpsb
	setne	%dil
	movzbl	%dil, %edi
	mov	$60, %eax
	syscall
.Lwhole:
	.byte	0x55, 0x5d, 0xc3, 0x90, 0xc3
.Lsaid:	.ascii	"said\303"
.Lend:
work:	lea	1(%rdi), %rax
	ret
	.section .rodata
.Lcopy:	.byte	0x55, 0x5d, 0xc3, 0x90, 0xc3
	.ascii	"said\303"
END
gcc -nostdlib -static bare.S -o bare || exit 1
probe 'pid$target:a.out:*: { @[probefunc, probename] = count(); }' ./bare
is "it ends as without probes" "$status:$out" 0:said
is "its code is probed" "$(sort shown | grep . | xargs)" \
	"_start entry 1 work entry 1 work return 1"
try hark profile -o bare.prof -- ./bare
is "and as that when it is profiled" "$status:$out" 0:said
