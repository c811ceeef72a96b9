import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

public class Solution {
    public static void main(String[] args) {
        String line = new Scanner(System.in).nextLine();
        if (line.startsWith("echo ")) System.out.println("é " + line.substring(5));
        if (line.equals("exit")) System.exit(3);
        if (line.equals("crash")) throw new IllegalStateException("no");
        while (line.equals("spin")) { }
        List<byte[]> held = new ArrayList<>();
        while (line.equals("memory")) {
            byte[] more = new byte[1 << 20];
            java.util.Arrays.fill(more, (byte) 1);
            held.add(more);
        }
    }
}
