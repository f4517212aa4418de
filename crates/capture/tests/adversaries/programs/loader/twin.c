/* As the plugin at first sight; its code lies elsewhere. */
void adversary_calls(int count);

static volatile long sum;

void twin_pads(void) {
    for (int at = 0; at < 100; at++) {
        sum += at * sum;
    }
}

void twin_calls(int count) { adversary_calls(count); }
