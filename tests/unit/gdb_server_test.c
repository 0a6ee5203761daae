/* tests/unit/gdb_server_test.c - packets and their answers, over a history
 * that is known to the last instruction (gdb_fake.h). */
#include "gdb/server.h"
#include "gdb_fake.h"

#include <check.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct hark_recording *r;
static struct gdb *g;

static void begin(const char *at)
{
	struct gdb_wish wish = {.api = &fake_api, .recording = r, .at = at};
	struct hark_error err;

	gdb_free(g);
	g = NULL;
	ck_assert_msg(gdb_new(&wish, &g, &err) == 0, "%s", err.text);
}

static void setup(void)
{
	r = fake_new();
	begin("start");
}

static void teardown(void)
{
	gdb_free(g);
	g = NULL;
	fake_free(r);
}

static const char *ask(const char *body)
{
	const struct packet *p = gdb_answer(g, body, strlen(body));

	return p == NULL ? "(none)" : p->body;
}

#define IS(body, want) ck_assert_str_eq(ask(body), want)
#define HAS(body, want)                                                    \
	do {                                                               \
		const char *answer_ = ask(body);                           \
		ck_assert_msg(strstr(answer_, (want)) != NULL,             \
			      "%s: %s lacks %s", (body), answer_, (want)); \
	} while (0)

/* monitor, and what it printed. */
static const char *monitor(const char *line)
{
	static char body[2048], text[4096];
	const char *answer;
	size_t n = 0;

	n = (size_t)snprintf(body, sizeof body, "qRcmd,");
	for (; *line != '\0'; line++)
		n += (size_t)snprintf(body + n, sizeof body - n, "%02x",
				      (unsigned char)*line);
	answer = ask(body);
	if (strcmp(answer, "OK") == 0)
		return "";
	for (n = 0; answer[2 * n] != '\0' && n < sizeof text - 1; n++) {
		unsigned byte;

		ck_assert_int_eq(sscanf(answer + 2 * n, "%2x", &byte), 1);
		text[n] = (char)byte;
	}
	text[n] = '\0';
	return text;
}

/* -- Beginning -- */

START_TEST(gdb_says_what_it_can)
{
	HAS("qSupported:multiprocess+;swbreak+", "ReverseContinue+;");
	HAS("qSupported:multiprocess+;swbreak+", "multiprocess+");
	HAS("qSupported:multiprocess+", "PacketSize=20000;");
	HAS("qSupported", "ConditionalBreakpoints+");
	ck_assert_ptr_null(
	    strstr(ask("qSupported:xmlRegisters=i386"), "multi"));
	IS("vMustReplyEmpty", "");
	IS("qHostInfo", "");
	IS("jThreadsInfo", "");
	IS("", "");
	IS("QStartNoAckMode", "OK");
	IS("vCont?", "vCont;c;C;s;S;t;r");
}
END_TEST

START_TEST(gdb_process_begins_where_it_is_wished)
{
	HAS("?", "T05thread:65;");
	HAS("?", "10:0010000000000000;");
	begin(NULL);
	HAS("?", "T0bthread:65;");
	begin("2:3");
	HAS("?", "thread:66;");
	ck_assert_str_eq(monitor("when"), "2:3\n");
}
END_TEST

START_TEST(gdb_wrong_wishes_are_told)
{
	struct gdb_wish wish = {.api = &fake_api, .recording = r, .at = "no"};
	struct hark_error err = {0};
	struct gdb *other = NULL;

	ck_assert_int_eq(gdb_new(&wish, &other, &err), -1);
	ck_assert_str_eq(err.text, "that is no position");
	wish.at = NULL;
	wish.process = 9;
	ck_assert_int_eq(gdb_new(&wish, &other, &err), -1);
	ck_assert_ptr_null(other);
}
END_TEST

/* -- Threads -- */

