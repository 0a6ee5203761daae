/* tests/end-to-end/travel_sandbox.c - a program over libhark looks at the
 * process that replays for it.
 *
 *	travel_sandbox RECORDING WHAT
 *
 * Says what it found in one line. */
#include <hark/recording.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct hark_recording *r;
static struct hark_timeline *t;
static struct hark_error err;

static _Noreturn void fail(const char *what)
{
	printf("%s: %s\n", what, err.text);
	exit(1);
}

static void open_all(const char *path)
{
	if (hark_open(path, &r, &err) < 0 ||
	    hark_timeline_open(r, 0, &t, &err) < 0)
		fail("open");
}

static void close_all(void)
{
	hark_timeline_close(t);
	hark_close(r);
}

static pid_t child(void)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	int pid = 0;

	if (f == NULL || fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f != NULL)
		fclose(f);
	return pid;
}

/* -- What it has -- */

static void say_status(const char *key)
{
	char name[64], line[256];
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/status", child());
	f = fopen(name, "r");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0) {
			line[strcspn(line, "\n")] = '\0';
			printf("%s %s; ", key,
			       line + strspn(line + strlen(key), " \t") +
				   strlen(key));
		}
	if (f != NULL)
		fclose(f);
}

/* Files that it has open, but for the recording and memory. */
static unsigned n_files(void)
{
	char name[64], file[320], to[256];
	unsigned n = 0;
	struct dirent *e;
	DIR *d;

	snprintf(name, sizeof name, "/proc/%d/fd", child());
	d = opendir(name);
	while (d != NULL && (e = readdir(d)) != NULL) {
		ssize_t len;

		snprintf(file, sizeof file, "%s/%s", name, e->d_name);
		len = readlink(file, to, sizeof to - 1);
		to[len < 0 ? 0 : len] = '\0';
		n += e->d_name[0] != '.' && strstr(to, ".hark") == NULL &&
		     strncmp(to, "/memfd:", 7) != 0;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

/* Mappings with these permissions. */
static unsigned n_mappings(const char *permissions)
{
	char name[64], line[512];
	unsigned n = 0;
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/maps", child());
	f = fopen(name, "r");
	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		const char *at = strchr(line, ' ');

		n += at != NULL &&
		     strncmp(at + 1, permissions, strlen(permissions)) == 0;
	}
	if (f != NULL)
		fclose(f);
	return n;
}

static void look(const char *path)
{
	open_all(path);
	if (hark_seek_end(t, &err) < 0)
		fail("seek");
	say_status("NoNewPrivs:");
	say_status("Seccomp:");
	printf("%u other files; %u pages of code that can be written, %s\n",
	       n_files(), n_mappings("rwx") + n_mappings("-wx"),
	       n_mappings("r-xs") > 0 ? "some that were" : "none that were");
	close_all();
}

/* -- What becomes of it -- */

static void kill_it(const char *path)
{
	int rc;

	open_all(path);
	kill(child(), SIGKILL);
	rc = hark_seek_end(t, &err);
	printf("%d %s; ", rc, err.text);
	close_all();
	open_all(path); /* there is another one */
	rc = hark_seek_end(t, &err);
	close_all();
	printf("%d; %d\n", rc, waitpid(-1, NULL, WNOHANG));
}

/* What a terminal sends to all is not for it. */
static void interrupt_it(const char *path)
{
	static const int signals[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
				      SIGTSTP, SIGUSR1, SIGALRM};

	open_all(path);
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		kill(child(), signals[i]);
	if (hark_seek_end(t, &err) < 0)
		fail("seek");
	close_all();
	puts("it went on");
}

/* -- What becomes of the program -- */

static void *in_a_thread(void *arg)
{
	open_all(arg);
	return NULL;
}

/* A thread opens it and ends; another one goes on. */
static void change_threads(const char *path)
{
	pthread_t thread;

	pthread_create(&thread, NULL, in_a_thread, (void *)path);
	pthread_join(thread, NULL);
	if (hark_seek_end(t, &err) < 0)
		fail("seek");
	close_all();
	puts("another thread went on");
}

static int handlers(void)
{
	int n = 0;

	for (int i = 1; i < 32; i++) {
		struct sigaction act;

		n += sigaction(i, NULL, &act) == 0 && act.sa_handler != SIG_DFL;
	}
	return n;
}

static void keep_signals(const char *path)
{
	stack_t before, after;
	sigset_t mask;
	int n = 0, had = handlers(); /* ignored ones are inherited */

	sigaltstack(NULL, &before);
	open_all(path);
	if (hark_seek_end(t, &err) < 0)
		fail("seek");
	sigaltstack(NULL, &after);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int i = 1; i < 32; i++)
		n += sigismember(&mask, i);
	printf("%d handlers, %d blocked, %s stack\n", handlers() - had, n,
	       before.ss_flags == after.ss_flags ? "the same" : "another");
	close_all();
}

/* A copy of the program must not end what is the original's. */
static void fork_it(const char *path)
{
	pid_t pid;

	open_all(path);
	pid = fork();
	if (pid == 0) {
		close_all();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (hark_seek_end(t, &err) < 0)
		fail("seek");
	close_all();
	puts("it went on");
}

static void seek_only(const char *path)
{
	open_all(path);
	printf("%d %s\n", hark_seek_end(t, &err), err.text);
	close_all();
}

static const struct {
	const char *name;
	void (*act)(const char *path);
} acts[] = {{"look", look},
	    {"kill", kill_it},
	    {"interrupt", interrupt_it},
	    {"threads", change_threads},
	    {"signals", keep_signals},
	    {"fork", fork_it},
	    {"seek", seek_only}};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof acts / sizeof acts[0]; i++)
		if (strcmp(argv[2], acts[i].name) == 0)
			acts[i].act(argv[1]);
	return 0;
}
