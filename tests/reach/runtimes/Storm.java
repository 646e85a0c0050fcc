import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;

/** Threads that fill a small heap, run into null pointers, which are faults, and start processes. */
class Storm {
    private static String nothing;

    private static int faults(int rounds) {
        int caught = 0;
        for (int i = 0; i < rounds; i++) {
            String text = i % 1000 == 0 ? nothing : "there";
            try {
                caught -= text.length() < 0 ? 1 : 0;
            } catch (NullPointerException expected) {
                caught++;
            }
        }
        return caught;
    }

    private static int garbage(int rounds) {
        List<byte[]> kept = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            kept.add(new byte[10_000]);
            if (kept.size() > 100)
                kept.clear();
        }
        return rounds;
    }

    private static int children(int count) throws Exception {
        int good = 0;
        for (int i = 0; i < count; i++)
            good += new ProcessBuilder("/bin/true").start().waitFor() == 0 ? 1 : 0;
        return good;
    }

    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(8);
        List<Callable<Integer>> work = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            work.add(() -> faults(100_000));
            work.add(() -> garbage(5_000));
            work.add(() -> children(5));
        }
        int sum = 0;
        for (var result : pool.invokeAll(work))
            sum += result.get();
        pool.shutdown();
        System.out.println("java " + (sum == 4 * (100 + 5_000 + 5) ? "ok" : "WRONG " + sum));
    }
}
