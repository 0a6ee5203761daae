/* outside/lifeline.c - a list of robust futexes; see the header. */
#include "outside/lifeline.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ORDER robust_list_head: as the kernel knows it. */
struct list_head {
	struct lifeline *next;
	long word_offset;
	struct lifeline *pending;
};
_Static_assert(sizeof(struct list_head) == sizeof(struct robust_list_head),
	       "as the kernel knows it");

static struct {
	struct list_head head;
	pid_t owner; /* 0: nobody has joined yet */
} list;

static uint32_t *word_of(struct lifeline *l)
{
	return (uint32_t *)((uint8_t *)l + LIFELINE_WORD);
}

static struct lifeline *head(void)
{
	return (struct lifeline *)&list.head;
}

static void own_list(void)
{
	list.head = (struct list_head){head(), LIFELINE_WORD, NULL};
	list.owner = (pid_t)syscall(SYS_gettid);
	syscall(SYS_set_robust_list, &list.head, sizeof list.head);
}

/* The kernel may walk the list at any moment, and knows next alone. */
static void link_first(struct lifeline *l)
{
	struct lifeline *first = list.head.next;

	l->next = first;
	l->previous = NULL;
	if (first != head())
		first->previous = l;
	__atomic_store_n(&list.head.next, l, __ATOMIC_RELEASE);
}

static void unlink_it(struct lifeline *l)
{
	struct lifeline **from =
	    l->previous != NULL ? &l->previous->next : &list.head.next;

	if (l->next != head())
		l->next->previous = l->previous;
	__atomic_store_n(from, l->next, __ATOMIC_RELEASE);
}

void lifeline_join(struct lifeline *l)
{
	if (list.owner != (pid_t)syscall(SYS_gettid)) /* or after a fork */
		own_list();
	link_first(l);
	__atomic_store_n(word_of(l), (uint32_t)list.owner, __ATOMIC_RELEASE);
}

void lifeline_leave(struct lifeline *l)
{
	__atomic_store_n(word_of(l), 0, __ATOMIC_RELEASE);
	unlink_it(l);
}

void lifeline_hide(struct lifeline *l)
{
	unlink_it(l);
}