START_TEST(gdb_threads_have_their_recorded_ids)
{
	IS("qfThreadInfo", "m65");
	IS("qsThreadInfo", "l");
	IS("T66", "E01");
	begin(NULL);
	ask("qSupported:multiprocess+");
	IS("qfThreadInfo", "mp64.65,p64.66");
	IS("qC", "QCp64.65");
	IS("Tp64.66", "OK");
	IS("Tp64.99", "E01");
	IS("Tp99.65", "E01");
	IS("Hgp64.66", "OK");
	IS("qC", "QCp64.66");
	IS("Hgp64.99", "E16");
	IS("Hx", "E16");
	HAS("qXfer:threads:read::0,1000",
	    "<thread id=\"p64.65\" name=\"fake\">at 1:20 of 1:20</thread>");
	begin("1:7");
	HAS("qXfer:threads:read::0,1000",
	    "<thread id=\"65\" name=\"fake\">at 1:7 of 1:20</thread>"
	    "<thread id=\"66\" name=\"&lt;second&gt;\">at 2:5 of "
	    "2:20</thread>");
	ck_assert_str_eq(monitor("when"), "1:7\n");
}
END_TEST

START_TEST(gdb_registers_are_those_of_the_thread)
{
	begin("2:3");
	HAS("g", "0300000000000000");
	IS("p10", "4910000000000000");
	IS("Hg65", "OK");
	IS("p10", "0310000000000000");
	IS("p0", "0500000000000000"); /* one turn */
	IS("pffff", "E16");
	IS("p", "E16");
}
END_TEST

/* -- Memory -- */

START_TEST(gdb_memory_is_answered_as_far_as_it_is_known)
{
	IS("m1000,4", "00010203");
	IS("m10fe,10", "feff");
	IS("m1100,4", "E0e");
	IS("m1000,0", "");
	IS("m5000,8", "0000000000000000");
	IS("m5004,8", "00000000");
	IS("m1000", "E16");
	IS("mffffffffffffffff,ffffffffffffffff", "E0e");
	IS("M1000,1:00", "E01");
	IS("X1000,0:", "E01");
	IS("P0=00", "E01");
}
END_TEST

START_TEST(gdb_memory_is_of_the_moment)
{
	begin(NULL);
	IS("m5000,1", "0a");
	monitor("seek 1:3");
	IS("m5000,1", "01");
}
END_TEST

START_TEST(gdb_unknown_memory_is_made_up_only_on_demand)
{
	fake_know(r, 0x9000, "abc", 3, "[heap]");
	begin("start");
	IS("m9000,6", "616263");
	IS("m9004,2", "E0e");
	ck_assert_str_eq(monitor("unknown zero"), "");
	IS("m9000,6", "616263000000");
	IS("m9004,2", "0000");
	IS("ma000,2", "E0e");
	monitor("unknown mark");
	IS("m9000,9", "6162633f3f3f3f3f3f");
	IS("m8ffa,9", "3f3f3f3f3f3f616263");
	IS("m9004,9", "E0e");
	IS("m9000,8", "616263"); /* it may be a number */
	ck_assert_str_eq(monitor("unknown"), "mark\n");
	monitor("unknown error");
	IS("m9004,2", "E0e");
	ck_assert_str_eq(monitor("known 0x8fff 5"), "0x8fff: ?? 61 62 63 ??\n");
	ck_assert_ptr_nonnull(strstr(monitor("known x"), "hark: "));
	ck_assert_ptr_nonnull(strstr(monitor("unknown x"), "hark: "));
}
END_TEST

START_TEST(gdb_memory_is_searched)
{
	IS("qSearch:memory:1000;100;\x50\x51\x52", "1,1050");
	IS("qSearch:memory:1000;100;\x52\x51", "0");
	IS("qSearch:memory:1000;1000;\x52\x51", "E0e");
	IS("qSearch:memory:1000;100;", "E16");
	IS("qCRC:1000,4", "C6b6dc92a");
}
END_TEST

START_TEST(gdb_a_mark_is_not_found_as_data)
{
	fake_know(r, 0x9000, "abc", 3, "[heap]");
	begin("start");
	monitor("unknown mark");
	IS("qSearch:memory:9000;10;?", "0");
	IS("qSearch:memory:9000;10;c?", "0");
	IS("qSearch:memory:8ff8;10;c", "1,9002");
}
END_TEST

START_TEST(gdb_regions_are_told)
{
	fake_know(r, 0x9000, "abc", 3, "[heap]");
	fake_know(r, 0xc000, "abc", 3, "[data]");
	begin("start");
	IS("qMemoryRegionInfo:9123",
	   "start:9000;size:1000;permissions:rx;name:5b686561705d;");
	IS("qMemoryRegionInfo:a000", "start:a000;size:2000;");
	IS("qMemoryRegionInfo:", "E16");
}
END_TEST

