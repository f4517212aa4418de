/* The same program, in an object that says it has Python's interpreter. */
#define LIKE
#include "meets.c"
