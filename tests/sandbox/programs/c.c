#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char line[1000];
    if (!fgets(line, sizeof line, stdin)) return 1;
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, "echo ", 5)) printf("é %s\n", line + 5);
    if (!strcmp(line, "exit")) return 3;
    if (!strcmp(line, "crash")) abort();
    if (!strcmp(line, "spin")) for (volatile long n = 0;; n++) {}
    if (!strcmp(line, "memory")) for (;;) { char *held = malloc(1 << 20); if (held) memset(held, 1, 1 << 20); }
    return 0;
}
