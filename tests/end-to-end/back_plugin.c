/* tests/end-to-end/back_plugin.c - loads a library, calls it, and lets it go.
 *
 * With PLUGIN, a number, it is the library. */
#include <dlfcn.h>
#include <stdio.h>

#ifdef PLUGIN

int plugin_state = PLUGIN;

int plugin_work(int n);
int plugin_work(int n)
{
	plugin_state += n; /* in the library */
	return plugin_state;
}

#else

static int use(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*work)(int);
	int answer;

	if (library == NULL)
		return -1;
	*(void **)&work = dlsym(library, "plugin_work");
	answer = work(4);
	dlclose(library);
	return answer;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("answer %d\n", use(argv[i]));
	fflush(stdout);
	return 0;
}

#endif
