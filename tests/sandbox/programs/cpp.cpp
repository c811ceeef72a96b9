#include <bits/stdc++.h>

int main() {
    std::string line;
    std::getline(std::cin, line);
    if (line.rfind("echo ", 0) == 0) std::cout << "é " << line.substr(5) << '\n';
    if (line == "exit") return 3;
    if (line == "crash") throw std::runtime_error("no");
    if (line == "spin") for (volatile long n = 0;; n = n + 1) {}
    std::list<std::vector<int>> held;
    if (line == "memory") for (;;) held.emplace_back(1 << 18, 1);
}