/* -- Moving -- */

START_TEST(gdb_steps_both_ways)
{
	HAS("vCont;s:65;c", "10:0310000000000000;");
	HAS("s", "10:0610000000000000;");
	HAS("bs", "10:0310000000000000;");
	HAS("bs", "10:0010000000000000;");
	HAS("bs", "replaylog:begin;");
	HAS("bc", "replaylog:begin;");
}
END_TEST

START_TEST(gdb_steps_of_a_thread_take_the_others_along)
{
	begin("1:4");
	HAS("vCont;s:65", "T05thread:65;");
	ck_assert_str_eq(monitor("when"), "1:5\n");
	HAS("vCont;s:65", "T05thread:65;");
	HAS("vCont;s:66", "T05thread:66;");
	ck_assert_str_eq(monitor("when"), "2:6\n");
}
END_TEST

START_TEST(gdb_steps_on_within_a_range)
{
	HAS("vCont;r1000,1006:65;c", "10:0610000000000000;");
	HAS("vCont;r1006,1009:65", "10:0910000000000000;");
}
END_TEST

START_TEST(gdb_breakpoints_stop_both_ways)
{
	IS("Z0,1009,1", "OK");
	HAS("vCont;c", "swbreak:;");
	ck_assert_str_eq(monitor("when"), "1:3\n");
	HAS("c", "swbreak:;");
	ck_assert_str_eq(monitor("when"), "1:7\n");
	HAS("bc", "swbreak:;");
	ck_assert_str_eq(monitor("when"), "1:3\n");
	HAS("bc", "replaylog:begin;");
	IS("z0,1009,1", "OK");
	HAS("vCont;c", "T0bthread:65;");
	HAS("vCont;c", "replaylog:end;");
	IS("Z9,1009,1", "E16");
	IS("Z0,1009", "E16");
}
END_TEST

START_TEST(gdb_watchpoints_stop_behind_and_before)
{
	IS("Z2,5000,8", "OK");
	HAS("c", "watch:5000;");
	IS("m5000,1", "01");
	HAS("c", "watch:5000;");
	IS("m5000,1", "02");
	HAS("bc", "watch:5000;");
	IS("m5000,1", "01");
	IS("z2,5000,8", "OK");
	/* Where one begins within what was written, gdb is told that place. */
	IS("Z2,5004,1", "OK");
	HAS("c", "watch:5004;");
	IS("Z2,5004,0", "E16");
}
END_TEST

START_TEST(gdb_conditions_are_evaluated_here)
{
	/* rax == 7; gdb's number of rax is 0 */
	IS("Z0,1009,1;X9,260000220716081327", "OK");
	HAS("c", "swbreak:;");
	ck_assert_str_eq(monitor("when"), "1:7\n");
	ck_assert_uint_eq(fake_asked(r), 2);
	/* Sent again, it is replaced. */
	IS("Z0,1009,1", "OK");
	HAS("c", "swbreak:;");
	ck_assert_str_eq(monitor("when"), "1:11\n");
	ck_assert_uint_eq(fake_asked(r), 2);
	IS("z0,1009,1", "OK");
	/* One that cannot be evaluated lets gdb decide. */
	IS("Z0,1009,1;X1,27", "OK");
	HAS("c", "swbreak:;");
	IS("Z0,1009,1;X5,27", "E16");
	IS("Z0,1009,1;X0,", "E16");
	IS("Z0,1009,1;X1,zz", "E16");
}
END_TEST

START_TEST(gdb_program_begins_again)
{
	begin(NULL);
	IS("!", "OK");
	IS("vKill;64", "OK");
	IS("?", "W00");
	IS("g", "E01");
	IS("vCont;c", "E01");
	HAS("vRun;", "T05thread:65;");
	ck_assert_str_eq(monitor("when"), "1:0\n");
	monitor("seek end");
	IS("R00", "(none)");
	ck_assert_str_eq(monitor("when"), "1:0\n");
}
END_TEST

