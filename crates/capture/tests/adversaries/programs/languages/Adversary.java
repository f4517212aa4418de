/**
 * The JVM has handlers for SIGSEGV, by which it finds null references and stops threads, its own stacks, and threads that
 * come and go; native methods make driver calls.
 * Expected: it ends as bare, and every call is recorded.
 */
public class Adversary {
    private static native void begin();

    private static native void calls(int count);

    private static native void slowCall(int ms);

    private static int caught = 0;

    private static void work() {
        for (int at = 0; at < 200; at++) {
            calls(5);
            try {
                Object nothing = at % 2 == 0 ? null : "something";
                nothing.hashCode();
            } catch (NullPointerException exception) {
                synchronized (Adversary.class) {
                    caught++;
                }
            }
            byte[][] garbage = new byte[100][];
            for (int block = 0; block < garbage.length; block++) {
                garbage[block] = new byte[1000];
            }
        }
        slowCall(2);
    }

    private static int depth(int at) {
        try {
            return depth(at + 1);
        } catch (StackOverflowError error) {
            return at;
        }
    }

    public static void main(String[] words) throws InterruptedException {
        System.loadLibrary("jni");
        begin();
        Thread[] threads = new Thread[4];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(Adversary::work);
            threads[at].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.gc();
        System.out.println(caught + " " + (depth(0) > 100));
    }
}
