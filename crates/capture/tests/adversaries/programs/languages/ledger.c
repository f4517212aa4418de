/* The ledger, for programs in other languages. */
#include "adversary.h"

void adversary_begin(void);
void adversary_child(void);
void adversary_calls(int count);
void adversary_slow_call(int ms);

void adversary_begin(void) { begin(); }
void adversary_child(void) { child_begins(); }
void adversary_calls(int count) { calls(count); }
void adversary_slow_call(int ms) { slow_call(ms); }