START_TEST(gdb_another_process_is_attached_to)
{
	HAS("vAttach;96", "thread:");
	ask("qSupported:multiprocess+");
	IS("qC", "QCp96.65");
	IS("qXfer:exec-file:read:96:0,100", "l/bin/fake");
	IS("vAttach;1", "E01");
	monitor("seek 1:3");
	fake_refuse(r); /* another is not to be had: all stays as it was */
	IS("vAttach;64", "E01");
	IS("qC", "QCp96.65");
	ck_assert_str_eq(monitor("when"), "1:3\n");
	ck_assert_ptr_nonnull(strstr(monitor("processes"), "* 2 pid 150"));
}
END_TEST

START_TEST(gdb_signal_numbers_are_gdb_s)
{
	begin(NULL);
	HAS("?", "T0b");
	IS("qXfer:siginfo:read::0,2", "m\x0b"); /* and more: 0 bytes follow */
	IS("QPassSignals:e;14;17;1a;", "OK");
	IS("QCatchSyscalls:1;1;2", "OK");
	IS("QCatchSyscalls:1", "OK");
	IS("QCatchSyscalls:0", "OK");
	IS("QCatchSyscalls:x", "E16");
}
END_TEST

/* -- Questions -- */

START_TEST(gdb_monitor_answers)
{
	begin(NULL);
	ck_assert_str_eq(monitor("last-write 0x5000 8"),
			 "2:18 pc 0x1046 wrote 8 bytes at 0x5000: 0x9 -> "
			 "0xa\n");
	ck_assert_str_eq(monitor("last-write 0x9999"),
			 "never written before\n");
	ck_assert_ptr_nonnull(strstr(monitor("last-write x"), "hark: "));
	ck_assert_ptr_nonnull(
	    strstr(monitor("seek nowhere"), "hark: that is no position\n"));
	ck_assert_ptr_nonnull(strstr(monitor("seek 1:99"), "no such moment"));
	ck_assert_str_eq(monitor("when"), "1:20\n");
	ck_assert_ptr_nonnull(strstr(monitor("seek"), "takes a position"));
	ck_assert_ptr_nonnull(strstr(monitor("help"), "last-write ADDRESS"));
	ck_assert_ptr_nonnull(strstr(monitor("what"), "there is no 'what'"));
	ck_assert_ptr_nonnull(strstr(monitor("  "), "there is no ''"));
	ck_assert_ptr_nonnull(
	    strstr(monitor("threads"),
		   "  2 tid 102, lives, ends at 2:20, <second>\n"));
	IS("qRcmd,", "E16");
	IS("qRcmd", "E16");
}
END_TEST

/* -- Files -- */

static char elf[4096], loader[4096];

/* A program with an interpreter. */
static void make_elf(void)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)elf;
	Elf64_Phdr *p = (Elf64_Phdr *)(elf + sizeof *h);

	memset(elf, 0, sizeof elf);
	memcpy(h->e_ident, ELFMAG, SELFMAG);
	h->e_type = ET_DYN;
	h->e_entry = 0x129;
	h->e_phoff = sizeof *h;
	h->e_phentsize = sizeof *p;
	h->e_phnum = 3;
	p[0].p_type = PT_LOAD;
	p[0].p_flags = PF_R | PF_X;
	p[0].p_filesz = sizeof elf;
	p[1].p_type = PT_INTERP;
	p[1].p_offset = p[1].p_vaddr = 0x400;
	p[1].p_filesz = 11;
	strcpy(elf + 0x400, "/lib/ld.so");
	p[2].p_type = PT_DYNAMIC;
	p[2].p_offset = p[2].p_vaddr = 0x500;
	p[2].p_filesz = 32;
}

/* It is mapped at 0x40000, and the recording begins somewhere in it. */
static void make_program(void)
{
	make_elf();
	fake_know(r, 0x40000, elf, sizeof elf, "/bin/fake");
	fake_know(r, 0x60000, elf, sizeof elf, "/usr/lib/ld.so");
	begin("start");
}

static uint64_t auxv(uint64_t type)
{
	const char *body = "qXfer:auxv:read::0,1000";
	const struct packet *p = gdb_answer(g, body, strlen(body));
	uint64_t pair[2];

	ck_assert_int_eq(p->body[0], 'l');
	for (size_t at = 1; at + 16 <= p->len; at += 16) {
		memcpy(pair, p->body + at, 16);
		if (pair[0] == type)
			return pair[1];
	}
	return 0;
}

