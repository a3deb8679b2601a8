// Least 2μ + ν of a fully-connected layer, straight from conditions 1–4 of paper 002, section 4: Dijkstra's algorithm
// with no estimate and no rule of which read is sensible. Written apart from the library, to witness its exact solver.
//
// A state is the set of vertices of the smaller side in Buffer and, for each vertex of the other side, which of the
// smaller side it has met and whether it is in Buffer. States that differ by a renaming are one: the rows are sorted,
// and of all permutations of the smaller side (at most 7 vertices) the least word is taken.
//
// g++ -O2 -o fc_dijkstra fc_dijkstra.cpp; ./fc_dijkstra n m beta [most states]
// prints: n m beta least_accesses states_seen, or ">=" with what is left open when there are too many states.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

static int smaller, larger;  // how many vertices each side has
static std::vector<std::vector<int>> permutations;

static std::string representative(unsigned held, const std::vector<unsigned>& rows) {
    std::string best, word(1 + larger, 0);
    std::vector<unsigned char> sorted(larger);
    for (const auto& to : permutations) {
        unsigned marks = 0;
        for (int i = 0; i < smaller; i++)
            if (held >> i & 1) marks |= 1u << to[i];
        word[0] = static_cast<char>(marks);
        for (int j = 0; j < larger; j++) {
            unsigned row = (rows[j] >> smaller & 1) << smaller;
            for (int i = 0; i < smaller; i++)
                if (rows[j] >> i & 1) row |= 1u << to[i];
            sorted[j] = static_cast<unsigned char>(row);
        }
        std::sort(sorted.begin(), sorted.end());
        std::copy(sorted.begin(), sorted.end(), word.begin() + 1);
        if (best.empty() || word < best) best = word;
    }
    return best;
}

int main(int count, char** argument) {
    if (count < 4) return 2;
    const int n = std::atoi(argument[1]), m = std::atoi(argument[2]), beta = std::atoi(argument[3]);
    const std::size_t most = count > 4 ? std::strtoul(argument[4], nullptr, 10) : 6000000;
    const bool inputs_smaller = n <= m;
    smaller = inputs_smaller ? n : m;
    larger = inputs_smaller ? m : n;
    if (smaller > 7) return 2;
    const int price_smaller = inputs_smaller ? 1 : 2, price_larger = inputs_smaller ? 2 : 1;
    std::vector<int> order(smaller);
    std::iota(order.begin(), order.end(), 0);
    do permutations.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));

    std::unordered_map<std::string, int> cost;
    std::vector<std::vector<std::string>> queue(4 * n * m + 2 * m + n + 10);
    std::vector<unsigned> rows(larger, 0);
    cost[representative(0, rows)] = 0;
    queue[0].push_back(representative(0, rows));
    const unsigned all = (1u << smaller) - 1;
    for (int spent = 0;; spent++) {
        for (std::size_t next = 0; next < queue[spent].size(); next++) {
            const std::string state = queue[spent][next];
            if (cost[state] != spent) continue;
            const unsigned held = static_cast<unsigned char>(state[0]);
            int present = __builtin_popcount(held);
            bool done = true;
            for (int j = 0; j < larger; j++) {
                rows[j] = static_cast<unsigned char>(state[1 + j]);
                done = done && (rows[j] & all) == all;
                present += rows[j] >> smaller & 1;
            }
            if (done) {
                std::printf("%d %d %d %d %zu\n", n, m, beta, spent, cost.size());
                return 0;
            }
            if (cost.size() > most) {
                std::printf("%d %d %d >=%d\n", n, m, beta, spent);
                return 0;
            }
            for (int victim = -1; victim < smaller + larger; victim++) {
                unsigned kept = held;
                std::vector<unsigned> left = rows;
                if (victim >= 0 && victim < smaller) {
                    if (!(held >> victim & 1)) continue;
                    kept &= ~(1u << victim);
                } else if (victim >= smaller) {
                    if (!(rows[victim - smaller] >> smaller & 1)) continue;
                    left[victim - smaller] &= all;
                }
                if (present - (victim >= 0) + 1 > beta) continue;
                for (int read = 0; read < smaller + larger; read++) {
                    unsigned now = kept;
                    std::vector<unsigned> after = left;
                    if (read < smaller) {
                        if (held >> read & 1) continue;  // condition 3: what is read was not in Buffer
                        now |= 1u << read;
                        for (unsigned& row : after)
                            if (row >> smaller & 1) row |= 1u << read;
                    } else {
                        if (rows[read - smaller] >> smaller & 1) continue;
                        after[read - smaller] |= (1u << smaller) | kept;
                    }
                    const int total = spent + (read < smaller ? price_smaller : price_larger);
                    const std::string reached = representative(now, after);
                    const auto known = cost.find(reached);
                    if (known == cost.end() || known->second > total) {
                        cost[reached] = total;
                        queue[total].push_back(reached);
                    }
                }
            }
        }
    }
}
