// Something to take addresses of, whose names are mangled in many ways.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {
struct Hidden {
    int value;
    bool operator<(const Hidden &other) const { return value < other.value; }
    int operator()(int more) const { return value + more; }
    explicit operator bool() const { return value != 0; }
};
} // namespace

namespace work {
template <typename T, int N> struct Ring {
    T items[N] = {};
    int at = 0;
    __attribute__((noinline)) void push(T item)
    {
        items[at] = item;
        at = (at + 1) % N;
    }
    template <typename F> __attribute__((noinline)) auto fold(F f, T first) const -> decltype(f(first, first))
    {
        for (const auto &item : items)
            first = f(first, item);
        return first;
    }
    friend std::ostream &operator<<(std::ostream &out, const Ring &ring)
    {
        return out << ring.items[0] << '\n';
    }
};

class Counter {
public:
    virtual ~Counter() {}
    virtual int count(const std::map<std::string, std::vector<int>> &all) const
    {
        auto sum = [&all](const std::string &key) {
            struct Local {
                static int of(const std::vector<int> &v) { return static_cast<int>(v.size()); }
            };
            auto found = all.find(key);
            return found == all.end() ? 0 : Local::of(found->second);
        };
        return sum("a") + sum("b");
    }
    int (*plain)(int, const char *) = nullptr;
};
} // namespace work

int main()
{
    std::map<std::string, std::vector<int>> all;
    all["a"].push_back(1);
    all["b"] = {1, 2, 3};
    work::Ring<long, 8> ring;
    for (long i = 0; i < 20; i++)
        ring.push(i);
    std::vector<Hidden> hidden = {{3}, {1}, {2}};
    std::sort(hidden.begin(), hidden.end());
    std::function<long(long, long)> add = [](long a, long b) { return a + b; };
    std::cout << ring << work::Counter().count(all) << ring.fold(add, 0L) << hidden[0](1) << static_cast<bool>(hidden[0])
              << '\n';
    return 0;
}