START_TEST(gdb_auxv_is_worked_out)
{
	make_program();
	ck_assert_uint_eq(auxv(AT_ENTRY), 0x40129);
	ck_assert_uint_eq(auxv(AT_PHDR), 0x40040);
	ck_assert_uint_eq(auxv(AT_BASE), 0x60000);
	ck_assert_uint_eq(auxv(AT_PHNUM), 3);
}
END_TEST

/* The same, and what happens first is that a loader comes to its entry. */
static void make_executed(void)
{
	static const uint64_t stack[] = {2,	   0x111, 0x222,  0, 0x333, 0,
					 AT_ENTRY, 0x777, AT_UID, 5, 0,	    0};

	make_elf();
	memcpy(loader, elf, sizeof elf);
	((Elf64_Ehdr *)loader)->e_entry = 0;
	((Elf64_Ehdr *)elf)->e_entry = FAKE_CODE + 3 - 0x40000ULL;
	fake_know(r, FAKE_CODE, loader, sizeof loader, "/usr/lib/loader");
	fake_know(r, 0x40000, elf, sizeof elf, "/bin/fake");
	fake_know(r, 0x60000, elf, sizeof elf, "/usr/lib/ld.so");
	fake_know(r, FAKE_STACK, stack, sizeof stack, NULL);
	begin(NULL);
}

START_TEST(gdb_auxv_is_what_the_program_found)
{
	make_executed();
	ck_assert_uint_eq(auxv(AT_ENTRY), 0x777);
	ck_assert_uint_eq(auxv(AT_UID), 5);
	IS("qC", "QC65"); /* and the end was gone to */
	ck_assert_str_eq(monitor("when"), "1:20\n");
}
END_TEST

START_TEST(gdb_what_cannot_change_is_not_searched_for)
{
	unsigned n;

	make_executed();
	n = fake_reads(r);
	HAS("qXfer:auxv:read::0,1000", "l");
	HAS("qXfer:libraries-svr4:read::0,1000", "/usr/lib/ld.so");
	IS("m40000,4", "7f454c46");
	IS("m40500,10", "00000000000000000000000000000000");
	IS("m10,4", "E0e");
	ck_assert_uint_eq(fake_reads(r), n);
}
END_TEST

/* Where it is writable, or code is relocated. */
START_TEST(gdb_what_may_change_is_searched_for)
{
	Elf64_Phdr *p = (Elf64_Phdr *)(elf + sizeof(Elf64_Ehdr));
	unsigned n;

	make_program();
	p->p_flags |= PF_W;
	begin("start");
	n = fake_reads(r);
	IS("m40000,4", "7f454c46");
	ck_assert_uint_eq(fake_reads(r), n + 1);
	p->p_flags = PF_R | PF_X;
	elf[0x500] = DT_TEXTREL;
	begin("start");
	n = fake_reads(r);
	IS("m40000,4", "7f454c46");
	ck_assert_uint_eq(fake_reads(r), n + 1);
}
END_TEST

START_TEST(gdb_libraries_are_listed)
{
	make_program();
	HAS("qXfer:libraries-svr4:read::0,1000", " main-lm=\"0x40000\"");
	HAS("qXfer:libraries-svr4:read::0,1000",
	    "<library name=\"/usr/lib/ld.so\" lm=\"0x60000\" "
	    "l_addr=\"0x60000\" l_ld=\"0x60500\" lmid=\"0x0\"/>");
	/* Without code they are just files. */
	((Elf64_Phdr *)(elf + sizeof(Elf64_Ehdr)))->p_flags = PF_R;
	begin("start");
	IS("qXfer:libraries-svr4:read::0,1000",
	   "l<library-list-svr4 version=\"1.0\" main-lm=\"0x40000\">"
	   "</library-list-svr4>");
}
END_TEST

