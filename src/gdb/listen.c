/* gdb/listen.c - sockets of the server. */
#include "gdb/listen.h"

#include "base/fmt.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct listener {
	int fd;
	char dir[256];	 /* "": none */
	char path[512];	 /* of a socket; "": none */
	char name[1100]; /* for gdb */
};

/* -- Sockets with a path -- */

static int listen_path(struct listener *l, const char *path,
		       struct hark_err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	mode_t mask;
	int rc;

	if (strlen(path) >= sizeof a.sun_path)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: too long for the path of a socket", path);
	fmt_text(a.sun_path, sizeof a.sun_path, "%s", path);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return err_set(err, HARK_EIO, errno, "cannot make a socket: %s",
			       strerror(errno));
	mask = umask(077);
	rc = bind(l->fd, (struct sockaddr *)&a, sizeof a);
	umask(mask);
	if (rc < 0)
		return err_set(err, HARK_EIO, errno, "%s: %s", path,
			       strerror(errno));
	fmt_text(l->path, sizeof l->path, "%s", path);
	fmt_text(l->name, sizeof l->name, "%s", path);
	if (listen(l->fd, 1) < 0)
		return err_set(err, HARK_EIO, errno, "%s: %s", path,
			       strerror(errno));
	return 0;
}

static int listen_private(struct listener *l, struct hark_err *err)
{
	const char *above = getenv("XDG_RUNTIME_DIR");
	char dir[sizeof l->dir], path[sizeof l->dir + 16];

	if (above == NULL || above[0] != '/' || strlen(above) > 60 ||
	    access(above, W_OK | X_OK) < 0)
		above = "/tmp";
	fmt_text(dir, sizeof dir, "%s/hark-gdb.XXXXXX", above);
	if (mkdtemp(dir) == NULL)
		return err_set(err, HARK_EIO, errno, "%s: %s", dir,
			       strerror(errno));
	fmt_text(l->dir, sizeof l->dir, "%s", dir);
	fmt_text(path, sizeof path, "%s/socket", dir);
	return listen_path(l, path, err);
}

/* -- Sockets with a port -- */

static int bind_one(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
	const int on = 1;
	int saved;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 1) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* Port 0 has become another one. */
static void put_port(struct listener *l, const char *host)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof a;
	char port[32];

	if (getsockname(l->fd, (struct sockaddr *)&a, &len) < 0 ||
	    getnameinfo((struct sockaddr *)&a, len, NULL, 0, port, sizeof port,
			NI_NUMERICSERV) != 0)
		port[0] = '\0';
	fmt_text(l->name, sizeof l->name,
		 strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
}

static int listen_port(struct listener *l, const char *where,
		       struct hark_err *err)
{
	const struct addrinfo wish = {.ai_socktype = SOCK_STREAM,
				      .ai_flags = AI_PASSIVE};
	const char *colon = strrchr(where, ':');
	struct addrinfo *all;
	char host[256];
	size_t len = (size_t)(colon - where);
	int rc;

	if (len >= 2 && where[0] == '[' && where[len - 1] == ']')
		fmt_text(host, sizeof host, "%.*s", (int)len - 2, where + 1);
	else
		fmt_text(host, sizeof host, "%.*s", (int)len, where);
	if (host[0] == '\0')
		fmt_text(host, sizeof host, "127.0.0.1"); /* not everybody */
	rc = getaddrinfo(host, colon + 1, &wish, &all);
	if (rc != 0)
		return err_set(err, HARK_EINPUT, 0, "%s: %s", where,
			       gai_strerror(rc));
	for (struct addrinfo *a = all; a != NULL && l->fd < 0; a = a->ai_next)
		l->fd = bind_one(a);
	rc = errno;
	freeaddrinfo(all);
	if (l->fd < 0)
		return err_set(err, HARK_EIO, rc, "%s: %s", where,
			       strerror(rc));
	put_port(l, host);
	return 0;
}

/* -- All alike -- */

int listener_open(const char *where, struct listener **out,
		  struct hark_err *err)
{
	struct listener *l = calloc(1, sizeof *l);
	int rc;

	if (l == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	l->fd = -1;
	if (where == NULL)
		rc = listen_private(l, err);
	else if (strncmp(where, "unix:", 5) == 0)
		rc = listen_path(l, where + 5, err);
	else if (strchr(where, ':') != NULL && strlen(where) < 256)
		rc = listen_port(l, where, err);
	else
		rc = err_set(err, HARK_EINPUT, 0,
			     "%s: neither unix:PATH nor HOST:PORT", where);
	if (rc < 0) {
		listener_close(l);
		return -1;
	}
	*out = l;
	return 0;
}

void listener_remove(const struct listener *l)
{
	if (l->path[0] != '\0')
		unlink(l->path);
	if (l->dir[0] != '\0')
		rmdir(l->dir);
}

void listener_close(struct listener *l)
{
	if (l == NULL)
		return;
	if (l->fd >= 0)
		close(l->fd);
	listener_remove(l);
	free(l);
}

const char *listener_name(const struct listener *l)
{
	return l->name;
}

const char *listener_dir(const struct listener *l)
{
	return l->dir[0] == '\0' ? NULL : l->dir;
}

int listener_accept(struct listener *l, int other)
{
	struct pollfd p[2] = {{.fd = l->fd, .events = POLLIN},
			      {.fd = other, .events = POLLIN}};
	const int on = 1;
	int fd;

	for (;;) {
		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (p[0].revents == 0)
			return -1;
		fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0 || (errno != ECONNABORTED && errno != EINTR))
			break;
	}
	if (fd >= 0 && l->path[0] == '\0')
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}
