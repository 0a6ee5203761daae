/* present/json.h - writes JSON that every reader takes.
 *
 *	struct json j;
 *
 *	json_init(&j, stdout);
 *	json_object(&j, NULL);
 *	json_text(&j, "name", name);
 *	json_array(&j, "sizes");
 *	json_number(&j, NULL, 42);
 *	json_end(&j);
 *	json_end(&j);			{"name":"...","sizes":[42]}
 *
 * Members of an object have a key; elements of an array, and the outermost
 * value, have NULL. One value a line; the line ends when the outermost value
 * does. Text that is no UTF-8 gets U+FFFD for each stray byte, numbers beyond
 * 2^53 are written in full, and a real that is no number becomes null. Write
 * errors stay in the stream, where its owner looks for them. */
#ifndef PRESENT_JSON_H
#define PRESENT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 32 };

struct json {
	FILE *out;		  /* borrowed */
	unsigned depth;		  /* how many objects and arrays are open */
	char end[JSON_DEPTH_MAX]; /* what ends each */
	bool begun;		  /* something stands in the innermost */
	bool is_in_page;	  /* nothing in it may look like HTML */
};

void json_init(struct json *j, FILE *out);

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j); /* of the innermost */

void json_text(struct json *j, const char *key, const char *text);
void json_bytes(struct json *j, const char *key, const char *text, size_t len);
void json_number(struct json *j, const char *key, uint64_t value);
void json_signed(struct json *j, const char *key, int64_t value);
void json_real(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

#endif