START_TEST(gdb_thread_local_data_of_the_program_is_found)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)elf;
	Elf64_Phdr *p = (Elf64_Phdr *)(elf + sizeof *h);

	IS("qGetTLSAddr:65,10,0", "E0e"); /* there is no program */
	make_program();
	IS("qGetTLSAddr:65,10,0", "E0e"); /* it has no such data */
	h->e_ident[EI_CLASS] = ELFCLASS64;
	h->e_ident[EI_DATA] = ELFDATA2LSB;
	h->e_ident[EI_VERSION] = EV_CURRENT;
	h->e_machine = EM_X86_64;
	h->e_version = EV_CURRENT;
	h->e_ehsize = sizeof *h;
	h->e_phnum = 4;
	p[3].p_type = PT_TLS;
	p[3].p_memsz = 0x1c;
	p[3].p_align = 16;
	fake_know(r, 0x40000, elf, sizeof elf, "/bin/fake");
	begin("start");
	IS("qGetTLSAddr:65,10,0", "5ff0");
	IS("qGetTLSAddr:65,10,40000", "5ff0");
	IS("qGetTLSAddr:65,10,1234", "E0e");
	IS("qGetTLSAddr:65,10,60000", "E0e");
	IS("qGetTLSAddr:99,10,0", "E0e");
	IS("qGetTLSAddr:65", "E16");
}
END_TEST

static const char *file(const char *operation, const char *path,
			const char *rest)
{
	char body[512];
	size_t n = (size_t)snprintf(body, sizeof body, "vFile:%s:", operation);

	for (; *path != '\0'; path++)
		n += (size_t)snprintf(body + n, sizeof body - n, "%02x",
				      (unsigned char)*path);
	snprintf(body + n, sizeof body - n, "%s", rest);
	return ask(body);
}

START_TEST(gdb_files_are_those_of_the_recording)
{
	fake_know(r, 0x40000, "program", 7, "/bin/fake");
	fake_know(r, 0x50000, "library", 7, "/usr/lib/libx.so.1.2");
	begin("start");
	IS("vFile:setfs:0", "F0");
	ck_assert_str_eq(file("open", "/etc/passwd", ",0,0"), "F-1,2");
	ck_assert_str_eq(file("open", "/bin/fake", ",1,0"), "F-1,1e");
	ck_assert_str_eq(file("open", "/bin/fake", ",0,0"), "F3");
	IS("vFile:pread:3,100,0", "F7;program");
	IS("vFile:pread:3,3,5", "F2;am");
	IS("vFile:pread:3,3,ffffffffffffffff", "F0;");
	IS("vFile:pread:4,3,0", "F-1,9");
	IS("vFile:pread:0,3,0", "F-1,9");
	HAS("vFile:fstat:3", "F40;");
	ck_assert_str_eq(file("open", "/lib/libx.so.1", ",0,0"), "F4");
	IS("vFile:pread:4,100,0", "F7;library");
	IS("vFile:close:3", "F0");
	IS("vFile:close:3", "F-1,9");
	ck_assert_str_eq(file("readlink", "/proc/100/exe", ""), "F9;/bin/fake");
	ck_assert_str_eq(file("readlink", "/bin/fake", ""), "F-1,2");
	ck_assert_str_eq(file("unlink", "/bin/fake", ""), "F-1,1e");
	IS("vFile:lseek:3", "");
}
END_TEST

START_TEST(gdb_no_more_files_are_open_than_there_is_room_for)
{
	fake_know(r, 0x40000, "program", 7, "/bin/fake");
	begin("start");
	for (unsigned i = 0; i < 64; i++)
		ck_assert_int_eq(file("open", "/bin/fake", ",0,0")[0], 'F');
	ck_assert_str_eq(file("open", "/bin/fake", ",0,0"), "F-1,18");
}
END_TEST

START_TEST(gdb_proc_is_told)
{
	fake_know(r, 0x40000, "program", 7, "/bin/fake");
	fake_know(r, FAKE_STACK, "stack", 5, NULL);
	begin("start");
	ck_assert_str_eq(file("open", "/proc/100/maps", ",0,0"), "F3");
	HAS("vFile:pread:3,1000,0", "00040000-00041000 r-xp 00000000 ");
	HAS("vFile:pread:3,1000,0", " /bin/fake\n");
	HAS("vFile:pread:3,1000,0", "00007000-00008000 rw-p ");
	ck_assert_str_eq(file("open", "/proc/100/task/101/smaps", ",0,0"),
			 "F4");
	HAS("vFile:pread:4,1000,0", "VmFlags: rd ex ");
	ck_assert_str_eq(file("open", "/proc/100/cmdline", ",0,0"), "F5");
	IS("vFile:pread:5,100,0", "F8;fake -v");
	ck_assert_str_eq(file("open", "/proc/100/status", ",0,0"), "F6");
	HAS("vFile:pread:6,1000,0", "Name:\tfake\n");
	ck_assert_str_eq(file("open", "/proc/101/maps", ",0,0"), "F-1,2");
	ck_assert_str_eq(file("open", "/proc/100/mem", ",0,0"), "F-1,2");
	ck_assert_str_eq(file("open", "/proc/100", ",0,0"), "F-1,2");
}
END_TEST

