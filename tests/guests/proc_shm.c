/* tests/guests/proc_shm.c - System V shared memory, semaphores and messages
 * between parent and child, and POSIX shared memory by name. */
#include "guest.h"
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>

struct message {
	long type;
	char text[16];
};

int main(void)
{
	int shm = shmget(IPC_PRIVATE, 8192, 0600 | IPC_CREAT),
	    sem = semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT),
	    msg = msgget(IPC_PRIVATE, 0600 | IPC_CREAT), fd, status;
	struct sembuf up = {0, 1, 0}, down = {0, -1, 0};
	struct message m = {2, "two"};
	struct shmid_ds ds;
	char name[64], *p;
	pid_t pid;

	MUST(shm >= 0 && sem >= 0 && msg >= 0);
	p = shmat(shm, NULL, 0);
	MUST(p != (void *)-1);
	pid = fork();
	if (pid == 0) {
		strcpy(p, "from the child");
		MUST(semop(sem, &up, 1) == 0);
		MUST(msgsnd(msg, &m, sizeof m.text, 0) == 0);
		_exit(0);
	}
	MUST(semop(sem, &down, 1) == 0);
	CHECK(strcmp(p, "from the child") == 0);
	memset(&m, 0, sizeof m);
	SAME(msgrcv(msg, &m, sizeof m.text, 2, 0), sizeof m.text);
	CHECK(strcmp(m.text, "two") == 0);
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	MUST(shmctl(shm, IPC_STAT, &ds) == 0);
	SAME(ds.shm_nattch, 1);
	MUST(shmdt(p) == 0);
	MUST(shmctl(shm, IPC_RMID, NULL) == 0 &&
	     semctl(sem, 0, IPC_RMID) == 0 && msgctl(msg, IPC_RMID, NULL) == 0);
	SAME(shmat(shm, NULL, 0), -1);
	snprintf(name, sizeof name, "/guest.%d", getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	MUST(fd >= 0 && shm_unlink(name) == 0 && ftruncate(fd, 4096) == 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		p[0] = 'x';
		_exit(0);
	}
	waitpid(pid, &status, 0);
	SAME(p[0], 'x');
	return guest_end();
}
