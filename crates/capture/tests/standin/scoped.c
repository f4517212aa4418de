/* A library in the scope of another one, with a name like a function of the driver's. */
int cuFinderNumber(void) { return 3; }