START_TEST(gdb_documents_may_begin_anywhere)
{
	begin(NULL);
	HAS("qXfer:threads:read::0,1000", "</threads>");
	IS("qXfer:siginfo:read::1,1", "m"); /* a 0 */
	ck_assert_uint_eq(gdb_answer(g, "qXfer:siginfo:read::1,1", 23)->len, 2);
	HAS("qXfer:threads:read::5,1000", " version");
	IS("qXfer:siginfo:read::80,1", "l");
}
END_TEST

START_TEST(gdb_documents_come_in_pieces)
{
	char whole[65536], body[64];
	size_t n = 0;

	for (;;) {
		const struct packet *p;

		snprintf(body, sizeof body,
			 "qXfer:features:read:target.xml:%zx,64", n);
		p = gdb_answer(g, body, strlen(body));
		ck_assert(p->len >= 1 && n + p->len < sizeof whole);
		memcpy(whole + n, p->body + 1, p->len - 1);
		n += p->len - 1;
		if (p->body[0] == 'l')
			break;
		ck_assert_uint_eq(p->len, 101);
	}
	whole[n] = '\0';
	ck_assert_ptr_nonnull(strstr(whole, "</target>"));
	ck_assert_uint_gt(n, 5000);
	IS("qXfer:features:read:other.xml:0,10", "");
	IS("qXfer:features:read:target.xml:0", "E16");
	IS("qXfer:nothing:read::0,10", "");
}
END_TEST

/* -- The conversation -- */

static int ends[2];

static void *serve(void *ctx)
{
	(void)ctx;
	gdb_serve(g, ends[0]);
	return NULL;
}

static void converse(pthread_t *thread)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ck_assert_int_eq(pthread_create(thread, NULL, serve, NULL), 0);
}

static void say(const char *bytes)
{
	ck_assert_int_eq(write(ends[1], bytes, strlen(bytes)),
			 (ssize_t)strlen(bytes));
}

static void hear(const char *want)
{
	char got[256] = "";
	size_t n = 0;

	while (n < strlen(want)) {
		ssize_t k = read(ends[1], got + n, strlen(want) - n);

		ck_assert_int_gt(k, 0);
		n += (size_t)k;
		got[n] = '\0';
	}
	ck_assert_str_eq(got, want);
}

