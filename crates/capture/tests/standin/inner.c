/* A library that only another one finds. */
int finder_number(void) { return 2; }