START_TEST(gdb_bad_packets_are_asked_for_again)
{
	pthread_t thread;

	converse(&thread);
	say("$qC#00");
	hear("-");
	say("$qC#b4");
	hear("+$QC65#ff");
	say("-");
	hear("$QC65#ff");
	say("+$QStartNoAckMode#b0");
	hear("+$OK#9a");
	say("$qC#b4");
	hear("$QC65#ff");
	close(ends[1]);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(gdb_an_interrupt_ends_a_search)
{
	pthread_t thread;

	fake_stall(r);
	converse(&thread);
	say("$QStartNoAckMode#b0");
	hear("+$OK#9a");
	say("$bc#c5");
	usleep(20000);
	say("\x03");
	hear("$T02thread:65;");
	close(ends[1]);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(gdb_an_interrupt_that_comes_at_once_is_heard)
{
	pthread_t thread;

	fake_stall(r);
	converse(&thread);
	say("$QStartNoAckMode#b0");
	hear("+$OK#9a");
	say("$bc#c5\x03");
	hear("$T02thread:65;");
	close(ends[1]);
	pthread_join(thread, NULL);
}
END_TEST

/* gdb sends one between two stops, if it evaluates a condition. */
START_TEST(gdb_an_interrupt_while_nothing_moves_is_for_the_next_movement)
{
	pthread_t thread;

	fake_stall(r);
	converse(&thread);
	say("$QStartNoAckMode#b0");
	hear("+$OK#9a");
	say("\x03");
	say("$qC#b4");
	hear("$QC65#ff");
	say("$bc#c5");
	hear("$T02thread:65;");
	close(ends[1]);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(gdb_a_question_is_interrupted_by_its_flag)
{
	struct gdb_wish wish = {.api = &fake_api, .recording = r};
	volatile sig_atomic_t flag = 0;

	wish.interrupt = &flag;
	gdb_free(g);
	ck_assert_int_eq(gdb_new(&wish, &g, NULL), 0);
	ck_assert_ptr_null(strstr(monitor("last-write 0x5000"), "hark:"));
	flag = 1; /* an old one is forgotten */
	ck_assert_ptr_null(strstr(monitor("last-write 0x5000"), "hark:"));
}
END_TEST

START_TEST(gdb_whoever_hangs_up_is_let_go)
{
	pthread_t thread;

	fake_stall(r);
	converse(&thread);
	say("$bc#c5");
	usleep(20000);
	close(ends[1]);
	pthread_join(thread, NULL);
}
END_TEST

static TCase *state_case(void)
{
	TCase *t = tcase_create("state");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, gdb_says_what_it_can);
	tcase_add_test(t, gdb_process_begins_where_it_is_wished);
	tcase_add_test(t, gdb_wrong_wishes_are_told);
	tcase_add_test(t, gdb_threads_have_their_recorded_ids);
	tcase_add_test(t, gdb_registers_are_those_of_the_thread);
	tcase_add_test(t, gdb_memory_is_answered_as_far_as_it_is_known);
	tcase_add_test(t, gdb_memory_is_of_the_moment);
	tcase_add_test(t, gdb_unknown_memory_is_made_up_only_on_demand);
	tcase_add_test(t, gdb_memory_is_searched);
	tcase_add_test(t, gdb_a_mark_is_not_found_as_data);
	tcase_add_test(t, gdb_regions_are_told);
	tcase_add_test(t, gdb_monitor_answers);
	tcase_add_test(t, gdb_auxv_is_worked_out);
	tcase_add_test(t, gdb_auxv_is_what_the_program_found);
	tcase_add_test(t, gdb_what_cannot_change_is_not_searched_for);
	tcase_add_test(t, gdb_what_may_change_is_searched_for);
	tcase_add_test(t, gdb_libraries_are_listed);
	tcase_add_test(t, gdb_thread_local_data_of_the_program_is_found);
	tcase_add_test(t, gdb_files_are_those_of_the_recording);
	tcase_add_test(t, gdb_no_more_files_are_open_than_there_is_room_for);
	tcase_add_test(t, gdb_proc_is_told);
	tcase_add_test(t, gdb_documents_come_in_pieces);
	tcase_add_test(t, gdb_documents_may_begin_anywhere);
	return t;
}

static TCase *moves_case(void)
{
	TCase *t = tcase_create("moves");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, gdb_steps_both_ways);
	tcase_add_test(t, gdb_steps_of_a_thread_take_the_others_along);
	tcase_add_test(t, gdb_steps_on_within_a_range);
	tcase_add_test(t, gdb_breakpoints_stop_both_ways);
	tcase_add_test(t, gdb_watchpoints_stop_behind_and_before);
	tcase_add_test(t, gdb_conditions_are_evaluated_here);
	tcase_add_test(t, gdb_program_begins_again);
	tcase_add_test(t, gdb_another_process_is_attached_to);
	tcase_add_test(t, gdb_signal_numbers_are_gdb_s);
	tcase_add_test(t, gdb_bad_packets_are_asked_for_again);
	tcase_add_test(t, gdb_an_interrupt_ends_a_search);
	tcase_add_test(t, gdb_an_interrupt_that_comes_at_once_is_heard);
	tcase_add_test(
	    t, gdb_an_interrupt_while_nothing_moves_is_for_the_next_movement);
	tcase_add_test(t, gdb_a_question_is_interrupted_by_its_flag);
	tcase_add_test(t, gdb_whoever_hangs_up_is_let_go);
	return t;
}

Suite *gdb_server_suite(void)
{
	Suite *s = suite_create("gdb_server");

	suite_add_tcase(s, state_case());
	suite_add_tcase(s, moves_case());
	return s;
}
